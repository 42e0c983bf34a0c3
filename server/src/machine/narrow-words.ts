/**
 * A 64-bit load of which only one half is used becomes a load of that half: registers have 32 bits, and ptxas reads only those that
 * something needs. Evidence (nvcc 13.0, sm_90, machine code of some sixty kernels, a use or two each): `<< 32` and more, a conversion to 32
 * bits and `& 0xffffffff` read the low half by LDG.32; `>> 32` and more (signed too) and `& 0xff00000000` the high half, at +4; `<< 20`, `>> 20`, comparisons and
 * uses of both halves read LDG.64. Of `& | ^ ~` and what is chosen by a condition the half is needed that the result is, of sums and products the low one where the
 * low one of the result is; in shared memory alike. `((w >> c) + v) << c` is `(w + (v << c)) & mask` to NVVM and `w >> c < 7` is `w < 7 << c`, which need all of w (H100: the keys of
 * a join). H200: ising_multispin.cu:49 reads the next word for its lowest four bits, 4 bytes a lane.
 */
import { readsInto } from '../program/operands';
import {
  type Block,
  bytesOf,
  type Instruction,
  type LoadInstruction,
  type Program,
  type Register,
  type RegisterInfo,
} from '../program/program';

/** Halves of a 64-bit register that are used, as bits. */
const LOW = 1;
const HIGH = 2;
const HALF = 2 ** 32;

export function narrowWords(program: Program): Program {
  const words = wordLoads(program);
  if (words.size === 0) return program;
  const used = usedHalves(program, words);
  const registers: RegisterInfo[] = [...program.registers];
  const blocks = program.blocks.map((block): Block => {
    if (!block.instructions.some((i) => isHalfUsed(i, used))) return block;
    return {
      ...block,
      instructions: block.instructions.flatMap((i) =>
        isHalfUsed(i, used) ? halfOf(i, used.get(i.dst[0]) === HIGH, registers) : [i],
      ),
    };
  });
  return { ...program, registers, blocks };
}

const isWord = ({ type }: { readonly type: string }): boolean => type === 'i64' || type === 'u64';

/** Registers that one load of a 64-bit integer from global or shared memory assigns. */
function wordLoads(program: Program): ReadonlySet<Register> {
  const words = new Set<Register>();
  for (const block of program.blocks) {
    for (const i of block.instructions) {
      if (i.op !== 'load' || i.dst.length !== 1 || !isWord(i)) continue;
      const { isVolatile, space } = program.accesses[i.access];
      if (!isVolatile && (space === 'global' || space === 'generic' || space === 'shared')) words.add(i.dst[0]);
    }
  }
  return words;
}

function usedHalves(program: Program, words: ReadonlySet<Register>): ReadonlyMap<Register, number> {
  const users = usersOfWords(program);
  const used = new Map<Register, number>();
  const halvesOf = (register: Register, depth: number): number => {
    if (program.registers[register].role !== 'temporary' || depth > DEEPEST) return LOW | HIGH;
    let halves = used.get(register);
    if (halves !== undefined) return halves;
    halves = 0;
    for (const user of users.get(register) ?? []) {
      if (halves === (LOW | HIGH)) break;
      halves |= halvesRead(program, user, register, users, (result) => halvesOf(result, depth + 1));
    }
    used.set(register, halves);
    return halves;
  };
  for (const word of words) halvesOf(word, 0);
  return used;
}

/** Operations between a load and what decides which half is used. */
const DEEPEST = 8;

type Users = ReadonlyMap<Register, readonly Instruction[]>;

/** By 64-bit integer that is computed or loaded: what reads it. */
function usersOfWords({ blocks, registers }: Program): Users {
  const users = new Map<Register, Instruction[]>();
  const reads: Register[] = [];
  for (const { instructions } of blocks) {
    for (const i of instructions) {
      const count = readsInto(i, reads);
      for (let k = 0; k < count; k++) {
        const { role, type } = registers[reads[k]];
        if (role !== 'temporary' || !isWord({ type })) continue;
        const list = users.get(reads[k]);
        if (!list) users.set(reads[k], [i]);
        else if (list.at(-1) !== i) list.push(i);
      }
    }
  }
  return users;
}

/**
 * What an instruction looks at of a 64-bit operand.
 * @param halvesOf of its result, what is used
 */
