/** Expansion of patterns over parameter packs: `f(args)...`, `(out[I] = args, ...)`. */
import type { Expression, TypeNode } from '../parse/ast';
import type { Context } from './context';
import { expression } from './expressions';
import { lookupName } from './lookup';
import { inScope, resolveType } from './resolve-type';
import { type Entity, Scope } from './scope';
import type { Type } from './types';
import type { Value } from './values';

const MAX_ELEMENTS = 256;

/** The values of a pattern for every element of the packs it names, in order; undefined when it names no known pack. */
export function expandPack(ctx: Context, pattern: Expression): Value[] | undefined {
  return forEachElement(ctx, pattern, ctx.scope, (scope) => inScope(ctx, scope, () => expression(ctx, pattern)));
}

/** The same for types: `const T*...` */
export function expandTypes(ctx: Context, pattern: TypeNode, scope: Scope): Type[] | undefined {
  return forEachElement(ctx, pattern, scope, (inner) => resolveType(ctx, pattern, inner));
}

/** Runs something in one scope after another, in which the packs that a pattern names stand for their elements. */
export function forEachElement<T>(
  ctx: Context,
  pattern: object,
  scope: Scope,
  run: (scope: Scope) => T,
): T[] | undefined {
  const packs = new Map<string, readonly Entity[]>();
  for (const name of namesIn(pattern)) {
    const elements = elementsOf(lookupName(ctx, scope, name));
    if (elements) packs.set(name, elements);
  }
  if (packs.size === 0) return undefined;
  const count = Math.min(MAX_ELEMENTS, ...[...packs.values()].map((p) => p.length));
  return Array.from({ length: count }, (_, i) => {
    const inner = new Scope(scope, 'pack');
    for (const [name, elements] of packs) inner.define(name, elements[i]);
    return run(inner);
  });
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
export function namesIn(node: object): ReadonlySet<string> {
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
