/**
 * Which of several `__pipeline_memcpy_async` in a loop that is written out a profiler shows. The toolkit's function calls others of its header, and PTX names each of these by
 * the line that calls it alone (`inlined_at 3 219 9`), which is the same whoever called the first; the assembler takes the last that was named in full,
 * which NVVM does once for each call of the source. So the first pass of the loop is shown where it stands, and all copies of further passes at the call
 * that comes last in it, whatever their sizes (line tables of five kernels, nvcc 13.0, sm_90: all copies but one). In straight code alone: whether a loop that has loops or conditions in it
 * is written out is not known well enough (H200: wmma_pipeline.cu:29, whose stages are not).
 */
import type { AccessSite, Instruction, Program, SourcePlace } from '../program/program';
import { Frames } from './address-sums';

type Copy = Instruction & { readonly op: 'asyncCopy' };

interface Work {
  readonly accesses: AccessSite[];
  readonly frames: Frames;
  /** Calls of the block that were named in full, and the last of them. */
  readonly named: Set<string>;
  last: { readonly call: string; readonly place: SourcePlace } | undefined;
}

export function placeCopies(program: Program): Program {
  if (!program.accesses.some((site) => site.isInHeader)) return program;
  const work: Work = { accesses: [...program.accesses], frames: new Frames(), named: new Set(), last: undefined };
  const blocks = program.blocks.map((block) => {
    work.named.clear();
    work.last = undefined;
    return { ...block, instructions: block.instructions.map((i) => (i.op === 'asyncCopy' ? placed(work, i) : i)) };
  });
  return work.accesses.length === program.accesses.length ? program : { ...program, blocks, accesses: work.accesses };
}

function placed(work: Work, i: Copy): Copy {
  const { accesses, frames, named } = work;
  const { place, isInHeader } = accesses[i.loadAccess];
  if (!isInHeader || i.read !== undefined) return i;
  const call = `${place.first}@${frames.of(place.call)}`;
  if (!named.has(call)) {
    named.add(call);
    work.last = { call, place };
  }
  const { last } = work;
  if (!last || last.call === call) return i;
  const moved = (access: number): number => accesses.push({ ...accesses[access], charged: last.place }) - 1;
  return { ...i, loadAccess: moved(i.loadAccess), storeAccess: moved(i.storeAccess) };
}
