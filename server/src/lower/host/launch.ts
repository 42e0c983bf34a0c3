/** `kernel<<<…>>>(…)` and functions that launch, in the program of the host: the values of the launch, scalar by scalar as the kernel's inputs name them. */
import type * as ast from '../../parse/ast';
import type { HostLaunchValue } from '../../program/host-program';
import type { Register } from '../../program/program';
import { callArguments } from '../calls';
import { type Context, placeOf } from '../context';
import { convertRegister, convertValue, isFloating } from '../conversions';
import { expression } from '../expressions';
import type { KernelInstance } from '../lower-kernel';
import { chooseOverload } from '../overloads';
import { expandTypes } from '../packs';
import { rvalue, valueAs } from '../places';
import { dereference } from '../pointers';
import { instanceKey } from '../records';
import { resolveType } from '../resolve-type';
import { Scope } from '../scope';
import { bindTemplateParameters } from '../templates';
import { parameterType, type Type, types } from '../types';
import { unknownValue, type Value } from '../values';
import { handedCaptures, withCaptureTypes } from './closures';
import { holdsPointer } from './only-read';

interface Parameter {
  readonly name: string;
  readonly type: Type;
}

interface Leaf {
  readonly value: HostLaunchValue;
  readonly register: Register;
}

export function hostLaunch(ctx: Context, node: ast.LaunchExpression): Value {
  const kernel = rvalue(ctx, expression(ctx, node.kernel), node.kernel);
  const [grid, block, shared] = node.configuration.map((c) => rvalue(ctx, expression(ctx, c), c));
  const args = callArguments(ctx, node.arguments).map((argument) => {
    const value = argument.kind === 'place' && argument.type.kind === 'lambda' ? rvalue(ctx, argument, node) : argument;
    return value.kind === 'lambda' ? withCaptureTypes(ctx, value) : value;
  });
  const leaves = configuration(ctx, { grid, block, shared }, node);
  const launched = parametersOf(ctx, kernel, args);
  args.forEach((argument, index) => {
    const parameter = launched.parameters?.[index];
    const own = node.arguments[index] ?? node;
    // braces make an object of the parameter's type
    const value = rvalue(ctx, parameter ? valueAs(ctx, argument, parameter.type, own) : argument, own);
    collect(ctx, leaves, value, index, [parameter?.name ?? `argument ${index + 1}`]);
  });
  emitLaunch(ctx, leaves, launched, node);
  return { kind: 'void', type: types.void };
}

/** What a function of the runtime launches a kernel with. */
export interface Configuration {
  readonly grid: Value | undefined;
  readonly block: Value | undefined;
  readonly shared: Value | undefined;
}

/**
 * A launch by a function that is given its arguments one by one, or where they lie (`void* args[]`): a pointer to each parameter. Where it is not known
 * which kernel it launches, and what that is given, all memory of the device may have changed.
 */
export function launchByFunction(
  ctx: Context,
  kernel: Value,
  given: Configuration,
  args: readonly Value[] | { readonly pointers: Register },
  node: ast.CallExpression,
): void {
  const leaves = configuration(ctx, given, node);
  const launched = parametersOf(ctx, kernel, 'pointers' in args ? openArguments(kernel) : args);
  launched.parameters?.forEach(({ name, type }, index) => {
    const value = 'pointers' in args ? pointedTo(ctx, args.pointers, index, type, node) : args[index];
    if (value) collect(ctx, leaves, convertValue(ctx, rvalue(ctx, value, node), type, node), index, [name]);
  });
  if (!launched.parameters) {
    const anywhere: Type = { kind: 'pointer', to: types.int };
    const register = ctx.builder.unknown('i64', 'argument of a kernel that is not known');
    collect(ctx, leaves, { kind: 'scalar', type: anywhere, register }, 0, ['argument 1']);
  }
  emitLaunch(ctx, leaves, launched, node);
}

/** As many as the kernel has parameters. */
function openArguments(kernel: Value): Value[] {
  if (kernel.kind !== 'functions') return [];
  const declaration = kernel.declarations.find((d) => d.body) ?? kernel.declarations[0];
  return declaration.parameters.map(() => unknownValue({ kind: 'unknown', reason: 'parameter' }, 'parameter'));
}

const POINTER_BYTES = 8;

