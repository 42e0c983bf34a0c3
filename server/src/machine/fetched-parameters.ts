/**
 * Which instructions of inlined functions have numbers of the kernel's parameters fetched (ULDC) that they compute with, which happens where their block begins
 * (charge-calls.ts). Evidence (nvcc 13.0, sm_90, line tables of 111 small kernels): what reads a number first, up to the end of its block or a barrier, fetches
 * it for all that is behind; of several functions there the last does, whether the kernel itself computes with it before or behind; what is stored there is
 * in a register of its own. Far behind the loads it is fetched where it is needed (gaussian_tiles.cu:114, where forty instructions come between).
 */
import { readsInto, writesOf } from '../program/operands';
import type { Instruction, Program, Register } from '../program/program';
import type { Frames } from './address-sums';

interface Fetch {
  /** Number of the part of a block that reads it first. */
  readonly part: number;
  /** The function, and the first instruction there; none where only the kernel itself computes with it. */
  frame: number;
  by: Instruction | undefined;
  isStored: boolean;
}

/** Instructions behind the last load. */
const FAR = 16;

/** Frame of the kernel itself. */
const KERNEL = 0;

export function fetchingInstructions(program: Program, frames: Frames): ReadonlySet<Instruction> {
  const { registers, inputs, blocks } = program;
  const isNumber = new Uint8Array(registers.length);
  for (const { register, source } of inputs) if (source.kind === 'parameter') isNumber[register] = 1;
  const fetches = new Map<Register, Fetch>();
  const reads: Register[] = [];
  let part = 0;
  for (const { instructions } of blocks) {
    part++;
    let sinceLoad = 0;
    for (const i of instructions) {
      if (i.op === 'barrier') part++;
      sinceLoad = i.op === 'load' ? 0 : sinceLoad + 1;
      const count = readsInto(i, reads);
      for (let k = 0; k < count; k++) {
        if (isNumber[reads[k]] === 0) continue;
        const fetch = fetches.get(reads[k]) ?? { part, frame: KERNEL, by: undefined, isStored: false };
        fetches.set(reads[k], fetch);
        if (fetch.part === part && sinceLoad <= FAR) note(fetch, i, frames, program);
      }
    }
  }
  return new Set([...fetches.values()].flatMap(({ by, isStored }) => (by && !isStored ? [by] : [])));
}

function note(fetch: Fetch, i: Instruction, frames: Frames, { registers }: Program): void {
  if (i.op === 'store') fetch.isStored = true;
  // pointers have rules of their own (address-sums.ts)
  if (i.op === 'load' || i.op === 'store' || i.op === 'atomic') return;
  const [dst] = writesOf(i);
  const frame = dst === undefined ? KERNEL : frames.of(registers[dst].call);
  if (frame === KERNEL || frame === fetch.frame) return;
  fetch.frame = frame;
  fetch.by = i;
}
