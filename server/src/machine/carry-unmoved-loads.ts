/**
 * A place that every pass of a loop begins by reading though it cannot leave the loop, since a barrier, a shuffle or a vote comes behind (what NVVM takes for writes),
 * is handed on in a register where the pass reads or stores it once more and nothing may change it from there to the first read of the next pass: only the very
 * first is read in front of the loop, and none where it is known there (NVVM: elimination of partly redundant loads). Evidence (PTX and
 * machine code of nine kernels, nvcc 13.0): `a = s[t]; b = shfl(a); … s[t]`, in a condition at the head as well, across `__syncthreads()`, and with
 * `s[t] = …` at the end of the pass; not with a second barrier behind, nor where only some passes read it again, nor where an atomic that may touch it
 * comes behind. H200: treeshap_paths.cu:88 reads `e.feature` once a warp.
 */
import type { Loop } from '../program/control-flow';
import type { Instruction, LoadInstruction, Program, Register, StoreInstruction } from '../program/program';
import { carry, carryInLoops, isAtHead, isPlain, mayChange, plainLoop } from './carry-loads';
import type { Around, Work } from './loop-forms';

interface Known {
  readonly block: number;
  readonly access: LoadInstruction | StoreInstruction;
  readonly values: readonly Register[];
}

export function carryUnmovedLoads(program: Program): Program {
  return carryInLoops(program, carryIn);
}

function carryIn(work: Work, loop: Loop): void {
  const plain = plainLoop(work, loop);
  if (!plain) return;
  const { around, own } = plain;
  const known = own.flatMap((block) => work.blocks[block].instructions.flatMap((i) => knownBy(work, around, block, i)));
  for (const { block, access: load } of known) {
    if (load.op !== 'load' || !isAtHead(work, around, block)) continue;
    const same = known.find(
      (each) => each.access !== load && isSamePlace(each, load) && isLeftAlone(work, around, { block, load }, each),
    );
    if (same) carry(work, around, { block, load }, same.values);
  }
}

/** What an access at an address that the loop keeps leaves in registers. */
function knownBy({ program }: Work, { definitions }: Around, block: number, i: Instruction): Known[] {
  if ((i.op !== 'load' && i.op !== 'store') || !isPlain(program, i) || definitions.has(i.address)) return [];
  return [{ block, access: i, values: i.op === 'load' ? i.dst : i.values }];
}

const isSamePlace = ({ access, values }: Known, load: LoadInstruction): boolean =>
  access.address === load.address &&
  access.offset === load.offset &&
  access.type === load.type &&
  values.length === load.dst.length;

/** Whether nothing may change the place from where it is known to the end of the pass, and from there to the read. */
function isLeftAlone(
  work: Work,
  around: Around,
  { block, load }: { readonly block: number; readonly load: LoadInstruction },
  known: Known,
): boolean {
  const { program, blocks } = work;
  const site = program.accesses[load.access];
  const isQuiet = (instructions: readonly Instruction[]) => !instructions.some((i) => mayChange(program, site, i));
  const from = blocks[known.block].instructions;
  const to = blocks[block].instructions;
  if (known.block === block && from.indexOf(known.access) < to.indexOf(load)) return false;
  return (
    isQuiet(from.slice(from.indexOf(known.access) + 1)) &&
    behind(work, around, known.block).every((each) => isQuiet(blocks[each].instructions)) &&
    inFrontOf(work, around, block).every((each) => isQuiet(blocks[each].instructions)) &&
    isQuiet(to.slice(0, to.indexOf(load)))
  );
}

/** Blocks that the pass may run through behind one. */
function behind({ flow }: Work, { loop }: Around, block: number): number[] {
  const found = new Set<number>();
  const open = [block];
  for (let at = open.pop(); at !== undefined; at = open.pop())
    for (const next of flow.successors[at]) {
      if (!loop.contains[next] || next === loop.header || found.has(next)) continue;
      found.add(next);
      open.push(next);
    }
  return [...found];
}

/** Blocks of the pass in front of one at its head. */
function inFrontOf({ flow }: Work, { loop }: Around, block: number): number[] {
  const found: number[] = [];
  for (let at = block; at !== loop.header; ) {
    at = flow.predecessors[at][0];
    found.push(at);
  }
  return found;
}
