/**
 * Calls of methods that a derived class may have replaced. An object with virtual methods holds a number for its class (`CLASS_FIELD`), written when
 * its constructor begins; a call compares it with those of the classes that have been made objects of.
 */
import type * as ast from '../../parse/ast';
import type { Register } from '../../program/program';
import { pathToBase, subobject } from '../bases';
import { callFunction } from '../calls';
import { choice } from '../conditional';
import type { Context } from '../context';
import { type ChosenFunction, chooseOverload } from '../overloads';
import { assign, rvalue } from '../places';
import { CLASS_FIELD, findField, findMethods, recordOf } from '../records';
import { type RecordInfo, types } from '../types';
import type { Value } from '../values';

/** Classes that objects were made of, by the records of a lowering. */
const made = new WeakMap<object, Map<RecordInfo, number>>();

/** Classes that objects were made of so far, with what tells them apart. */
export function classesMade(ctx: Context): ReadonlyMap<RecordInfo, number> {
  let numbers = made.get(ctx.records);
  if (!numbers) made.set(ctx.records, (numbers = new Map()));
  return numbers;
}

/** An object as one of each class that it may be of, the most special first where they were made so. */
export function objectAs(
  ctx: Context,
  object: Value,
  base: RecordInfo,
  node: ast.Node,
): { readonly condition: Register; readonly self: Value }[] {
  const part = classIn(object);
  const told = part && rvalue(ctx, part, node);
  if (told?.kind !== 'scalar') return [];
  const { builder } = ctx;
  return [...classesMade(ctx)].flatMap(([record, number]) => {
    const path = pathToBase(record, base);
    const isSeen = object.kind === 'place' && (object.place.kind === 'memory' || record === base);
    if (!path || !isSeen || path.some(({ offset }) => offset !== 0)) return [];
    const condition = builder.compare('eq', 'u64', told.register, builder.constant('u64', number));
    const type = { kind: 'record', record, isConst: object.type.isConst } as const;
    return [{ condition, self: record === base ? object : { ...object, type } }];
  });
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

/** From here on the object is of the class that its type says. */
export function markClass(ctx: Context, object: Value, node: ast.Node): void {
  const part = ctx.unit.isHost ? classIn(object) : undefined;
  const record = recordOf(object.type);
  if (part?.kind !== 'place' || !record) return;
  const register = ctx.builder.constant('u64', numberOf(ctx, record));
  assign(ctx, part.place, types.ulong, { kind: 'scalar', type: types.ulong, register }, node);
}

/** The value as one of the class that its type says. */
export function withClass(ctx: Context, value: Value): Value {
  const record = value.kind === 'aggregate' && ctx.unit.isHost ? recordOf(value.type) : undefined;
  const path = record && findField(record, CLASS_FIELD)?.path;
  if (!path) return value;
  const register = ctx.builder.constant('u64', numberOf(ctx, record));
  const replaced = (part: Value, depth: number): Value => {
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
  if (!base || self.kind !== 'place' || self.place.kind !== 'memory') return [];
  return [...(made.get(ctx.records) ?? [])].flatMap(([record, number]): Replacement[] => {
    const path = pathToBase(record, base);
    // pointers to a base are those to the object: only of first bases that is so
    if (!path || path.some(({ offset }) => offset !== 0)) return [];
    const methods = findMethods(record, name);
    const scope = methods?.owner.scope;
    const chosen = scope && chooseOverload(ctx, methods.declarations, scope, args, undefined);
    if (!chosen?.declaration.body) return [];
    const type = { kind: 'record', record, isConst: self.type.isConst } as const;
    return [{ number, function: chosen, self: { ...self, type } }];
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
  const isNamed = callee.kind === 'name' && callee.name.parts.length > 1;
  const record = recordOf(self.type);
  if (isNamed || !record || !isVirtual(record, name)) return undefined;
  const ways = replacements(ctx, name, args, self);
  const isObject = callee.kind === 'member' && !callee.arrow;
  if (isObject && chosen.declaration.body) {
    // the object itself or a reference to one
    if (ways.every((way) => way.function.declaration === chosen.declaration)) return undefined;
    return choose(ctx, ways, args, self, node, () => callFunction(ctx, chosen, args, self, node));
  }
  return choose(ctx, ways, args, self, node, otherwise);
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
  const from = (index: number): Value => {
    const way = ways.at(index);
    if (!way || index === ways.length) return otherwise();
    const call = () => rvalue(ctx, callFunction(ctx, way.function, args, way.self, node), node);
    const condition = builder.compare('eq', 'u64', told.register, builder.constant('u64', way.number));
    const constant = builder.constantValue(condition);
    if (constant !== undefined) return constant ? call() : from(index + 1);
    return choice(ctx, node, condition, call, () => from(index + 1));
  };
  return from(0);
}
