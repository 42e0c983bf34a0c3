/**
 * Atomics in a row that a profiler shows at the line of another of them. `atomicAdd` is a function of CUDA's headers that is inlined, and ptxas writes no row into
 * its line table for an instruction whose line is that of the one before it: of several calls of one function the atomics stand behind all that their
 * bodies fetch, so that they have the row of the last (`atomicAdd(count, c); atomicAdd(sum, s)` is shown twice at `sum`). Evidence: nvcc 13.0, sm_90, line tables of 360 small
 * kernels; H200: ising_multispin.cu:99, monte_carlo_ising3d.cu:165, particle_filter_localizer.cu:169, exotic_option_paths.cu:212, sparse_bicgstab.cu:124, connect4_playouts.cu:99.
 *
 * - Their bodies have something to fetch where the address is a parameter as it is, or a variable of the device's: `&p[blockIdx.x]`, `&p[j]` are computed by the
 *   caller, and each keeps its line. Four are fetched ahead, two where values are loaded from global memory in between;
 * - of two at one pointer, `&p[0]` and `&p[1]`, both have the row of the second, in the other order that of the first; three keep their lines;
 * - integers of one shared array or record that all threads add to;
 * - the first's, where a conversion, a count of bits or a quotient of integers stands between them, whose results come late, and that of integers that all
 *   threads add what was loaded to, since lanes are reduced there, and where a pass of a loop without a barrier ends in front of them
 *   (H200: kpm_chebyshev_dos.cu:121): something with a row of its own comes between what is fetched and the atomics then;
 * - not in loops, not with a store, a division of floats or a function between them.
 */
import { type ControlFlow, controlFlow, EXIT } from '../program/control-flow';
import {
  type AccessSite,
  type AtomicInstruction,
  type Block,
  type Instruction,
  isFloat,
  type Program,
  type Register,
  type SourcePlace,
  type UnaryOp,
} from '../program/program';

/** One atomic of a row, and where it stands in its block. */
interface Member {
  readonly at: number;
  readonly atomic: AtomicInstruction;
  readonly place: SourcePlace;
}

interface Row {
  readonly members: Member[];
  /** Between them: values that are loaded from global memory, instructions whose result is late. */
  loads: boolean;
  waits: boolean;
}

interface Surroundings {
  /** All threads come here. */
  readonly isForAll: boolean;
  /** Nothing of other statements gets between what the rows fetch and their atomics. */
  readonly isSettled: boolean;
}

const FETCHED_AHEAD = 4;
const FETCHED_AHEAD_OF_LOADS = 2;

export function chargeAtomics(program: Program): Program {
  if (!program.blocks.some((b) => b.instructions.some((i) => i.op === 'atomic'))) return program;
  const flow = controlFlow(program);
  const accesses: AccessSite[] = [...program.accesses];
  const blocks = program.blocks.map((block, index): Block => {
    if (flow.loopOf[index] >= 0) return block;
    const instructions = [...block.instructions];
    for (const row of rowsOf(program, block.instructions)) {
      const surroundings = { isForAll: runsAlways(flow, index), isSettled: isSettled(program, flow, index) };
      row.members.forEach(({ at, atomic, place }, k) => {
        const charged = chargedPlace(program, row, k, surroundings);
        if (!charged || charged === place) return;
        instructions[at] = { ...atomic, access: accesses.push({ ...accesses[atomic.access], charged }) - 1 };
      });
    }
    return { ...block, instructions };
  });
  return accesses.length > program.accesses.length ? { ...program, blocks, accesses } : program;
}

/** Atomics of one function behind each other, at least two. */
function rowsOf(program: Program, instructions: readonly Instruction[]): Row[] {
  const rows: Row[] = [];
  let row: Row = { members: [], loads: false, waits: false };
  const end = () => {
    if (row.members.length > 1) rows.push(row);
    row = { members: [], loads: false, waits: false };
  };
  instructions.forEach((i, at) => {
    if (i.op === 'atomic') {
      const { place, charged } = program.accesses[i.access];
      const [first] = row.members;
      if (first && !isOfOneFunction(program, first.atomic, i)) end();
      if (isFetched(program, i) && !place.call && !charged) row.members.push({ at, atomic: i, place });
      else end();
    } else if (i.op === 'load' && program.accesses[i.access].space !== 'shared') {
      row.loads ||= row.members.length > 0;
    } else if (isPlain(i)) row.waits ||= row.members.length > 0 && isLate(i);
    else end();
  });
  end();
  return rows;
}

