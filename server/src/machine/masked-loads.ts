/**
 * Functions that load behind a condition: `return mask ? *p : other`, `T v = other; if (mask) v = *p; return v;`, two `return`s, both arms written out. To
 * NVVM all are one: it keeps the address in front of the branch where the load is all that there is of an arm, and ptxas predicates the load before it
 * gives out rows of the line table (charge-calls.ts), so that blocks around it are one and no branch is an instruction of the function:
 *
 * - the other value is moved to the register first, which takes the row of the call, so that the load keeps its own line. Where two loads that follow each other
 *   have the same other value NVVM makes it once for both, in front of the first: the second is shown at its call. So is one whose other value is needed for
 *   nothing else, which lies in its register already;
 * - a loop that is written out is several such loads. With one address for all they are issued together, and those behind the second are shown at the call as well;
 *   where the mask has two parts, all of four to six (the last that is issued in front of them begins a stretch of the call);
 * - where what follows asks the same mask, both are one arm, to which NVVM moves the computation of the address too: the load begins anew behind
 *   that, at the call. So it is where an arm has a record to load (the prologue of an Inductor's dump) or computes with what it has loaded, not with vectors, whose members
 *   are added to the address.
 *
 * Evidence (nvcc 13.0, sm_90): the lines of 229 of 307 kernels of eleven helpers are all right, of 49 without these rules; H100:
 * triton_inductor_dump.cu:30, 31, 54, 76, 77, 136, 155, 177. The order in which loads with long indices are issued is not known, nor that of moves in
 * loops that stay loops.
 */
import type { ControlFlow } from '../program/control-flow';
import { readsOf, writesOf } from '../program/operands';
import type { Instruction, LoadInstruction, Program, Register, Terminator } from '../program/program';
import type { Frames } from './address-sums';
import { isPure } from './pure';

/** Instructions that ptxas sees as one block. */
export interface Code {
  readonly blocks: readonly number[];
  readonly instructions: readonly Instruction[];
  /** Where each of them stands. */
  readonly places: readonly { readonly block: number; readonly at: number }[];
  /** What moves the other value of a masked load to its register; false where that has it already. */
  readonly values: ReadonlyMap<Instruction, boolean>;
  /** Masked loads that are predicated, with what is known of their place. */
  readonly masked: ReadonlyMap<Instruction, Predicated>;
  /** A load that stands right behind what its caller computes for it, or behind a sum that the function makes for it. */
  readonly guarded: { readonly load: LoadInstruction; readonly isHanded: boolean } | undefined;
}

export interface Predicated {
  /** It is issued right behind the masked load before it. */
  readonly isBehindLast: boolean;
  /** It is issued right behind what begins its call. */
  readonly isAtCall: boolean;
}

/** The load of an arm, with nothing but other values on the other side, all made by one function. */
interface MaskedLoad {
  readonly load: LoadInstruction;
  readonly arm: number;
  /** What gives the other value, where that is not done in front of the branch. */
  readonly other: number | undefined;
  readonly join: number;
}

interface Graph {
  readonly program: Program;
  readonly flow: ControlFlow;
  readonly frames: Frames;
  /** By register: how often it is read. */
  readonly readCounts: readonly number[];
}

/** A block with those behind it, as far as only masked loads lie between. */
export function straightCode(graph: Graph, start: number): Code {
  const { blocks } = graph.program;
  const all: number[] = [];
  const values = new Map<Instruction, boolean>();
  const loads: Question[] = [];
  let last: Register | undefined;
  for (let block: number | undefined = start; block !== undefined; ) {
    all.push(block);
    const masked: MaskedLoad | undefined = maskedAt(graph, block);
    const variable = masked && predicatedResult(graph, block, masked);
    if (!masked || variable === undefined) break;
    loads.push({ load: masked.load, terminator: blocks[block].terminator });
    all.push(...(masked.other === undefined ? [] : [masked.other]), masked.arm);
    const moves = [block, masked.other].flatMap((each) => (each === undefined ? [] : blocks[each].instructions));
    const move = moves.findLast((i) => i.op === 'unary' && i.dst === variable);
    const value = move?.op === 'unary' && move.fn === 'mov' ? move.a : undefined;
    const isGiven = value !== undefined && last !== undefined && isSameValue(graph, last, value);
    const isMade = !isGiven && value !== undefined && needsMove(graph, value);
    if (move) values.set(move, isMade);
    // one register is handed on once, to the load that comes next
    last = isMade ? value : undefined;
    block = masked.join;
  }
  const places = all.flatMap((block) => blocks[block].instructions.map((_, at) => ({ block, at })));
  const instructions = all.flatMap((block) => blocks[block].instructions);
  const masked = predicated(loads, new Sources(graph.program, instructions));
  return { blocks: all, instructions, places, values, masked, guarded: guardedLoad(graph, start) };
}

