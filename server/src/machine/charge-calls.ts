/**
 * Which loads and stores of an inlined function a profiler shows at the line of the call. The line table of the assembler has a row for the call itself where the
 * code of a call begins, at the address of its first machine instruction, and the profiler takes that row; the next row comes only with
 * another statement. Evidence (nvcc 13.0, sm_90): line tables of eight recorded programs, where 577 of 607 first instructions have the row of the
 * call and no other has, and of 31 small kernels:
 *
 * - `v.x = f(p, n); v.y = f(p, n + 1)`: the first load stays at its line, since its address is computed before it in the function; the
 *   second needs only an offset, is the first instruction of its call, and is shown at the call (H200: gemm_epilogue_zoo.cu:144 to 146);
 * - so is `*p` where the caller computes p (volume_march.cu:30 to 33, bitonic_sort.cu:30, merge_networks.cu:47, 54). But `s.a` and `s.b` of a
 *   reference are summed up in the function (NVVM makes one sum of both; 18 kernels, and in a chain of calls as well: sort_networks.cu:9), so are the elements of
 *   `s.w[k]` and members of several records in one statement (33 of 35 kernels), unless the sum
 *   steps with a loop (10 kernels), not so `f(s[i], s[i + 8])`, whose addresses the caller has (H200: bitonic_sort.cu:30, merge_networks.cu:54);
 * - a call begins anew after each instruction of its own statement: `s += f(p, k)` written out is shown at the call four times, `v.x = f(k)` once;
 * - loads are issued together, behind what their addresses are computed of. One behind another address has a row of its own again.
 *
 * - a load that is the only one of an arm comes right behind what its address is computed of, so that it is shown at its call (11 of 13 arms; `s[ly][0] = at(x - 1, y)` of a
 *   halo behind `if (threadIdx.x == 0)`, H200); addresses that only stores need are computed behind the loads;
 * - rows are those of lines: statements of one line are one;
 * - what the function has to fetch from the parameters of the kernel comes first of all, so that its loads are not the first: a pointer that is read at itself (`*p`, `p[0]`; not
 *   `p[1]`, nor where the caller has read it so; 48 kernels of eight bodies; nor `if (*p) return`, with nothing else to do), and numbers that it computes with (`p[0] * x`; 104 kernels of 20 bodies, integers and others, outside
 *   of loops; not what has been stored, which is in a register). Of copies of a loop the first does so.
 *
 * - in loops behind a call that stays one (`assert`, `printf`), and behind these, the descriptor of global memory is no longer in uniform registers: each
 *   load is preceded by two R2UR of its own line. Of several loads these come first, so that the loads have rows of their own (13 kernels; H200:
 *   llm.c's `load128cs` behind an `assert`).
 *
 * - volatile accesses to shared memory keep their order, so that all that the first statement of a call does with them is shown at the call, its store as well
 *   (`if (t < 32) lastWarp(s, t)`; H200: reduce_harris.cu:79), unless the call has their address to compute first, or a function of a header comes between
 *   (`min` of floats): 168 of 216 kernels of nine bodies and four places of the call.
 *
 * - a store whose function is given place and value (`put(p + i, v)` with `*p = v`) is all that there is of its call, and shown there (the lines of 118 of 134 kernels are right: functions
 *   of pointers and references, methods, loops written out, behind conditions, global and shared memory; not what adds to a place); copies of a loop that are written out with it
 *   as long as nothing is computed between them, which is so where values were loaded. Where a function in between adds to the place the call
 *   in that one is shown; where the function computes place or value (`p[i] = v`, `*p = 2 * v`, a member) its own line is;
 * - a copy of a record is one where the pointer was one to something else (`*reinterpret_cast<V *>(p) = *this` of a `float *`), loads too;
 *   where the pointer is one to the record its members are added to it in the function (63 of 69 kernels with seven records).
 *
 * - a store that stands for those of both sides (store-at-given-place.ts) has no row of its own and is shown with the load before it. ptxas branches around both, and the row goes on
 *   from the condition: both are shown at the call where that stands in their line (`if (i < n) *to = p[i]; else *to = 0;` in one line). Where the caller's index is computed behind the
 *   condition (`x - 1` of `x - 1 >= 0 && x - 1 < n`, which NVVM compares without it) the call begins anew, which is not told (19 of 30 kernels are right in every line, most others for that).
 *
 * - loads behind a mask are one block with what stands around them (masked-loads.ts).
 *
 * - elements of shared memory at known addresses wait for nothing: the first vector of them that a call reads is its first instruction, what a chain of look-ups
 *   needs later is loaded between these (issued-order.ts).
 *
 * Other stores wait for values, atomics stand in headers of CUDA's: they stay where they are. So do loads in the passes that are left of a loop,
 * whose addresses are computed anew.
 */