function halvesRead(
  { registers }: Program,
  i: Instruction,
  operand: Register,
  users: Users,
  halvesOf: (result: Register) => number,
): number {
  if (i.op === 'convert') {
    if (!isWord({ type: i.from }) || !isInteger(i.type)) return LOW | HIGH;
    return bytesOf[i.type] <= 4 ? LOW : halvesOf(i.dst);
  }
  if (i.op === 'select') return i.p === operand ? LOW | HIGH : halvesOf(i.dst);
  if (i.op === 'unary' && isWord(i) && (i.fn === 'mov' || i.fn === 'bitnot')) return halvesOf(i.dst);
  if (i.op === 'unary' && isWord(i) && i.fn === 'neg') return fromBelow(halvesOf(i.dst));
  if (i.op !== 'binary' || !isWord(i)) return LOW | HIGH;
  const other = i.a === operand ? i.b : i.a;
  const constant = other === operand ? undefined : registers[other].value;
  switch (i.fn) {
    case 'and':
      return maskOf(constant) & halvesOf(i.dst);
    case 'or':
    case 'xor':
      return halvesOf(i.dst);
    case 'add':
    case 'sub':
    case 'mul':
      return fromBelow(halvesOf(i.dst));
    case 'shl':
    case 'shr': {
      if (i.a !== operand || constant === undefined) return LOW | HIGH;
      if (constant >= 32) return i.fn === 'shl' ? LOW : isRewritten(i, constant, registers, users) ? LOW | HIGH : HIGH;
      const isAlone = halvesOf(i.dst) === (i.fn === 'shl' ? LOW : HIGH);
      return isAlone ? halvesOf(i.dst) : LOW | HIGH;
    }
    default:
      return LOW | HIGH;
  }
}

/** What a sum needs of its terms. */
const fromBelow = (halves: number): number => (halves === LOW ? LOW : LOW | HIGH);

/** The halves in which a mask leaves anything. */
function maskOf(mask: number | undefined): number {
  if (mask === undefined || !Number.isInteger(mask)) return LOW | HIGH;
  const isLow = mask % HALF !== 0;
  return (isLow ? LOW : 0) | (mask < 0 || mask >= HALF ? HIGH : 0);
}

/** What becomes one of the whole number: `((w >> c) + v) << c`, `w >> c < 7`. */
function isRewritten(
  shift: Instruction & { op: 'binary' },
  places: number,
  registers: readonly RegisterInfo[],
  users: Users,
): boolean {
  const isBack = (i: Instruction, of: Register): boolean =>
    i.op === 'binary' && i.fn === 'shl' && i.a === of && registers[i.b].value === places;
  return (users.get(shift.dst) ?? []).some((i) => {
    if (i.op === 'compare') {
      const other = i.a === shift.dst ? i.b : i.a;
      return i.fn !== 'eq' && i.fn !== 'ne' && registers[other].value !== undefined;
    }
    if (i.op !== 'binary' || (i.fn !== 'add' && !(i.fn === 'sub' && i.a === shift.dst))) return false;
    return (users.get(i.dst) ?? []).some((back) => isBack(back, i.dst));
  });
}

const isInteger = (type: string): boolean => /^[iu]/.test(type);

function isHalfUsed(i: Instruction, used: ReadonlyMap<Register, number>): i is LoadInstruction {
  if (i.op !== 'load' || i.dst.length !== 1) return false;
  const halves = used.get(i.dst[0]);
  return halves === LOW || halves === HIGH;
}

/** The load of the half, and the word as far as it is used. */
function halfOf(load: LoadInstruction, isHigh: boolean, registers: RegisterInfo[]): Instruction[] {
  const skipped = isHigh ? 4 : 0;
  const add = (info: RegisterInfo): Register => registers.push(info) - 1;
  const half = add({ type: 'u32', role: 'temporary' });
  const narrow: LoadInstruction = {
    ...load,
    type: 'u32',
    dst: [half],
    offset: load.offset + skipped,
    aligned: load.aligned && {
      modulus: load.aligned.modulus,
      remainder: (load.aligned.remainder + skipped) % load.aligned.modulus,
    },
  };
  const [dst] = load.dst;
  const { type } = load;
  if (!isHigh) return [narrow, { op: 'convert', from: 'u32', type, dst, a: half }];
  const word = add({ type, role: 'temporary' });
  const places = add({ type, role: 'constant', value: 32 });
  return [
    narrow,
    { op: 'convert', from: 'u32', type, dst: word, a: half },
    { op: 'binary', fn: 'shl', type, dst, a: word, b: places },
  ];
}
