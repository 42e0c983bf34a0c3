/**
 * Functions that the host keeps in memory: `std::function` and pointers to functions in tables, lists and members. What is stored is the address of a
 * block that tells which function of the text it is, with copies of what it captured by value; a call compares it with those that were stored.
 */

import { anywhere } from '../../parse/anywhere';
import type * as ast from '../../parse/ast';
import type { Register } from '../../program/program';
import { callValue } from '../calls';
import { choice } from '../conditional';
import { type Context, demandMemory, skip } from '../context';
import { convertValue } from '../conversions';
import { expression } from '../expressions';
import { mayAssign } from '../flow';
import { inlineLambda } from '../lambda-calls';
import { lookupName } from '../lookup';
import { assign, readMemory, readRegister, rvalue, writeRegister, writeStorage } from '../places';
import { findMethods, recordOf } from '../records';
import { inScope } from '../resolve-type';
import { Scope } from '../scope';
import {
  type FunctionType,
  scalarOf,
  signatureKey,
  sizeOf,
  type Type,
  types,
  unqualified,
  withoutReference,
} from '../types';
import { type MemoryPlace, type Storage, unknownValue, type Value } from '../values';
import { allocateStorage } from '../variables';
import { emitHost, endProgram } from './memory';
import { callLambdaItself, mayCallItself } from './recursion';

/** What a variable, a member or an element can hold that is called. */
export type FunctionValue = Value & { kind: 'lambda' | 'functions' };

interface Capture {
  readonly name: string;
  readonly type: Type;
  readonly offset: number;
}

interface Kept {
  readonly number: number;
  /** Of a lambda: what it initialises in its brackets is captured already. */
  readonly value: FunctionValue;
  readonly captures: readonly Capture[];
  /** Of the type that it is kept as. */
  readonly signature: string;
}

/** Functions that were stored, by the builder of a lowering. */
const kept = new WeakMap<object, Kept[]>();
/** Functions whose calls are being lowered. */
const running = new WeakMap<object, Set<Kept>>();

/** Of a `std::function` or a pointer to a function, in the program of the host; undefined for other types. */
export function signatureOf(ctx: Context, type: Type): FunctionType | undefined {
  if (!ctx.unit.isHost) return undefined;
  const plain = withoutReference(type);
  if (plain.kind === 'callable') return plain.of;
  return plain.kind === 'pointer' && plain.to.kind === 'function' ? plain.to : undefined;
}

/** Where a lambda that was stored is written: its names mean what they mean there. */
export function scopeOfKept(ctx: Context, lambda: ast.LambdaExpression): Scope | undefined {
  const values = (kept.get(ctx.builder) ?? []).map(({ value }) => value);
  const own = values.findLast((value) => value.kind === 'lambda' && value.lambda.first === lambda.first);
  return own?.scope;
}

/** A function as what memory holds of it. */
export function closureOf(ctx: Context, value: FunctionValue, signature: FunctionType, node: ast.Node): Register {
  let all = kept.get(ctx.builder);
  if (!all) kept.set(ctx.builder, (all = []));
  const object = value.kind === 'functions' ? value.self : undefined;
  const captured =
    value.kind === 'lambda'
      ? capturedBy(ctx, value)
      : object
        ? [{ name: OBJECT, value: rvalue(ctx, object, node) }]
        : [];
  const home = emitHost(ctx, 'allocate', [ctx.builder.constant('i64', sizeWith(captured))]);
  const place: MemoryPlace = { kind: 'memory', address: home, offset: 0, node };
  const captures = layOut(captured);
  for (const [i, { type, offset }] of captures.entries())
    assign(ctx, { ...place, offset }, type, captured[i].value, node);
  const own = value.kind === 'lambda' ? { ...value, lambda: { ...value.lambda, captures: [] } } : value;
  const entry = { number: all.length + 1, value: own, captures, signature: signatureKey(signature) };
  all.push(entry);
  const register = ctx.builder.constant('u64', entry.number);
  assign(ctx, place, types.ulong, { kind: 'scalar', type: types.ulong, register }, node);
  return home;
}

