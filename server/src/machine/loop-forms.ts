/** Addresses in a loop by the counter that they are made of, and the same addresses in the next pass (carry-loads.ts). */
import { type ControlFlow, dominates, type Loop } from '../program/control-flow';
import {
  type Block,
  bytesOf,
  type Instruction,
  isFloat,
  type LoadInstruction,
  type Program,
  type Register,
  type RegisterInfo,
  type ScalarType,
  type StoreInstruction,
} from '../program/program';

export interface Definition {
  readonly block: number;
  readonly instruction: Instruction;
}

export interface Work {
  readonly program: Program;
  readonly flow: ControlFlow;
  readonly registers: RegisterInfo[];
  readonly blocks: Block[];
  /** Registers that something reads. */
  readonly needed: ReadonlySet<Register>;
}

/** A loop with what it writes. */
export interface Around {
  readonly loop: Loop;
  readonly before: number;
  readonly latch: number;
  readonly inside: readonly number[];
  /** By register: its definitions in the loop. */
  readonly definitions: ReadonlyMap<Register, readonly Definition[]>;
}

/** `base + scale × counter + at`. */
export interface Form {
  readonly counter: Counter;
  readonly scale: number;
  readonly base: string;
  readonly at: number;
}

/** What is made of a variable as the pass began. */
interface Counter {
  readonly variable: Register;
  /** What is added last. */
  readonly plus: number;
  /** Conversions that may change the number, from the last to the first, each with what is added before it. */
  readonly before: readonly Conversion[];
}

interface Conversion {
  readonly types: string;
  readonly plus: number;
}

export const keyOf = (type: ScalarType, parts: number, { counter, scale, base, at }: Form): string =>
  `${type}x${parts}:${nameOf(counter)}*${scale}+${base}+${at}`;

const nameOf = ({ variable, before }: Counter): string =>
  before.reduceRight((name, { types, plus }) => `${types}(${name}+${plus})`, String(variable));

export const one = (around: Around, register: Register): Definition | undefined => {
  const found = around.definitions.get(register);
  return found?.length === 1 ? found[0] : undefined;
};

const constantOf = ({ registers }: Work, register: Register): number | undefined =>
  registers[register].role === 'constant' ? registers[register].value : undefined;

export function formOf(
  work: Work,
  around: Around,
  { address, offset, access }: LoadInstruction | StoreInstruction,
): Form | undefined {
  const kept: Register[] = [];
  const moving: Register[] = [];
  const split = (register: Register, depth: number): void => {
    const made = one(around, register)?.instruction;
    if (!around.definitions.has(register)) kept.push(register);
    else if (made?.op === 'binary' && made.fn === 'add' && depth < 8) {
      split(made.a, depth + 1);
      split(made.b, depth + 1);
    } else moving.push(register);
  };
  split(address, 0);
  if (moving.length !== 1) return undefined;
  const scaled = scaledOf(work, around, moving[0]);
  const counted = scaled && counterOf(work, around, scaled.register);
  if (!scaled || !counted) return undefined;
  const { scale } = scaled;
  if (!isPlainIndex(work.program, access, kept, scale)) return undefined;
  return {
    counter: counted,
    scale,
    base: kept.sort((a, b) => a - b).join('+'),
    at: offset + scale * counted.plus,
  };
}

/** A counter and a constant as an index of its own: of an array that has several, or of a pointer to elements with nothing added. */
function isPlainIndex(program: Program, access: number, kept: readonly Register[], scale: number): boolean {
  const { object } = program.accesses[access];
  const array = object === undefined ? undefined : program.objects[object];
  if (array === undefined) return kept.length === 0;
  if (array.dimensions.length > 1) return true;
  return kept.length === 0 || (kept.length === 1 && kept[0] === array.register && scale === array.elementBytes);
}

function scaledOf(work: Work, around: Around, register: Register): { register: Register; scale: number } | undefined {
  const made = one(around, register)?.instruction;
  if (made?.op !== 'binary' || (made.fn !== 'mul' && made.fn !== 'shl')) return { register, scale: 1 };
  const by = constantOf(work, made.b);
  return by === undefined ? undefined : { register: made.a, scale: made.fn === 'mul' ? by : 2 ** by };
}

/** A counter as it is when a pass begins, and constants. */
function counterOf(work: Work, around: Around, register: Register): Counter | undefined {
  const before: Conversion[] = [];
  // what is added first stands last
  const sums = [0];
  let at = register;
  for (let depth = 0; depth < 8; depth++) {
    const found = one(around, at);
    const made = found?.instruction;
    if (!found || !made || !('type' in made) || isFloat(made.type)) return undefined;
    if (made.op === 'convert') {
      if (isFloat(made.from)) return undefined;
      // a sum of signed words may be taken as one that does not overflow, and the longest integers are all addresses
      if (bytesOf[made.type] !== 8 || (made.from !== 'i32' && bytesOf[made.from] !== 8)) {
        before.push({ types: `${made.from}>${made.type}`, plus: 0 });
        sums.push(0);
      }
      at = made.a;
    } else if (made.op === 'binary' && (made.fn === 'add' || made.fn === 'sub')) {
      const by = constantOf(work, made.b);
      if (by === undefined) return undefined;
      sums[sums.length - 1] += made.fn === 'add' ? by : -by;
      at = made.a;
    } else if (made.op === 'unary' && made.fn === 'mov' && work.registers[at].role === 'temporary') {
      const changed = one(around, made.a);
      if (work.registers[made.a].role !== 'variable' || !changed) return undefined;
      if (!comesBefore(work, found, changed)) return undefined;
      return { variable: made.a, plus: sums[0], before: before.map((each, k) => ({ ...each, plus: sums[k + 1] })) };
    } else return undefined;
  }
  return undefined;
}

function comesBefore({ flow, blocks }: Work, a: Definition, b: Definition): boolean {
  if (a.block !== b.block) return dominates(flow.dominator, a.block, b.block);
  const { instructions } = blocks[a.block];
  return instructions.indexOf(a.instruction) < instructions.indexOf(b.instruction);
}

/** The same address in the next pass, told by what this one begins with. */
export function nextForm(work: Work, around: Around, form: Form): Form | undefined {
  const changed = one(around, form.counter.variable);
  if (changed?.instruction.op !== 'unary' || changed.instruction.fn !== 'mov') return undefined;
  if (!dominates(work.flow.dominator, changed.block, around.latch)) return undefined;
  const next = counterOf(work, around, changed.instruction.a);
  if (!next) return undefined;
  const { before } = form.counter;
  const last = before.at(-1);
  // the variable's own sum is added where the form begins with it
  const at = form.at + (last ? 0 : form.scale * next.plus);
  const own = last ? [...before.slice(0, -1), { ...last, plus: last.plus + next.plus }] : [];
  return { ...form, counter: { ...next, plus: 0, before: [...own, ...next.before] }, at };
}
