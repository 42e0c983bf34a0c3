/** `return`: what a function gives where it has one return at its end, and where several ways lead out of it. */

import { anywhere } from '../parse/anywhere';
import type * as ast from '../parse/ast';
import { asDeclared } from './bases';
import { initialiseFromList } from './construct';
import { type Context, demandMemory, type Frame } from './context';
import { convertValue } from './conversions';
import { expression } from './expressions';
import { destroySince, endTemporaries } from './host/destructors';
import { addressOf, readStorage, rvalue, writeStorage } from './places';
import { dereference } from './pointers';
import { recordOf } from './records';
import type { Scope } from './scope';
import { scalarOf, types, unqualified } from './types';
import { type LocalDeclaration, type Place, unknownValue, type Value } from './values';
import { allocateStorage, referredTo } from './variables';

const SEVERAL_VARIABLES = 'which of several variables is returned is not known';

type PlaceValue = Value & { kind: 'place' };

/** `return e;` */
export function returnValue(ctx: Context, node: ast.ReturnStatement): void {
  const { frame } = ctx;
  const { length: temporaries } = ctx.temporaries;
  const value = node.value && returnedValue(ctx, node, node.value);
  endTemporaries(ctx, temporaries);
  // an object that is returned is the caller's
  const handedOver = ctx.locals.length > frame.locals ? localOf(ctx, node.value) : undefined;
  destroySince(ctx, frame.locals, handedOver);
  if (frame.exitBlock < 0) {
    frame.value = value ?? frame.value;
    return;
  }
  if (frame.returned && !ctx.builder.reachable) return;
  if (ctx.builder.reachable && !frame.returned) {
    frame.returned = true;
    frame.storage = undefined;
    frame.address = undefined;
    frame.value = undefined;
    frame.undecided.length = 0;
  }
  if (value) keep(ctx, value, node);
  if (ctx.builder.reachable) frame.known.push(ctx.known.fork());
  ctx.builder.jump(frame.exitBlock);
}

/** What the function has returned, where its ways meet; what the caller may write through a reference that is not known is not known any more. */
export function returnedFrom(ctx: Context, frame: Frame, node: ast.Node): Value {
  const { address, storage, value, result, undecided } = frame;
  if (result.kind !== 'reference' || !result.to.isConst)
    for (const each of undecided) writeStorage(ctx, each, unknownValue(each.type, SEVERAL_VARIABLES), node);
  if (value?.kind === 'unknown') return value;
  if (address?.isSeveral) return dereference(ctx, readStorage(ctx, address.storage), node);
  if (storage) return readStorage(ctx, storage);
  return value ?? { kind: 'void', type: types.void };
}

/** The variable of the body that an expression names. */
function localOf(ctx: Context, node: ast.Expression | undefined): Value | undefined {
  const name = node?.kind === 'name' && node.name.parts.length === 1 ? node.name.parts[0].name : undefined;
  let scope: Scope | undefined = ctx.scope;
  while (scope && name !== undefined && scope.label !== 'body' && !scope.own(name)) scope = scope.parent;
  const entity = name === undefined ? undefined : scope?.own(name);
  return entity?.kind === 'value' ? entity.value : undefined;
}

function returnedValue(ctx: Context, node: ast.ReturnStatement, of: ast.Expression): Value {
  const { result } = ctx.frame;
  if (result.kind === 'reference') return asDeclared(result.to, referredTo(ctx, result, of));
  const raw =
    of.kind === 'initList' && result.kind === 'record' ? initialiseFromList(ctx, result, of) : expression(ctx, of);
  const value = moved(ctx, raw, of);
  return result.kind === 'unknown' || result.kind === 'void' ? value : convertValue(ctx, value, result, node);
}

/** The value that is returned; a local variable is not copied but moved. */
function moved(ctx: Context, value: Value, node: ast.Expression): Value {
  const name = node.kind === 'name' && node.name.parts.length === 1 ? node.name.parts[0].name : undefined;
  let scope: Scope | undefined = ctx.scope;
  while (scope && scope.label !== 'body' && name !== undefined && !scope.own(name)) scope = scope.parent;
  // a parameter is the caller's to end: what it holds is moved out of it
  const isParameter = ctx.unit.isHost && name !== undefined && scope?.label === 'body' && !scope.own(name);
  if (isParameter && value.kind === 'place' && isOwnParameter(ctx, scope?.parent, name))
    return rvalue(ctx, { ...value, handed: 'expiring' }, node);
  const saved = ctx.moves;
  ctx.moves = name !== undefined && scope?.own(name) !== undefined;
  const result = rvalue(ctx, value, node);
  ctx.moves = saved;
  return result;
}

/** Passed by value, of the function or lambda at hand. */
function isOwnParameter(ctx: Context, scope: Scope | undefined, name: string): boolean {
  const entity = scope?.own(name);
  if (!scope || entity?.kind !== 'value' || entity.value.kind !== 'place') return false;
  const declared = ctx.frame.declaration?.parameters.find((parameter) => parameter.name === name);
  if (declared && scope.parent && declared.type.kind === 'named' && recordOf(entity.value.type)) return true;
  const { place } = entity.value;
  return ctx.locals.slice(ctx.frame.locals).some(({ value }) => value.kind === 'place' && value.place === place);
}