/** A lambda where it is written: numbers that it captures by value keep the value of that moment, and are its own from then on. */
export function withCaptures(ctx: Context, node: ast.LambdaExpression): Value {
  const scope = new Scope(ctx.scope, 'captures');
  const own = new Set<string>();
  const keep = (name: string, value: Value): void => {
    if (value.kind !== 'scalar' && value.kind !== 'aggregate') {
      scope.define(name, { kind: 'value', value });
      return;
    }
    const storage = allocateStorage(ctx, unqualified(value.type), name);
    writeStorage(ctx, storage, value, node);
    scope.define(name, {
      kind: 'value',
      value: { kind: 'place', type: storage.type, place: { kind: 'storage', storage } },
    });
  };
  for (const { name, byReference, initializer } of node.captures) {
    own.add(name);
    const given = initializer && expression(ctx, initializer);
    if (given) keep(name, byReference ? given : rvalue(ctx, given, initializer));
    else if (!byReference) keepNumber(ctx, name, keep, node);
  }
  if (node.defaultCapture === '=')
    for (const name of namesIn(node.body)) if (!own.has(name)) keepNumber(ctx, name, keep, node);
  return { kind: 'lambda', type: { kind: 'lambda', lambda: node }, lambda: withoutInitializers(node), scope };
}

/** A lambda whose captures have their values: what initialised them is not evaluated again at every call. */
export const withoutInitializers = (lambda: ast.LambdaExpression): ast.LambdaExpression => ({
  ...lambda,
  captures: lambda.captures.map(({ initializer, ...rest }) => rest),
});

/** By name, what a lambda that a launch hands over has captured by value: copies of it are the kernel's. */
export function handedCaptures(ctx: Context, { lambda, scope }: Value & { kind: 'lambda' }): Map<string, Value> {
  const names = new Set(lambda.captures.map(({ name }) => name));
  if (lambda.defaultCapture === '=') for (const name of namesIn(lambda.body)) names.add(name);
  const captured = new Map<string, Value>();
  for (const name of names) {
    const entity = lookupName(ctx, scope, name);
    const value = entity?.kind === 'value' ? rvalue(ctx, entity.value, lambda) : undefined;
    if (value?.kind === 'lambda') captured.set(name, withCaptureTypes(ctx, value));
    else if (value?.kind === 'scalar' || value?.kind === 'aggregate') captured.set(name, value);
  }
  return captured;
}

/** A lambda that says of which types its captures are: what a kernel is instantiated for. */
export function withCaptureTypes(ctx: Context, value: Value & { kind: 'lambda' }): Value & { kind: 'lambda' } {
  const captures = new Map([...handedCaptures(ctx, value)].map(([name, { type }]) => [name, unqualified(type)]));
  return { ...value, type: { kind: 'lambda', lambda: value.lambda, captures } };
}

/** A lambda that is copied has what it captured by value once more: `auto other = counter;` */
export function copyOfLambda(ctx: Context, value: Value & { kind: 'lambda' }, node: ast.Node): Value {
  const { scope } = value;
  if (scope.label !== 'captures') return value;
  const copy = new Scope(scope.parent, 'captures');
  for (const [name, entity] of scope.entries()) {
    const held = entity.kind === 'value' && entity.value.kind === 'place' ? rvalue(ctx, entity.value, node) : undefined;
    if (held?.kind !== 'scalar' && held?.kind !== 'aggregate') {
      copy.define(name, entity);
      continue;
    }
    const storage = allocateStorage(ctx, unqualified(held.type), name);
    writeStorage(ctx, storage, held, node);
    const place: Value = { kind: 'place', type: storage.type, place: { kind: 'storage', storage } };
    copy.define(name, { kind: 'value', value: place });
  }
  return { ...value, scope: copy };
}

function keepNumber(ctx: Context, name: string, keep: (name: string, value: Value) => void, node: ast.Node): void {
  const entity = lookupName(ctx, ctx.scope, name);
  if (entity?.kind === 'value' && entity.value.kind === 'place' && scalarOf(withoutReference(entity.value.type)))
    keep(name, rvalue(ctx, entity.value, node));
}

interface Captured {
  readonly name: string;
  readonly value: Value;
}

/** The object that a method is called of. */
const OBJECT = '(object)';

/** Each capture begins at a multiple of it; the first one behind the number. */
const CAPTURE_ALIGNMENT = 16;

