/**
 * A load that both arms of a branch begin with is made once, before the branch, by the lanes of both. It goes in lockstep up to the
 * first difference: of `a[i] - a[i + 1]` and `a[i] + a[i + 1]` both, of `a[i + 1] - a[i]` and `a[i] + 2` none. Evidence: SimplifyCFG
 * of NVVM with nvcc 13.0, PTX of eleven small kernels; on an H200 branches.cu:11 reads in[i] of both arms with one full request, bitonic_sort.cu:43
 * both elements. Where a profiler shows it: common-load-lines.ts. The body of a loop and what follows the loop are not arms of a branch
 * (PTX of a stencil that marches through planes and writes the last one behind the loop). Of a switch the last case and the default
 * are such arms to ptxas, where they are short (`assembled-arms.ts`; PTX has the loads of both still; branches.cu:40 has one, at the line of the case).
 */
import { type ControlFlow, controlFlow } from '../program/control-flow';
import { readsOf, writesOf } from '../program/operands';
import type {
  AccessSite,
  Block,
  Instruction,
  LoadInstruction,
  Program,
  Register,
  SourcePlace,
  StoreInstruction,
} from '../program/program';
import { isForAllLanes } from './assembled-arms';
import { withOperands } from './common-expressions';
import { isOfOneLine, placeOfGlobal, placeOfShared, type Rest } from './common-load-lines';
import { FixedVariables } from './fixed-variables';
import { isPure } from './pure';

export function hoistCommonLoads(program: Program): Program {
  let after = hoistLoads(program);
  // what both arms of an inner branch begin with an outer one may find in its own arms
  for (let round = 0, before = program; after !== before && round < MOST_ROUNDS; round++) {
    before = after;
    after = hoistLoads(before, undefined, false);
  }
  return after;
}

const MOST_ROUNDS = 8;

/**
 * Of two equal loads that both arms of a branch begin with the access that is made for both; undefined where each is made by itself.
 */
export type AccessOfBoth = (first: number, second: number, rest: Rest) => number | undefined;

/**
 * @param accessOfBoth where the machine code is known: what it has once; else the rules above decide
 * @param withCases of switches too, which the assembler looks at once
 */
export function hoistLoads(program: Program, accessOfBoth?: AccessOfBoth, withCases = true): Program {
  const flow = controlFlow(program);
  const given = new FixedVariables(program, flow);
  const accesses: AccessSite[] = [...program.accesses];
  const blocks = program.blocks.map((b) => ({ ...b }));
  let changes = false;
  for (const index of flow.order) {
    const { terminator } = blocks[index];
    if (terminator.kind !== 'branch' || terminator.ifTrue === terminator.ifFalse) continue;
    if (program.branches[terminator.branch].kind === 'loop') continue;
    const isCase = program.branches[terminator.branch].kind === 'switch';
    if (isCase && !withCases) continue;
    const otherwise = isCase ? throughEmpty(program, flow, terminator.ifFalse) : terminator.ifFalse;
    const arms = [terminator.ifTrue, otherwise];
    if (!arms.every((arm) => flow.predecessors[arm].length === 1 && hasLoad(blocks[arm]))) continue;
    if (isCase && !isForAllLanes(program, blocks[arms[0]], blocks[arms[1]])) continue;
    const isScheduled = isCase || accessOfBoth !== undefined;
    const line = (first: number, second: number, rest: Rest) => {
      if (isOfOneLine(accesses[first], accesses[second])) return undefined;
      return accesses[second].space === 'shared'
        ? placeOfShared(program, flow, index, arms[0], rest)
        : placeOfGlobal({ program, flow, given, block: index, arms, rest }, accesses[first], accesses[second]);
    };
    const chosen =
      accessOfBoth ??
      ((first, second, rest) => (isCase ? first : chargedTo(accesses, second, line(first, second, rest))));
    const isInvariant = invariance(flow, blocks, index);
    changes =
      hoist(program, blocks[index], blocks[arms[0]], blocks[arms[1]], isScheduled, chosen, isInvariant) || changes;
  }
  return changes ? { ...program, blocks, accesses } : program;
}

/** What stands in front of the loop around a block, since it reads nothing that the loop assigns. */
function invariance(flow: ControlFlow, blocks: readonly Block[], block: number): (i: Instruction) => boolean {
  const loop = flow.loops[flow.loopOf[block]];
  if (!loop) return () => false;
  let assigned: Set<Register> | undefined;
  const ofLoop = () =>
    new Set(blocks.flatMap(({ instructions }, b) => (loop.contains[b] ? instructions.flatMap(writesOf) : [])));
  return (i) => readsOf(i).every((r) => !(assigned ??= ofLoop()).has(r));
}

/** The access of the load, shown at another line. */
function chargedTo(accesses: AccessSite[], second: number, charged: SourcePlace | undefined): number {
  return charged === undefined ? second : accesses.push({ ...accesses[second], charged }) - 1;
}

const hasLoad = ({ instructions }: Block): boolean => instructions.some((i) => i.op === 'load');