import { type ControlFlow, controlFlow } from '../program/control-flow';
import type { AccessSite, Block, Instruction, LoadInstruction, Program, SourcePlace } from '../program/program';
import { type Issued, IssuedOrder, isInOrder, Phase } from './issued-order';
import { type Code, straightCode } from './masked-loads';
import { countReads } from './read-counts';

interface Work {
  readonly program: Program;
  readonly flow: ControlFlow;
  readonly order: IssuedOrder;
  readonly accesses: AccessSite[];
  readonly begun: Set<string>;
  /** By what they are given by value: their stores are still the first that is theirs. */
  readonly begunByArguments: Set<string>;
  /** The line of the row that the last instruction has, -1 for none, and the call that is charged there. */
  row: number;
  charged: SourcePlace | undefined;
  /** By the block that code ends with: the row of its last instruction. */
  readonly ends: Map<number, Pick<Work, 'row' | 'charged'>>;
  /** By block: the call that a load there is shown at. */
  readonly loads: Map<number, SourcePlace>;
}

export function chargeCalls(program: Program): Program {
  if (!program.accesses.some(({ place }) => place.call)) return program;
  const flow = controlFlow(program);
  const order = new IssuedOrder(program, flow);
  const work: Work = {
    program,
    flow,
    order,
    accesses: [...program.accesses],
    begun: new Set(),
    begunByArguments: new Set(),
    row: -1,
    charged: undefined,
    ends: new Map(),
    loads: new Map(),
  };
  const graph = { program, flow, frames: order.frames, readCounts: countReads(program) };
  const blocks: Block[] = [...program.blocks];
  let changes = false;
  // as the blocks stand in the text
  const done = new Set<number>();
  for (const index of [...flow.order].sort((a, b) => a - b)) {
    if (done.has(index)) continue;
    const code = straightCode(graph, index);
    for (const block of code.blocks) done.add(block);
    for (const [{ block, at }, shown] of chargedIn(work, code)) {
      const instructions = [...blocks[block].instructions];
      instructions[at] = shown;
      blocks[block] = { ...blocks[block], instructions };
      changes = true;
    }
  }
  changes = besideLoads(work, blocks) || changes;
  return changes ? { ...program, blocks, accesses: work.accesses } : program;
}

/** Loads and stores that are shown at other lines, with these. */
function chargedIn(work: Work, code: Code): [Code['places'][number], Instruction][] {
  const { instructions, blocks, places } = code;
  const out: [Code['places'][number], Instruction][] = [];
  let before: Issued | undefined;
  let isInTurn = false;
  const goesOn = goOnBehindGuard(work, blocks[0]);
  const isAlone =
    blocks.length === 1 && isArm(work, blocks[0]) && instructions.filter(({ op }) => op === 'load').length === 1;
  for (const issued of work.order.of(code)) {
    isInTurn &&= before !== undefined && isOfOneStatement(before, issued) && !before.isOfHeader;
    const isNext = before
      ? isInTurn || isTogether(code, before, issued) || (isAlone && isOfOneCall(before, issued))
      : goesOn;
    isInTurn ||= issued.isVolatile === true;
    if (!isNext) work.row = -1;
    before = issued;
    let charged = chargedBy(work, issued);
    if (issued.at !== undefined && code.masked.get(instructions[issued.at])?.isAtCall)
      charged ??= issued.stretches[0]?.call;
    if (!charged || issued.at === undefined) continue;
    const shown = shownAt(work, instructions[issued.at], charged);
    if (!shown) continue;
    out.push([places[issued.at], shown]);
    if (shown.op === 'load') work.loads.set(places[issued.at].block, charged);
  }
  work.ends.set(blocks[blocks.length - 1], { row: work.row, charged: work.charged });
  return out;
}