const alignedSize = ({ value }: Captured): number =>
  Math.ceil((sizeOf(value.type) ?? 0) / CAPTURE_ALIGNMENT) * CAPTURE_ALIGNMENT;

const sizeWith = (captured: readonly Captured[]): number =>
  captured.reduce((sum, each) => sum + alignedSize(each), CAPTURE_ALIGNMENT);

function layOut(captured: readonly Captured[]): Capture[] {
  let offset = CAPTURE_ALIGNMENT;
  return captured.map((each) => {
    const capture = { name: each.name, type: each.value.type, offset };
    offset += alignedSize(each);
    return capture;
  });
}

/** What a lambda keeps a copy of. What it refers to and assigns has to lie in memory: when it is called nobody sees. */
function capturedBy(ctx: Context, { lambda, scope }: Value & { kind: 'lambda' }): Captured[] {
  const written = lambda.captures.filter((c) => c.initializer || !c.byReference);
  const isReferred = (name: string) => lambda.captures.some((c) => c.name === name && c.byReference);
  const byValue = new Set(written.map((c) => c.name));
  if (lambda.defaultCapture === '=') for (const name of namesIn(lambda.body)) if (!isReferred(name)) byValue.add(name);
  for (const name of mayAssign(lambda.body).names.keys()) if (!byValue.has(name)) moveToMemory(ctx, scope, name);
  return [...byValue].flatMap((name): Captured[] => {
    const initializer = written.find((c) => c.name === name)?.initializer;
    const entity = lookupName(ctx, scope, name);
    const given = initializer
      ? inScope(ctx, scope, () => expression(ctx, initializer))
      : entity?.kind === 'value'
        ? entity.value
        : undefined;
    const value = given && rvalue(ctx, given, lambda);
    return value && (value.kind === 'scalar' || value.kind === 'aggregate') && sizeOf(value.type)
      ? [{ name, value }]
      : [];
  });
}

function namesIn(body: ast.Node): Set<string> {
  const names = new Set<string>();
  anywhere(body, (n) => {
    const part = n.kind === 'name' ? (n as ast.NameExpression).name.parts : [];
    if (part.length === 1) names.add(part[0].name);
    return false;
  });
  return names;
}

function moveToMemory(ctx: Context, scope: Scope, name: string): void {
  const entity = lookupName(ctx, scope, name);
  const value = entity?.kind === 'value' ? entity.value : undefined;
  if (value?.kind !== 'place' || value.place.kind !== 'storage') return;
  const { storage } = value.place;
  if ((storage.kind === 'scalar' || storage.kind === 'aggregate') && storage.owner) demandMemory(ctx, storage.owner);
}

/** Calls what memory holds of a function. */
export function callClosure(
  ctx: Context,
  callee: Value & { kind: 'scalar' },
  signature: FunctionType,
  args: readonly Value[],
  node: ast.CallExpression,
): Value {
  const call = (entry: Kept): Value => {
    const { result } = signature;
    const given = callKept(ctx, entry, callee, args, node);
    const value = rvalue(ctx, given, node);
    if (!result || result.kind === 'unknown' || result.kind === 'reference') return value;
    return result.kind === 'void' ? { kind: 'void', type: result } : convertValue(ctx, value, result, node);
  };
  return forEachKept(ctx, callee.register, signature, node, call);
}

/** A lambda that calls itself by what memory holds of it is called with the block of its captures. */
function callKept(
  ctx: Context,
  entry: Kept,
  block: Value & { kind: 'scalar' },
  args: readonly Value[],
  node: ast.CallExpression,
): Value {
  const { value, captures } = entry;
  if (value.kind !== 'lambda') {
    const [object] = captures;
    if (!object) return callValue(ctx, value, args, node);
    const place: MemoryPlace = { kind: 'memory', address: block.register, offset: object.offset, node };
    return callValue(ctx, { ...value, self: { kind: 'place', type: object.type, place } }, args, node);
  }
  return callLambdaItself(ctx, value, [block], args, node, ([own], given) => {
    const address = own.kind === 'scalar' ? own.register : block.register;
    return inlineLambda(ctx, lambdaIn(value, entry, address, node), given, node);
  });
}

