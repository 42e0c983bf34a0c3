/**
 * What a function of its own (`recursion.ts`) is given: numbers and small objects by their values, objects by their addresses, functions as themselves.
 * The first call decides on the kind of each; later ones hand over the same.
 */
import type * as ast from '../../parse/ast';
import type { Register } from '../../program/program';
import { passedByValue, referredBy } from '../bound-values';
import { type Context, demandMemory } from '../context';
import { expression } from '../expressions';
import { addressOf, assign, readRegister, readStorage, rvalue, writeStorage } from '../places';
import { resolveType } from '../resolve-type';
import type { Scope } from '../scope';
import { parameterType, scalarOf, sizeOf, type Type, unqualified, withoutReference } from '../types';
import type { MemoryPlace, Storage, Value } from '../values';
import { allocateStorage } from '../variables';
import { freshObject } from './memory';

/** What hands an argument over; what has no number is the same in all runs. */
export type Slot =
  | { readonly kind: 'value' | 'address'; readonly type: Type; readonly storage: Storage }
  | { readonly kind: 'same'; readonly value: Value };

/** An argument, made ready. */
export type Given =
  | { readonly kind: 'value'; readonly value: Value }
  | { readonly kind: 'address'; readonly type: Type; readonly register: Register }
  | { readonly kind: 'same'; readonly value: Value };

/** A call's arguments, the object and what a lambda holds first; undefined where one cannot be handed over. */
export function givenOf(
  ctx: Context,
  callee: { readonly parameters: readonly ast.Parameter[]; readonly scope: Scope },
  own: readonly Value[],
  args: readonly Value[],
  node: ast.Node,
): Given[] | undefined {
  const given: (Given | undefined)[] = own.map((value) =>
    value.kind === 'scalar' ? { kind: 'value', value } : addressed(ctx, value.type, value, node, true),
  );
  for (const [i, parameter] of callee.parameters.entries()) {
    if (parameter.pack) return undefined;
    const type = parameterType(resolveType(ctx, parameter.type, callee.scope));
    const argument = args[i] ?? defaultOf(ctx, callee.scope, parameter);
    if (!argument) return undefined;
    given.push(givenFor(ctx, type, argument, node));
  }
  return given.every((each) => each !== undefined) ? given : undefined;
}

function defaultOf(ctx: Context, scope: Scope, parameter: ast.Parameter): Value | undefined {
  if (!parameter.default) return undefined;
  const saved = ctx.scope;
  ctx.scope = scope;
  const value = expression(ctx, parameter.default);
  ctx.scope = saved;
  return value;
}

function givenFor(ctx: Context, type: Type, argument: Value, node: ast.Node): Given | undefined {
  if (argument.kind === 'lambda' || argument.kind === 'functions' || argument.kind === 'builtin')
    return { kind: 'same', value: argument };
  if (type.kind === 'reference') {
    const value = referredBy(ctx, type, argument, node);
    const referred = withoutReference(type.to.kind === 'unknown' ? value.type : type);
    return addressed(ctx, referred, value, node, !type.to.isConst);
  }
  const converted = type.kind === 'unknown' ? rvalue(ctx, argument, node) : passedByValue(ctx, type, argument, node);
  if (converted.kind === 'scalar' || converted.kind === 'aggregate') return { kind: 'value', value: converted };
  if (converted.kind === 'placePointer') {
    if (converted.target.owner) demandMemory(ctx, converted.target.owner);
    return undefined;
  }
  if (converted.kind === 'unknown')
    return scalarOf(type) ? { kind: 'value', value: { ...converted, type } } : undefined;
  return { kind: 'same', value: converted };
}

/**
 * An object by its address; one that lives in registers moves to memory, a value gets memory of its own.
 * @param isChanged the function may change it: a copy will not do
 */
function addressed(ctx: Context, type: Type, value: Value, node: ast.Node, isChanged: boolean): Given | undefined {
  if (value.kind === 'lambda' || value.kind === 'functions') return { kind: 'same', value };
  if (value.kind === 'place' && value.place.kind === 'memory') {
    if (value.place.bits) return undefined;
    return { kind: 'address', type: value.type, register: addressOf(ctx, value.place) };
  }
  if (value.kind === 'place' && value.place.kind === 'storage') {
    const { storage } = value.place;
    if (storage.kind === 'fixed') {
      const held = storage.cell.value;
      return held.kind === 'lambda' || held.kind === 'functions' ? { kind: 'same', value } : undefined;
    }
    const owner = 'owner' in storage ? storage.owner : undefined;
    if (owner) {
      demandMemory(ctx, owner);
      return { kind: 'address', type, register: ctx.builder.unknown('i64', 'a variable that moves to memory') };
    }
    if (isChanged) return undefined;
  }
  const size = sizeOf(type);
  if (size === undefined) return undefined;
  const home = freshObject(ctx, type, size, node);
  assign(ctx, home, type, value, node);
  return { kind: 'address', type, register: addressOf(ctx, home) };
}

/** Where an argument stands during a run. */
export function slotFor(ctx: Context, given: Given): Slot {
  if (given.kind === 'same') return given;
  const type: Type = given.kind === 'value' ? unqualified(given.value.type) : { kind: 'pointer', to: given.type };
  const storage = allocateStorage(ctx, type, 'argument');
  return { kind: given.kind, type: given.kind === 'value' ? type : given.type, storage };
}

/** Hands the arguments over; false where they are of another kind than the first call's. */
export function handOver(ctx: Context, slots: readonly Slot[], given: readonly Given[], node: ast.Node): boolean {
  return slots.every((slot, i) => {
    const each = given[i];
    if (slot.kind === 'same') return each.kind === 'same' && isSameFunction(slot.value, each.value);
    if (each.kind !== slot.kind) return false;
    const value: Value =
      each.kind === 'value'
        ? each.value
        : { kind: 'scalar', type: { kind: 'pointer', to: each.type }, register: each.register };
    writeStorage(ctx, slot.storage, value, node);
    return true;
  });
}

function isSameFunction(a: Value, b: Value): boolean {
  const [first, second] = [held(a), held(b)];
  if (first.kind === 'lambda') return second.kind === 'lambda' && first.lambda.body === second.lambda.body;
  if (first.kind === 'functions')
    return (
      second.kind === 'functions' && first.declarations[0] === second.declarations[0] && !first.self && !second.self
    );
  return first.kind === 'builtin' && second.kind === 'builtin' && first.name === second.name;
}

const held = (value: Value): Value =>
  value.kind === 'place' && value.place.kind === 'storage' && value.place.storage.kind === 'fixed'
    ? value.place.storage.cell.value
    : value;

/** What was handed over, as a run of the function sees it. */
export function taken(ctx: Context, slot: Slot, node: ast.Node): Value {
  if (slot.kind === 'same') return slot.value;
  if (slot.kind === 'value') return readStorage(ctx, slot.storage);
  return { kind: 'place', type: slot.type, place: placeAt(ctx, slot.storage, node) };
}

/** What an address that is held leads to. */
export function placeAt(ctx: Context, storage: Storage, node: ast.Node): MemoryPlace {
  const address = storage.kind === 'scalar' ? readRegister(ctx, storage.register) : ctx.builder.constant('i64', 0);
  return { kind: 'memory', address, offset: 0, node };
}

/** The registers that a variable lives in. */
export function registersOf(storage: Storage): readonly Register[] {
  if (storage.kind === 'scalar') return [storage.register];
  return storage.kind === 'aggregate' ? storage.elements.flatMap(registersOf) : [];
}
