/** Expansion of patterns over parameter packs: `f(args)...`, `(out[I] = args, ...)`. */
import type { Expression } from '../parse/ast';
import type { Context } from './context';
import { expression } from './expressions';
import { lookupName } from './lookup';
import { type Entity, Scope } from './scope';
import type { Value } from './values';

const MAX_ELEMENTS = 256;

/** The values of a pattern for every element of the packs it names, in order; undefined when it names no known pack. */
export function expandPack(ctx: Context, pattern: Expression): Value[] | undefined {
  const packs = new Map<string, readonly Entity[]>();
  for (const name of namesIn(pattern)) {
    const elements = elementsOf(lookupName(ctx, ctx.scope, name));
    if (elements) packs.set(name, elements);
  }
  if (packs.size === 0) return undefined;
  const count = Math.min(MAX_ELEMENTS, ...[...packs.values()].map((p) => p.length));
  const saved = ctx.scope;
  const values = Array.from({ length: count }, (_, i) => {
    ctx.scope = new Scope(saved, 'pack');
    for (const [name, elements] of packs) ctx.scope.define(name, elements[i]);
    return expression(ctx, pattern);
  });
  ctx.scope = saved;
  return values;
}

function elementsOf(entity: Entity | undefined): readonly Entity[] | undefined {
  if (entity?.kind === 'value' && entity.value.kind === 'pack')
    return entity.value.elements.map((value): Entity => ({ kind: 'value', value }));
  if (entity?.kind === 'template' && entity.value.kind === 'pack')
    return entity.value.elements.map((value): Entity => ({ kind: 'template', value }));
  return undefined;
}

const cache = new WeakMap<object, ReadonlySet<string>>();

/** Names spelled in a piece of syntax. */
function namesIn(node: object): ReadonlySet<string> {
  let names = cache.get(node);
  if (!names) cache.set(node, (names = collect(node, new Set(), 0)));
  return names;
}

function collect(value: unknown, names: Set<string>, depth: number): Set<string> {
  if (typeof value !== 'object' || value === null || depth > 100 || value instanceof Set) return names;
  if ('parts' in value && Array.isArray(value.parts)) {
    const first: unknown = value.parts[0];
    if (typeof first === 'object' && first !== null && 'name' in first) names.add(String(first.name));
  }
  for (const child of Object.values(value)) collect(child, names, depth + 1);
  return names;
}
