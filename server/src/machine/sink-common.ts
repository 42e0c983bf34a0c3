/**
 * What the arms of a branch end with is done once behind them, where it is the same operations on different operands: the operands are
 * selected. Evidence: SimplifyCFG of NVVM sinks instructions in lockstep from the ends of the arms; PTX and lines of some eighty small
 * kernels, nvcc 13.0, sm_90:
 *
 * - `if (c) y[i] = x[i] + 1; else y[i] = x[i + 1] + 3;` is one load and one store, and so are `v = c ? x[i] : y[i]` and three arms of
 *   `else if`, of more arms as well. Each operation may need one selected operand: not `y[i] = 1` and `z[i + 1] = 2`, whose address and value differ;
 * - of more than two arms all stores stay apart where the last two store different things that are known in front of them (`else if (c) y[i] = -1; else y[i] = 1;`),
 *   and where each arm widens the index for itself and reads another element with it (arms-apart.ts);
 * - so is `if (c) y[i] = v; else y[i] += v;` (shareAddress), but stores of more than two arms to an address that is known in front of them stay apart
 *   (PTX of 32 kernels);
 * - stores through a pointer that the arms read themselves (`c->list[t]`) stay apart, but where both store what is known in front of them (13 kernels);
 * - stores through different pointers stay apart (`y[i] = x[i]` and `z[i] = x[i]`), loads do not;
 * - it goes up to the first difference: of `x[i] + 1` and `x[i + 1] * 3` the loads stay apart and the stores become one. In the block that a kernel begins with,
 *   where the index is not widened before, the stores stay apart as well, but where nothing else in the arms is computed of their index (`y[j]` beside `x[i]`, not
 *   `y[i]`), or where all that is left can be computed by all lanes. Elsewhere NVVM has moved what both arms begin with in front of them by then;
 * - nothing else leads behind the arms: not where the branch ends the body of another `if` without else, or the kernel after an early
 *   return;
 * - a zero is no operand that is selected where it stands in the arm whose line the store would bear (`else y[i] = 0` keeps its store, in a loop
 *   `if (c) y[i] = 0` does), but where the loop around does not change the address (loop-addresses.ts): the one store is shown at the loop then, while one
 *   whose last arm loads or computes what it stores is shown there, and so is one that stores another constant beside a load (PTX of 37 kernels);
 * - where both arms store what is known in front of them, InstCombine has made one store of it before, with any values;
 *   its line is that of the side that is taken (PTX of 3,500 kernels in eleven contexts for these four);
 * - where the arm's condition says what a variable is (`if (i == 0)`), it reads a constant in its place, which is a difference; stores to a[i] stay apart then, but
 *   where both arms store what is known in front of them (168 kernels);
 * - where the last of two arms has a loop or an `if` of its own before its store, the stores stay apart, outside of loops (behind-branch.ts);
 * - stores that the arms compute something behind stay apart, but where it goes to the same variables: `y[k] = x[i]; i++;` and `y[k] = z[j]; j++;`, or nothing (PTX of 90 kernels);
 * - where several conditions lead to the arm whose line the store would bear, the stores stay apart: that of `else` behind `a && b`, but in front of the step of a `for` the first
 *   one behind `a || b`; both where the parts are mixed, as in merging (`i < n && (j >= m || a[i] <= b[j])`). Conditions that only compute are one by then
 *   (PTX of 480 kernels; of stores to two places 46 kernels with sums as indices make one all the same, three with plain indices do not);
 * - cases of a switch stay apart, and so do stores of loops within the arms, which are written out only later (twenty kernels);
 * - stores stay apart where all lanes of a warp take the same arm (`m == 0`, `blockIdx.x < 3`, `j < m` of a loop's counter, a value read at such a place), and
 *   in a loop where the first of several conditions is such a one that the loop does not change, since the loop is made twice for it (68 kernels);
 * - the load of what a variable is assigned in both arms of an `if` is shown at what stands behind them (15 kernels), that of `c ? x[i] : y[i]` is not;
 * - of two arms the line is that of the last. Of more it is that of the second, but that of the last where the first two conditions are `>` or
 *   `>=` of an integer and a constant (PTX of 150 kernels: NVVM turns these around). Where a `for` goes on behind them it is that of the first (45 kernels).
 */
