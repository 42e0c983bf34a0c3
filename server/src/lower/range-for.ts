/** `for (T x : range)`: the loop over indices that it means. */
import type * as ast from '../parse/ast';
import { callValue } from './calls';
import { type Context, skip } from './context';
import { expression, number } from './expressions';
import { endProgram, freshObject } from './host/memory';
import { forStatement } from './loops';
import { binaryOnValues } from './operators';
import { assign, rvalue, writeStorage } from './places';
import { findMethods, recordOf } from './records';
import { withScope } from './statements';
import { sizeOf, type Type, types } from './types';
import type { Value } from './values';
import { allocateStorage } from './variables';

/** What is run through: something with a subscript, and how many elements it has. */
interface Range {
  readonly first: Value;
  readonly count: Value;
}

/** Runs through arrays, braced lists, and records with begin() and end() that are pointers. */
export function rangeForStatement(ctx: Context, node: ast.RangeForStatement): void {
  const range = rangeOf(ctx, expression(ctx, node.range), node.range);
  if (!range) {
    skip(ctx, node, 'range-for over something whose elements are not known');
    if (ctx.unit.isHost) endProgram(ctx, 'lost');
    return;
  }
  withScope(ctx, 'range-for', () => {
    ctx.scope.define(RANGE, { kind: 'value', value: range.first });
    ctx.scope.define(COUNT, { kind: 'value', value: range.count });
    forStatement(ctx, loopOf(node));
  });
}

function rangeOf(ctx: Context, range: Value, node: ast.Expression): Range | undefined {
  const array = range.type.kind === 'array' ? range.type : undefined;
  if (array?.count !== undefined && range.kind === 'place')
    return { first: range, count: number(ctx, types.ulong, array.count) };
  const value = range.kind === 'place' && !recordOf(range.type) ? rvalue(ctx, range, node) : range;
  if (value.kind === 'aggregate' && !recordOf(value.type)) return listRange(ctx, value, node);
  const first = callMethod(ctx, range, 'begin', node);
  const last = callMethod(ctx, range, 'end', node);
  if (first?.type.kind !== 'pointer' || !last) return undefined;
  return { first, count: binaryOnValues(ctx, '-', last, first, node) };
}

/** `{1, 2, 4}`: an array of its own. */
function listRange(ctx: Context, list: Value & { kind: 'aggregate' }, node: ast.Expression): Range | undefined {
  const count = list.elements.length;
  if (count === 0) return { first: list, count: number(ctx, types.ulong, 0) };
  const type: Type = { kind: 'array', of: list.elements[0].type, count };
  if (ctx.unit.isHost) {
    const place = freshObject(ctx, type, sizeOf(type) ?? 0, node);
    assign(ctx, place, type, { ...list, type }, node);
    return { first: { kind: 'place', type, place }, count: number(ctx, types.ulong, count) };
  }
  const storage = allocateStorage(ctx, type, 'list', { key: `${node.first}:list`, name: 'list' });
  writeStorage(ctx, storage, { ...list, type }, node);
  return {
    first: { kind: 'place', type, place: { kind: 'storage', storage } },
    count: number(ctx, types.ulong, count),
  };
}

function callMethod(ctx: Context, object: Value, name: string, node: ast.Expression): Value | undefined {
  const record = recordOf(object.type);
  const methods = record && findMethods(record, name);
  if (!methods?.owner.scope) return undefined;
  const { declarations, owner } = methods;
  const callee: Value = {
    kind: 'functions',
    type: { kind: 'function' },
    declarations,
    scope: owner.scope ?? ctx.scope,
    self: object,
  };
  const call = { kind: 'call' as const, callee: node, arguments: [], first: node.first, last: node.last };
  return rvalue(ctx, callValue(ctx, callee, [], call), node);
}

const RANGE = '(range)';
const COUNT = '(count)';
const INDEX = '(index)';

const loops = new WeakMap<ast.RangeForStatement, ast.ForStatement>();

function loopOf(node: ast.RangeForStatement): ast.ForStatement {
  let loop = loops.get(node);
  if (!loop) loops.set(node, (loop = makeLoop(node)));
  return loop;
}

/** `for (unsigned long index = 0; index < count; ++index) { T x = range[index]; … }` */
function makeLoop(node: ast.RangeForStatement): ast.ForStatement {
  const { first, last } = node.range;
  const name = (text: string): ast.NameExpression => ({
    kind: 'name',
    name: { global: false, parts: [{ name: text }], first, last },
    first,
    last,
  });
  const index: ast.VariableDeclaration = {
    kind: 'variable',
    name: INDEX,
    nameToken: first,
    type: { kind: 'builtin', name: 'unsigned long', isConst: false, isVolatile: false, first, last },
    specifiers: node.variable.specifiers,
    initializer: { form: 'assign', value: { kind: 'integer', value: 0n, type: 'unsigned long', first, last } },
    first,
    last,
  };
  const element: ast.IndexExpression = { kind: 'index', base: name(RANGE), indices: [name(INDEX)], first, last };
  const variable: ast.VariableDeclaration = { ...node.variable, initializer: { form: 'assign', value: element } };
  const { body } = node;
  return {
    kind: 'for',
    unroll: node.unroll,
    initializer: { kind: 'declaration', declarations: [index], first, last },
    condition: { kind: 'binary', operator: '<', left: name(INDEX), right: name(COUNT), first, last },
    increment: { kind: 'unary', operator: '++', operand: name(INDEX), first, last },
    body: {
      kind: 'compound',
      body: [{ kind: 'declaration', declarations: [variable], first, last }, body],
      first: body.first,
      last: body.last,
    },
    first: node.first,
    last: node.last,
  };
}