/** They come from the same line of the same header. */
function isOfOneFunction({ accesses }: Program, a: AtomicInstruction, b: AtomicInstruction): boolean {
  return a.fn === b.fn && a.type === b.type && accesses[a.access].space === accesses[b.access].space;
}

/** The address is one that the function has to fetch: a parameter's, a variable's. */
function isFetched({ registers }: Program, { address }: AtomicInstruction): boolean {
  return registers[address].role === 'input';
}

/** Nothing that the assembler keeps in its place. */
function isPlain(i: Instruction): boolean {
  switch (i.op) {
    case 'unary':
    case 'binary':
    case 'select':
      return i.branches === undefined;
    case 'convert':
    case 'compare':
    case 'fma':
    case 'unknown':
    case 'load':
      return true;
    default:
      return false;
  }
}

const atOnce: ReadonlySet<UnaryOp> = new Set([
  'mov',
  'neg',
  'bitnot',
  'lognot',
  'abs',
  'bitcast',
  'lowWord',
  'highWord',
]);

/** Done by the unit of special functions, whose results come late: conversions, counts of bits, quotients of integers. */
function isLate(i: Instruction): boolean {
  if (i.op === 'unary') return !atOnce.has(i.fn);
  if (i.op === 'binary') return (i.fn === 'div' || i.fn === 'rem') && !isFloat(i.type);
  return i.op === 'convert' && i.from !== i.type && (isFloat(i.from) || isFloat(i.type));
}

/** What is loaded from shared memory in a block was stored in front of a barrier, so that nothing of other statements is in the way. */
function isSettled({ blocks, accesses }: Program, { predecessors }: ControlFlow, block: number): boolean {
  const isShared = (i: Instruction): boolean =>
    (i.op === 'load' || i.op === 'store') && accesses[i.access].space === 'shared';
  if (!blocks[block].instructions.some(isShared)) return true;
  const open = [...predecessors[block]];
  const seen = new Set(open);
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    const last = blocks[at].instructions.findLast((i) => i.op === 'barrier' || (i.op === 'store' && isShared(i)));
    if (last?.op === 'store') return false;
    if (last) continue;
    for (const before of predecessors[at]) {
      if (!seen.has(before)) open.push(before);
      seen.add(before);
    }
  }
  return true;
}

function runsAlways({ postDominator }: ControlFlow, block: number): boolean {
  let at = 0;
  while (at !== block && at !== EXIT) at = postDominator[at];
  return at === block;
}

/** The place that the k-th of a row is shown at; undefined for its own. */
function chargedPlace(
  program: Program,
  row: Row,
  k: number,
  { isForAll, isSettled }: Surroundings,
): SourcePlace | undefined {
  const { members, loads, waits } = row;
  const [{ atomic }] = members;
  const { space } = program.accesses[atomic.access];
  const isInteger = atomic.type === 'i32' || atomic.type === 'u32';
  const last = members.length - 1;
  const bases = new Set(members.map((each) => each.atomic.address));
  if (space === 'shared') return isInteger && isForAll && !loads && bases.size === 1 ? members[last].place : undefined;
  if (space !== 'global') return undefined;
  if (bases.size === 1) return members.length === 2 && !loads ? pairAtOnePointer(members, isSettled) : undefined;
  if (bases.size < members.length || members.some((each) => each.atomic.offset !== 0)) return undefined;
  const isReduced = isInteger && isForAll && members.some((each) => !isConstant(program, each.atomic.value));
  if (isReduced || waits || !isSettled) return loads || members.length > FETCHED_AHEAD ? undefined : members[0].place;
  return members[Math.min(last, k - 1 + (loads ? FETCHED_AHEAD_OF_LOADS : FETCHED_AHEAD))].place;
}

const isConstant = ({ registers }: Program, register: Register): boolean => registers[register].role === 'constant';

function pairAtOnePointer([first, second]: readonly Member[], isSettled: boolean): SourcePlace | undefined {
  if (first.atomic.offset === 0 && second.atomic.offset !== 0) return (isSettled ? second : first).place;
  return first.atomic.offset !== 0 && second.atomic.offset === 0 ? first.place : undefined;
}
