/**
 * Which machine instructions access memory, of capabilities 7.0 to 12.x: instructions of 16 bytes, the operation in bits 0 to 8
 * (9 to 11 say where operands come from), the predicate in bits 12 to 15, the width of loads and stores in bits 73 to 75.
 * NVIDIA documents none of this. Evidence: all 15,500 memory instructions that were recorded on an H200 (test/hardware/recorded has
 * offset and opcode of each) read alike but for reductions, whose width is not used; for 7.5, 8.0, 8.6, 8.9, 10.0 and 12.0
 * each instruction agrees with the PTX instruction that the line table names for it.
 */
import type { MachineAccess } from './machine-access';

type Kind = Pick<MachineAccess, 'operation' | 'space'>;

const load = (space: Kind['space']): readonly Kind[] => [{ operation: 'load', space }];
const store = (space: Kind['space']): readonly Kind[] => [{ operation: 'store', space }];
const atomic = (space: Kind['space']): readonly Kind[] => [{ operation: 'atomic', space }];

/** By operation: what it does. An asynchronous copy reads and writes. */
const kinds: ReadonlyMap<number, readonly Kind[]> = new Map([
  [0x180, load('generic')], // LD
  [0x181, load('global')], // LDG
  [0x183, load('local')], // LDL
  [0x184, load('shared')], // LDS
  [0x185, store('generic')], // ST
  [0x186, store('global')], // STG
  [0x187, store('local')], // STL
  [0x188, store('shared')], // STS
  [0x18a, atomic('generic')], // ATOM
  [0x18b, atomic('generic')], // ATOM.CAS
  [0x18c, atomic('shared')], // ATOMS
  [0x18d, atomic('shared')], // ATOMS.CAS
  [0x18e, atomic('global')], // RED
  [0x1a6, atomic('global')], // REDG, of floats
  [0x1a8, atomic('global')], // ATOMG
  [0x1a9, atomic('global')], // ATOMG.CAS
  [0x1ae, [...load('global'), ...store('shared')]], // LDGSTS
  [0x03b, load('shared')], // LDSM
  [0x044, store('shared')], // STSM
]);

/** Bytes by the field of the width: U8, S8, U16, S16, 32, 64 and 128 bits. */
const widths: readonly (number | undefined)[] = [1, 1, 2, 2, 4, 8, 16, undefined];
const hasWidth = (operation: number): boolean => operation >= 0x180 && operation <= 0x188;

export const INSTRUCTION_BYTES = 16;
/** No predicate: always. */
const ALWAYS = 7;
/** Never, as `@!PT`: instructions that only keep an order. */
const NEVER = 15;

export interface MemoryInstruction {
  readonly kinds: readonly Kind[];
  readonly bytes?: number;
  readonly isPredicated: boolean;
}

/** The memory instruction at an offset; undefined for another one, and for one that never runs. */
export function memoryInstructionAt(code: DataView, offset: number): MemoryInstruction | undefined {
  const low = code.getUint32(offset, true);
  const operation = low & 0x1ff;
  const found = kinds.get(operation);
  const predicate = (low >>> 12) & 15;
  if (!found || predicate === NEVER) return undefined;
  const bytes = hasWidth(operation) ? widths[(code.getUint32(offset + 8, true) >>> 9) & 7] : undefined;
  return { kinds: found, bytes, isPredicated: predicate !== ALWAYS };
}