import { controlFlow, type Loop } from '../program/control-flow';
import { readsInto, readsOf } from '../program/operands';
import {
  bytesOf,
  type Instruction,
  type LoadInstruction,
  type Program,
  type Register,
  type SourcePlace,
  type StoreInstruction,
} from '../program/program';
import { lineArm, takenArm } from './arm-lines';
import { type Arm, addressPlan, isFixedElement, type Plan, planOf, type Work } from './arm-plans';
import { armsOf, computedBehind, isPlainStore, lastStore } from './arm-stores';
import { workOn } from './arm-work';
import { endsAlike, endsInPair, isMadeOf, partsOfSum, readWithParts } from './arms-apart';
import { isBehindBranch } from './behind-branch';
import { isLatch, isTakenByAll, joinsOf, loopEnds } from './joins';
import { headOf } from './loop-head';
import { placeBehind } from './place-behind';
import { isPure } from './pure';
import { shareAddress } from './share-address';
import { emit, moveTo, withOffset } from './sunk-code';
import { placeBehindStores } from './sunk-store-lines';

export function sinkCommon(program: Program): Program {
  const flow = controlFlow(program);
  const joins = joinsOf(program, flow);
  if (![...joins.values()].some((arms) => hasCandidate(program, arms))) return program;
  const work: Work = {
    ...workOn(program, flow, joins),
    endsLoop: loopEnds(program, flow),
    readsOfSums: countReadsOfSums(program),
    sources: sourcesOf(program),
  };
  for (const join of joins.keys()) {
    if (isTakenByAll(work, join)) continue;
    while (sinkStore(work, join));
    placeBehindStores(work, join);
  }
  for (const join of joins.keys()) sinkVariables(work, join);
  return { ...work.program, blocks: work.blocks, registers: work.registers };
}

/** Only stores and loads move, and both only where every arm has one. */
function hasCandidate({ blocks }: Program, arms: readonly number[]): boolean {
  return (['store', 'load'] as const).some((op) =>
    arms.every((arm) => blocks[arm].instructions.some((i) => i.op === op)),
  );
}

function sourcesOf({ blocks, registers }: Program): Map<Register, Register> {
  const sources = new Map<Register, Register>();
  for (const { instructions } of blocks)
    for (const i of instructions)
      if ((i.op === 'convert' || (i.op === 'unary' && i.fn === 'mov')) && registers[i.dst].role === 'temporary')
        sources.set(i.dst, i.a);
  return sources;
}

/** How often a register is one of several numbers that are added to an array: NVVM widens and scales their sum instead. */
function countReadsOfSums({ blocks, registers }: Program): number[] {
  const counts: number[] = registers.map(() => 0);
  for (const { instructions } of blocks) {
    const lastPart = new Map<Register, { readonly part: Register; readonly isOfSum: boolean }>();
    for (const i of instructions) {
      if (i.op !== 'binary' || i.fn !== 'add' || i.type !== 'i64') continue;
      const before = lastPart.get(i.a);
      if (before && !before.isOfSum) counts[before.part]++;
      if (before) counts[i.b]++;
      lastPart.set(i.dst, { part: i.b, isOfSum: before !== undefined });
    }
  }
  return counts;
}

// ---- stores ----

