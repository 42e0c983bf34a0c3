/**
 * A function that stores on both sides of a branch to a place that it was given (`if (c) *to = p[i]; else *to = 0;`), or to an element whose index is known once the
 * call is inlined (`s[y][x]` of `put(s, 0, 17)`), stores once, behind both: the value is selected. InstCombine of NVVM sees the inlined code, with one address on both
 * sides, before SimplifyCFG puts the end of the function together with what is behind the call, so that it holds as well where the call ends an `if` of the
 * caller, where all lanes take one side, and for a zero (sink-common.ts has the rules of code that stands in the kernel itself). What the function adds to the place (`to[3] = …`), or
 * computes of an index, is another address on each side. Evidence: machine code of 72 kernels (eight functions, three places, three surroundings; nvcc 13.0, sm_90).
 *
 * Such a store has no line of its own and is shown with what is written before it, the load of its side (charge-calls.ts).
 *
 * In the kernel itself that is so of a variable in shared memory and of elements that the text numbers, whatever the sides do before (a loop, too) and whoever takes
 * them, as long as something of the same body follows; where both store what is known in front of them sink-common.ts has the line. It is shown at what follows,
 * behind the barrier if one stands between, whose code is written before that: 80 kernels (four conditions, five pairs of values, four surroundings).
 */
import { type ControlFlow, controlFlow } from '../program/control-flow';
import type { AccessSite, Instruction, Program, Register, SourcePlace, StoreInstruction } from '../program/program';
import { lineArm, takenArm } from './arm-lines';
import { type Arm, planOf, type Work } from './arm-plans';
import { armsOf, isPlainStore, lastStore } from './arm-stores';
import { workOn } from './arm-work';
import { placeBehind } from './place-behind';
import { isPure } from './pure';
import { definitionsOf, isAlike } from './share-address';
import { emit, moveTo } from './sunk-code';

export function storeAtGivenPlace(program: Program): Program {
  if (!program.accesses.some((site) => site.operation === 'store' && (site.place.call || isShared(program, site))))
    return program;
  const flow = controlFlow(program);
  const joins = joinsOf(program, flow);
  if (joins.size === 0) return program;
  const work: Work = {
    ...workOn(program, flow, joins),
    endsLoop: () => false,
    readsOfSums: program.registers.map(() => 0),
    sources: new Map(),
  };
  const sunk = [...joins.keys()].filter((join) => storeBehind(work, join));
  return sunk.length === 0 ? program : { ...work.program, blocks: work.blocks, registers: work.registers };
}

const isShared = ({ objects }: Program, { object, space }: AccessSite): boolean =>
  space === 'shared' || (object !== undefined && objects[object].space === 'shared');

/** By join: two arms that end with a store to a place that one call was given, or that the text numbers. */
function joinsOf(program: Program, flow: ControlFlow): Map<number, readonly number[]> {
  const { accesses } = program;
  const joins = new Map<number, readonly number[]>();
  for (const block of flow.order) {
    const arms = flow.predecessors[block];
    if (arms.length !== 2 || flow.loopAtHeader[block] >= 0) continue;
    const [one, other] = arms.map((arm) => givenStore(program, arm));
    if (!one || !other) continue;
    const { call } = accesses[one.access].place;
    if (call !== accesses[other.access].place.call) continue;
    const isOne = call ? isEndOf(program, flow, block, call) : isFollowed(program, block);
    if (isOne) joins.set(block, arms);
  }
  return joins;
}

/** The last store of an arm, if its place was given to the function that it stands in, or is known. */
function givenStore(program: Program, arm: number): StoreInstruction | undefined {
  const { instructions, terminator } = program.blocks[arm];
  const store = terminator.kind === 'jump' ? instructions.findLast((i) => !isPure(i)) : undefined;
  if (store?.op !== 'store' || store.values.length !== 1) return undefined;
  const site = program.accesses[store.access];
  if (site.isVolatile || site.isAssembly || site.atomic || site.copiedBytes !== undefined) return undefined;
  const isFixed = program.objects.some((o) => o.space === 'shared' && o.register === store.address && !o.isDynamic);
  return isFixed || (site.place.call && store.isAtGivenPlace) ? store : undefined;
}