/** What one of the pointers that lie one behind the other leads to. */
function pointedTo(ctx: Context, pointers: Register, index: number, type: Type, node: ast.Node): Value {
  const pointer: Type = { kind: 'pointer', to: type };
  const at: Value = { kind: 'scalar', type: { kind: 'pointer', to: pointer }, register: pointers };
  const list = dereference(ctx, at, node);
  if (list.kind !== 'place' || list.place.kind !== 'memory') return list;
  const place = { ...list.place, offset: index * POINTER_BYTES };
  return dereference(ctx, rvalue(ctx, { ...list, place }, node), node);
}

function configuration(ctx: Context, { grid, block, shared }: Configuration, node: ast.Node): Leaf[] {
  const bytes = shared && convertValue(ctx, shared, types.ulong, node);
  return [
    ...shape(ctx, 'grid', grid, node),
    ...shape(ctx, 'block', block, node),
    {
      value: { kind: 'dynamicSharedBytes' },
      register: bytes?.kind === 'scalar' ? bytes.register : ctx.builder.constant('u64', 0),
    },
  ];
}

function emitLaunch(ctx: Context, leaves: readonly Leaf[], { name, instance }: Launched, node: ast.Node): void {
  ctx.builder.emit({ op: 'host', fn: 'launch', args: leaves.map((l) => l.register), launch: ctx.launches.length });
  ctx.launches.push({
    place: placeOf(ctx, node),
    kernel: name,
    instance: instance && instanceKey(instance.templateArguments),
    values: leaves.map((l) => l.value),
  });
  ctx.launched.push(instance);
}

interface Launched {
  readonly name: string;
  readonly parameters?: readonly Parameter[];
  readonly instance?: KernelInstance;
}

/** The three numbers of a grid or block. */
function shape(ctx: Context, kind: 'grid' | 'block', value: Value | undefined, node: ast.Node): Leaf[] {
  const one: Value = { kind: 'scalar', type: types.uint, register: ctx.builder.constant('u32', 1) };
  const given = value?.kind === 'aggregate' ? value.elements : [value ?? unknownValue(types.uint, 'no configuration')];
  return ([0, 1, 2] as const).map((axis) => {
    const part = axis < given.length ? convertValue(ctx, given[axis], types.uint, node) : one;
    const register = part.kind === 'scalar' ? part.register : ctx.builder.unknown('u32', 'size of a launch');
    return { value: { kind, axis }, register: convertRegister(ctx, register, ctx.builder.typeOf(register), 'u32') };
  });
}

/** The kernel's parameters with the types of this instance; undefined when it is not one that is defined here. */
function parametersOf(ctx: Context, kernel: Value, args: readonly Value[]): Launched {
  if (kernel.kind !== 'functions') return { name: kernel.kind === 'builtin' ? kernel.name : '' };
  const name = kernel.declarations[0]?.name.parts.at(-1)?.name ?? '';
  const chosen = chooseOverload(ctx, kernel.declarations, kernel.scope, args, kernel.templateArguments);
  if (!chosen) return { name };
  const { declaration } = chosen;
  const scope = new Scope(chosen.scope, 'launch');
  if (declaration.templateParameters)
    bindTemplateParameters(ctx, scope, declaration.templateParameters, chosen.templateArguments);
  const parameters = declaration.parameters.flatMap((parameter, index): Parameter[] => {
    if (!parameter.pack)
      return [
        {
          name: parameter.name ?? `argument ${index + 1}`,
          type: parameterType(resolveType(ctx, parameter.type, scope)),
        },
      ];
    const spread = expandTypes(ctx, parameter.type, scope) ?? [];
    return spread.map((type, i) => ({ name: `${parameter.name}#${i}`, type }));
  });
  return { name, parameters, instance: chosen };
}

function collect(ctx: Context, leaves: Leaf[], value: Value, parameter: number, path: readonly string[]): void {
  if (value.kind === 'scalar') {
    const to = value.type.kind === 'pointer' ? value.type.to : undefined;
    const kind = {
      kind: 'parameter',
      parameter,
      path,
      isPointer: to !== undefined,
      writes: to && !to.isConst,
    } as const;
    leaves.push({
      value: { ...kind, leadsFurther: to && holdsPointer(to), isFloat: isFloating(value.type) },
      register: value.register,
    });
  } else if (value.kind === 'lambda') {
    for (const [name, captured] of handedCaptures(ctx, value))
      collect(ctx, leaves, captured, parameter, [...path, name]);
  } else if (value.kind === 'aggregate') {
    const fields = value.type.kind === 'record' ? value.type.record.fields : undefined;
    value.elements.forEach((element, i) => {
      const field = fields?.[i];
      const isHidden = field?.isBase || field?.isAnonymous;
      collect(ctx, leaves, element, parameter, isHidden ? path : [...path, field?.name ?? String(i)]);
    });
  }
}
