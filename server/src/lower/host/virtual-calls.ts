/**
 * Calls of methods that a derived class may have replaced. An object with virtual methods holds a number for its class (`CLASS_FIELD`), written when
 * its constructor begins; a call compares it with those of the classes that have been made objects of.
 */
import type * as ast from '../../parse/ast';
import type { Register } from '../../program/program';
import { offsetOfBase, subobject } from '../bases';
import { callFunction } from '../calls';
import { choice } from '../conditional';
import type { Context } from '../context';
import { expression } from '../expressions';
import { addressOfExpression } from '../operators';
import { type ChosenFunction, chooseOverload } from '../overloads';
import { assign, rvalue } from '../places';
import { dereference } from '../pointers';
import { CLASS_FIELD, findField, findMethods, recordOf } from '../records';
import { inScope } from '../resolve-type';
import { type Field, type RecordInfo, types } from '../types';
import type { Value } from '../values';

/** Classes that objects were made of, by the records of a lowering. */
const made = new WeakMap<object, Map<RecordInfo, number>>();

/** Classes that objects were made of so far, with what tells them apart. */
export function classesMade(ctx: Context): ReadonlyMap<RecordInfo, number> {
  let numbers = made.get(ctx.records);
  if (!numbers) made.set(ctx.records, (numbers = new Map()));
  return numbers;
}

/** What an object is where it is of a class. */
export interface ObjectOfClass {
  readonly condition: Register;
  readonly record: RecordInfo;
  readonly self: Value;
}

/** An object as one of each class that it may be of, the most special first where they were made so. */
export function objectAs(ctx: Context, object: Value, base: RecordInfo, node: ast.Node): readonly ObjectOfClass[] {
  const part = classIn(object);
  const told = part && rvalue(ctx, part, node);
  if (told?.kind !== 'scalar') return [];
  const { builder } = ctx;
  return [...classesMade(ctx)].flatMap(([record, number]): ObjectOfClass[] => {
    const self = record === base ? object : around(object, record, base);
    if (!self) return [];
    const condition = builder.compare('eq', 'u64', told.register, builder.constant('u64', number));
    return [{ condition, record, self }];
  });
}

/** The object of a class in memory that a base is a part of. */
function around(part: Value, record: RecordInfo, base: RecordInfo): Value | undefined {
  const offset = offsetOfBase(record, base);
  if (offset === undefined || part.kind !== 'place' || part.place.kind !== 'memory') return undefined;
  const type = { kind: 'record', record, isConst: part.type.isConst } as const;
  return { ...part, type, place: { ...part.place, offset: part.place.offset - offset } };
}

function numberOf(ctx: Context, record: RecordInfo): number {
  let numbers = made.get(ctx.records);
  if (!numbers) made.set(ctx.records, (numbers = new Map()));
  const known = numbers.get(record) ?? numbers.size + 1;
  numbers.set(record, known);
  return known;
}

/** The number of the class in an object. */
function classIn(object: Value): Value | undefined {
  const record = recordOf(object.type);
  const path = record && findField(record, CLASS_FIELD)?.path;
  let part: Value | undefined = path && object;
  for (const field of path ?? []) part = part && subobject(part, field);
  return part;
}

/** Where its number stands in an object: in each base that has one of its own. */
function classPaths(record: RecordInfo, depth = 0): readonly (readonly Field[])[] {
  const own = record.fields.filter((field) => field.name === CLASS_FIELD).map((field) => [field]);
  if (depth > MOST_DEPTH) return own;
  const inherited = record.fields.flatMap((field) =>
    field.isBase && field.type.kind === 'record'
      ? classPaths(field.type.record, depth + 1).map((path) => [field, ...path])
      : [],
  );
  return [...own, ...inherited];
}

/** From here on the object is of the class that its type says. */
export function markClass(ctx: Context, object: Value, node: ast.Node): void {
  const record = ctx.unit.isHost ? recordOf(object.type) : undefined;
  if (!record) return;
  for (const path of classPaths(record)) {
    let part: Value | undefined = object;
    for (const field of path) part = part && subobject(part, field);
    if (part?.kind !== 'place') continue;
    const register = ctx.builder.constant('u64', numberOf(ctx, record));
    assign(ctx, part.place, types.ulong, { kind: 'scalar', type: types.ulong, register }, node);
  }
}

/** The value as one of the class that its type says. */
export function withClass(ctx: Context, value: Value): Value {
  const record = value.kind === 'aggregate' && ctx.unit.isHost ? recordOf(value.type) : undefined;
  if (!record) return value;
  return classPaths(record).reduce((object, path) => withClassAt(ctx, object, path, record), value);
}

