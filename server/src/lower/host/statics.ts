/** What lives as long as the host's program: `static` variables of functions, which get their values when control first comes by. */
import { anywhere } from '../../parse/anywhere';
import type { VariableDeclaration } from '../../parse/ast';
import { type Context, placeOf } from '../context';
import { globalValue } from '../globals';
import { KnownValues } from '../known-values';
import { instanceAround } from '../records';
import type { Entity } from '../scope';
import type { Type } from '../types';
import type { MemoryPlace, Value } from '../values';
import { initialiseInMemory } from '../variables';

/** By declaration and instance of the templates around it: the functions that hold it may be inlined at several places. */
const entities = new WeakMap<VariableDeclaration, Map<string, Global>>();

export function declareStatic(ctx: Context, declaration: VariableDeclaration): void {
  const { name } = declaration;
  if (!name) return;
  let instances = entities.get(declaration);
  if (!instances) entities.set(declaration, (instances = new Map()));
  const key = instanceAround(ctx);
  let entity = instances.get(key);
  if (!entity || !ctx.globals.has(entity))
    instances.set(key, (entity = { kind: 'global', declaration: computedOnce(declaration), scope: ctx.scope }));
  const value = globalValue(ctx, entity, declaration);
  ctx.scope.define(name, { kind: 'value', value });
  const isMade = declaration.initializer !== undefined || isOfClass(value.type);
  if (!isMade || value.kind !== 'place' || value.place.kind !== 'memory') return;
  // the function may be inlined elsewhere too, where its parameters are others
  initialiseFirst(ctx, entity, value, ctx.scope);
}

/** Its constructor may do more than leave zeros: containers are given memory. */
const isOfClass = (type: Type): boolean => (type.kind === 'array' ? isOfClass(type.of) : type.kind === 'record');

/** What a call gives a constant is kept: it is not called once more where the constant is used. */
function computedOnce(declaration: VariableDeclaration): VariableDeclaration {
  const calls = anywhere(declaration.initializer, ({ kind }) => kind === 'call');
  return calls ? { ...declaration, type: { ...declaration.type, isConst: false } } : declaration;
}

/**
 * A variable gets its value here, if control has not come by another place that gives it one.
 * @param from where the names of its initialiser are looked up
 */
export function initialiseFirst(ctx: Context, entity: Global, value: Value, from = entity.scope): void {
  if (value.kind !== 'place' || value.place.kind !== 'memory' || running.has(entity)) return;
  const { place } = value;
  const { declaration } = entity;
  running.add(entity);
  once(ctx, entity, () => {
    const { scope } = ctx;
    ctx.scope = from;
    initialiseInMemory(ctx, place, value.type, declaration.initializer, declaration);
    ctx.scope = scope;
  });
  running.delete(entity);
}

type Global = Entity & { kind: 'global' };

/** Those that are being given their value, which may be computed from themselves. */
const running = new Set<Global>();

const guards = new WeakMap<Context, Map<Global, number>>();

/** Runs what is emitted the first time only: a byte of memory says whether it was. */
function once(ctx: Context, entity: Global, emit: () => void): void {
  const b = ctx.builder;
  const { declaration } = entity;
  const { name = '' } = declaration;
  const guard = guardOf(ctx, entity, name);
  const at: MemoryPlace = { kind: 'memory', address: guard, offset: 0, node: declaration };
  const access = b.access({ place: placeOf(ctx, declaration), expression: name, operation: 'load', space: 'global' });
  const done = b.register('u8', 'temporary');
  b.emit({ op: 'load', type: 'u8', dst: [done], address: at.address, offset: 0, access });
  const first = b.newBlock();
  const join = b.newBlock();
  const isDone = b.compare('ne', 'u8', done, b.constant('u8', 0));
  b.branch(isDone, join, first, { place: placeOf(ctx, declaration), kind: 'if' });
  const known = ctx.known.fork();
  b.use(first);
  b.enterRegion();
  b.emit({ op: 'store', type: 'u8', values: [b.constant('u8', 1)], address: at.address, offset: 0, access });
  emit();
  b.jump(join);
  b.leaveRegion();
  ctx.known = KnownValues.merged([known, ctx.known]);
  b.use(join);
}

function guardOf(ctx: Context, entity: Global, name: string): number {
  let ofContext = guards.get(ctx);
  if (!ofContext) guards.set(ctx, (ofContext = new Map()));
  let register = ofContext.get(entity);
  if (register === undefined) {
    const object = ctx.builder.object({
      name: `guard of ${name}`,
      space: 'global',
      bytes: 1,
      alignment: 1,
      isDynamic: false,
      dimensions: [],
      elementBytes: 1,
      elementType: 'unsigned char',
      place: placeOf(ctx, entity.declaration),
      lifetime: 'program',
    });
    ofContext.set(entity, (register = ctx.builder.objects[object].register));
  }
  return register;
}
