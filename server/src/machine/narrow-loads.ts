/**
 * A load of which only whole bytes are used reads no more than these: `v & 255`, `(v >> 8) & 255`, `(unsigned char)v`, `v >> 24` of an unsigned v. LLVM narrows
 * such a load for its one user. Evidence (PTX of some 220 kernels, nvcc 13.0, sm_90; H200: the upper byte of a 16-bit grey value):
 *
 * - masks of 8 and 16 bits, at bit 0 or at one that their width divides, and what an unsigned shift leaves of 16 and 32 bits; not `v & 15`, not `v >> 12`, not
 *   what is left of 64 bits;
 * - not where the bytes are shifted to the left afterwards, as an index is that is scaled: `(v & 255) << 2` is `(v << 2) & 1020` by then; the upper byte of 16 bits is
 *   narrowed all the same;
 * - not through the read-only cache, not where more than one instruction reads it, nor where the bytes are only stored;
 * - neighbours that are one load have become that before.
 */
import { readsInto } from '../program/operands';
import {
  bytesOf,
  type Instruction,
  type LoadInstruction,
  type Program,
  type Register,
  type RegisterInfo,
  type ScalarType,
} from '../program/program';

/** Bytes of a load that are used. */
interface Part {
  readonly offset: number;
  readonly bytes: 1 | 2;
  /** What makes them of the whole; its result is what it was. */
  readonly user: Instruction & { readonly dst: Register; readonly type: ScalarType };
}

const partTypes: Readonly<Record<Part['bytes'], ScalarType>> = { 1: 'u8', 2: 'u16' };
const masks: ReadonlyMap<number | undefined, Part['bytes']> = new Map([
  [0xff, 1],
  [0xffff, 2],
]);

export function narrowLoads(program: Program): Program {
  if (!program.blocks.some(({ instructions }) => instructions.some((i) => mayMakePart(program, i)))) return program;
  const loads = program.blocks.flatMap(({ instructions }) => instructions.filter((i) => isCandidate(program, i)));
  if (loads.length === 0) return program;
  const readers = readersOf(program);
  const registers: RegisterInfo[] = [...program.registers];
  const replaced = new Map<Instruction, Instruction>();
  for (const load of loads) {
    const part = partOf(program, readers, load);
    if (!part) continue;
    const type = partTypes[part.bytes];
    const narrow = registers.push({ type, role: 'temporary' }) - 1;
    const { user } = part;
    replaced.set(load, { ...load, type, dst: [narrow], offset: load.offset + part.offset });
    replaced.set(user, { op: 'convert', from: type, type: user.type, dst: user.dst, a: narrow });
  }
  if (replaced.size === 0) return program;
  const blocks = program.blocks.map((block) =>
    block.instructions.some((i) => replaced.has(i))
      ? { ...block, instructions: block.instructions.map((i) => replaced.get(i) ?? i) }
      : block,
  );
  return { ...program, registers, blocks };
}

/** Hardly any program does: nothing is looked for in the others. */
function mayMakePart({ registers }: Program, i: Instruction): boolean {
  if (i.op === 'convert') return /^[iu](8|16)$/.test(i.type);
  if (i.op !== 'binary') return false;
  const by = registers[i.b].value;
  return i.fn === 'shr'
    ? by !== undefined && by % 8 === 0
    : i.fn === 'and' && (masks.has(by) || masks.has(registers[i.a].value));
}

/** A load that nothing keeps whole. */
export function isCandidate({ accesses, registers }: Program, i: Instruction): i is LoadInstruction {
  if (i.op !== 'load' || i.dst.length !== 1 || !/^[iu](16|32|64)$/.test(i.type)) return false;
  const { space, readOnly, isVolatile, isAssembly, atomic, copiedBytes } = accesses[i.access];
  const isPlain = !readOnly && !isVolatile && !isAssembly && atomic === undefined && copiedBytes === undefined;
  return isPlain && (space === 'global' || space === 'shared') && registers[i.dst[0]].role === 'temporary';
}

export type Readers = ReadonlyMap<Register, readonly Instruction[]>;

