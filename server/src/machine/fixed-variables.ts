/**
 * Behind `if (t == 255)` the compiler reads 255 for t: `s[t]` is another address there than the `s[t]` before it, and is loaded again. Evidence: machine
 * code of 27 small kernels, nvcc 13.0, sm_90 (H200: sph_sorted.cu:81, barnes_hut_morton.cu:135):
 *
 * - constants and parameters take the place of the variable (`t == n`), other values do not (`t == blockDim.x - 1`, `t == a[n]`);
 * - in the arm where both are equal, also of `!=`, of `c && t == 255`, of a conditional expression and behind `if (t != 255) return`;
 * - what was stored there is loaded again as well;
 * - the variable is the index itself: s[t], m[y][t], p[t].x, a[i] with i a sum; not s[t + 1], s[2 * t] or s[t / 32] with `t / 32 == 3`, which are
 *   computed before the branch.
 *
 * Not modelled: m[3][t], whose row is a part of the offset here as the 1 of s[t + 1] is; it is taken for known.
 */
import type { ControlFlow } from '../program/control-flow';
import type { Instruction, MemoryObject, Program, Register } from '../program/program';

/** Coefficients by register, constants left out. */
type Form = ReadonlyMap<Register, number>;

/** Whether an address is another one in an arm, by its register and offset, and the array behind it. */
export type IsOther = (address: Register, offset: number, object: MemoryObject | undefined) => boolean;

const MOST_TERMS = 16;

type Comparison = Extract<Instruction, { op: 'compare' }>;

/** With which constant a comparison of an unsigned number says that it is 0. */
const belowOne: Readonly<Record<'holds' | 'fails', Partial<Record<Comparison['fn'], number>>>> = {
  holds: { lt: 1, le: 0 },
  fails: { ge: 1, gt: 0 },
};

export class FixedVariables {
  /** By register. */
  private definedBy: (Instruction | undefined)[] | undefined;
  private readonly forms = new Map<Register, Form | undefined>();

  constructor(
    private readonly program: Program,
    private readonly flow: ControlFlow,
  ) {}

  /** Undefined where a block is no arm in which a variable has one value. */
  inArm(block: number): IsOther | undefined {
    const [from, ...others] = this.flow.predecessors[block];
    if (from === undefined || others.length > 0) return undefined;
    const { terminator } = this.program.blocks[from];
    if (terminator.kind !== 'branch' || terminator.ifTrue === terminator.ifFalse) return undefined;
    const fixed = this.fixedBy(terminator.condition, terminator.ifTrue === block);
    if (fixed.length === 0) return undefined;
    return (address, offset, object) => fixed.some((form) => this.isIndex(form, address, offset, object));
  }

  /** Whether a block is the arm of an equality with something that is given, and with what; `other` is the arm beside it. */
  givenIn(block: number, other: number): 'constant' | 'parameter' | undefined {
    const [from, ...others] = this.flow.predecessors[block];
    if (from === undefined || others.length > 0) return undefined;
    const { terminator } = this.program.blocks[from];
    if (terminator.kind !== 'branch' || (terminator.ifTrue !== other && terminator.ifFalse !== other)) return undefined;
    const test = this.definition(terminator.condition);
    if (this.fixedBy(terminator.condition, terminator.ifTrue === block).length === 0 || test?.op !== 'compare')
      return undefined;
    const isConstant = [test.a, test.b].some((r) => this.program.registers[r].role === 'constant');
    return isConstant ? 'constant' : 'parameter';
  }

  /** Whether two addresses are the same sum. */
  isSame(one: Register, other: Register): boolean {
    const [a, b] = [this.formOf(one), this.formOf(other)];
    return (
      a !== undefined && b !== undefined && a.size === b.size && [...a].every(([r, factor]) => b.get(r) === factor)
    );
  }

  private definition(register: Register): Instruction | undefined {
    if (!this.definedBy) {
      this.definedBy = new Array<Instruction | undefined>(this.program.registers.length);
      for (const { instructions } of this.program.blocks)
        for (const i of instructions)
          if ('dst' in i && typeof i.dst === 'number' && this.program.registers[i.dst].role === 'temporary')
            this.definedBy[i.dst] = i;
    }
    return this.definedBy[register];
  }

