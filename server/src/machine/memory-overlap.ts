/** Which accesses may reach the same memory. */
import { memoryOf } from '../program/aliasing';
import {
  type AccessSite,
  bytesOf,
  type Instruction,
  type LoadInstruction,
  type MemoryObject,
  type Program,
  type StoreInstruction,
} from '../program/program';

export function isReadOnly(site: AccessSite, program: Program): boolean {
  if (site.readOnly) return true;
  const space = site.object === undefined ? site.space : program.objects[site.object].space;
  return space === 'constant';
}

/**
 * Whether two accesses may meet: not in different spaces, not in different declared arrays, not through a pointer that is
 * `__restrict__` and another one. Pointers that are not may point to the same buffer, a declared array among them, but not to a
 * variable that is smaller than what is read or written (loads and stores; atomics may). Evidence: PTX of 14 kernels, nvcc 13.0, sm_90: a
 * `__device__ int` leaves a loop that stores doubles, float2 as a whole or by both members, or records that are aligned to 8 bytes, a char one
 * that stores integers; it stays where float or int are stored, records that are copied by members, one member of a float2, or an atomic is.
 * @param bytes that are read or written by `b`, where that is a load or a store
 */
export function mayTouch(program: Program, a: AccessSite, b: AccessSite, bytes = 0): boolean {
  const first = objectOf(program, a);
  const second = objectOf(program, b);
  const spaceOfFirst = first?.space ?? a.space;
  const spaceOfSecond = second?.space ?? b.space;
  if (spaceOfFirst !== 'generic' && spaceOfSecond !== 'generic' && spaceOfFirst !== spaceOfSecond) return false;
  if (first === undefined || second === undefined || first === second) return true;
  if (first.isRestrict || second.isRestrict) return false;
  if (first.bytes !== undefined && !first.isDynamic && bytes > first.bytes) return false;
  return first.bytes === undefined || second.bytes === undefined;
}

function objectOf({ objects }: Program, site: AccessSite): MemoryObject | undefined {
  const memory = memoryOf(site);
  return memory === undefined ? undefined : objects[memory];
}

/**
 * What NVVM takes to have changed memory, though it writes none: barriers, and all that warps do together (shuffles, votes, matches,
 * reductions, the active mask), fences of threads, reads of the clock, volatile inline assembly and what is made of it (`__ldg`,
 * `__stcg` …). Evidence: PTX of 280 small kernels, nvcc 13.0, sm_90: twelve such instructions between two accesses of one place, or in
 * a loop around one, by six kinds of pointers; all twelve did the same to all of them. Thirty-eight functions of the toolkit were tried too.
 */
export function isFence(i: Instruction): boolean {
  switch (i.op) {
    case 'barrier':
    case 'lane':
    case 'asyncCopy':
      return true;
    case 'work':
      return i.fence !== undefined;
    default:
      return false;
  }
}

/** What keeps the order of accesses in the machine code too. */
export const isFenceToAssembler = (i: Instruction): boolean =>
  i.op === 'barrier' || (i.op === 'work' && (i.fence === 'memory' || i.fence === 'call'));

/** Whether a fence may change what is read: others have written it meanwhile, but not behind a `__restrict__` pointer. */
export function changesAtFence(program: Program, site: AccessSite): boolean {
  return site.object === undefined || !program.objects[site.object].isRestrict;
}

/** Bytes of a lane. */
export const widthOf = (i: LoadInstruction | StoreInstruction): number =>
  bytesOf[i.type] * (i.op === 'load' ? i.dst.length : i.values.length);

/** Whether two accesses of one base are to other bytes. */
export function isBeside(a: LoadInstruction | StoreInstruction, b: LoadInstruction | StoreInstruction): boolean {
  if (a.address !== b.address) return false;
  const end = (i: LoadInstruction | StoreInstruction): number => i.offset + widthOf(i);
  return end(a) <= b.offset || end(b) <= a.offset;
}
