/** What names are bound to: parameters and references, and the temporaries that they may need a place for. */
import type { Node, Parameter } from '../parse/ast';
import { asDeclared, baseOf } from './bases';
import { construct, initialiseFromList, isMadeOf } from './construct';
import type { Context } from './context';
import { convertToReference } from './conversions';
import { ownsMemory } from './host/copies';
import { isDestroyed, noteLocal, noteTemporary } from './host/destructors';
import { freshObject } from './host/memory';
import { isOfLibrary } from './host/only-read';
import { assign, rvalue, valueAs, writeStorage } from './places';
import { recordOf } from './records';
import { inScope } from './resolve-type';
import type { Scope } from './scope';
import { sizeOf, type Type, withoutReference } from './types';
import type { LocalDeclaration, Storage, Value } from './values';
import { allocateStorage, holdsArray } from './variables';

/** A temporary in variables of its own: what its address is taken of, or what its methods call `this`. */
export function materialise(ctx: Context, value: Value, node: Node): Value {
  return objectOf(ctx, value, node, 'temporary');
}

/** A variable of its own without a name; the host's moves to memory where its address is asked for. */
export function objectOf(ctx: Context, value: Value, node: Node, what: 'temporary' | 'binding'): Value {
  const owner = ctx.unit.isHost ? { key: `${node.first}:${node.last}:${what}`, name: what } : undefined;
  if (owner && (holdsArray(value.type) || ctx.inMemory.has(owner.key))) {
    const place = freshObject(ctx, value.type, sizeOf(value.type) ?? 0, node);
    assign(ctx, place, value.type, value, node);
    return { kind: 'place', type: value.type, place };
  }
  const storage = allocateStorage(ctx, value.type, what, owner);
  writeStorage(ctx, storage, value, node);
  return { kind: 'place', type: value.type, place: { kind: 'storage', storage } };
}

/** What a constructor makes of an argument that is no object, for a reference to one. */
function madeFor(ctx: Context, type: Type, argument: Value, node: Node): Value | undefined {
  if (argument.type.kind === 'unknown' && argument.kind !== 'aggregate') return undefined;
  const made = ofList(ctx, type, argument) ?? valueAs(ctx, argument, type, node);
  if (made.kind === 'place') return made;
  return made.kind === 'aggregate' ? materialise(ctx, made, node) : undefined;
}

/** What braces make of an object; undefined where the argument is none. */
function ofList(ctx: Context, type: Type, argument: Value): Value | undefined {
  const isMade = recordOf(type) !== undefined || withoutReference(type).kind === 'array';
  const list = argument.kind === 'aggregate' && isMade ? argument.list : undefined;
  return list && inScope(ctx, list.scope, () => initialiseFromList(ctx, type, list.node));
}

/** What a parameter that is a reference refers to. */
export function referredBy(ctx: Context, type: Type & { kind: 'reference' }, argument: Value, node: Node): Value {
  const record = recordOf(type);
  const own = record && recordOf(argument.type);
  const base = record && baseOf(argument, record);
  const isOther = !own || (ctx.unit.isHost && !base && isMadeOf(ctx, record, argument));
  const converted = record && isOther ? madeFor(ctx, type.to, argument, node) : undefined;
  const array = type.to.kind === 'array' ? ofList(ctx, type.to, argument) : undefined;
  const given =
    array ??
    converted ??
    (base ? undefined : convertToReference(ctx, argument, type.to, node)) ??
    asDeclared(type.to, argument);
  // every index may be asked for
  return given.kind === 'aggregate' && ctx.unit.isHost && holdsArray(given.type)
    ? materialise(ctx, given, node)
    : given;
}

/**
 * What the name of a reference stands for: an object like any other, whatever it was given. On the host a value that must be copied where it is read has a
 * place for that time.
 */
export function boundTo(ctx: Context, type: Type, given: Value, node: Node, note = noteTemporary): Value {
  if (!ctx.unit.isHost) return given;
  if (given.kind === 'place') {
    const handed = given.handed === 'expiring' || given.handed === 'temporary' ? 'given' : undefined;
    return given.handed === handed ? given : { ...given, handed };
  }
  if (given.kind !== 'aggregate' || given.list) return given;
  const isMutable = type.kind === 'reference' && type.isRvalue && given.type.kind === 'record';
  const isObject = ownsMemory(given.type) || isDestroyed(ctx, given.type);
  if (!isObject && !(isMutable && !isOfLibrary(given.type))) return given;
  const object = materialise(ctx, given, node);
  note(ctx, object, node);
  return object.kind === 'place' ? { ...object, handed: 'given' } : object;
}

/** What a parameter that is no reference is given. */
export function passedByValue(ctx: Context, type: Type, argument: Value, node: Node): Value {
  // a span of an array knows its length
  if (ctx.unit.isHost && type.kind === 'record' && argument.type.kind === 'array')
    return rvalue(ctx, construct(ctx, type, [argument], node, false), node);
  return (ctx.unit.isHost && ofList(ctx, type, argument)) || valueAs(ctx, argument, type, node);
}

/** Binds an argument to a parameter. */
export function bindParameter(
  ctx: Context,
  scope: Scope,
  parameter: Parameter,
  name: string,
  type: Type,
  argument: Value,
  node: Node,
): void {
  if (type.kind === 'reference') {
    scope.define(name, { kind: 'value', value: boundTo(ctx, type, referredBy(ctx, type, argument, node), node) });
    return;
  }
  const converted = passedByValue(ctx, type, argument, node);
  const plainType: Type =
    type.kind === 'unknown' ? converted.type : type.kind === 'array' ? { kind: 'pointer', to: type.of } : type;
  if (converted.kind !== 'scalar' && converted.kind !== 'aggregate') {
    const fixed: Storage = { kind: 'fixed', type: plainType, cell: { value: converted } };
    scope.define(name, {
      kind: 'value',
      value: { kind: 'place', type: plainType, place: { kind: 'storage', storage: fixed } },
    });
    return;
  }
  const owner: LocalDeclaration = { key: `${parameter.first}:${name}`, name };
  if (ctx.unit.isHost && ctx.inMemory.has(owner.key)) {
    const place = freshObject(ctx, plainType, sizeOf(plainType) ?? 0, node);
    assign(ctx, place, plainType, converted, node);
    defineParameter(ctx, scope, name, { kind: 'place', type: plainType, place }, node);
    return;
  }
  const storage = allocateStorage(ctx, plainType, name, owner);
  writeStorage(ctx, storage, converted, node);
  defineParameter(ctx, scope, name, { kind: 'place', type: plainType, place: { kind: 'storage', storage } }, node);
}

function defineParameter(ctx: Context, scope: Scope, name: string, value: Value, node: Node): void {
  scope.define(name, { kind: 'value', value });
  noteLocal(ctx, value, node);
}