/** Where a block leads to that does nothing. */
function throughEmpty(program: Program, { predecessors }: ControlFlow, block: number): number {
  const { instructions, terminator } = program.blocks[block];
  const isEmpty = instructions.length === 0 && terminator.kind === 'jump' && predecessors[block].length === 1;
  return isEmpty ? terminator.target : block;
}

/** What an arm computes before it changes anything; keys are equal in both arms where the operands are equal. */
export interface Beginning {
  /** Loads and what is computed from them, in order; addresses are left out, which stand elsewhere in NVVM's code. */
  readonly sequence: { readonly key: string; readonly instruction: Instruction }[];
  readonly definedBy: Map<Register, Instruction>;
  /** By register: what it is called in keys; and the first register of each such name. */
  readonly names: Map<Register, string>;
  readonly registers: Map<string, Register>;
}

type Arm = { instructions: readonly Instruction[] };

/**
 * Whether something was hoisted.
 * @param isScheduled all loads of both are compared, whatever is computed between them
 */
function hoist(
  program: Program,
  before: Arm,
  first: Arm,
  second: Arm,
  isScheduled: boolean,
  accessOfBoth: AccessOfBoth,
  isInvariant: (i: Instruction) => boolean,
): boolean {
  const numbers = new Map<string, number>();
  const end = isScheduled ? undefined : isFunctionWithBranches;
  const a = beginningOf(program, first.instructions, numbers, end, isInvariant);
  const b = beginningOf(program, second.instructions, numbers, end, isInvariant);
  const pairs = isScheduled ? equalLoads(a, b) : loadsInLockstep(a, b);
  const rest = {
    first: loadsBut(first, new Set(pairs.map(({ load }) => load))),
    second: loadsBut(second, new Set(pairs.map(({ other }) => other))),
  };
  const common = pairs.flatMap(({ load, other }) => {
    const access = accessOfBoth(load.access, other.access, rest);
    return access === undefined ? [] : [{ load, other, access }];
  });
  if (common.length === 0) return false;
  const moved = new Set<Instruction>();
  for (const { load } of common) collect(a, load, moved);
  const inOrder = first.instructions.filter((i) => moved.has(i));
  const accesses = new Map<Instruction, number>(common.map(({ load, access }) => [load, access]));
  const hoisted = inOrder.map((i) => (i.op === 'load' ? { ...i, access: accesses.get(i) ?? i.access } : i));
  before.instructions = [...before.instructions, ...hoisted];
  first.instructions = first.instructions.filter((i) => !moved.has(i));
  const moves = movesIn(a, b, moved);
  const now = (register: Register): Register => moves.get(register) ?? register;
  const isOther = new Set<Instruction>(common.map(({ other }) => other));
  second.instructions = second.instructions.flatMap((i): Instruction[] => {
    if (!isOther.has(i) || i.op !== 'load') return [withOperands(i, now)];
    return i.dst.map((dst) => ({ op: 'unary', fn: 'mov', type: i.type, dst, a: now(dst) }));
  });
  return true;
}

/** Of registers of the second arm: the one of the first that was computed alike in front of both. */
function movesIn(a: Beginning, b: Beginning, moved: ReadonlySet<Instruction>): Map<Register, Register> {
  const moves = new Map<Register, Register>();
  for (const [register, number] of b.names) {
    const same = a.registers.get(number);
    const by = same === undefined ? undefined : a.definedBy.get(same);
    if (same !== undefined && by && moved.has(by)) moves.set(register, same);
  }
  return moves;
}

interface Pair {
  readonly load: LoadInstruction;
  readonly other: LoadInstruction;
}

function loadsInLockstep(a: Beginning, b: Beginning): Pair[] {
  const pairs: Pair[] = [];
  for (const [k, { key, instruction }] of a.sequence.entries()) {
    const other = b.sequence.at(k);
    if (other?.key !== key) break;
    if (instruction.op === 'load' && other.instruction.op === 'load')
      pairs.push({ load: instruction, other: other.instruction });
  }
  return pairs;
}

/** Whatever stands between them, in whatever order: the assembler schedules loads before it looks at both arms (30 small kernels). */
const equalLoads = (a: Beginning, b: Beginning): Pair[] =>
  a.sequence.flatMap(({ key, instruction }) => {
    const other = b.sequence.find((o) => o.key === key)?.instruction;
    return instruction.op === 'load' && other?.op === 'load' ? [{ load: instruction, other }] : [];
  });

const loadsBut = ({ instructions }: Arm, others: ReadonlySet<Instruction>): LoadInstruction[] =>
  instructions.filter((i) => i.op === 'load').filter((i) => !others.has(i));

/** A load and the computations in its arm that its address needs. */
export function collect(beginning: Beginning, instruction: Instruction, into: Set<Instruction>): void {
  if (into.has(instruction)) return;
  into.add(instruction);
  for (const r of readsOf(instruction)) {
    const source = beginning.definedBy.get(r);
    if (source) collect(beginning, source, into);
  }
}

