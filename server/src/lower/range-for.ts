/** `for (T x : range)`: the loop over indices that it means. */
import type * as ast from '../parse/ast';
import { callValue } from './calls';
import { chosenObject } from './conditional';
import { type Context, skip } from './context';
import { number } from './expressions';
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

/** Iterators that are no pointers. */
interface Walk {
  readonly first: Value;
  readonly end: Value;
}

/** Runs through arrays, braced lists, and records with begin() and end(). */
export function rangeForStatement(ctx: Context, node: ast.RangeForStatement): void {
  const range = rangeOf(ctx, chosenObject(ctx, node.range), node.range);
  if (!range) {
    skip(ctx, node, 'range-for over something whose elements are not known');
    if (ctx.unit.isHost) endProgram(ctx, 'lost');
    return;
  }
  withScope(ctx, 'range-for', () => {
    ctx.scope.define(RANGE, { kind: 'value', value: range.first });
    if ('end' in range) ctx.scope.define(END, { kind: 'value', value: range.end });
    else ctx.scope.define(COUNT, { kind: 'value', value: range.count });
    forStatement(ctx, 'end' in range ? walkOf(node) : loopOf(node));
  });
}

function rangeOf(ctx: Context, range: Value, node: ast.Expression): Range | Walk | undefined {
  const array = range.type.kind === 'array' ? range.type : undefined;
  if (array?.count !== undefined && range.kind === 'place')
    return { first: range, count: number(ctx, types.ulong, array.count) };
  const value = range.kind === 'place' && !recordOf(range.type) ? rvalue(ctx, range, node) : range;
  if (value.kind === 'aggregate' && !recordOf(value.type)) return listRange(ctx, value, node);
  const first = callMethod(ctx, range, 'begin', node);
  const last = callMethod(ctx, range, 'end', node);
  if (!first || !last) return undefined;
  if (first.type.kind === 'pointer') return { first, count: binaryOnValues(ctx, '-', last, first, node) };
  const iterator = recordOf(first.type);
  return iterator && findMethods(iterator, 'operator*') ? { first, end: last } : undefined;
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
const END = '(end)';
const INDEX = '(index)';

const loops = new WeakMap<ast.RangeForStatement, ast.ForStatement>();
const walks = new WeakMap<ast.RangeForStatement, ast.ForStatement>();

function loopOf(node: ast.RangeForStatement): ast.ForStatement {
  let loop = loops.get(node);
  if (!loop) loops.set(node, (loop = makeLoop(node)));
  return loop;
}

function walkOf(node: ast.RangeForStatement): ast.ForStatement {
  let walk = walks.get(node);
  if (!walk) walks.set(node, (walk = makeWalk(node)));
  return walk;
}

/** `for (unsigned long index = 0; index < count; ++index) { T x = range[index]; … }` */
function makeLoop(node: ast.RangeForStatement): ast.ForStatement {
  const { first, last } = node.range;
  return loopWith(node, {
    type: { kind: 'builtin', name: 'unsigned long', isConst: false, isVolatile: false, first, last },
    start: { kind: 'integer', value: 0n, type: 'unsigned long', first, last },
    condition: {
      kind: 'binary',
      operator: '<',
      left: nameAt(node, INDEX),
      right: nameAt(node, COUNT),
      first,
      last,
    },
    element: { kind: 'index', base: nameAt(node, RANGE), indices: [nameAt(node, INDEX)], first, last },
  });
}

/** `for (auto index = range; index != end; ++index) { T x = *index; … }` */
function makeWalk(node: ast.RangeForStatement): ast.ForStatement {
  const { first, last } = node.range;
  return loopWith(node, {
    type: { kind: 'auto', isConst: false, isVolatile: false, first, last },
    start: nameAt(node, RANGE),
    condition: {
      kind: 'binary',
      operator: '!=',
      left: nameAt(node, INDEX),
      right: nameAt(node, END),
      first,
      last,
    },
    element: { kind: 'unary', operator: '*', operand: nameAt(node, INDEX), first, last },
  });
}

function nameAt({ range: { first, last } }: ast.RangeForStatement, text: string): ast.NameExpression {
  return { kind: 'name', name: { global: false, parts: [{ name: text }], first, last }, first, last };
}

interface LoopParts {
  readonly type: ast.VariableDeclaration['type'];
  readonly start: ast.Expression;
  readonly condition: ast.Expression;
  readonly element: ast.Expression;
}

function loopWith(node: ast.RangeForStatement, { type, start, condition, element }: LoopParts): ast.ForStatement {
  const { first, last } = node.range;
  const index: ast.VariableDeclaration = {
    kind: 'variable',
    name: INDEX,
    nameToken: first,
    type,
    specifiers: node.variable.specifiers,
    initializer: { form: 'assign', value: start },
    first,
    last,
  };
  const variable: ast.VariableDeclaration = { ...node.variable, initializer: { form: 'assign', value: element } };
  const { body } = node;
  return {
    kind: 'for',
    unroll: node.unroll,
    initializer: { kind: 'declaration', declarations: [index], first, last },
    condition,
    increment: { kind: 'unary', operator: '++', operand: nameAt(node, INDEX), first, last },
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
