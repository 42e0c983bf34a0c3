/**
 * Which line a load from shared memory bears that moved in front of a loop over the threads of a block (`for (i = threadIdx.x; i < n; i += blockDim.x) out[i] = in[i] - s[0];`).
 * It has none of its own (invariant-lines.ts), and what the loop needs of the kernel's parameters is fetched before it: the pointer that is not fetched yet
 * bears the line of its access, and the profiler shows the load there. Where the index of the block is multiplied in front of the loop, that is what stands before it.
 * Not where something is computed of the loaded number in front of the loop, which is then waited for first, nor where the step is computed there
 * or a constant, for which the loop is written out. Evidence: machine code of 36 small kernels, nvcc 13.0, sm_90, of which 31 are right, six with the head of the loop (H200: a softmax);
 * where all pointers are fetched already the line is another, which is not told.
 */
import { type ControlFlow, dominates, type Loop } from '../program/control-flow';
import { readsOf, writesOf } from '../program/operands';
import type { Instruction, Program, Register, SourcePlace } from '../program/program';
import { statementOf } from './place-behind';

/** @param own how many instructions of the block in front of the loop are no invariants of it */
export function lineOfSharedInFront(
  program: Program,
  flow: ControlFlow,
  loop: Loop,
  before: number,
  own: number,
): SourcePlace | undefined {
  const { instructions } = program.blocks[before];
  const moved = instructions.slice(own);
  const loads = moved.filter((i) => i.op === 'load');
  if (loads.some(({ access }) => program.accesses[access].space !== 'shared')) return undefined;
  const loaded = new Set(loads.flatMap(({ dst }) => dst));
  if (moved.some((i) => readsOf(i).some((r) => loaded.has(r)))) return undefined;
  const barrier = instructions.findLastIndex((i) => i.op === 'barrier');
  if (instructions.slice(barrier + 1, own).some((i) => 'access' in i) || !stepsByInput(program, loop)) return undefined;
  return blockIndexIn(program, moved) ?? firstFetch(program, flow, loop, before);
}

/** Whether what the loop's condition compares is added an input of the kernel to in every pass. */
function stepsByInput({ blocks, registers }: Program, loop: Loop): boolean {
  const { instructions, terminator } = blocks[loop.header];
  const test = instructions.find(
    (i) => i.op === 'compare' && terminator.kind === 'branch' && i.dst === terminator.condition,
  );
  if (test?.op !== 'compare') return false;
  const definitions = new Map<Register, Instruction>();
  for (const block of loop.blocks)
    for (const i of blocks[block].instructions) for (const r of writesOf(i)) definitions.set(r, i);
  const behindCopies = (r: Register): Register => {
    const i = definitions.get(r);
    return i && (i.op === 'convert' || (i.op === 'unary' && i.fn === 'mov')) ? behindCopies(i.a) : r;
  };
  const step = definitions.get(behindCopies(test.a));
  return step?.op === 'binary' && step.fn === 'add' && [step.a, step.b].some((r) => registers[r].role === 'input');
}

/** Where the index of the block is read of which something is computed: in front of the loop for all that follows, or with the computation. */
function blockIndexIn({ blocks, inputs, registers }: Program, moved: readonly Instruction[]): SourcePlace | undefined {
  const indices = new Set(inputs.flatMap(({ register, source }) => (source.kind === 'blockIdx' ? [register] : [])));
  const converted = new Set<Register>();
  for (const { instructions } of blocks)
    for (const i of instructions) if (i.op === 'convert' && indices.has(i.a)) converted.add(i.dst);
  const own = new Set(moved.flatMap((i) => writesOf(i)));
  for (const i of moved) {
    const index = i.op === 'binary' ? readsOf(i).find((r) => indices.has(r) || converted.has(r)) : undefined;
    if (index === undefined) continue;
    const [dst] = writesOf(i);
    return statementOf(registers[converted.has(index) && !own.has(index) ? index : dst]);
  }
  return undefined;
}

/** The first access of the loop by a pointer of the kernel's parameters that nothing before it goes by. */
function firstFetch(program: Program, flow: ControlFlow, loop: Loop, before: number): SourcePlace | undefined {
  const { accesses, blocks, inputs, objects } = program;
  const parameters = new Set(inputs.flatMap(({ register, source }) => (source.kind === 'parameter' ? [register] : [])));
  const fetched = new Set<number | undefined>();
  for (const block of flow.order)
    if (loop.contains[block] === 0 && dominates(flow.dominator, block, before))
      for (const i of blocks[block].instructions) if (isAccess(i)) fetched.add(accesses[i.access].object);
  for (const block of flow.order) {
    if (loop.contains[block] === 0) continue;
    for (const i of blocks[block].instructions) {
      const { object, place } = isAccess(i) ? accesses[i.access] : {};
      if (object !== undefined && !fetched.has(object) && parameters.has(objects[object].register)) return place;
    }
  }
  return undefined;
}

const isAccess = (i: Instruction): i is Extract<Instruction, { readonly op: 'load' | 'store' | 'atomic' }> =>
  i.op === 'load' || i.op === 'store' || i.op === 'atomic';
