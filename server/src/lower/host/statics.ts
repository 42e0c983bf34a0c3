/** What lives as long as the host's program: `static` variables of functions, which get their values when control first comes by. */
import type { VariableDeclaration } from '../../parse/ast';
import { type Context, placeOf } from '../context';
import { globalValue } from '../globals';
import { KnownValues } from '../known-values';
import type { Entity } from '../scope';
import type { MemoryPlace } from '../values';
import { initialiseInMemory } from '../variables';

/** By declaration: the functions that hold it may be inlined at several places. */
const entities = new WeakMap<VariableDeclaration, Entity & { kind: 'global' }>();

export function declareStatic(ctx: Context, declaration: VariableDeclaration): void {
  const { name } = declaration;
  if (!name) return;
  let entity = entities.get(declaration);
  if (!entity || !ctx.globals.has(entity))
    entities.set(declaration, (entity = { kind: 'global', declaration, scope: ctx.scope }));
  const value = globalValue(ctx, entity, declaration);
  ctx.scope.define(name, { kind: 'value', value });
  if (!declaration.initializer || value.kind !== 'place' || value.place.kind !== 'memory') return;
  const { place } = value;
  once(ctx, declaration, name, () => {
    initialiseInMemory(ctx, place, value.type, declaration.initializer, declaration);
  });
}

const guards = new WeakMap<Context, Map<VariableDeclaration, number>>();

/** Runs what is emitted the first time only: a byte of memory says whether it was. */
function once(ctx: Context, declaration: VariableDeclaration, name: string, emit: () => void): void {
  const b = ctx.builder;
  const guard = guardOf(ctx, declaration, name);
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

function guardOf(ctx: Context, declaration: VariableDeclaration, name: string): number {
  let ofContext = guards.get(ctx);
  if (!ofContext) guards.set(ctx, (ofContext = new Map()));
  let register = ofContext.get(declaration);
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
      place: placeOf(ctx, declaration),
      lifetime: 'program',
    });
    ofContext.set(declaration, (register = ctx.builder.objects[object].register));
  }
  return register;
}
