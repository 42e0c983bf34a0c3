/** What accesses are made to: variables, parameters of the kernel, and their values. */

import type { Register, ScalarType } from '../program/program';
import type { Context } from './context';
import type { FlatInstruction } from './flatten';
import type { Operand, PtxVariable } from './module';
import { demangledName } from './names';
import { parameterName, type Roots } from './roots';
import { irType, typeOf } from './types';
import { sizeOf } from './variables';
import { type KernelVariables, scalarType } from './variables-of-kernel';

export class Memory {
  private readonly parameters: ReadonlyMap<string, number>;
  /** Objects that pointer parameters point to, by the name of their root. */
  private readonly pointees = new Map<string, number>();
  /** Registers of parameters, by the name of their root. */
  private readonly pointers = new Map<string, Register>();
  private readonly written = new Set<number>();

  constructor(
    private readonly variables: KernelVariables,
    private readonly roots: Roots,
    private readonly declared: readonly PtxVariable[],
    private readonly parameterNames: readonly (string | undefined)[],
  ) {
    this.parameters = new Map(declared.map((parameter, index) => [parameter.name, index]));
  }

  /** The object an address is made from, if that is one. */
  objectOf(ctx: Context, operand: Operand | undefined, frame: number, elementBytes: number): number | undefined {
    const base = operand?.kind === 'address' ? operand.base : operand;
    if (base?.kind === 'symbol') return this.variables.objectOf(ctx.builder, base.name, frame)?.index;
    if (base?.kind !== 'register') return undefined;
    const root = this.roots.of(base.register);
    if (root === undefined) return undefined;
    if (!root.startsWith('symbol')) return this.pointee(ctx, root, elementBytes);
    const symbol = /^symbol (\d+):(.*)$/s.exec(root);
    if (symbol) return this.variables.objectOf(ctx.builder, symbol[2], Number(symbol[1]))?.index;
    return this.pointee(ctx, root, elementBytes);
  }

  private pointee(ctx: Context, root: string, elementBytes: number): number | undefined {
    const known = this.pointees.get(root);
    if (known !== undefined) return known;
    const register = this.pointers.get(root);
    if (register === undefined) return undefined;
    const { builder } = ctx;
    const index = builder.pointee({
      name: builder.registers[register].name ?? 'memory',
      space: 'global',
      alignment: elementBytes,
      isDynamic: false,
      register,
      dimensions: [],
      elementBytes,
      elementType: '',
      place: ctx.places.of(ctx.kernel.entry.location),
    });
    this.pointees.set(root, index);
    return index;
  }

  /** Every pointer parameter that was read has an object, so that a launch gives it an address. */
  addPointees(ctx: Context): void {
    for (const root of this.pointers.keys()) if (this.roots.isPointer(root)) this.pointee(ctx, root, 4);
  }

  /** ld.param in the kernel itself: inputs of the launch. */
  loadParameter(ctx: Context, instruction: FlatInstruction): void {
    const { opcode, operands } = instruction;
    const [dst, address] = operands;
    const at = address?.kind === 'address' ? this.parameterAt(ctx, address.base, address.offset) : undefined;
    const type = irType(typeOf(opcode.parts));
    if (!at || type === undefined) {
      ctx.writeUnknown(dst, `${instruction.text.trim()}: parameter at an address known at run time only`);
      return;
    }
    const size = sizeOf(typeOf(opcode.parts) ?? '');
    const targets = dst?.kind === 'vector' ? dst.elements : [dst];
    targets.forEach((target, index) => {
      ctx.write(target, this.parameter(ctx, at.name, at.offset + index * size, type));
    });
  }

  /** The parameter and byte that an address names, also through a register that holds the parameter's address. */
  private parameterAt(
    ctx: Context,
    base: Operand,
    offset: number,
    depth = 0,
  ): { name: string; offset: number } | undefined {
    if (base.kind === 'symbol') return { name: base.name, offset: offset + base.offset };
    if (base.kind !== 'register' || depth > 8 || ctx.assignments.isSingle[base.register] === 0) return undefined;
    const definition = ctx.assignments.definition[base.register];
    if (!definition) return undefined;
    const [, source, more] = definition.operands;
    const { base: name } = definition.opcode;
    if ((name === 'mov' || name === 'cvta') && source) return this.parameterAt(ctx, source, offset, depth + 1);
    if (name !== 'add' || more?.kind !== 'integer' || !source) return undefined;
    return this.parameterAt(ctx, source, offset + Number(more.value), depth + 1);
  }

  private parameter(ctx: Context, name: string, offset: number, type: ScalarType): Register {
    const index = this.parameters.get(name);
    if (index === undefined) return ctx.builder.unknown(type, `parameter ${name} of a call`);
    const isWhole = this.declared[index].dimensions.length === 0;
    const title = this.parameterNames[index] ?? `parameter ${index + 1}`;
    const shown = isWhole ? title : `${title} + ${offset} bytes`;
    const source = { kind: 'parameter', parameter: index, path: [], offset } as const;
    const register = ctx.builder.input(type, source, shown);
    if (type === 'i64' || type === 'u64') this.pointers.set(parameterName(name, offset), register);
    return ctx.coerce(register, type);
  }

  /** The value of a constant scalar that the host sets: `__constant__ int n`. */
  knownScalar(ctx: Context, operand: Operand | undefined, frame: number, type: ScalarType): Register | undefined {
    if (operand?.kind !== 'address' || operand.offset !== 0 || operand.base.kind !== 'symbol') return undefined;
    const found = this.variables.objectOf(ctx.builder, operand.base.name, frame);
    if (found?.variable.space !== 'const' || found.variable.initial) return undefined;
    const declared = scalarType(found.variable);
    if (declared === undefined) return undefined;
    const name = demangledName(found.variable.name);
    return ctx.coerce(ctx.input(declared, { kind: 'global', path: [name], offset: 0 }, name), type);
  }

  /** Remembers how an object is read and written, for its contents. */
  noteRead(ctx: Context, access: number, type: ScalarType): void {
    const { object } = ctx.builder.accesses[access];
    if (object !== undefined) this.variables.noteRead(object, type);
  }

  addContents(ctx: Context): void {
    for (const site of ctx.builder.accesses) {
      if (site.operation !== 'load' && site.object !== undefined) this.written.add(site.object);
    }
    this.variables.addContents(ctx.builder, (object) => this.written.has(object));
  }
}