  private fixedBy(condition: Register, holds: boolean): Form[] {
    const i = this.definition(condition);
    if (i?.op === 'binary' && i.fn === (holds ? 'and' : 'or') && i.type === 'pred')
      return [...this.fixedBy(i.a, holds), ...this.fixedBy(i.b, holds)];
    if (i?.op !== 'compare' || !this.saysEqual(i, holds) || !/^[iu]/.test(i.type)) return [];
    const variable = this.isGiven(i.b) ? i.a : this.isGiven(i.a) ? i.b : undefined;
    const form = variable === undefined || this.isGiven(variable) ? undefined : this.formOf(variable);
    return form && form.size > 0 && !this.isRewritten(form) ? [form] : [];
  }

  /** Whether both operands are equal where a comparison holds, or does not; unsigned numbers below 1 are 0. */
  private saysEqual({ fn, type, b }: Comparison, holds: boolean): boolean {
    if (fn === (holds ? 'eq' : 'ne')) return true;
    const { value } = this.program.registers[b];
    return type.startsWith('u') && value === belowOne[holds ? 'holds' : 'fails'][fn];
  }

  /** A quotient or a mask that is compared: the comparison is made of what it is computed of. */
  private isRewritten(form: Form): boolean {
    const [[register]] = form;
    return form.size === 1 && this.definition(register)?.op === 'binary';
  }

  private isGiven(register: Register): boolean {
    const { role } = this.program.registers[register];
    if (role === 'constant') return true;
    return (
      role === 'input' &&
      this.program.inputs.some((input) => input.register === register && input.source.kind === 'parameter')
    );
  }

  /** Whether the variable is an index of the array, by itself. */
  private isIndex(variable: Form, address: Register, offset: number, object: MemoryObject | undefined): boolean {
    const form = object && this.formOf(address);
    if (!form) return false;
    const sizes = [object.elementBytes];
    for (const dimension of object.dimensions.slice(1).reverse()) sizes.push(dimension * sizes[sizes.length - 1]);
    return sizes.some((size) => {
      if (offset < 0 || offset >= size) return false;
      const others = sizes.filter((other) => other !== size);
      return (
        [...variable].every(([register, factor]) => form.get(register) === factor * size) &&
        [...form].every(([r, factor]) => variable.has(r) || r === object.register || others.includes(factor))
      );
    });
  }

  private formOf(register: Register): Form | undefined {
    if (this.forms.has(register)) return this.forms.get(register);
    const form = this.computeForm(register);
    this.forms.set(register, form && form.size > MOST_TERMS ? undefined : form);
    return this.forms.get(register);
  }

  private computeForm(register: Register): Form | undefined {
    if (this.program.registers[register].role === 'constant') return new Map();
    const i = this.definition(register);
    if (i?.op === 'convert' && !/f/.test(i.from + i.type)) return this.formOf(i.a);
    if (i?.op === 'unary' && i.fn === 'mov') return this.formOf(i.a);
    if (i?.op === 'binary' && /^[iu]/.test(i.type)) {
      const { value } = this.program.registers[i.b];
      if (i.fn === 'mul' && value !== undefined) return combined(this.formOf(i.a), value);
      if (i.fn === 'add') return combined(this.formOf(i.a), 1, this.formOf(i.b), 1);
      if (i.fn === 'sub') return combined(this.formOf(i.a), 1, this.formOf(i.b), -1);
    }
    return new Map([[register, 1]]);
  }
}

function combined(a: Form | undefined, x: number, b: Form | undefined = new Map(), y = 0): Form | undefined {
  if (!a || !b) return undefined;
  const sum = new Map<Register, number>();
  for (const [register, factor] of a) sum.set(register, factor * x);
  for (const [register, factor] of b) sum.set(register, (sum.get(register) ?? 0) + factor * y);
  return sum;
}