interface Question {
  readonly load: LoadInstruction;
  readonly terminator: Terminator;
}

/** As many as begin together with two parts in each mask; more need more predicates than there are. */
const FEWEST_AT_CALL = 4;
const MOST_AT_CALL = 6;

function predicated(loads: readonly Question[], sources: Sources): Map<Instruction, Predicated> {
  const bases = loads.map(({ load }) => sources.textOf(load.address));
  const haveParts = loads.every(({ terminator: t }) => t.kind === 'branch' && sources.hasParts(t.condition));
  const isRun = haveParts && bases.every((each) => each === bases[0]);
  const isAtCall = isRun && loads.length >= FEWEST_AT_CALL && loads.length <= MOST_AT_CALL;
  const isTooLong = isRun && loads.length > MOST_AT_CALL;
  return new Map(
    loads.map(({ load }, k) => [
      load,
      { isAtCall, isBehindLast: bases[k] === bases[k - 1] && !(isTooLong && k === 2) },
    ]),
  );
}

/** What registers are computed of in straight code. */
class Sources {
  private readonly made = new Map<Register, Instruction>();

  constructor(
    private readonly program: Program,
    instructions: readonly Instruction[],
  ) {
    for (const i of instructions) if (isPure(i)) for (const r of writesOf(i)) this.made.set(r, i);
  }

  /** The same for equal values. */
  textOf(register: Register, depth = 0): string {
    const i = this.made.get(register);
    const { role, value } = this.program.registers[register];
    if (role === 'constant') return `${value}`;
    if (!i || role === 'variable' || depth > 8) return `r${register}`;
    const name = 'fn' in i ? i.fn : i.op;
    return `${name}(${[...readsOf(i)].map((r) => this.textOf(r, depth + 1)).join()})`;
  }

  /** Whether a condition is two conditions: `a && b`, `a & b`. */
  hasParts(condition: Register): boolean {
    const i = this.made.get(condition);
    if (i?.op === 'compare' && i.fn === 'ne' && this.program.registers[i.b].value === 0) return this.hasParts(i.a);
    return i?.op === 'binary' && (i.fn === 'and' || i.fn === 'or');
  }
}

const isSameValue = ({ program: { registers } }: Graph, a: Register, b: Register): boolean =>
  a === b ||
  (registers[a].role === 'constant' &&
    registers[b].role === 'constant' &&
    registers[a].type === registers[b].type &&
    Object.is(registers[a].value, registers[b].value));

/** What is needed for nothing else lies in the register that the load writes. */
function needsMove({ program: { registers }, readCounts }: Graph, value: Register): boolean {
  const { role } = registers[value];
  return role === 'constant' || role === 'input' || readCounts[value] > 1;
}

/** The variable that a masked load gives a value, if ptxas predicates it in time. */
function predicatedResult(graph: Graph, block: number, masked: MaskedLoad): Register | undefined {
  const { blocks } = graph.program;
  const { load, arm, join } = masked;
  const results = resultsOf(graph.program, arm);
  if (results.length !== 1 || load.dst.length !== 1 || !isHandedTo(graph, load)) return undefined;
  if (!isOnlyLoad(blocks[arm].instructions)) return undefined;
  const [end, next] = [block, join].map((each) => blocks[each].terminator);
  // NVVM makes one arm of two that ask the same, not of two loads
  const isAsked =
    end.kind === 'branch' &&
    next.kind === 'branch' &&
    end.condition === next.condition &&
    blocks[join].instructions.every(isPure) &&
    !maskedAt(graph, join);
  return isAsked || isStoredInArm(graph, block, join) ? undefined : results[0];
}

