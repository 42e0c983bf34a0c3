/**
 * What a pass of a plain loop costs NVVM in instructions: loads, stores and arithmetic. Addresses that the counter alone decides are free, since they
 * become constants. Only bodies of assignments and conditions over arrays in memory are told: what reads an array in registers, or computes of
 * the counter itself, becomes simpler in the copies, and is left to the measure in tokens (`loop-size.ts`).
 * Evidence: the number of passes up to which 30 kinds of bodies are written out (PTX of 600 loops, nvcc 13.0); the sum stays below 400.
 */
import type * as ast from '../parse/ast';
import type { Context } from './context';
import { lookupName } from './lookup';

/** Instructions of all passes up to which a loop is written out. */
const FULL_UNROLL_COST = 400;
/** What counting takes of it for each pass. */
const COUNTING = 0.25;

/** Functions that are that many instructions. */
const CALLS: Readonly<Record<string, number>> = {
  fmaxf: 1,
  fminf: 1,
  max: 1,
  min: 1,
  fabsf: 1,
  sqrtf: 1,
  rsqrtf: 2,
  __expf: 1,
};

const OPERATORS: Readonly<Record<string, number>> = { '/': 4, '%': 5 };

/** What a token of a body costs at most: `a % b % c` is five tokens and ten instructions. */
const MOST_PER_TOKEN = 2.5;

/** Not of the kind that is told. */
const OPEN = Number.NaN;

interface Body {
  readonly ctx: Context;
  readonly counter: string;
  /** Names of variables that the body declares. */
  readonly own: Set<string>;
  /** Loads that were counted, by their text: equal ones are made once. */
  readonly loads: Set<string>;
}

/** Whether a plain loop is too large to be written out so many times; false where the body is not plain. */
export function isTooCostly(ctx: Context, { body }: ast.ForStatement, counter: string, trips: number): boolean {
  if ((body.last - body.first + 1) * MOST_PER_TOKEN * trips <= FULL_UNROLL_COST) return false;
  const cost = ofStatement({ ctx, counter, own: new Set(), loads: new Set() }, body);
  return cost > 0 && (cost + COUNTING) * trips > FULL_UNROLL_COST;
}

const sum = (costs: readonly number[]): number => costs.reduce((a, b) => a + b, 0);

function ofStatement(body: Body, node: ast.Statement): number {
  switch (node.kind) {
    case 'compound':
      return sum(node.body.map((s) => ofStatement(body, s)));
    case 'expression':
      return ofExpression(body, node.expression);
    case 'if': {
      const otherwise = node.else ? ofStatement(body, node.else) : 0;
      return node.condition.kind === 'variable'
        ? OPEN
        : ofExpression(body, node.condition) + ofStatement(body, node.then) + otherwise;
    }
    case 'declaration':
      return sum(node.declarations.map((d) => ofDeclaration(body, d)));
    default:
      return OPEN;
  }
}

function ofDeclaration(body: Body, node: ast.Declaration): number {
  if (node.kind !== 'variable' || node.name === undefined || node.initializer?.form !== 'assign') return OPEN;
  if (node.type.kind === 'array' || node.type.kind === 'reference') return OPEN;
  body.own.add(node.name);
  return ofExpression(body, node.initializer.value);
}

function ofExpression(body: Body, node: ast.Expression): number {
  switch (node.kind) {
    case 'integer':
    case 'float':
      return 0;
    case 'name':
      return ofName(body, node);
    case 'member':
      return ofMember(body, node);
    case 'unary':
      return /^[+\-~]$/.test(node.operator) ? ofExpression(body, node.operand) : OPEN;
    case 'binary':
      return (OPERATORS[node.operator] ?? 1) + ofExpression(body, node.left) + ofExpression(body, node.right);
    case 'assign': {
      const isCompound = node.operator !== '=';
      const place = node.left.kind === 'index' ? 1 + ofPlace(body, node.left) : ofExpression(body, node.left);
      return place + (isCompound ? 1 + (node.left.kind === 'index' ? 1 : 0) : 0) + ofExpression(body, node.right);
    }
    case 'conditional':
      return 2 + ofExpression(body, node.condition) + ofExpression(body, node.then) + ofExpression(body, node.else);
    case 'call': {
      const name = node.callee.kind === 'name' ? node.callee.name.parts.at(-1)?.name : undefined;
      const cost = name === undefined ? undefined : CALLS[name];
      return cost === undefined ? OPEN : cost + sum(node.arguments.map((a) => ofExpression(body, a)));
    }
    case 'cast':
      return node.arguments.length === 1 && node.type.kind === 'builtin'
        ? 1 + ofExpression(body, node.arguments[0])
        : OPEN;
    case 'index': {
      const key = textOf(body, node);
      if (body.loads.has(key)) return 0;
      body.loads.add(key);
      return 1 + ofPlace(body, node);
    }
    default:
      return OPEN;
  }
}

