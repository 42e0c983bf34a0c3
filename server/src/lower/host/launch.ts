/** `kernel<<<…>>>(…)` in the program of the host: the values of the launch, scalar by scalar as the kernel's inputs name them. */
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
import { rvalue } from '../places';
import { instanceKey } from '../records';
import { resolveType } from '../resolve-type';
import { Scope } from '../scope';
import { bindTemplateParameters } from '../templates';
import { parameterType, type Type, types } from '../types';
import { unknownValue, type Value } from '../values';
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
  const args = callArguments(ctx, node.arguments);
  const leaves: Leaf[] = [...shape(ctx, 'grid', grid, node), ...shape(ctx, 'block', block, node)];
  const bytes = shared && convertValue(ctx, shared, types.ulong, node);
  leaves.push({
    value: { kind: 'dynamicSharedBytes' },
    register: bytes?.kind === 'scalar' ? bytes.register : ctx.builder.constant('u64', 0),
  });
  const { name, parameters, instance } = parametersOf(ctx, kernel, args);
  args.forEach((argument, index) => {
    const parameter = parameters?.[index];
    const plain = rvalue(ctx, argument, node.arguments[index] ?? node);
    const value = parameter ? convertValue(ctx, plain, parameter.type, node) : plain;
    collect(ctx, leaves, value, index, [parameter?.name ?? `argument ${index + 1}`]);
  });
  ctx.builder.emit({ op: 'host', fn: 'launch', args: leaves.map((l) => l.register), launch: ctx.launches.length });
  ctx.launches.push({
    place: placeOf(ctx, node),
    kernel: name,
    instance: instance && instanceKey(instance.templateArguments),
    values: leaves.map((l) => l.value),
  });
  ctx.launched.push(instance);
  return { kind: 'void', type: types.void };
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
function parametersOf(
  ctx: Context,
  kernel: Value,
  args: readonly Value[],
): { name: string; parameters?: readonly Parameter[]; instance?: KernelInstance } {
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
  } else if (value.kind === 'aggregate') {
    const fields = value.type.kind === 'record' ? value.type.record.fields : undefined;
    value.elements.forEach((element, i) => {
      const field = fields?.[i];
      const isHidden = field?.isBase || field?.isAnonymous;
      collect(ctx, leaves, element, parameter, isHidden ? path : [...path, field?.name ?? String(i)]);
    });
  }
}