function sinkStore(work: Work, join: number): boolean {
  shareAddress(work, join);
  const stores = (work.joins.get(join) ?? []).map((block) => lastStore(work, block));
  if (!stores.every((store) => store !== undefined)) return false;
  const arms = armsOf(work, join);
  const [first] = stores;
  const { accesses } = work.program;
  const isSame = stores.every(
    (s) =>
      s.type === first.type &&
      s.values.length === 1 &&
      work.registers[s.values[0]].role !== 'variable' &&
      accesses[s.access].object === accesses[first.access].object &&
      !accesses[s.access].isVolatile,
  );
  if (arms.some(({ block }, k) => isOfLoop(work, block, stores[k]))) return false;
  const behind = arms.map(({ block }, k) => computedBehind(work, block, stores[k]));
  if (behind.some((each) => each.size !== behind[0].size || [...each].some((r) => !behind[0].has(r)))) return false;
  if (!isSame) return false;
  const ends = arms.map((arm, k) => arm.position.get(stores[k]) ?? 0);
  const plain = arms.map((arm, k) => isPlainStore(work, arm, stores[k]));
  const isPlain = plain.every(Boolean);
  // made one before anybody asks what the condition says
  const asking = isPlain ? arms.map((arm) => ({ ...arm, fixed: NOTHING })) : arms;
  const address = addressPlan(work, asking, stores, ends);
  if (!isPlain && address && hasLoadedPointer(address)) return false;
  if (arms.length > 2 && address?.kind === 'same') return false;
  if (arms.length === 2 && work.isOfSeveralConditions(arms[lineArm(work, arms, stores, join)].block)) return false;
  const stored = stores.map((s) => s.values[0]);
  const value = planOf(work, arms, stored, ends);
  if (address?.kind !== 'selected' && value?.kind === 'selected' && endsInPair(work, arms, plain, value.registers))
    return false;
  if (!address || !value || Number(address.kind === 'selected') + Number(value.kind === 'selected') > 1) return false;
  const targets = stores.map((store) => store.address);
  const loop = address.kind === 'selected' ? undefined : work.addresses.loopKeeping(join, targets);
  if (!isPlain && arms.some((arm, k) => isElsewhere(work, arm, stores[k]))) return false;
  const chosen = isPlain && arms.length === 2 ? takenArm(work, join, arms) : lineArm(work, arms, stores, join);
  if (!loop && !isPlain && !isWorthIt(work, join, arms, { stores, address, value, chosen })) return false;
  const out: Instruction[] = [];
  const gone = new Set<Instruction>(stores);
  const target = emit(work, arms, address, out, gone, chosen);
  const values = [emit(work, arms, value, out, gone, chosen)];
  const offset = withOffset(address) ? 0 : stores[chosen].offset;
  // an arm that comes to its store without computing anything has no line of its own left, nor has one that stores zero
  const isBare = isPlain || work.registers[stores[chosen].values[0]].value === 0;
  const access = loop && isBare ? accessInLoop(work, loop, stores, chosen) : stores[chosen].access;
  out.push({ ...stores[chosen], address: target, offset, values, access });
  moveTo(work, join, arms, out, gone);
  return true;
}

/** Whether the arms read the pointer itself: `c->list[t] = x` and `c->list[t] = 2 * x`. An index that they read (`y[z[t]]`) is sunk. */
function hasLoadedPointer(address: Plan): boolean {
  if (address.kind !== 'sunk') return false;
  const [first] = address.instructions;
  if (first.op === 'load') return bytesOf[first.type] === 8;
  return first.op === 'binary' && first.fn === 'add' && address.operands.some(hasLoadedPointer);
}

/** Of a loop within the arm that is written out, so that other copies of the access stand beside it. */
function isOfLoop({ program, blocks }: Work, block: number, own: StoreInstruction): boolean {
  if (program.accesses[own.access].copiedBytes !== undefined) return false;
  return blocks[block].instructions.some((i) => i !== own && i.op === 'store' && i.access === own.access);
}

const NOTHING: ReadonlySet<Register> = new Set();

/** Whether the condition of an arm says what the index is: the place is another one then to the compiler. */
function isElsewhere({ given, program }: Work, { block }: Arm, { address, offset, access }: StoreInstruction): boolean {
  const { object } = program.accesses[access];
  return given.inArm(block)?.(address, offset, object === undefined ? undefined : program.objects[object]) === true;
}

/** Where the arm stores more than a constant; shown at the loop's head, unless the loop is written out, and the store with it. */
function accessInLoop(work: Work, loop: Loop, stores: readonly StoreInstruction[], chosen: number): number {
  const { blocks, accesses } = work.program;
  const store = stores.find(({ values: [value] }) => !isConstant(work, value)) ?? stores[chosen];
  const own = store.access;
  const copies = blocks.flatMap(({ instructions }) => instructions.filter((i) => i.op === 'store' && i.access === own));
  const charged = copies.length === 1 ? headOf(work.program, loop) : undefined;
  return charged ? work.program.accesses.push({ ...accesses[own], charged }) - 1 : own;
}

