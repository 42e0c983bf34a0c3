/**
 * Which values of a program take registers of a thread, and how many: what the compiler folds into addresses, operands
 * from the constant bank and predicates takes none.
 */
import { writesInto, writesOf } from '../program/operands';
import { bytesOf, type Instruction, type Program, type Register, type ScalarType } from '../program/program';

export interface RegisterValues {
  /** By register: 32-bit registers it takes, 0 for none. */
  readonly weight: Float64Array;
  /** By register: the register that has to live in its place (itself, or what it is computed from on use), -1 for none. */
  readonly root: Int32Array;
}

const integers = new Set(['i8', 'u8', 'i16', 'u16', 'i32', 'u32', 'i64', 'u64']);

/** Operations whose result is made again at each use, at no cost, when only one operand needs a register. */
function isFolded(i: Instruction): boolean {
  switch (i.op) {
    case 'unary':
      return i.fn === 'mov' || i.fn === 'bitcast';
    case 'convert':
      return integers.has(i.from) && integers.has(i.type);
    case 'binary':
      return integers.has(i.type) && (i.fn === 'add' || i.fn === 'sub' || i.fn === 'mul' || i.fn === 'shl');
    default:
      return false;
  }
}

const none: readonly Register[] = [];

function operandsOf(i: Instruction): readonly Register[] {
  if (i.op === 'unary' || i.op === 'convert') return [i.a];
  return i.op === 'binary' ? [i.a, i.b] : none;
}

/** Definitions of every register: the instruction where there is one only. */
function definitions(program: Program): (Instruction | 'several' | undefined)[] {
  const found: (Instruction | 'several' | undefined)[] = program.registers.map(() => undefined);
  const writes: Register[] = [];
  for (const { instructions } of program.blocks) {
    for (const i of instructions) {
      const count = writesInto(i, writes);
      for (let k = 0; k < count; k++) found[writes[k]] = found[writes[k]] === undefined ? i : 'several';
    }
  }
  return found;
}

/** 64-bit values that are pointers into global memory or come from 64-bit data: they need two registers. */
type Width = 'none' | 'narrow' | 'wide';

export function registerValues(program: Program): RegisterValues {
  const count = program.registers.length;
  const weight = new Float64Array(count);
  const root = new Int32Array(count);
  for (let r = 0; r < count; r++) root[r] = r;
  const defined = definitions(program);
  const width: Width[] = program.registers.map(() => 'none');
  for (const { register, source } of program.inputs) {
    if (source.kind === 'object')
      width[register] = program.objects[source.object]?.space === 'global' ? 'wide' : 'narrow';
    else if (source.kind === 'parameter' && bytesOf[program.registers[register].type] === 8) width[register] = 'wide';
    else if (source.kind === 'threadIdx' || source.kind === 'laneId') weight[register] = 1;
  }
  const widthOf = widths(program, width);
  for (let r = 0; r < count; r++) {
    const { role, type } = program.registers[r];
    if (role === 'input' || role === 'constant') {
      if (weight[r] === 0) root[r] = -1;
      continue;
    }
    if (type === 'pred') {
      root[r] = -1;
      continue;
    }
    weight[r] = weightOf(type, widthOf[r]);
  }
  fold(program, defined, widthOf, root, weight);
  return { weight, root };
}

/** Two halves share a register; indices that were widened to 64 bits stay in one. */
function weightOf(type: ScalarType, width: Width): number {
  if (type === 'f16' || type === 'bf16') return 0.5;
  if (bytesOf[type] < 8) return 1;
  return type === 'f64' || width === 'wide' ? 2 : 1;
}

const MOST_ROUNDS = 20;

/** A fixed point over moves and sums: a value is wide when an operand is, or when memory or a caller gave 64 bits. */
function widths(program: Program, start: readonly Width[]): Width[] {
  const width = [...start];
  const is64 = (r: Register) => bytesOf[program.registers[r].type] === 8;
  // the computations of 64 bits that are not known to be wide yet
  const open: Instruction[] = [];
  const writes: Register[] = [];
  for (const { instructions } of program.blocks) {
    for (const i of instructions) {
      const count = writesInto(i, writes);
      const isSource = i.op === 'load' || i.op === 'atomic' || i.op === 'unknown';
      for (let k = 0; k < count; k++) {
        if (!is64(writes[k])) continue;
        if (isSource) width[writes[k]] = 'wide';
        else open.push(i);
      }
    }
  }
  for (let changed = true, rounds = 0; changed && rounds < MOST_ROUNDS; rounds++) {
    changed = false;
    for (const i of open) {
      const operands = i.op === 'select' ? [i.a, i.b] : operandsOf(i);
      if (!operands.some((o) => is64(o) && width[o] === 'wide')) continue;
      for (const r of writesOf(i)) {
        if (width[r] === 'wide') continue;
        width[r] = 'wide';
        changed = true;
      }
    }
  }
  return width;
}

function fold(
  program: Program,
  defined: readonly (Instruction | 'several' | undefined)[],
  width: readonly Width[],
  root: Int32Array,
  weight: Float64Array,
): void {
  for (const { instructions } of program.blocks) {
    for (const i of instructions) {
      if (!isFolded(i)) continue;
      const dst = writesOf(i)[0];
      if (defined[dst] !== i || root[dst] < 0) continue;
      const operands = operandsOf(i);
      if (operands.some((o) => program.registers[o].role === 'variable' && defined[o] === 'several')) continue;
      const [first, second = first] = operands;
      const needed = root[first] >= 0 ? root[first] : root[second];
      if (root[second] >= 0 && root[second] !== needed) continue;
      // A pointer plus an index is an address in two registers of its own.
      if (needed >= 0 && width[dst] === 'wide' && i.op === 'binary' && weight[needed] < weight[dst]) continue;
      root[dst] = needed < 0 ? -1 : needed;
    }
  }
}