/** A block goes on with the row of what guards it, where it is one side of a branch whose other side has nothing to do, in front of the store for both. */
function goOnBehindGuard(work: Work, block: number): boolean {
  const [guard] = work.flow.predecessors[block];
  const [join] = work.flow.successors[block];
  const end = work.ends.get(guard);
  if (!end || !work.program.blocks[join]?.instructions.some((i) => i.op === 'store' && i.isOfBothArms)) return false;
  work.row = end.row;
  work.charged = end.charged;
  return true;
}

/** A store without a line of its own is shown where the load of its side is. */
function besideLoads(work: Work, blocks: Block[]): boolean {
  let changes = false;
  for (const [block, { instructions }] of blocks.entries()) {
    const at = instructions.findIndex((i) => i.op === 'store' && i.isOfBothArms);
    const charged = work.flow.predecessors[block]
      .map((arm) => work.loads.get(arm))
      .find((place) => place !== undefined);
    const shown = at >= 0 && charged && shownAt(work, instructions[at], charged);
    if (!shown) continue;
    blocks[block] = { ...blocks[block], instructions: instructions.with(at, shown) };
    changes = true;
  }
  return changes;
}

/** The same access at the line of a call; undefined where its line is settled, or it has none of its own. */
function shownAt({ accesses }: Work, i: Instruction, charged: SourcePlace): Instruction | undefined {
  const moved = (access: number): number => accesses.push({ ...accesses[access], charged }) - 1;
  const isSettled = (access: number): boolean => {
    const { place, charged: known } = accesses[access];
    return known !== undefined && (known.statement !== place.statement || known.call !== place.call);
  };
  switch (i.op) {
    case 'load':
    case 'store':
    case 'matrix':
      return isSettled(i.access) ? undefined : { ...i, access: moved(i.access) };
    case 'asyncCopy':
      return isSettled(i.loadAccess)
        ? undefined
        : { ...i, loadAccess: moved(i.loadAccess), storeAccess: moved(i.storeAccess) };
    default:
      return undefined;
  }
}

function loadAt(instructions: readonly Instruction[], { at }: Issued): LoadInstruction | undefined {
  const i = at === undefined ? undefined : instructions[at];
  return i?.op === 'load' ? i : undefined;
}

/** Nothing is issued between them. */
function isTogether({ instructions, masked }: Code, before: Issued, issued: Issued): boolean {
  if (before.phase !== issued.phase || before.level !== issued.level || issued.isBehindOther) return false;
  if (issued.at !== undefined && isInOrder(instructions[issued.at])) return false;
  const [first, second] = [loadAt(instructions, before), loadAt(instructions, issued)];
  return first?.address === second?.address || (second !== undefined && masked.get(second)?.isBehindLast === true);
}

/** A load behind what its address is computed of in the same call. */
function isOfOneCall(before: Issued, issued: Issued): boolean {
  const [call] = issued.stretches;
  return (
    issued.phase === Phase.load && !before.isFetch && call !== undefined && before.stretches[0]?.call === call.call
  );
}

function isOfOneStatement(before: Issued, issued: Issued): boolean {
  return before.statement === issued.statement && before.stretches[0]?.call === issued.stretches[0]?.call;
}

/**
 * A block that an `if` guards, before both sides meet again: little else is there that could come between the instructions of a call.
 * Where they meet only to end, the guard is an early exit, and the block goes with those around it.
 */
function isArm({ program, flow }: Work, block: number): boolean {
  const [guard, ...others] = flow.predecessors[block];
  if (guard === undefined || others.length > 0 || flow.postDominator[guard] === block) return false;
  const { terminator } = program.blocks[guard];
  if (terminator.kind !== 'branch' || program.branches[terminator.branch].kind !== 'if') return false;
  const join = program.blocks[flow.postDominator[guard]];
  return join !== undefined && (join.terminator.kind !== 'exit' || join.instructions.length > 0);
}

/** The call that the profiler shows; undefined where it is the statement itself. */
function chargedBy(work: Work, issued: Issued): SourcePlace | undefined {
  const { statement, row = statement } = issued;
  let first: SourcePlace | undefined;
  for (const { key, call } of issued.stretches) {
    if (work.begun.has(key)) break;
    const isBegunByArgument = work.begunByArguments.has(key);
    (call.statement === statement ? work.begunByArguments : work.begun).add(key);
    if (isBegunByArgument && !issued.isStore) break;
    first = call;
  }
  if (first || row !== work.row) work.charged = first;
  work.row = row;
  return work.charged;
}