interface Sinking {
  readonly stores: readonly StoreInstruction[];
  readonly address: Plan;
  readonly value: Plan;
  readonly chosen: number;
}

function isWorthIt(
  work: Work,
  join: number,
  arms: readonly Arm[],
  { stores, address, value, chosen }: Sinking,
): boolean {
  const constants = value.kind === 'selected' ? value.registers.map((r) => isConstant(work, r)) : [];
  const isMixed = constants.includes(true) && constants.includes(false);
  const isZero = value.kind === 'selected' && work.registers[value.registers[chosen]].value === 0;
  if (isMixed && constants[chosen] && isZero) return false;
  if (arms.length === 2 && isBehindBranch(work, join, arms[chosen].block)) return false;
  if (value.kind === 'sunk') return true;
  const isApart = arms.length > 2 || work.flow.dominator[join] === 0;
  const parts =
    arms.length > 2 &&
    !endsAlike(work, arms, stores) &&
    arms.some(({ definedBy }) => definedBy.has(stores[chosen].address))
      ? partsOfSum(work, join, arms)
      : NOTHING;
  if (isMadeOf(arms[chosen], stores[chosen].address, parts) && readWithParts(work, arms, parts)) return false;
  if (isAtHand(arms, address)) return true;
  const left = arms.map((arm, k) => work.blocks[arm.block].instructions.filter((i) => i !== stores[k] && !isPure(i)));
  if (left.every((rest) => rest.length === 0)) return true;
  // NVVM has moved what two arms have in common in front of them by then, but in the block that a kernel begins with
  const isFirst = isApart && isWidened(work, arms[chosen], stores[chosen].address);
  return !isFirst || stores.every((store, arm) => isOwn(work, arm, address, store.address));
}

/** Whether an address is known in front of the arms, but for adding it up. */
function isAtHand(arms: readonly Arm[], address: Plan): boolean {
  if (address.kind === 'same') return arms.every((arm) => !arm.definedBy.has(address.register));
  if (address.kind === 'selected') return false;
  const [first] = address.instructions;
  return first.op === 'binary' && first.fn === 'add' && address.operands.every((operand) => isAtHand(arms, operand));
}

/** Whether an arm itself makes 64 bits of an index that has not been widened in front of it. */
function isWidened(work: Work, arm: Arm, register: Register): boolean {
  const by = arm.definedBy.get(register);
  if (by === undefined) return false;
  if (by.op !== 'convert') return readsOf(by).some((r) => isWidened(work, arm, r));
  const { instructions } = work.blocks[work.flow.dominator[arm.block]];
  return !instructions.some((i) => i.op === 'convert' && i.a === by.a && i.type === by.type);
}

/**
 * Whether what an address is computed of is the same in all arms, and read by nothing else. A sum as an index stands in parts here,
 * of which each is widened; NVVM widens the sum, so that it is its own where one of the parts is.
 */
function isOwn(work: Work, arm: number, plan: Plan, register: Register, isPart = false): boolean {
  if (plan.kind !== 'sunk') return plan.kind === 'same';
  const isSum = isPart || partsOf(plan) > 2;
  if (work.reads[register] - (isSum ? 0 : work.readsOfSums[register]) > 1) return false;
  const reads = readsOf(plan.instructions[arm]);
  const own = plan.operands.filter((operand, k) => k < reads.length && isOwn(work, arm, operand, reads[k], isSum));
  return own.length === plan.operands.length || (isSum && own.some((each) => each.kind === 'sunk'));
}

/** Summands of an address, the array among them. */
function partsOf(plan: Plan): number {
  const [first] = plan.kind === 'sunk' ? plan.instructions : [];
  if (plan.kind !== 'sunk' || first?.op !== 'binary' || first.fn !== 'add') return 1;
  return plan.operands.reduce((sum, operand) => sum + partsOf(operand), 0);
}

const isConstant = (work: Work, r: Register): boolean => work.registers[r].role === 'constant';

// ---- values of variables ----

