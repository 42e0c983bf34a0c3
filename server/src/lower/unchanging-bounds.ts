/**
 * Bounds of loops that are read from memory: `for (int k = row[i]; k < row[i + 1]; k++)`. NVVM reads them once, in front of the loop, where
 * nothing in the body may write to them, and can then count the passes like those up to a number. Evidence (PTX of 36 loops, nvcc 13.0; H200:
 * amg_smoothed_aggregation.cu:198, boruvka_mst_worklist.cu:150):
 *
 * - elements, members behind a pointer, what methods return of these; in global, shared or constant memory;
 * - not where the body stores through a pointer or has an atomic, unless what leads to the bound is `const T* __restrict__` or it lies in constant
 *   memory; stores to shared arrays trouble only a bound in the same array, stores to local variables none;
 * - not with barriers and shuffles in the body, nor where the bound is read by an intrinsic (`__ldg`).
 */
import { anywhere, assignedBy } from '../parse/anywhere';
import type * as ast from '../parse/ast';
import { takesNumbers } from './builtins/math';
import { calledFunction } from './called-functions';
import { isSimple } from './conditional';
import type { Context } from './context';
import { lookupName } from './lookup';
import { findMethods, recordOf } from './records';

/** Functions that call functions are followed so far. */
const DEEPEST_CALL = 4;

/** What a bound is read from. */
type Source =
  /** Nothing that may change. */
  | { readonly kind: 'fixed' }
  /** What a pointer leads to. */
  | { readonly kind: 'pointed' }
  | { readonly kind: 'array'; readonly name: string };

/** Whether what ends a loop is the same before each pass. */
export function isUnchanging(ctx: Context, bound: ast.Expression, body: ast.Statement): boolean {
  const sources = new Set<Source>();
  return isRead(ctx, bound, sources, 0) && [...sources].every((source) => isKept(ctx, source, body, 0));
}

/** Whether an expression reads and computes and does nothing else; what it reads comes to the sources. */
function isRead(ctx: Context, node: ast.Expression, sources: Set<Source>, depth: number): boolean {
  const all = (nodes: readonly ast.Expression[]): boolean => nodes.every((each) => isRead(ctx, each, sources, depth));
  switch (node.kind) {
    case 'unary':
      if (node.operator !== '*') return /^[+\-~!]$/.test(node.operator) && all([node.operand]);
      sources.add(sourceOf(ctx, node.operand));
      return all([node.operand]);
    case 'binary':
      return node.operator !== ',' && all([node.left, node.right]);
    case 'index':
      sources.add(sourceOf(ctx, node.base));
      return all([node.base, ...node.indices]);
    case 'member':
      if (node.arrow) sources.add(sourceOf(ctx, node.object));
      return all([node.object]);
    case 'call':
      return isReadByMethod(ctx, node, sources, depth) && all(node.arguments);
    default:
      return isSimple(node);
  }
}

/** `graph.end(node)` with `return row[node + 1];` */
function isReadByMethod(ctx: Context, { callee }: ast.CallExpression, sources: Set<Source>, depth: number): boolean {
  if (depth >= DEEPEST_CALL || callee.kind !== 'member' || callee.arrow || callee.object.kind !== 'name') return false;
  const entity = lookupName(ctx, ctx.scope, callee.object.name.parts.at(-1)?.name ?? '');
  const record = entity?.kind === 'value' ? recordOf(entity.value.type) : undefined;
  const methods = record && findMethods(record, callee.name.parts.at(-1)?.name ?? '');
  const only = methods?.declarations.length === 1 ? methods.declarations[0].body?.body : undefined;
  if (only?.length !== 1 || only[0].kind !== 'return' || !only[0].value) return false;
  // its names are the record's: where they lead to is not looked at
  sources.add({ kind: 'pointed' });
  return isRead(ctx, only[0].value, new Set(), depth + 1);
}

function sourceOf(ctx: Context, base: ast.Expression): Source {
  const name = rootOf(base);
  const entity = name === undefined ? undefined : lookupName(ctx, ctx.scope, name);
  if (entity?.kind === 'global' && entity.declaration.specifiers.isConstant) return { kind: 'fixed' };
  if (entity?.kind !== 'value' || name === undefined) return { kind: 'pointed' };
  const { type } = entity.value;
  if (type.kind === 'pointer') return type.isRestrict && type.to.isConst ? { kind: 'fixed' } : { kind: 'pointed' };
  return type.kind === 'array' ? { kind: 'array', name } : { kind: 'pointed' };
}

/** The variable in `a[i].b[j]`. */
function rootOf(node: ast.Expression): string | undefined {
  let at = node;
  while (at.kind === 'index' || (at.kind === 'member' && !at.arrow)) at = at.kind === 'index' ? at.base : at.object;
  return at.kind === 'name' && at.name.parts.length === 1 ? at.name.parts[0].name : undefined;
}

/** Whether a body leaves what a bound is read from as it is. */
function isKept(ctx: Context, source: Source, body: ast.Statement, depth: number): boolean {
  if (source.kind === 'fixed') return true;
  return !anywhere(body, (node) => {
    if (node.kind === 'call') return !isHarmless(ctx, node, source, depth);
    const target = assignedBy(node);
    return target !== undefined && mayReach(ctx, target, source);
  });
}

/** Whether what is assigned may be the source. */
function mayReach(ctx: Context, target: ast.Expression, source: Source): boolean {
  const name = rootOf(target);
  if (name === undefined) return true;
  const entity = lookupName(ctx, ctx.scope, name);
  const type = entity?.kind === 'value' ? entity.value.type : undefined;
  // a variable that is declared in the body is its own, as long as it is no pointer
  if (target.kind === 'name') return entity?.kind === 'global' || type?.kind === 'reference';
  if (type?.kind === 'record') return false;
  return type?.kind !== 'array' || (source.kind === 'array' && source.name === name);
}

/** Calls that only compute, and functions and methods that do not write either. */
function isHarmless(ctx: Context, call: ast.CallExpression, source: Source, depth: number): boolean {
  const { callee } = call;
  const name = callee.kind === 'name' ? callee.name.parts.at(-1)?.name : undefined;
  const called = calledFunction(ctx, call);
  if (called) return depth < DEEPEST_CALL && isKept(ctx, source, called.body, depth + 1);
  if (name === undefined || lookupName(ctx, ctx.scope, name)?.kind === 'functions') return false;
  return name === '__ldg' || takesNumbers(name) || /^(?:sqrt|exp|log|fabs|rsqrt)f?$/.test(name);
}