/**
 * A function of the mathematical library that is inlined with branches of its own: what follows it is in another block, to which several ways lead. Loads behind
 * it stay there (nvcc 13.0, PTX of some twenty small kernels with `logf`, `exp` and the like in front of the load, of both arms as well as behind two conditions). Those whose branches only the
 * assembler makes, as divisions, end no block of NVVM.
 */
export const isFunctionWithBranches = (i: Instruction): boolean =>
  'branches' in i && (i.branches === 'short' || i.branches === 'long');

/**
 * @param numbers of keys, shared by both arms: operands are named by the number of what computed them
 * @param isEnd what ends the beginning beside accesses that are no loads
 * @param isInvariant what the loop around does not change, which stands in front of it
 */
export function beginningOf(
  program: Program,
  instructions: readonly Instruction[],
  numbers: Map<string, number>,
  isEnd: (i: Instruction) => boolean = () => false,
  isInvariant: (i: Instruction) => boolean = () => false,
): Beginning {
  const names = new Map<Register, string>();
  const result: Beginning = { sequence: [], definedBy: new Map(), names, registers: new Map() };
  const loaded = new Set<Register>();
  const seen = new Set<string>();
  const assigned = new Set<Register>();
  for (const i of instructions) {
    const isLoad = i.op === 'load' && !program.accesses[i.access].isVolatile;
    if ((!isLoad && !isPure(i)) || isEnd(i)) {
      if (i.op === 'store') orderAsWritten(result, i, isInvariant);
      break;
    }
    const written = writesOf(i);
    const usable =
      readsOf(i).every((r) => !assigned.has(r)) && written.every((r) => program.registers[r].role === 'temporary');
    if (!usable) {
      for (const r of written) assigned.add(r);
      continue;
    }
    const key = keyOf(i, (r) => names.get(r) ?? `r${r}`);
    const isData = isLoad || readsOf(i).some((r) => loaded.has(r));
    if (isData && !seen.has(key)) {
      seen.add(key);
      result.sequence.push({ key, instruction: i });
    }
    if (isData) for (const r of written) loaded.add(r);
    const number = numbers.get(key) ?? numbers.size;
    numbers.set(key, number);
    for (const [k, r] of written.entries()) {
      const name = `#${number}.${k}`;
      names.set(r, name);
      if (!result.registers.has(name)) result.registers.set(name, r);
      result.definedBy.set(r, i);
    }
  }
  return result;
}

/**
 * What is assigned is computed before the place is: where that is read (`c->list[t] = 2 * x`), its load stands behind the product, and so does that of the
 * element where `s[t] -= a * b` changes it (PTX of 13 and 8 kernels, nvcc 13.0: both arms load, where they do not begin alike).
 */
function orderAsWritten(beginning: Beginning, store: StoreInstruction, isInvariant: (i: Instruction) => boolean): void {
  const { sequence } = beginning;
  const [value, address] = [new Set<Instruction>(), new Set<Instruction>()];
  for (const r of store.values) collectOf(beginning, r, value);
  collectOf(beginning, store.address, address);
  const changed = [...value].find((i) => i.op === 'load' && i.address === store.address && i.offset === store.offset);
  const isOfChanged = (i: Instruction): boolean => {
    const needed = new Set<Instruction>();
    collect(beginning, i, needed);
    return changed !== undefined && needed.has(changed);
  };
  const isOfPlace = (i: Instruction): boolean =>
    i === changed || (address.has(i) && (changed !== undefined || !value.has(i)));
  if (!sequence.some(({ instruction: i }) => i.op === 'load' && isOfPlace(i))) return;
  const listed = new Set(sequence.map(({ instruction }) => instruction));
  const nameOf = (r: Register): string => beginning.names.get(r) ?? `r${r}`;
  const computed = [...value].filter((i) => !listed.has(i) && !address.has(i) && i.op !== 'convert' && !isInvariant(i));
  const before = sequence.filter(({ instruction: i }) => !isOfPlace(i) && !isOfChanged(i));
  const behind = sequence.filter(({ instruction: i }) => !isOfPlace(i) && isOfChanged(i));
  const place = sequence.filter(({ instruction: i }) => isOfPlace(i));
  const added = computed.map((instruction) => ({ key: keyOf(instruction, nameOf), instruction }));
  sequence.splice(0, sequence.length, ...before, ...added, ...place, ...behind);
}

function collectOf(beginning: Beginning, register: Register, into: Set<Instruction>): void {
  const source = beginning.definedBy.get(register);
  if (source) collect(beginning, source, into);
}

/** What an instruction computes, with names for what it reads: equal for equal operations. */
export function keyOf(i: Instruction, name: (r: Register) => string): string {
  const operands = readsOf(i).map(name).join(',');
  if (i.op === 'load') return `load:${i.type}x${i.dst.length}:${i.offset}:${operands}`;
  const fn = 'fn' in i ? i.fn : '';
  const from = 'from' in i ? (i.from ?? '') : '';
  return `${i.op}:${fn}:${'type' in i ? i.type : ''}:${from}:${operands}`;
}
