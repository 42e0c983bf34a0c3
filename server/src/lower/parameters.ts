/** Kernel parameters: every scalar leaf is an input; pointers get an object for what they point to. */
import type { Node, Parameter, Statement } from '../parse/ast';
import type { InputSource } from '../program/program';
import { type Context, placeOf } from './context';
import { withoutInitializers } from './host/closures';
import { staysInPlace } from './in-place-parameters';
import { assign, writeStorage } from './places';
import { Scope } from './scope';
import { alignOf, parameterType, scalarOf, sizeOf, type Type, typeKey } from './types';
import { type LocalDeclaration, type MemoryPlace, type Storage, unknownValue, type Value } from './values';
import { allocateStorage, memoryObject } from './variables';

/** A variable that starts with the launch's value. */
export function parameterObject(
  ctx: Context,
  parameter: Parameter,
  index: number,
  type: Type,
  body: Statement | undefined,
): Value {
  const name = parameter.name ?? `argument ${index + 1}`;
  const origin: Origin = { node: parameter, source: (path) => ({ kind: 'parameter', parameter: index, path }) };
  if (type.kind === 'reference' && sizeOf(type.to) !== undefined) return referred(ctx, origin, type.to, name);
  const value = inputValue(ctx, origin, parameterType(type), [name]);
  const plain = value.type;
  const owner: LocalDeclaration = { key: `parameter ${index}`, name, isInPlace: staysInPlace(parameter, plain, body) };
  if (value.kind === 'aggregate' && ctx.inMemory.has(owner.key)) return localCopy(ctx, parameter, name, value);
  const storage: Storage =
    value.kind === 'scalar' || value.kind === 'aggregate'
      ? allocateStorage(ctx, plain, name, owner)
      : { kind: 'fixed', type: plain, cell: { value } };
  if (storage.kind !== 'fixed') writeStorage(ctx, storage, value, parameter);
  return { kind: 'place', type: plain, place: { kind: 'storage', storage } };
}

/** What a reference stands for: an object of managed memory whose address the launch hands over. */
function referred(ctx: Context, origin: Origin, type: Type, name: string): Value {
  const pointer: Type & { kind: 'pointer' } = { kind: 'pointer', to: type };
  const address = ctx.builder.input('u64', origin.source([name]), name);
  const object = pointee(ctx, origin, pointer, address, [name]);
  return { kind: 'place', type, place: { kind: 'memory', address, offset: 0, node: origin.node, object } };
}

/** A parameter of which an array is indexed at run time, unless it stays in constant memory. */
function localCopy(ctx: Context, parameter: Parameter, name: string, value: Value): Value {
  const object = memoryObject(ctx, parameter, name, value.type, 'local');
  const address = ctx.builder.objects[object].register;
  const place: MemoryPlace = { kind: 'memory', address, offset: 0, node: parameter, object };
  assign(ctx, place, value.type, value, parameter);
  return { kind: 'place', type: value.type, place };
}

/** Where the leaves of an object come from, by the names and indices that lead to them. */
export interface Origin {
  readonly node: Node;
  readonly source: (path: readonly string[]) => InputSource;
}

/** Elements of one array that are inputs of their own. */
const MAX_ELEMENTS = 1024;

/** The value of an object that the launch presets: every scalar leaf an input, every pointer with an object behind it. */
export function inputValue(ctx: Context, origin: Origin, type: Type, path: readonly string[]): Value {
  const scalar = scalarOf(type);
  if (scalar) {
    const register = ctx.builder.input(scalar, origin.source(path), path.join('.'));
    if (type.kind === 'pointer') pointee(ctx, origin, type, register, path);
    return { kind: 'scalar', type, register };
  }
  if (type.kind === 'record') {
    return {
      kind: 'aggregate',
      type,
      elements: type.record.fields.map((f) =>
        inputValue(ctx, origin, f.type, f.isBase || f.isAnonymous ? path : [...path, f.name]),
      ),
    };
  }
  if (type.kind === 'array') {
    const count = Math.min(type.count ?? 0, MAX_ELEMENTS);
    return {
      kind: 'aggregate',
      type: { ...type, count },
      elements: Array.from({ length: count }, (_, i) => inputValue(ctx, origin, type.of, [...path, String(i)])),
    };
  }
  if (type.kind === 'lambda') return lambdaValue(ctx, origin, type, path);
  return unknownValue(
    type,
    type.kind === 'unknown'
      ? `parameter ${path.join('.')}: ${type.reason}`
      : `parameter ${path.join('.')} has no value`,
  );
}

/** A lambda of the host: what it captured are inputs, everything else it names stands at namespace scope. */
function lambdaValue(ctx: Context, origin: Origin, type: Type & { kind: 'lambda' }, path: readonly string[]): Value {
  const scope = new Scope(ctx.unit.scope, 'captures');
  for (const [name, captured] of type.captures ?? [])
    scope.define(name, { kind: 'value', value: inputValue(ctx, origin, captured, [...path, name]) });
  return { kind: 'lambda', type, lambda: withoutInitializers(type.lambda), scope };
}

function pointee(
  ctx: Context,
  origin: Origin,
  type: Type & { kind: 'pointer' },
  register: number,
  path: readonly string[],
): number {
  return ctx.builder.pointee({
    name: path.join('.'),
    space: 'global',
    // all that the compiler may rely on: the type's own alignment, not the allocation's
    alignment: alignOf(type.to),
    isDynamic: false,
    isRestrict: type.isRestrict,
    register,
    dimensions: [],
    elementBytes: sizeOf(type.to) ?? 4,
    elementType: typeKey(type.to),
    place: placeOf(ctx, origin.node),
  });
}
