/**
 * Integers of 64 bits of which only the low 32 are used are computed in 32: `y = 1812433253UL * (x ^ (x >> 30)) + i` of 32-bit x and
 * y. The low bits of a sum, difference, product, of `& | ^ ~` and of `<<` follow from the low bits of the operands. Evidence: InstCombine
 * of NVVM (nvcc 13.0, PTX of small kernels: mad.lo.s32, shl.b32, xor.b32 in place of the 64-bit ones; not where a quotient, a
 * right shift, a comparison or a store uses the whole). What it brings here: a product of 32 bits has a value, one beyond 2^53 has none.
 */
import { readsInto } from '../program/operands';
import {
  type Block,
  bytesOf,
  type Instruction,
  type Program,
  type Register,
  type RegisterInfo,
  type ScalarType,
} from '../program/program';

const closed: ReadonlySet<string> = new Set(['add', 'sub', 'mul', 'and', 'or', 'xor', 'neg', 'bitnot', 'mov']);
const HALF = 2 ** 32;

type Operation = Extract<Instruction, { op: 'binary' | 'unary' }>;

export function narrowIntegers(program: Program): Program {
  const cut = program.blocks.some(({ instructions }) => instructions.some((i) => isCut(i)));
  if (!cut) return program;
  const narrow = narrowable(program);
  if (narrow.size === 0) return program;
  const work: Work = { registers: [...program.registers], narrow, sources: extended(program) };
  for (const r of narrow) work.registers[r] = { ...work.registers[r], type: half(work.registers[r].type) };
  const blocks = program.blocks.map((block): Block => {
    if (!block.instructions.some((i) => isTouched(i, narrow))) return block;
    return {
      ...block,
      instructions: block.instructions.flatMap((i) => (isTouched(i, narrow) ? rewritten(work, i) : [i])),
    };
  });
  return { ...program, registers: work.registers, blocks };
}

interface Work {
  readonly registers: RegisterInfo[];
  readonly narrow: ReadonlySet<Register>;
  /** By 64-bit register: the narrower integer that it extends. */
  readonly sources: ReadonlyMap<Register, { readonly register: Register; readonly type: ScalarType }>;
}

const isWord = (type: ScalarType | undefined): boolean => type === 'i64' || type === 'u64';
const isShort = (type: ScalarType): boolean => /^[iu]/.test(type) && bytesOf[type] <= 4;
const half = (type: ScalarType): ScalarType => (type === 'i64' ? 'i32' : 'u32');

/** A conversion that keeps the low bits only. */
const isCut = (i: Instruction): boolean => i.op === 'convert' && isWord(i.from) && isShort(i.type);

/** Whether the low bits of the result follow from the low bits of the operands. */
function isClosed({ registers }: { readonly registers: readonly RegisterInfo[] }, i: Instruction): i is Operation {
  if ((i.op !== 'binary' && i.op !== 'unary') || !isWord(i.type) || registers[i.dst].role !== 'temporary') return false;
  if (i.op === 'unary' && i.from !== undefined && !isWord(i.from)) return false;
  if (i.op === 'unary' || i.fn !== 'shl') return closed.has(i.fn);
  const count = registers[i.b].value;
  return count !== undefined && count >= 0 && count < 32;
}

/** Registers that hold 64 bits of which nothing uses the high half. */
function narrowable(program: Program): Set<Register> {
  const found = new Map<Register, Operation>();
  for (const { instructions } of program.blocks)
    for (const i of instructions) if (isClosed(program, i)) found.set(i.dst, i);
  const reads: Register[] = [];
  const keepWhole = (r: Register): void => {
    const i = found.get(r);
    if (!i) return;
    found.delete(r);
    keepWhole(i.a);
    if (i.op === 'binary') keepWhole(i.b);
  };
  for (const { instructions, terminator } of program.blocks) {
    for (const i of instructions) {
      // what an operation reads is decided by what becomes of its result; a count of a shift is read as it is
      const isOpen = isCut(i) || (isClosed(program, i) && found.has(i.dst));
      if (isOpen) {
        if (i.op === 'binary' && i.fn === 'shl') keepWhole(i.b);
        continue;
      }
      const count = readsInto(i, reads);
      for (let k = 0; k < count; k++) keepWhole(reads[k]);
    }
    if (terminator.kind === 'branch') keepWhole(terminator.condition);
  }
  // one that stays whole needs whole operands, wherever it stands
  for (const { instructions } of program.blocks)
    for (const i of instructions)
      if (isClosed(program, i) && !found.has(i.dst)) {
        keepWhole(i.a);
        if (i.op === 'binary') keepWhole(i.b);
      }
  return new Set(found.keys());
}

function extended({ blocks }: Program): Work['sources'] {
  const sources = new Map<Register, { readonly register: Register; readonly type: ScalarType }>();
  for (const { instructions } of blocks)
    for (const i of instructions)
      if (i.op === 'convert' && isWord(i.type) && /^[iu]32$/.test(i.from))
        sources.set(i.dst, { register: i.a, type: i.from });
  return sources;
}

const isTouched = (i: Instruction, narrow: ReadonlySet<Register>): boolean =>
  ((i.op === 'binary' || i.op === 'unary') && narrow.has(i.dst)) || (i.op === 'convert' && narrow.has(i.a));

function rewritten(work: Work, i: Instruction): Instruction[] {
  if (i.op === 'convert') return [{ ...i, from: work.registers[i.a].type }];
  if (i.op !== 'binary' && i.op !== 'unary') return [i];
  const type = half(i.type);
  const out: Instruction[] = [];
  const a = lowOf(work, i.a, type, out);
  if (i.op === 'unary') return [...out, { ...i, type, from: i.from && type, a }];
  const b = i.fn === 'shl' ? i.b : lowOf(work, i.b, type, out);
  return [...out, { ...i, type, a, b }];
}

/** The low half of an operand. */
function lowOf({ registers, narrow, sources }: Work, r: Register, type: ScalarType, out: Instruction[]): Register {
  const info = registers[r];
  if (narrow.has(r) && info.type === type) return r;
  const add = (made: RegisterInfo): Register => registers.push(made) - 1;
  if (info.value !== undefined) {
    const low = ((info.value % HALF) + HALF) % HALF;
    return add({ type, role: 'constant', value: type === 'i32' ? low | 0 : low });
  }
  const source = narrow.has(r)
    ? { register: r, type: info.type }
    : (sources.get(r) ?? { register: r, type: info.type });
  if (source.type === type && registers[source.register].role !== 'variable') return source.register;
  const dst = add({ type, role: 'temporary' });
  out.push({ op: 'convert', from: source.type, type, dst, a: source.register });
  return dst;
}
