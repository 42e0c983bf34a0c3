/** One kernel with everything it calls in one list of instructions, registers numbered through. */

import type {
  Opcode,
  Operand,
  PtxFunction,
  PtxInstruction,
  PtxModule,
  PtxRegister,
  PtxVariable,
  SourceLocation,
} from './module';
import { sizeOf } from './variables';

export type FlatInstruction = PtxInstruction;

export interface FlatLabel {
  readonly kind: 'label';
  readonly name: string;
  readonly frame: number;
}

/** A function at one place of call. */
export interface Frame {
  readonly function: PtxFunction;
  readonly parent: number;
}

export interface FlatKernel {
  readonly entry: PtxFunction;
  readonly items: readonly (FlatInstruction | FlatLabel)[];
  readonly registers: readonly PtxRegister[];
  readonly frames: readonly Frame[];
  /** Calls that were not followed. */
  readonly skipped: readonly { readonly location?: SourceLocation; readonly reason: string }[];
}

const MOST_DEPTH = 24;
const MOST_INSTRUCTIONS = 400_000;

/** An opcode that stands nowhere in the text. */
export const opcodeOf = (...parts: string[]): Opcode => ({ text: parts.join('.'), base: parts[0], parts });
const BRANCH = opcodeOf('bra');
const ALLOCATION = opcodeOf('malloc');

export function flatten(module: PtxModule, entry: PtxFunction): FlatKernel {
  const flattener = new Flattener(module);
  flattener.function(entry, -1, undefined, new Map());
  return { entry, ...flattener.result };
}

/** What a call binds: parameters of the callee to the caller's variables, by name. */
type Binding = ReadonlyMap<string, string>;

class Flattener {
  private readonly items: (FlatInstruction | FlatLabel)[] = [];
  private readonly registers: PtxRegister[] = [];
  private readonly frames: Frame[] = [];
  private readonly skipped: { location?: SourceLocation; reason: string }[] = [];
  private readonly functions: ReadonlyMap<string, PtxFunction>;
  /** Registers that stand for parameters of calls, by frame, name and offset. */
  private readonly slots = new Map<string, number>();
  private depth = 0;

  constructor(module: PtxModule) {
    this.functions = new Map(module.functions.filter((f) => f.body !== undefined).map((f) => [f.name, f]));
  }

  get result() {
    const { items, registers, frames, skipped } = this;
    return { items, registers, frames, skipped };
  }

  /** @param call place of the call, undefined for the kernel itself */
  function(callee: PtxFunction, parent: number, call: SourceLocation | undefined, binding: Binding): void {
    const frame = this.frames.length;
    this.frames.push({ function: callee, parent });
    const base = this.registers.length;
    for (const register of callee.registers) this.registers.push(register);
    const places = new Map<SourceLocation, SourceLocation>();
    const isKernel = parent < 0;
    const end = `@end${frame}`;
    this.depth++;
    for (const item of callee.body ?? []) {
      if (item.kind === 'label') {
        this.items.push({ kind: 'label', name: item.name, frame });
        continue;
      }
      const instruction = isKernel
        ? item
        : {
            ...item,
            frame,
            operands: item.operands.map((operand) => renumbered(operand, base)),
            guard: item.guard && { ...item.guard, register: item.guard.register + base },
            location: chained(item.location, call, places),
          };
      const { base: name, parts } = instruction.opcode;
      if (name === 'call') this.call(instruction, frame);
      else if (name === 'ret' && !isKernel) this.items.push(jump(instruction, end));
      else if (parts[1] === 'param' && (name === 'ld' || name === 'st')) this.parameter(instruction, frame, binding);
      else this.items.push(instruction);
    }
    this.depth--;
    if (!isKernel) this.items.push({ kind: 'label', name: end, frame });
  }

  /** A parameter of a call is a register of its own: `st.param` assigns it, `ld.param` reads it. */
  private parameter(instruction: FlatInstruction, frame: number, binding: Binding): void {
    const isLoad = instruction.opcode.base === 'ld';
    const address = instruction.operands[isLoad ? 1 : 0];
    const values = instruction.operands[isLoad ? 0 : 1];
    const name = address?.kind === 'address' && address.base.kind === 'symbol' ? address.base.name : undefined;
    const declared = name === undefined ? undefined : (binding.get(name) ?? this.slotName(name, frame));
    if (name === undefined || declared === undefined || address?.kind !== 'address' || !values) {
      this.items.push(instruction);
      return;
    }
    const type = instruction.opcode.parts[instruction.opcode.parts.length - 1];
    const elements = values.kind === 'vector' ? values.elements : [values];
    elements.forEach((element, index) => {
      const slot: Operand = {
        kind: 'register',
        register: this.slot(declared, address.offset + index * sizeOf(type), type),
      };
      const operands = isLoad ? [element, slot] : [slot, element];
      this.items.push({ ...instruction, opcode: opcodeOf('mov', type), operands });
    });
  }