/** A store that stands for both sides at the end of an `if` of the caller is one of what ptxas branches around, and the load with it. */
function isStoredInArm({ program: { blocks, branches }, flow }: Graph, block: number, join: number): boolean {
  const [guard, ...others] = flow.predecessors[block];
  const end = guard === undefined ? undefined : blocks[guard].terminator;
  const isArm = others.length === 0 && end?.kind === 'branch' && branches[end.branch].kind !== 'loop';
  return isArm && blocks[join].instructions.some((i) => i.op === 'store' && i.isOfBothArms);
}

/** Of an arm that stays one: what computes the address is made there, in front of the load. To NVVM a vector is several numbers at first. */
function guardedLoad(graph: Graph, arm: number): Code['guarded'] {
  const [guard, ...others] = graph.flow.predecessors[arm];
  if (guard === undefined || others.length > 0) return undefined;
  const masked = maskedAt(graph, guard);
  if (masked && isStoredInArm(graph, guard, masked.join)) return undefined;
  if (masked?.arm !== arm || predicatedResult(graph, guard, masked) !== undefined) return undefined;
  const { load } = masked;
  const isHanded = isHandedTo(graph, load);
  return isHanded || (load.dst.length > 1 && !load.isReinterpreted) ? { load, isHanded } : undefined;
}

function maskedAt({ program, flow, frames }: Graph, block: number): MaskedLoad | undefined {
  const { terminator } = program.blocks[block];
  if (terminator.kind !== 'branch') return undefined;
  const { kind, place } = program.branches[terminator.branch];
  const join = flow.postDominator[block];
  if ((kind !== 'if' && kind !== 'conditional') || !place.call || !program.blocks[join]) return undefined;
  if (flow.predecessors[join].length !== 2 || flow.loopOf[join] !== flow.loopOf[block]) return undefined;
  const arms = [terminator.ifTrue, terminator.ifFalse].filter((each) => each !== join);
  if (!arms.every((each) => flow.predecessors[each].length === 1 && flow.successors[each][0] === join))
    return undefined;
  const arm = arms.find((each) => loadIn(program, each) !== undefined);
  const load = arm === undefined ? undefined : loadIn(program, arm);
  const other = arms.find((each) => each !== arm);
  if (arm === undefined || !load || (other !== undefined && !program.blocks[other].instructions.every(isCopy)))
    return undefined;
  const { place: at, isVolatile } = program.accesses[load.access];
  return isVolatile || frames.of(at.call) !== frames.of(place.call) ? undefined : { load, arm, other, join };
}

/** The only load of a block that does nothing but compute. */
function loadIn({ blocks }: Program, block: number): LoadInstruction | undefined {
  let load: LoadInstruction | undefined;
  for (const i of blocks[block].instructions) {
    if (i.op === 'load' && !load) load = i;
    else if (!isPure(i)) return undefined;
  }
  return load;
}

/** Nothing is computed of what is loaded. */
function isOnlyLoad(instructions: readonly Instruction[]): boolean {
  const at = instructions.findIndex(({ op }) => op === 'load');
  return instructions.slice(at + 1).every(isCopy);
}

const isCopy = (i: Instruction): boolean => i.op === 'unary' && i.fn === 'mov';

/** Whether the function of a load has its whole address from its caller: members and vectors add to it, elements multiply. */
function isHandedTo({ program, frames }: Graph, { address, dst, access, isReinterpreted }: LoadInstruction): boolean {
  const { isMember, copiedBytes, place, space } = program.accesses[access];
  const { statement, call, role } = program.registers[address];
  if (space !== 'global' || isMember || ((copiedBytes !== undefined || dst.length > 1) && !isReinterpreted))
    return false;
  return role !== 'temporary' || statement === undefined || frames.of(call) !== frames.of(place.call);
}

/** Variables that an arm gives values to. */
function resultsOf({ blocks, registers }: Program, arm: number): Register[] {
  const written = blocks[arm].instructions.flatMap((i) => [...writesOf(i)]);
  return [...new Set(written.filter((r) => registers[r].role === 'variable'))];
}