const textOf = (body: Body, node: ast.Expression): string =>
  body.ctx.unit.tokens.text.slice(node.first, node.last + 1).join(' ');

/** A variable in a register that is not the counter. */
function ofName({ ctx, counter, own }: Body, node: ast.NameExpression): number {
  const name = node.name.parts.at(-1)?.name;
  if (name === undefined || name === counter || node.name.parts.length > 1) return OPEN;
  if (own.has(name)) return 0;
  const entity = lookupName(ctx, ctx.scope, name);
  if (entity?.kind !== 'value') return OPEN;
  const { value } = entity;
  const isScalar =
    value.kind === 'scalar' ||
    (value.kind === 'place' && value.place.kind === 'storage' && value.place.storage.kind === 'scalar');
  return isScalar ? 0 : OPEN;
}

/** Of a record in registers: each member is a variable. */
function ofMember({ ctx, own }: Body, node: ast.MemberExpression): number {
  let object: ast.Expression = node;
  while (object.kind === 'member' && !object.arrow) object = object.object;
  const name = object.kind === 'name' && object.name.parts.length === 1 ? object.name.parts[0].name : undefined;
  if (name === undefined) return OPEN;
  if (own.has(name)) return 0;
  const entity = lookupName(ctx, ctx.scope, name);
  if (entity?.kind !== 'value') return OPEN;
  const { value } = entity;
  return value.kind === 'aggregate' || (value.kind === 'place' && value.place.kind === 'storage') ? 0 : OPEN;
}

/** The address of an element: free where the counter alone decides, or adds to something that the loop does not change. */
function ofPlace(body: Body, node: ast.IndexExpression): number {
  const indices: ast.Expression[] = [];
  let base: ast.Expression = node;
  for (; base.kind === 'index'; base = base.base) indices.push(...base.indices);
  if (base.kind !== 'name' || !isInMemory(body.ctx, base)) return OPEN;
  return sum(indices.map((index) => ofIndex(body, index)));
}

/** An array or what a pointer points to, outside of the kernel's own memory. */
export function isInMemory(ctx: Context, { name }: ast.NameExpression): boolean {
  const entity = lookupName(ctx, ctx.scope, name.parts.at(-1)?.name ?? '');
  if (entity?.kind !== 'value' || entity.value.kind !== 'place') return false;
  const { type, place } = entity.value;
  if (place.kind === 'memory') return place.object === undefined || ctx.builder.objects[place.object].space !== 'local';
  return type.kind === 'pointer';
}

function ofIndex(body: Body, node: ast.Expression): number {
  const names: string[] = [];
  let others = 0;
  const visit = (e: ast.Expression): boolean => {
    switch (e.kind) {
      case 'integer':
        return true;
      case 'name':
        names.push(e.name.parts.at(-1)?.name ?? '');
        return true;
      case 'binary':
        if (!/^[+\-*]$/.test(e.operator)) others += OPERATORS[e.operator] ?? 1;
        return visit(e.left) && visit(e.right);
      case 'member':
        names.push('');
        return true;
      default:
        return false;
    }
  };
  if (!visit(node)) return OPEN;
  if (names.some((name) => body.own.has(name))) return OPEN;
  const isMixed = names.includes(body.counter) && names.some((name) => name !== body.counter);
  return isMixed ? 1 + others : 0;
}