/** By register: what reads it; branches do not, since nobody branches on an integer. */
export function readersOf({ blocks }: Program): Readers {
  const readers = new Map<Register, Instruction[]>();
  const reads: Register[] = [];
  for (const { instructions } of blocks)
    for (const i of instructions) {
      const count = readsInto(i, reads);
      for (let k = 0; k < count; k++) {
        const list = readers.get(reads[k]);
        if (list) list.push(i);
        else readers.set(reads[k], [i]);
      }
    }
  return readers;
}

function partOf(program: Program, readers: Readers, load: LoadInstruction): Part | undefined {
  const whole = bytesOf[load.type];
  const only = onlyReader(program, readers, load.dst[0]);
  // a short integer is widened first
  const isWidened = only?.op === 'convert' && bytesOf[only.type] >= 4 && whole === 2 && /^[iu]/.test(only.type);
  const user = isWidened ? onlyReader(program, readers, only.dst) : only;
  if (!user) return undefined;
  const part =
    shiftedPart(program, readers, user, isWidened ? 'u32' : load.type, load) ?? maskedPart(program, user, 0, whole);
  if (!part) return undefined;
  const isUpperHalf = whole === 2 && part.offset === 1 && part.user.op === 'binary' && part.user.fn === 'shr';
  if (isOnlyStored(readers, part.user.dst)) return undefined;
  return isUpperHalf || !isScaled(program, readers, part.user.dst) ? part : undefined;
}

/** The one instruction that reads a register. */
export function onlyReader({ registers }: Program, readers: Readers, register: Register): Instruction | undefined {
  const list = readers.get(register);
  return list?.length === 1 && registers[register].role === 'temporary' ? list[0] : undefined;
}

/** `v >> 8k`, alone where that leaves all that is above, or below a mask. */
function shiftedPart(
  program: Program,
  readers: Readers,
  user: Instruction,
  type: ScalarType,
  load: LoadInstruction,
): Part | undefined {
  if (user.op !== 'binary' || user.fn !== 'shr') return undefined;
  const bits = program.registers[user.b].value;
  const whole = bytesOf[load.type];
  if (bits === undefined || bits <= 0 || bits % 8 !== 0 || bits >= 8 * whole) return undefined;
  const offset = bits / 8;
  const next = onlyReader(program, readers, user.dst);
  const masked = next && maskedPart(program, next, offset, whole);
  if (masked) return masked;
  const left = whole - offset;
  const isUnsigned = load.type.startsWith('u') && type.startsWith('u');
  if (!isUnsigned || whole === 8 || (left !== 1 && left !== 2)) return undefined;
  return { offset, bytes: left, user };
}

/** `& 255`, `& 65535`, a conversion to so few bits that is not only stored. */
function maskedPart(program: Program, user: Instruction, offset: number, whole: number): Part | undefined {
  const bytes =
    user.op === 'convert' && /^[iu](8|16)$/.test(user.type)
      ? (bytesOf[user.type] as Part['bytes'])
      : user.op === 'binary' && user.fn === 'and'
        ? (masks.get(program.registers[user.b].value) ?? masks.get(program.registers[user.a].value))
        : undefined;
  if (bytes === undefined || (user.op !== 'convert' && user.op !== 'binary')) return undefined;
  const fits = offset % bytes === 0 && offset + bytes <= whole && bytes < whole;
  return fits ? { offset, bytes, user } : undefined;
}

const isOnlyStored = (readers: Readers, register: Register): boolean =>
  (readers.get(register) ?? []).every((i) => i.op === 'store' && i.values.includes(register));

/** Whether it is multiplied by a power of two, as an index is by the size of an element. */
function isScaled(program: Program, readers: Readers, register: Register): boolean {
  return (readers.get(register) ?? []).some((i) => {
    if (i.op === 'convert') return isScaled(program, readers, i.dst);
    if (i.op !== 'binary' || (i.fn !== 'shl' && i.fn !== 'mul')) return false;
    const by = program.registers[i.a === register ? i.b : i.a].value;
    return by !== undefined && (i.fn === 'shl' || Number.isInteger(Math.log2(by)));
  });
}
