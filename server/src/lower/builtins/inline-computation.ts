/**
 * Inline assembly that computes and touches no memory: `bfe`, `lop3`, `prmt`, `mad` or several of them with registers of their
 * own. Its text is PTX, so the handlers of PTX lower it, into the builder of the kernel that it stands in.
 */
import type { AsmStatement } from '../../parse/ast';
import type { Register, ScalarType } from '../../program/program';
import { arithmetic, type Handler } from '../../ptx/arithmetic';
import { bits } from '../../ptx/bits';
import { type Assignments, flatGraph } from '../../ptx/blocks';
import { Context as PtxContext } from '../../ptx/context';
import { type FlatInstruction, type FlatKernel, flatten } from '../../ptx/flatten';
import { heldTypesOf } from '../../ptx/held-types';
import type { Operand } from '../../ptx/module';
import { parsePtx } from '../../ptx/parse';
import { Places } from '../../ptx/places';
import type { Context } from '../context';
import type { Value } from '../values';

/** A statement without branches and accesses; its operands are the first registers, in their order. */
interface Computation {
  readonly kernel: FlatKernel;
  readonly instructions: readonly FlatInstruction[];
  readonly types: readonly ScalarType[];
  readonly places: Places;
}

const handlers: ReadonlyMap<string, Handler> = new Map(Object.entries({ ...arithmetic, ...bits }));

/** The result of an output, with the type that its register has. */
export interface ComputedOutput {
  readonly type: ScalarType;
  readonly register: Register;
}

export interface Computed {
  readonly outputs: readonly ComputedOutput[];
  /** Some result is not known, and does not lead to the operands that it is made from. */
  readonly losesOperands: boolean;
}

/**
 * The outputs of a statement that only computes; undefined for any other.
 * @param given values of the operands: what is read of outputs (`+r`), then the inputs
 */
export function computedOutputs(
  ctx: Context,
  node: AsmStatement,
  given: readonly (Value | undefined)[],
): Computed | undefined {
  const computation = computationOf(node);
  if (!computation) return undefined;
  const { kernel, instructions, types, places } = computation;
  const straight = new StraightContext(kernel, types, places, ctx);
  given.forEach((value, operand) => {
    if (value) straight.preset(operand, value);
  });
  for (const instruction of instructions) {
    straight.current = instruction;
    handlers.get(instruction.opcode.base)?.(straight, instruction);
  }
  const outputs = node.outputs.map((_, operand) => ({ type: types[operand], register: straight.valueOf(operand) }));
  return { outputs, losesOperands: straight.losesOperands };
}

const known = new WeakMap<AsmStatement, { readonly computation: Computation | undefined }>();

/** Reading the text takes a while, and an unrolled loop lowers its statements often. */
function computationOf(node: AsmStatement): Computation | undefined {
  let found = known.get(node);
  if (!found) known.set(node, (found = { computation: readComputation(node) }));
  return found.computation;
}

/** What the letter of a constraint declares: PTX ISA's types of registers, as the guide to inline assembly has them. */
const declared: Readonly<Record<string, string>> = { h: 'b16', r: 'b32', l: 'b64', f: 'f32', d: 'f64', n: 'b64' };

function readComputation(node: AsmStatement): Computation | undefined {
  const letters = [...node.outputs, ...node.inputs].map(({ constraint }) => constraint.replace(/[=+&]/g, ''));
  if (node.outputs.length === 0 || letters.some((letter) => declared[letter] === undefined)) return undefined;
  const registers = letters.map((letter, i) => `.reg .${declared[letter]} ${operandName(String(i))};`).join('\n');
  const body = node.template.replace(/%(%|\d+)/g, (_, what: string) => (what === '%' ? '%' : operandName(what)));
  const module = parsePtx(`.visible .entry assembly()\n{\n${registers}\n${body}\n}\n`);
  const [entry] = module.functions;
  if (!entry?.body || entry.isCut || module.problems.length > 0) return undefined;
  const kernel = flatten(module, entry);
  const instructions: FlatInstruction[] = [];
  for (const item of kernel.items) {
    if (item.kind === 'label' || !handlers.has(item.opcode.base)) return undefined;
    instructions.push(item);
  }
  const held = heldTypesOf(kernel.registers, flatGraph(kernel));
  return { kernel, instructions, types: held, places: new Places(module, () => true) };
}

const operandName = (operand: string): string => `%operand_${operand}`;

/** Without branches every register has one value at a time: none needs to be a variable. */
class StraightContext extends PtxContext {
  losesOperands = false;
  private readonly values = new Map<number, Register>();

  constructor(
    kernel: FlatKernel,
    private readonly types: readonly ScalarType[],
    places: Places,
    private readonly around: Context,
  ) {
    super(kernel, noAssignments, places, undefined, types, () => undefined, around.builder);
  }

  preset(operand: number, value: Value): void {
    const { builder } = this.around;
    const type = this.types[operand];
    const register =
      value.kind === 'scalar'
        ? this.coerced(value.register, type)
        : builder.unknown(type, value.kind === 'unknown' ? value.reason : 'operand of inline assembly');
    this.values.set(operand, register);
  }

  /** C++ converts an operand to the type of its register; predicates and small integers widen. */
  private coerced(register: Register, type: ScalarType): Register {
    const { builder } = this.around;
    return builder.convert(builder.typeOf(register), type, register);
  }

  override valueOf(register: number): Register {
    return (
      this.values.get(register) ?? this.around.builder.unknown(this.types[register], 'inline assembly assigns it later')
    );
  }

  override writeUnknown(operand: Operand | undefined, reason: string): void {
    this.losesOperands = true;
    super.writeUnknown(operand, reason);
  }

  override write(operand: Operand | undefined, result: Register): void {
    if (operand?.kind !== 'register') return;
    const { register } = operand;
    const type = this.types[register];
    const fresh = this.coerce(result, type);
    const guard = this.current?.guard;
    const old = guard && this.values.get(register);
    if (!guard || old === undefined) {
      this.values.set(register, fresh);
      return;
    }
    const condition = this.coerce(this.valueOf(guard.register), 'pred');
    const [set, clear] = guard.isNegated ? [old, fresh] : [fresh, old];
    this.values.set(register, this.builder.select(type, condition, set, clear));
  }
}

/** Nobody asks: values are kept by the context itself. */
const noAssignments: Assignments = {
  isSingle: new Uint8Array(0),
  isAssigned: new Uint8Array(0),
  isUsed: new Uint8Array(0),
  definition: [],
};