/** A block without anything in it is none to the compiler: what ends a body ends the one around it. */
const isFollowed = ({ blocks }: Program, join: number): boolean =>
  blocks[join].instructions.length > 0 || blocks[join].terminator.kind === 'branch';

/** Whether the branch that is over there is no part of another one of the same function. */
function isEndOf(program: Program, flow: ControlFlow, join: number, call: SourcePlace): boolean {
  const { blocks, branches } = program;
  const callOf = (block: number) => {
    const { terminator } = blocks[block] ?? {};
    return terminator?.kind === 'branch' ? branches[terminator.branch].place.call : undefined;
  };
  if (callOf(flow.dominator[join]) !== call) return false;
  const { terminator } = blocks[join];
  if (isFollowed(program, join) || terminator.kind !== 'jump') return true;
  const behind = terminator.target;
  return flow.predecessors[behind].length === 1 || callOf(flow.dominator[behind]) !== call;
}

function storeBehind(work: Work, join: number): boolean {
  const arms = armsOf(work, join);
  const stores = arms.map(({ block }) => lastStore(work, block)).filter((store) => store !== undefined);
  const [one, other] = stores;
  if (stores.length !== 2 || one.type !== other.type || one.offset !== other.offset) return false;
  if (!isAlike(work, arms[0], one.address, arms[1], other.address)) return false;
  const registers = stores.map(({ values: [value] }) => value);
  if (registers.some((r) => work.registers[r].role === 'variable')) return false;
  const isOfCall = work.program.accesses[one.access].place.call !== undefined;
  if (!isOfCall && arms.every((arm, k) => isPlainStore(work, arm, stores[k]))) return false;
  const ends = arms.map((arm, k) => arm.position.get(stores[k]) ?? 0);
  const value = planOf(work, arms, registers, ends) ?? { kind: 'selected', registers };
  const chosen = chosenArm(work, join, arms, stores);
  computeInFront(work, join, arms[0], one.address);
  const gone = new Set<Instruction>(stores);
  const out: Instruction[] = [];
  const values = [emit(work, arms, value, out, gone, chosen)];
  const access = isOfCall ? stores[chosen].access : shownBehind(work, join, stores[chosen]);
  const isOfBothArms = isOfCall && isLoading(work, arms[chosen]) ? true : undefined;
  out.push({ ...stores[chosen], access, address: one.address, values, isOfBothArms });
  moveTo(work, join, arms, out, gone);
  return true;
}

/** The store at the line of what follows. */
function shownBehind({ program, flow }: Work, join: number, { access }: StoreInstruction): number {
  const charged = placeBehind(program, flow, join, true);
  return charged ? program.accesses.push({ ...program.accesses[access], charged }) - 1 : access;
}

const isLoading = ({ blocks }: Work, { block }: Arm): boolean =>
  blocks[block].instructions.some(({ op }) => op === 'load');

/** The arm whose line the store bears, where nothing else is written before it. */
function chosenArm(work: Work, join: number, arms: readonly Arm[], stores: readonly StoreInstruction[]): number {
  const loading = arms.map((arm) => isLoading(work, arm));
  if (loading[0] !== loading[1]) return loading.indexOf(true);
  return loading[0] ? lineArm(work, arms, stores) : takenArm(work, join, arms);
}

/** What an arm computes an address of stands in front of both. */
function computeInFront({ blocks, flow }: Work, join: number, arm: Arm, address: Register): void {
  const chain = definitionsOf(arm, address);
  const own = blocks[arm.block];
  blocks[flow.dominator[join]].instructions.push(...own.instructions.filter((i) => chain.has(i)));
  own.instructions = own.instructions.filter((i) => !chain.has(i));
}