/** Numbers and records of all returns go to one variable; what is not known makes it unknown on that way alone. */
function keep(ctx: Context, given: Value, node: ast.Node): void {
  const { frame } = ctx;
  const value = isNumberByReference(ctx, given) ? rvalue(ctx, given, node) : given;
  const isNumber = value.kind === 'scalar' || value.kind === 'aggregate';
  if (isNumber || (value.kind === 'unknown' && (frame.storage || scalarOf(value.type)))) {
    if (frame.value) frame.value = oneOf(ctx, value);
    frame.storage ??= allocateStorage(ctx, unqualified(value.type), 'result');
    writeStorage(ctx, frame.storage, value, node);
  } else if (value.kind === 'place') keepPlace(ctx, value, node);
  else frame.value = oneOf(ctx, value);
}

/** `const T&` may as well be the value of what it refers to: to the compiler where that is in a register, on the host anyhow. */
function isNumberByReference({ frame: { result }, unit }: Context, value: Value): boolean {
  if (value.kind !== 'place' || (value.place.kind === 'memory' && !unit.isHost)) return false;
  return result.kind === 'reference' && result.to.isConst === true && scalarOf(value.type) !== undefined;
}

/** A reference: which of several objects in memory it refers to is an address like any other. */
function keepPlace(ctx: Context, value: PlaceValue, node: ast.Node): void {
  const { frame } = ctx;
  const before = frame.value;
  if (value.place.kind !== 'memory' || value.place.bits) {
    frame.value = oneOf(ctx, value);
    return;
  }
  const type = { kind: 'pointer', to: value.type } as const;
  frame.address ??= { storage: allocateStorage(ctx, type, 'result'), isSeveral: false };
  const address: Value = { kind: 'scalar', type, register: addressOf(ctx, value.place) };
  writeStorage(ctx, frame.address.storage, address, node);
  if (before?.kind === 'place' && before.place.kind === 'memory') frame.address.isSeveral = true;
  else frame.value = oneOf(ctx, value);
}

/**
 * Of values without an address only one can be returned. Which of several functions it is at run time is not followed; variables
 * are given addresses, and the program is lowered again.
 */
function oneOf(ctx: Context, value: Value): Value {
  const { value: before, storage } = ctx.frame;
  if (before ? isSame(before, value) : !storage) return before ?? value;
  for (const each of before ? [before, value] : [value]) {
    const owner = ownerOf(each);
    // a parameter stays where it is
    if (owner && !ctx.inMemory.has(owner.key)) demandMemory(ctx, owner);
    else if (each.kind === 'place' && each.place.kind === 'storage') ctx.frame.undecided.push(each.place.storage);
  }
  const reason =
    value.kind === 'functions' || before?.kind === 'functions'
      ? 'which of several functions is returned is not known'
      : SEVERAL_VARIABLES;
  return unknownValue((before ?? value).type, before?.kind === 'unknown' ? before.reason : reason);
}

function ownerOf(value: Value): LocalDeclaration | undefined {
  if (value.kind === 'placePointer') return value.target.owner;
  return value.kind === 'place' ? ownerOfPlace(value.place) : undefined;
}

const ownerOfPlace = (place: Place): LocalDeclaration | undefined =>
  place.kind === 'storage' && 'owner' in place.storage ? place.storage.owner : undefined;

function isSame(a: Value, b: Value): boolean {
  if (a.kind === 'functions')
    return (
      b.kind === 'functions' && a.declarations[0] === b.declarations[0] && a.templateArguments === b.templateArguments
    );
  if (a.kind === 'place' && a.place.kind === 'storage')
    return b.kind === 'place' && b.place.kind === 'storage' && a.place.storage === b.place.storage;
  if (a.kind === 'placePointer')
    return (
      b.kind === 'placePointer' &&
      a.target.elements[a.target.index] === b.target.elements[b.target.index] &&
      a.target.bytes === b.target.bytes &&
      a.target.elements.length === b.target.elements.length
    );
  if (a.kind === 'builtin') return b.kind === 'builtin' && a.name === b.name;
  return a.kind === b.kind && a.kind !== 'place';
}

const earlyReturns = new WeakMap<object, boolean>();

/** A return anywhere but at the end of the body. */
export function hasEarlyReturn(body: ast.CompoundStatement): boolean {
  const known = earlyReturns.get(body);
  if (known !== undefined) return known;
  const last = body.body[body.body.length - 1];
  const early = body.body.some((s) => containsReturn(s === last && s.kind === 'return' ? s.value : s));
  earlyReturns.set(body, early);
  return early;
}

const containsReturn = (part: object | undefined): boolean =>
  anywhere(part, (n) => (n.kind === 'lambda' ? 'closed' : n.kind === 'return'));
