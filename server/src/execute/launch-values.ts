/** Numbers that follow from the launch alone, at a block and a thread of it: indices, sizes, arguments, and what is computed of them. */
import { definitionsOf } from '../program/definitions';
import { foldBinary, foldConvert, foldUnary } from '../program/fold';
import type { Instruction, Program, Register } from '../program/program';
import type { LaunchShape } from './execution';

/** Longer chains of instructions are not followed. */
const DEEPEST = 24;

type Binary = Instruction & { readonly op: 'binary' };

export class LaunchValues {
  private readonly inputs: ReadonlyMap<Register, number>;
  private block: readonly number[] = [];
  private thread: readonly number[] = [];

  constructor(
    private readonly program: Program,
    private readonly launch: LaunchShape,
  ) {
    this.inputs = inputsOf(program);
  }

  /** Undefined where it rests on anything but the launch. */
  at(register: Register, block: readonly number[], thread: readonly number[]): number | undefined {
    this.block = block;
    this.thread = thread;
    return this.value(register, 0);
  }

  private value(register: Register, depth: number): number | undefined {
    const info = this.program.registers[register];
    if (info.role === 'constant') return info.value;
    if (info.role === 'input') return this.input(register);
    const definitions = definitionsOf(this.program);
    const entry = definitions.last(register);
    // what several instructions assign changes in a loop, or from way to way
    if (entry < 0 || definitions.before(entry) >= 0 || depth > DEEPEST) return undefined;
    const i = definitions.at(entry);
    if (i.op === 'convert') return foldConvert(i.from, i.type, this.value(i.a, depth + 1));
    if (i.op === 'unary') return i.fn === 'mov' ? this.value(i.a, depth + 1) : this.unary(i, depth);
    if (i.op === 'binary') return this.binary(i.fn, i.type, this.value(i.a, depth + 1), i.b, depth);
    if (i.op !== 'fma') return undefined;
    const product = this.binary('mul', i.type, this.value(i.a, depth + 1), i.b, depth);
    return this.binary('add', i.type, product, i.c, depth);
  }

  private unary(i: Instruction & { readonly op: 'unary' }, depth: number): number | undefined {
    return i.fn === 'neg' ? foldUnary('neg', i.type, this.value(i.a, depth + 1)) : undefined;
  }

  private binary(
    fn: Binary['fn'],
    type: Binary['type'],
    a: number | undefined,
    right: Register,
    depth: number,
  ): number | undefined {
    const b = a === undefined ? undefined : this.value(right, depth + 1);
    const result = b === undefined ? undefined : foldBinary(fn, type, a, b);
    return result === 'a' ? a : result === 'b' ? b : result;
  }

  private input(register: Register): number | undefined {
    const index = this.inputs.get(register);
    if (index === undefined) return undefined;
    const { source } = this.program.inputs[index];
    if (source.kind === 'blockIdx') return this.block[source.axis];
    if (source.kind === 'threadIdx') return this.thread[source.axis];
    if (source.kind === 'blockDim') return this.launch.block[source.axis];
    if (source.kind === 'gridDim') return this.launch.grid[source.axis];
    const given = this.launch.inputs.get(index);
    return given?.kind === 'number' ? given.value : undefined;
  }
}

const knownInputs = new WeakMap<Program, ReadonlyMap<Register, number>>();

/** By register of an input: its place among the inputs. */
function inputsOf(program: Program): ReadonlyMap<Register, number> {
  let inputs = knownInputs.get(program);
  if (!inputs)
    knownInputs.set(program, (inputs = new Map(program.inputs.map(({ register }, index) => [register, index]))));
  return inputs;
}
