/**
 * What is thrown and caught in the program of the host. Functions are inlined, so a `throw` is a jump to the handler that takes it, found by the types; on
 * the way local objects are destroyed. Where it is not known whether something is thrown, it is not. What nobody takes, or what a function that calls itself
 * throws out of it, ends the run.
 */
import type * as ast from '../../parse/ast';
import type { Register } from '../../program/program';
import { pathToBase } from '../bases';
import { bindParameter } from '../bound-values';
import { construct } from '../construct';
import type { Context } from '../context';
import { expression } from '../expressions';
import { KnownValues } from '../known-values';
import { assign, readRegister, rvalue, writeRegister } from '../places';
import { recordOf } from '../records';
import { resolveType } from '../resolve-type';
import { statement, withScope } from '../statements';
import { sizeOf, type Type, typeKey, unqualified, withoutReference } from '../types';
import type { MemoryPlace, Value } from '../values';
import { destroySince } from './destructors';
import { emitHost, endProgram } from './memory';
import { isOfLibrary } from './only-read';

/** A `catch`. */
interface Clause {
  readonly node: ast.Handler;
  /** Of what it takes; undefined: everything. */
  readonly type: Type | undefined;
  readonly block: number;
  /** Holds where the object lies. */
  readonly address: Register;
  /** Types of what comes here. */
  readonly thrown: Type[];
}

/** A `try` whose body is being lowered. */
export interface Try {
  readonly clauses: readonly Clause[];
  readonly locals: number;
}

/** A handler whose body is being lowered. */
export interface Caught {
  readonly type: Type;
  readonly address: Register;
}

/** `try { … } catch (…) { … }` */
export function tryStatement(ctx: Context, node: ast.TryStatement): void {
  if (!ctx.unit.isHost || node.handlers.length === 0) {
    statement(ctx, node.body);
    return;
  }
  const { builder: b } = ctx;
  const join = b.newBlock();
  const clauses = node.handlers.map(
    (handler): Clause => ({
      node: handler,
      type: handler.parameter && unqualified(withoutReference(resolveType(ctx, handler.parameter.type))),
      block: b.newBlock(),
      address: b.variable('i64', 'thrown'),
      thrown: [],
    }),
  );
  ctx.tries.push({ clauses, locals: ctx.locals.length });
  b.enterRegion();
  statement(ctx, node.body);
  b.leaveRegion();
  ctx.tries.pop();
  const ends = b.reachable ? [ctx.known] : [];
  b.jump(join);
  for (const clause of clauses)
    if (clause.thrown.length > 0) {
      b.use(clause.block);
      b.enterRegion();
      // control comes from anywhere in the body
      ctx.known = new KnownValues();
      handle(ctx, clause);
      if (b.reachable) ends.push(ctx.known);
      b.jump(join);
      b.leaveRegion();
    }
  b.use(join);
  if (ends.length === 0) b.exit();
  ctx.known = KnownValues.merged(ends);
}

function handle(ctx: Context, { node, type, address, thrown }: Clause): void {
  const [first] = thrown;
  const isOne = thrown.every((each) => typeKey(each) === typeKey(first));
  withScope(ctx, 'catch', () => {
    const { parameter } = node;
    if (isOne) ctx.caught.push({ type: first, address });
    if (parameter?.name && type) {
      const object: Value = { kind: 'place', type, place: objectAt(ctx, address, node) };
      bindParameter(ctx, ctx.scope, parameter, parameter.name, resolveType(ctx, parameter.type), object, node);
    }
    statement(ctx, node.body);
    if (isOne) ctx.caught.pop();
  });
}

const objectAt = (ctx: Context, address: Register, node: ast.Node): MemoryPlace => ({
  kind: 'memory',
  address: readRegister(ctx, address),
  offset: 0,
  node,
});

/** `throw e`, or `throw` alone in a handler. */
export function throwExpression(ctx: Context, node: ast.ThrowExpression): void {
  if (!ctx.builder.reachable) return;
  if (ctx.tries.length === 0) {
    endProgram(ctx, 'lost');
    return;
  }
  const { operand } = node;
  if (!operand) {
    const again = ctx.caught.at(-1);
    if (again) throwTo(ctx, again.type, again.address);
    else endProgram(ctx, 'lost');
    return;
  }
  const value = thrownValue(ctx, operand);
  const size = sizeOf(value.type);
  if (size === undefined || (value.kind !== 'scalar' && value.kind !== 'aggregate')) {
    throwTo(ctx, value.type, undefined);
    return;
  }
  const address = emitHost(ctx, 'allocate', [ctx.builder.constant('i64', Math.max(1, size))]);
  assign(ctx, { kind: 'memory', address, offset: 0, node }, value.type, value, node);
  throwTo(ctx, unqualified(value.type), address);
}

/** Nobody computes with the texts of the library's exceptions: what they are made of is not evaluated. */
function thrownValue(ctx: Context, operand: ast.Expression): Value {
  const type = madeType(ctx, operand);
  if (type?.kind === 'record' && isOfLibrary(type)) return construct(ctx, type, [], operand, false);
  return rvalue(ctx, expression(ctx, operand), operand);
}

/** Of `T(…)` and `T{…}`. */
function madeType(ctx: Context, operand: ast.Expression): Type | undefined {
  if (operand.kind === 'cast') return resolveType(ctx, operand.type);
  if (operand.kind !== 'call' || operand.callee.kind !== 'name') return undefined;
  const { name, first, last } = operand.callee;
  return resolveType(ctx, { kind: 'named', name, first, last, isConst: false, isVolatile: false });
}

/** @param address undefined: what is thrown is not known */
function throwTo(ctx: Context, type: Type, address: Register | undefined): void {
  for (const { clauses, locals } of ctx.tries.toReversed()) {
    const clause = clauses.find((each) => !each.type || (address !== undefined && takes(each.type, type)));
    if (clause) {
      destroySince(ctx, locals);
      clause.thrown.push(type);
      writeRegister(ctx, clause.address, address ?? ctx.builder.constant('i64', 0));
      emitHost(ctx, 'thrown', []);
      ctx.builder.jump(clause.block);
      return;
    }
    // it may be what one of these takes
    if (address === undefined) break;
  }
  endProgram(ctx, 'lost');
}

/** Its type, or a base that begins where the object does. */
function takes(wanted: Type, thrown: Type): boolean {
  const [base, record] = [recordOf(wanted), recordOf(thrown)];
  if (!base || !record) return typeKey(wanted) === typeKey(thrown);
  return pathToBase(record, base)?.every(({ offset }) => offset === 0) ?? false;
}