/** `x = a[i]` and `x = b[j]`: the load is made behind the arms. */
function sinkVariables(work: Work, join: number): void {
  const blocks = work.joins.get(join) ?? [];
  if (!blocks.every((block) => work.blocks[block].instructions.some((i) => i.op === 'load'))) return;
  const behind = isOfIf(work, join) ? placeBehindArms(work, join) : undefined;
  let arms = armsOf(work, join);
  const [first, ...rest] = arms.map((arm) => assignments(work, arm));
  for (const [variable, at] of first) {
    const all = [at, ...rest.map((each) => each.get(variable))];
    if (!all.every((i) => i !== undefined)) continue;
    const ends = blocks.map((block) => work.blocks[block].instructions.length);
    const values = all.map((i) => i.a);
    const plan = planOf(work, arms, values, ends);
    if (!plan || !hasLoad(plan) || isTwofold(work, plan)) continue;
    const out: Instruction[] = [];
    const gone = new Set<Instruction>(all);
    const value = emit(work, arms, plan, out, gone, armOfLoad(work, arms, plan));
    if (behind) chargeLoads(work, out, behind);
    out.push({ op: 'unary', fn: 'mov', type: at.type, dst: variable, a: value });
    moveTo(work, join, arms, out, gone);
    arms = armsOf(work, join);
  }
}

/**
 * Whether something else is chosen beside the element, of which one arm reads a fixed one: `c ? s[i - 1] * 2 : s[255] * 3` keeps both loads,
 * `c ? s[i - 1] * 2 : s[255] * 2` and stores of the first have one (PTX of 40 kernels).
 */
function isTwofold(work: Work, plan: Plan): boolean {
  if (plan.kind !== 'sunk' || plan.instructions[0].op === 'load') return false;
  const ofFixed = plan.operands.some((o) => o.kind === 'sunk' && o.instructions.some((i) => isFixedElement(work, i)));
  return ofFixed && plan.operands.filter((o) => o.kind !== 'same').length > 1;
}

/** What stands behind them; undefined where a loop ends there that does nothing between its passes. */
function placeBehindArms(work: Work, join: number): SourcePlace | undefined {
  const { program, flow, blocks } = work;
  const { terminator } = blocks[flow.dominator[join]];
  const step = terminator.kind === 'branch' ? program.branches[terminator.branch].step : undefined;
  if (step) return step;
  if (isLatch(flow, join) && blocks[join].instructions.length === 0) return undefined;
  return placeBehind({ ...program, ...work }, flow, join);
}

function isOfIf({ flow, blocks, program }: Work, join: number): boolean {
  const { terminator } = blocks[flow.dominator[join]];
  return terminator.kind === 'branch' && program.branches[terminator.branch].kind === 'if';
}

function chargeLoads({ program }: Work, out: Instruction[], charged: SourcePlace): void {
  out.forEach((i, k) => {
    if (i.op !== 'load') return;
    const access = program.accesses.push({ ...program.accesses[i.access], charged }) - 1;
    out[k] = { ...i, access };
  });
}

type Move = Extract<Instruction, { op: 'unary' }>;

/** Variables by what the arm assigns them last, where nothing in it reads them after that. */
function assignments({ blocks, registers }: Work, arm: Arm): Map<Register, Move> {
  const found = new Map<Register, Move>();
  const reads: Register[] = [];
  for (const i of blocks[arm.block].instructions) {
    const count = readsInto(i, reads);
    for (let k = 0; k < count; k++) found.delete(reads[k]);
    if (i.op === 'unary' && i.fn === 'mov' && registers[i.dst].role === 'variable') found.set(i.dst, i);
  }
  return found;
}

const hasLoad = (plan: Plan): boolean =>
  plan.kind === 'sunk' && (plan.instructions[0].op === 'load' || plan.operands.some(hasLoad));

function armOfLoad(work: Work, arms: readonly Arm[], plan: Plan): number {
  if (plan.kind !== 'sunk') return 0;
  const [first] = plan.instructions;
  if (first.op === 'load') return lineArm(work, arms, plan.instructions as readonly LoadInstruction[]);
  const inner = plan.operands.find(hasLoad);
  return inner ? armOfLoad(work, arms, inner) : 0;
}