/** Makes what each of the functions that memory may hold leads to, on a way of its own. */
export function forEachKept(
  ctx: Context,
  address: Register,
  signature: FunctionType,
  node: ast.Node,
  make: (entry: Kept) => Value,
): Value {
  const key = signatureKey(signature);
  const ways = (kept.get(ctx.builder) ?? []).filter((entry) => entry.signature === key);
  let active = running.get(ctx.builder);
  if (!active) running.set(ctx.builder, (active = new Set()));
  const place: MemoryPlace = { kind: 'memory', address, offset: 0, node };
  const told = readMemory(ctx, place, types.ulong);
  const from = (index: number): Value => {
    const way = ways.at(index);
    if (told.kind !== 'scalar' || !way || index === ways.length) return notFollowed(ctx, signature, node);
    const isNumber = ctx.builder.compare('eq', 'u64', told.register, ctx.builder.constant('u64', way.number));
    const run = (): Value => {
      const isActive = active.has(way);
      if (isActive && !mayCallItself(ctx, way.value)) return notFollowed(ctx, signature, node);
      active.add(way);
      const value = make(way);
      if (!isActive) active.delete(way);
      return value;
    };
    return choice(ctx, node, isNumber, run, () => from(index + 1));
  };
  return from(0);
}

function notFollowed(ctx: Context, { result }: FunctionType, node: ast.Node): Value {
  const reason = 'which function is called is not known';
  skip(ctx, node, reason);
  endProgram(ctx, 'lost');
  if (result?.kind === 'void') return { kind: 'void', type: result };
  return unknownValue(result ?? { kind: 'unknown', reason }, reason);
}

/** The function, with what it captured where the block has it. */
function lambdaIn(
  value: FunctionValue & { kind: 'lambda' },
  { captures }: Kept,
  address: Register,
  node: ast.Node,
): Value & { kind: 'lambda' } {
  const scope = new Scope(value.scope, 'captures');
  for (const { name, type, offset } of captures)
    scope.define(name, {
      kind: 'value',
      value: { kind: 'place', type, place: { kind: 'memory', address, offset, node } },
    });
  return { ...value, scope };
}

/** A variable that holds a function as the lowering knows it, or as memory held it. */
export function keepInCell(
  ctx: Context,
  storage: Storage & { kind: 'fixed' },
  value: Value,
  node: ast.Node,
): Value | undefined {
  const signature = signatureOf(ctx, storage.type);
  if (!signature) return undefined;
  const given = rvalue(ctx, value, node);
  const before = storage.cell.value;
  const isVariable = before.kind === 'scalar' && ctx.builder.registers[before.register].role === 'variable';
  if (given.kind !== 'scalar' && !isVariable) return given;
  const { register: variable } = isVariable ? before : { register: ctx.builder.variable('i64', 'function') };
  writeRegister(ctx, variable, asStored(ctx, given, signature, node));
  return { kind: 'scalar', type: storage.type, register: variable };
}

export const readCell = (ctx: Context, value: Value): Value =>
  value.kind === 'scalar' ? { ...value, register: readRegister(ctx, value.register) } : value;

/** An object of a class that can be called. */
function functorOf(value: Value): FunctionValue | undefined {
  const record = value.kind === 'aggregate' ? recordOf(value.type) : undefined;
  const methods = record && findMethods(record, 'operator()');
  const scope = methods?.owner.scope;
  if (!methods || !scope) return undefined;
  return { kind: 'functions', type: { kind: 'function' }, declarations: methods.declarations, scope, self: value };
}

/** What memory holds of a value that is called. */
export function asStored(ctx: Context, value: Value, signature: FunctionType, node: ast.Node): Register {
  if (value.kind === 'lambda' || value.kind === 'functions') return closureOf(ctx, value, signature, node);
  const functor = functorOf(value);
  if (functor) return closureOf(ctx, functor, signature, node);
  if (value.kind === 'scalar' && scalarOf(value.type) !== 'pred' && ctx.builder.typeOf(value.register) === 'i64')
    return value.register;
  // `nullptr`, 0
  const isNull = value.kind === 'scalar' && ctx.builder.constantValue(value.register) === 0;
  return isNull ? ctx.builder.constant('i64', 0) : ctx.builder.unknown('i64', 'which function it is is not known');
}
