/**
 * A 64-bit load of which only one half is used becomes a load of that half: registers have 32 bits, and ptxas reads only those that
 * something needs. Evidence (nvcc 13.0, sm_90, machine code of one kernel for each use): `<< 32` and more, a conversion to 32
 * bits and `& 0xffffffff` read the low half by LDG.32; `>> 32` and more (signed too) the high half, at +4; `<< 20`, `>> 20` and uses
 * of both halves read LDG.64. H200: ising_multispin.cu:49 reads the next word for its lowest four bits, 4 bytes a lane.
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

/** Registers that one load of a 64-bit integer from global memory assigns. */
function wordLoads(program: Program): ReadonlySet<Register> {
  const words = new Set<Register>();
  for (const block of program.blocks) {
    for (const i of block.instructions) {
      if (i.op !== 'load' || i.dst.length !== 1 || !isWord(i)) continue;
      const site = program.accesses[i.access];
      if (!site.isVolatile && (site.space === 'global' || site.space === 'generic')) words.add(i.dst[0]);
    }
  }
  return words;
}

function usedHalves(program: Program, words: ReadonlySet<Register>): ReadonlyMap<Register, number> {
  const used = new Map<Register, number>();
  const use = (register: Register, halves: number) => {
    if (words.has(register)) used.set(register, (used.get(register) ?? 0) | halves);
  };
  const reads: Register[] = [];
  for (const { instructions, terminator } of program.blocks) {
    for (const i of instructions) {
      const count = readsInto(i, reads);
      for (let k = 0; k < count; k++) if (words.has(reads[k])) use(reads[k], halvesRead(program, i, reads[k]));
    }
    if (terminator.kind === 'branch') use(terminator.condition, LOW | HIGH);
  }
  return used;
}

/** What an instruction looks at of a 64-bit operand. */
function halvesRead({ registers }: Program, i: Instruction, operand: Register): number {
  if (i.op === 'convert')
    return isWord({ type: i.from }) && isInteger(i.type) && bytesOf[i.type] <= 4 ? LOW : LOW | HIGH;
  if (i.op !== 'binary' || !isWord(i)) return LOW | HIGH;
  const other = i.a === operand ? i.b : i.a;
  const constant = other === operand ? undefined : registers[other].value;
  if (constant === undefined) return LOW | HIGH;
  if (i.fn === 'and') return constant >= 0 && constant < HALF ? LOW : LOW | HIGH;
  if (i.a !== operand || constant < 32) return LOW | HIGH;
  return i.fn === 'shl' ? LOW : i.fn === 'shr' ? HIGH : LOW | HIGH;
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