  /** The name of a variable declared for calls in this frame; undefined for parameters of the kernel. */
  private slotName(name: string, frame: number): string | undefined {
    const isDeclared = this.frames[frame].function.variables.some(
      (v: PtxVariable) => v.space === 'param' && v.name === name,
    );
    return isDeclared ? `${frame}:${name}` : undefined;
  }

  private slot(name: string, offset: number, type: string): number {
    const key = `${name}+${offset}`;
    let register = this.slots.get(key);
    if (register === undefined) {
      register = this.registers.length;
      this.registers.push({ name: key, type });
      this.slots.set(key, register);
    }
    return register;
  }

  private call(instruction: FlatInstruction, frame: number): void {
    const lists = instruction.operands.map((operand) => (operand.kind === 'list' ? operand.elements : undefined));
    const at = instruction.operands.findIndex((operand) => operand.kind === 'symbol');
    const target = instruction.operands[at];
    const name = target?.kind === 'symbol' ? target.name : 'a function pointer';
    const callee = this.functions.get(name);
    const isDeclared = callee?.body === undefined;
    if (isDeclared && name === 'free') return;
    const isAllocation = isDeclared && name === 'malloc' && !instruction.guard;
    if (isAllocation && this.allocation(instruction, lists[at - 1]?.[0], lists[at + 1]?.[0], frame)) return;
    const isRecursive = callee !== undefined && this.isActive(callee, frame);
    const tooMuch = this.depth >= MOST_DEPTH || this.items.length > MOST_INSTRUCTIONS;
    if (!callee || isRecursive || tooMuch) {
      const why = isRecursive ? 'recursive' : callee ? 'too deep' : 'no body';
      this.skipped.push({ location: instruction.location, reason: `call of ${name}: ${why}` });
      this.items.push({ ...instruction, operands: [] });
      return;
    }
    const binding = new Map<string, string>();
    const bind = (variables: readonly PtxVariable[], given: readonly Operand[] | undefined) => {
      variables.forEach((variable, index) => {
        const operand = given?.[index];
        if (operand?.kind === 'symbol') binding.set(variable.name, `${frame}:${operand.name}`);
      });
    };
    bind(callee.returns, at > 0 ? lists[at - 1] : undefined);
    bind(callee.parameters, lists[at + 1]);
    const skip = `@after${this.items.length}`;
    if (instruction.guard) {
      const guard = { ...instruction.guard, isNegated: !instruction.guard.isNegated };
      this.items.push({ ...jump(instruction, skip), guard });
    }
    this.function(callee, frame, instruction.location, binding);
    if (instruction.guard) this.items.push({ kind: 'label', name: skip, frame });
  }

  /** `malloc` as an instruction of its own, from the size to the address; false where it is called in another way. */
  private allocation(
    instruction: FlatInstruction,
    result: Operand | undefined,
    size: Operand | undefined,
    frame: number,
  ): boolean {
    const [to, from] = [result, size].map((each) => {
      const name = each?.kind === 'symbol' ? this.slotName(each.name, frame) : undefined;
      return name === undefined ? undefined : ({ kind: 'register', register: this.slot(name, 0, 'b64') } as const);
    });
    if (!to || !from) return false;
    this.items.push({ ...instruction, opcode: ALLOCATION, operands: [to, from] });
    return true;
  }

  private isActive(callee: PtxFunction, frame: number): boolean {
    for (let at = frame; at >= 0; at = this.frames[at].parent) if (this.frames[at].function === callee) return true;
    return false;
  }
}

function jump(instruction: FlatInstruction, label: string): FlatInstruction {
  return { ...instruction, opcode: BRANCH, operands: [{ kind: 'symbol', name: label, offset: 0 }] };
}

function renumbered(operand: Operand, base: number): Operand {
  switch (operand.kind) {
    case 'register':
      return { kind: 'register', register: operand.register + base };
    case 'address':
      return {
        ...operand,
        base: renumbered(operand.base, base),
        more: operand.more.map((each) => renumbered(each, base)),
      };
    case 'vector':
    case 'list':
      return { ...operand, elements: operand.elements.map((each) => renumbered(each, base)) };
    case 'pair':
      return { ...operand, first: renumbered(operand.first, base), second: renumbered(operand.second, base) };
    case 'not':
      return { ...operand, of: renumbered(operand.of, base) };
    default:
      return operand;
  }
}

/** The location with the place of the call behind its own chain. */
function chained(
  location: SourceLocation | undefined,
  call: SourceLocation | undefined,
  known: Map<SourceLocation, SourceLocation>,
): SourceLocation | undefined {
  if (!location) return call;
  let result = known.get(location);
  if (!result) {
    const inlinedAt = location.inlinedAt ? chained(location.inlinedAt, call, known) : call;
    known.set(location, (result = { ...location, inlinedAt }));
  }
  return result;
}