function withClassAt(ctx: Context, value: Value, path: readonly Field[], record: RecordInfo): Value {
  const replaced = (part: Value, depth: number): Value => {
    const register = ctx.builder.constant('u64', numberOf(ctx, record));
    if (depth === path.length) return { kind: 'scalar', type: types.ulong, register };
    const at = recordOf(part.type)?.fields.indexOf(path[depth]) ?? -1;
    if (part.kind !== 'aggregate') return part;
    return { ...part, elements: part.elements.map((e, i) => (i === at ? replaced(e, depth + 1) : e)) };
  };
  return replaced(value, 0);
}

const MOST_DEPTH = 16;

function isVirtual(record: RecordInfo, name: string, depth = 0): boolean {
  // a definition outside of the class does not say it again
  const isSo = (m: ast.Declaration) =>
    m.kind === 'function' && m.specifiers.isVirtual && m.name.parts.at(-1)?.name === name;
  if (record.declaration?.members?.some(isSo)) return true;
  const bases = record.fields.filter(({ isBase }) => isBase);
  return depth < MOST_DEPTH && bases.some(({ type: t }) => t.kind === 'record' && isVirtual(t.record, name, depth + 1));
}

interface Replacement {
  readonly number: number;
  readonly function: ChosenFunction;
  readonly self: Value;
}

/** What the classes call that are made objects of and derived from the object's. */
function replacements(ctx: Context, name: string, args: readonly Value[], self: Value): Replacement[] {
  const base = recordOf(self.type);
  if (!base) return [];
  return [...(made.get(ctx.records) ?? [])].flatMap(([record, number]): Replacement[] => {
    const whole = around(self, record, base);
    const methods = whole && findMethods(record, name);
    const scope = methods?.owner.scope;
    const chosen = scope && chooseOverload(ctx, methods.declarations, scope, args, undefined);
    return whole && chosen?.declaration.body ? [{ number, function: chosen, self: whole }] : [];
  });
}

/**
 * Calls a virtual method of an object by the class that it tells; undefined for other methods. @param chosen that of the class that is written.
 * @param otherwise what a call comes to where none of the classes is told
 */
export function callVirtual(
  ctx: Context,
  chosen: ChosenFunction,
  args: readonly Value[],
  self: Value,
  node: ast.CallExpression,
  otherwise: () => Value,
): Value | undefined {
  const name = chosen.declaration.name.parts.at(-1)?.name ?? '';
  const { callee } = node;
  const isNamed = (callee.kind === 'name' || callee.kind === 'member') && callee.name.parts.length > 1;
  const record = recordOf(self.type);
  if (isNamed || !record || !isVirtual(record, name)) return undefined;
  const given = withDefaults(ctx, chosen, args);
  const ways = replacements(ctx, name, given, self);
  const isObject = callee.kind === 'member' && !callee.arrow;
  if (isObject && chosen.declaration.body) {
    // the object itself or a reference to one
    if (ways.every((way) => way.function.declaration === chosen.declaration)) return undefined;
    return choose(ctx, ways, given, self, node, () => callFunction(ctx, chosen, given, self, node));
  }
  return choose(ctx, ways, given, self, node, otherwise);
}

/** Default arguments are those of the class that is written. */
function withDefaults(ctx: Context, { declaration, scope }: ChosenFunction, args: readonly Value[]): readonly Value[] {
  const missing = declaration.parameters.slice(args.length).flatMap((p) => (p.default ? [p.default] : []));
  return [...args, ...missing.map((node) => inScope(ctx, scope, () => expression(ctx, node)))];
}

function choose(
  ctx: Context,
  ways: readonly Replacement[],
  args: readonly Value[],
  self: Value,
  node: ast.CallExpression,
  otherwise: () => Value,
): Value {
  const part = ways.length > 0 ? classIn(self) : undefined;
  const told = part && rvalue(ctx, part, node);
  if (told?.kind !== 'scalar') return otherwise();
  const { builder } = ctx;
  // a reference is to the object itself, not to a copy
  const isReference = ways[0]?.function.declaration.result.kind === 'reference';
  const result = (value: Value): Value =>
    isReference ? addressOfExpression(ctx, value, node) : rvalue(ctx, value, node);
  const from = (index: number): Value => {
    const way = ways.at(index);
    if (!way || index === ways.length) return result(otherwise());
    const call = () => result(callFunction(ctx, way.function, args, way.self, node));
    const condition = builder.compare('eq', 'u64', told.register, builder.constant('u64', way.number));
    const constant = builder.constantValue(condition);
    if (constant !== undefined) return constant ? call() : from(index + 1);
    return choice(ctx, node, condition, call, () => from(index + 1));
  };
  return isReference ? dereference(ctx, from(0), node) : from(0);
}
