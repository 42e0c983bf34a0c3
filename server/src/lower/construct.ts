/** Objects made from arguments or lists: zero values, aggregates, constructors. */
import type {
  Expression,
  FunctionDeclaration,
  InitListExpression,
  Node,
  QualifiedName,
  VariableDeclaration,
} from '../parse/ast';
import { isCopyOf, takes, takesList } from '../parse/constructors';
import { NOT_INITIALISED } from '../program/program';
import { baseOf } from './bases';
import { callArguments, callFunction, listElements } from './calls';
import { unevaluatedType } from './casts';
import { deduceClass } from './class-arguments';
import { type Context, LIBRARY_TOKENS, skip } from './context';
import { conversionTo, convertToRecord, convertValue } from './conversions';
import { expression } from './expressions';
import { containerFromList } from './host/copies';
import { changeByCall, freshObject } from './host/memory';
import { markClass, withClass } from './host/virtual-calls';
import { inheritedConstructor, inheritsConstructors } from './inherited-constructors';
import { type ChosenFunction, chooseOverload } from './overloads';
import { forEachElement } from './packs';
import { assign, bindInMemory, countParts, readStorage, rvalue, writeStorage } from './places';
import { findField, recordOf } from './records';
import { inScope, resolveType } from './resolve-type';
import { type Field, type RecordInfo, scalarOf, type Type, unqualified, withoutReference } from './types';
import { type MemoryPlace, type Place, type Storage, unknownValue, type Value } from './values';
import { allocateStorage, holdsArray, initialiseInMemory } from './variables';

/** Elements of one array that are followed. */
const MAX_ELEMENTS = 4096;

/** `T(args)`; `uninitialised` for a declaration without initialiser: its numbers are then not known. */
export function construct(ctx: Context, type: Type, args: readonly Value[], node: Node, uninitialised: boolean): Value {
  const plain = unqualified(type);
  const scalar = scalarOf(plain);
  if (scalar) {
    if (args.length > 0) return convertValue(ctx, rvalue(ctx, args[0], node), plain, node);
    const register = uninitialised ? ctx.builder.unknown(scalar, NOT_INITIALISED) : ctx.builder.constant(scalar, 0);
    return { kind: 'scalar', type: plain, register };
  }
  if (plain.kind === 'record') return constructRecord(ctx, plain, args, node, uninitialised);
  if (plain.kind === 'array') {
    const elements = Array.from({ length: plain.count ?? 0 }, () => construct(ctx, plain.of, [], node, uninitialised));
    return { kind: 'aggregate', type: plain, elements };
  }
  if (plain.kind === 'callable' && args.length === 0 && !uninitialised)
    return { kind: 'scalar', type: plain, register: ctx.builder.constant('i64', 0) };
  const deduced = plain.kind === 'unknown' && plain.template ? deduceClass(ctx, plain.template, args) : undefined;
  if (deduced) return construct(ctx, deduced, args, node, uninitialised);
  if (args.length === 1) return args[0];
  return unknownValue(plain, plain.kind === 'unknown' ? plain.reason : 'value could not be made');
}

function constructRecord(
  ctx: Context,
  type: Type & { kind: 'record' },
  args: readonly Value[],
  node: Node,
  uninitialised: boolean,
): Value {
  const { record } = type;
  if (args.length === 1 && recordOf(args[0].type) === record) return rvalue(ctx, args[0], node);
  const converted = args.length === 1 ? convertToRecord(ctx, args[0], type, node) : undefined;
  if (converted) return converted;
  const constructed = callConstructor(ctx, type, args, node, uninitialised);
  if (constructed) return constructed;
  const elsewhere = args.length > 0 ? declaredConstructor(record, args.length) : undefined;
  if (elsewhere) {
    const reason = `constructor of ${record.name} is not in this file`;
    skip(ctx, node, reason);
    changeByCall(ctx, elsewhere, args, undefined, node);
    return unknownValue(type, reason);
  }
  // a class with constructors is no aggregate: what none that we know makes is not its arguments in their order
  if (ctx.unit.isHost && args.length > 1 && hasConstructors(record)) {
    for (const arg of args) rvalue(ctx, arg, node);
    return unknownValue(type, `no constructor of ${record.name} fits`);
  }
  const [only] = record.fields;
  if (record.fields.length === 1 && only.type.kind === 'array' && args.length > 0 && args[0].type.kind !== 'array') {
    const { of, count } = only.type;
    const elements = Array.from({ length: count ?? args.length }, (_, i) =>
      construct(ctx, of, args.slice(i, i + 1), node, false),
    );
    return { kind: 'aggregate', type, elements: [{ kind: 'aggregate', type: only.type, elements }] };
  }
  if (args.length === 1 && record.fields.length > 1) return convertValue(ctx, rvalue(ctx, args[0], node), type, node);
  if (args.length === 0) return defaultMembers(ctx, type, node, uninitialised);
  return {
    kind: 'aggregate',
    type,
    elements: record.fields.map((f, i) =>
      args[i]
        ? f.type.kind === 'reference'
          ? args[i]
          : convertValue(ctx, rvalue(ctx, args[i], node), f.type, node)
        : dimDefault(ctx, record.name, f.type, node),
    ),
  };
}

/** Constructors that are defined. */
export const constructorsOf = ({ declaration, methods }: RecordInfo): readonly FunctionDeclaration[] =>
  methods.get(declaration?.name?.parts.at(-1)?.name ?? '')?.filter((m) => m.body) ?? [];

/** Such a class is no aggregate. */
const hasConstructors = (record: RecordInfo): boolean =>
  constructorsOf(record).length > 0 || inheritsConstructors(record);

/** A constructor that is only declared and takes so many arguments: its class takes no values for its fields. */
function declaredConstructor({ declaration, methods }: RecordInfo, count: number): FunctionDeclaration | undefined {
  const name = declaration?.name?.parts.at(-1)?.name ?? '';
  return methods.get(name)?.find((m) => !m.body && !isCopyOf(name, m) && takes(m, count));
}

/** What the constructor for these arguments makes; undefined when there is none. */
function callConstructor(
  ctx: Context,
  type: Type & { kind: 'record' },
  args: readonly Value[],
  node: Node,
  uninitialised: boolean,
): Value | undefined {
  const { record } = type;
  const maker = constructorFor(ctx, record, args);
  if (!maker) return undefined;
  const { chosen } = maker;
  // what is called of the object while it is made may need its address, a method that calls itself say
  const owner = ctx.unit.isHost ? { key: `${node.first}:${node.last}:${record.name}`, name: record.name } : undefined;
  const isAddressed = owner !== undefined && ctx.inMemory.has(owner.key);
  if (ctx.unit.isHost && (isAddressed || holdsArray(type) || handsItselfOut(ctx, chosen.declaration, record))) {
    const place = freshObject(ctx, type, record.bytes, node);
    return constructInPlace(ctx, place, type, args, node, true)
      ? { kind: 'place', type, place, handed: 'temporary' }
      : undefined;
  }
  const storage = allocateStorage(ctx, type, record.name, owner);
  writeStorage(ctx, storage, defaultMembers(ctx, type, node, uninitialised), node);
  runConstructor(ctx, maker, args, { kind: 'place', type, place: { kind: 'storage', storage } }, node);
  return readStorage(ctx, storage);
}

interface Constructor {
  readonly chosen: ChosenFunction;
  /** The part of the object that it makes, of a class whose constructors are inherited. */
  readonly base?: RecordInfo;
}

/** A constructor of the class, else one that it has from a base. */
function constructorFor(ctx: Context, record: RecordInfo, args: readonly Value[]): Constructor | undefined {
  const own = constructorsOf(record);
  const chosen = own.length > 0 && record.scope ? chooseOverload(ctx, own, record.scope, args, undefined) : undefined;
  return chosen ? { chosen } : args.length > 0 ? inheritedConstructor(ctx, record, args) : undefined;
}

function runConstructor(
  ctx: Context,
  { chosen, base }: Constructor,
  args: readonly Value[],
  object: Value,
  node: Node,
): void {
  const self = base ? baseOf(object, base) : object;
  if (!self) return;
  callFunction(ctx, chosen, args, self, node);
  if (base) markClass(ctx, object, node);
}

/**
 * Whether a constructor of the user's puts addresses into a list (`float** all[] = {&a, &b};`), or calls a method that does: what is written through
 * them must be the object's, so that it is made in memory. Addresses that are arguments are followed where the object is in registers.
 */
function handsItselfOut({ unit }: Context, { body, mentions }: FunctionDeclaration, { methods }: RecordInfo): boolean {
  const { text } = unit.tokens;
  const isInList = (of: FunctionDeclaration['body']) =>
    of !== undefined && of.first < LIBRARY_TOKENS && listsAddresses(text, of.first + 1, of.last);
  if (isInList(body)) return true;
  return [...methods].some(([name, list]) => mentions.has(name) && list.some((method) => isInList(method.body)));
}

/** What stands in front of braces that hold values. */
const beforeList = /^(?:[=:(,{\]]|return)$/;

function listsAddresses(text: readonly string[], from: number, to: number): boolean {
  const around: boolean[] = [];
  for (let at = from; at < to; at++) {
    const word = text[at];
    if (word === '{') around.push(beforeList.test(text[at - 1]));
    else if (word === '(' || word === '[') around.push(false);
    else if (word === '}' || word === ')' || word === ']') around.pop();
    else if (word === '&' && around.at(-1) && (text[at - 1] === '{' || text[at - 1] === ',')) return true;
  }
  return false;
}

/** What the constructor of a class of the user's makes of another object of it. */
export function constructCopy(ctx: Context, type: Type, from: Value, node: Node): Value | undefined {
  return type.kind === 'record' ? callConstructor(ctx, type, [from], node, true) : undefined;
}

/** Whether a constructor makes the record of an object of another class. */
export function isMadeOf(ctx: Context, record: RecordInfo, argument: Value): boolean {
  const name = record.declaration?.name?.parts.at(-1)?.name ?? '';
  const constructors = constructorsOf(record).filter((m) => !isCopyOf(name, m));
  const own = recordOf(argument.type);
  if (own?.name === record.name) return false;
  if (own && conversionTo(ctx, own, { kind: 'record', record })) return true;
  if (inheritedConstructor(ctx, record, [argument])) return true;
  if (constructors.length === 0 || !record.scope) return false;
  return chooseOverload(ctx, constructors, record.scope, [argument], undefined) !== undefined;
}

/** Makes an object where it lies in memory: its constructor runs there. False where it has none for these arguments. */
export function constructInPlace(
  ctx: Context,
  place: MemoryPlace,
  type: Type,
  args: readonly Value[],
  node: Node,
  hasOwnCopy = false,
): boolean {
  const plain = unqualified(type);
  if (plain.kind !== 'record' || !plain.record.scope) return false;
  const isCopy = args.length === 1 && recordOf(args[0].type) === plain.record;
  const from = args.length === 1 ? recordOf(args[0].type) : undefined;
  if ((isCopy && !hasOwnCopy) || (from && conversionTo(ctx, from, plain))) return false;
  const maker = constructorFor(ctx, plain.record, args);
  if (!maker) return false;
  initialiseFields(ctx, place, plain.record, node);
  runConstructor(ctx, maker, args, { kind: 'place', type: plain, place }, node);
  return true;
}

/** What a constructor does before what stands behind its `:`: members get their default initialisers, or are made without arguments. */
export function initialiseFields(ctx: Context, place: MemoryPlace, record: RecordInfo, node: Node): void {
  for (const field of record.fields) {
    const member = record.declaration?.members?.find((m) => m.kind === 'variable' && m.name === field.name);
    const init = member?.kind === 'variable' ? member.initializer : undefined;
    const at = { ...place, offset: place.offset + field.offset };
    inScope(ctx, record.scope ?? ctx.scope, () => initialiseInMemory(ctx, at, field.type, init, node));
  }
}

/** A value of another type made a record by a constructor of one argument. */
export function convertByConstructor(
  ctx: Context,
  value: Value,
  target: Type & { kind: 'record' },
  node: Node,
): Value | undefined {
  const list = argumentsOfList(value);
  const converted = list ? undefined : convertToRecord(ctx, value, target, node);
  return converted ?? callConstructor(ctx, target, list ?? [value], node, false);
}

/** What stands in braces that are an argument: the arguments of the constructor that makes the parameter. */
const argumentsOfList = (value: Value): readonly Value[] | undefined =>
  value.kind === 'aggregate' && value.list ? value.elements : undefined;

/** Runs what stands behind the `:` of a constructor for the object it makes: bases and members in their order in the record. */
export function initialiseMembers(ctx: Context, declaration: FunctionDeclaration, self: Value): void {
  const record = recordOf(self.type);
  if (!record || self.kind !== 'place') return;
  const { place } = self;
  const order = (declaration.initializers ?? []).flatMap((initializer) => {
    const scopes = initializer.pack ? forEachElement(ctx, initializer, ctx.scope, (scope) => scope) : undefined;
    return (scopes ?? [ctx.scope]).flatMap((scope) => {
      const path = inScope(ctx, scope, () => initialisedPath(ctx, record, initializer.member));
      if (!path) loseObject(ctx, place, self.type, declaration);
      return path ? [{ initializer, path, scope }] : [];
    });
  });
  const rank = (path: readonly Field[]): number => (path.length > 0 ? record.fields.indexOf(path[0]) : -1);
  for (const { initializer, path, scope } of order.sort((a, b) => rank(a.path) - rank(b.path))) {
    const type = path.at(-1)?.type ?? self.type;
    if (place.kind === 'memory') {
      if (!ctx.unit.isHost) continue;
      const offset = path.reduce((sum, field) => sum + field.offset, place.offset);
      const member = { ...place, offset, node: declaration };
      inScope(ctx, scope, () => initialiseMember(ctx, member, type, initializer.arguments, declaration));
      continue;
    }
    const target = storageAt(place.storage, self.type, path);
    if (!target) continue;
    const value = inScope(ctx, scope, () => initialValue(ctx, type, initializer.arguments, declaration));
    writeStorage(ctx, target, value, declaration);
  }
}

/** What an initialiser that is not followed makes of the object. */
function loseObject(ctx: Context, place: Place, type: Type, declaration: FunctionDeclaration): void {
  const reason = 'initialiser of a member or base that is not known';
  skip(ctx, declaration, reason);
  if (place.kind === 'storage') writeStorage(ctx, place.storage, unknownValue(type, reason), declaration);
}

function storageAt(whole: Storage, type: Type, path: readonly Field[]): Storage | undefined {
  let at: Storage | undefined = whole;
  let record = recordOf(type);
  for (const field of path) {
    at = at?.kind === 'aggregate' && record ? at.elements[record.fields.indexOf(field)] : undefined;
    record = recordOf(field.type);
  }
  return at;
}

function initialiseMember(
  ctx: Context,
  place: MemoryPlace,
  type: Type,
  args: MemberInitializer['arguments'],
  node: Node,
): void {
  const isList = args.length === 1 && args[0].kind === 'initList';
  if (type.kind === 'reference') {
    bindInMemory(ctx, place, type, initialValue(ctx, type, args, node), node);
    return;
  }
  if (!isList && holdsArray(type) && constructInPlace(ctx, place, type, callArguments(ctx, args), node)) return;
  assign(ctx, place, type, initialValue(ctx, type, args, node), node);
}

type MemberInitializer = NonNullable<FunctionDeclaration['initializers']>[number];

/** The way to the field (through anonymous members) or base that is initialised; empty for the record itself, undefined when it is neither. */
function initialisedPath(ctx: Context, record: RecordInfo, member: QualifiedName): readonly Field[] | undefined {
  const name = member.parts.length === 1 ? member.parts[0].name : undefined;
  const own = name !== undefined ? findField(record, name)?.path : undefined;
  if (own?.every((field) => !field.isBase)) return own;
  const at = { first: member.first, last: member.last, isConst: false, isVolatile: false };
  const base = recordOf(resolveType(ctx, { kind: 'named', name: member, ...at }));
  if (base === record) return [];
  const field = record.fields.find((f) => f.isBase && recordOf(f.type) === base);
  return field && [field];
}

function initialValue(ctx: Context, type: Type, args: MemberInitializer['arguments'], node: Node): Value {
  if (args.length === 1 && args[0].kind === 'initList') return initialiseFromList(ctx, type, args[0]);
  const values = callArguments(ctx, args);
  return type.kind === 'reference' && values.length === 1 ? values[0] : construct(ctx, type, values, node, false);
}

/** dim3's missing members are 1, all others' 0. */
function dimDefault(ctx: Context, record: string, type: Type, node: Node): Value {
  if (record === 'dim3') return { kind: 'scalar', type, register: ctx.builder.constant('u32', 1) };
  return construct(ctx, type, [], node, false);
}

/** Members by their default initialisers, else zero or unknown. */
function defaultMembers(ctx: Context, type: Type & { kind: 'record' }, node: Node, uninitialised: boolean): Value {
  const { record } = type;
  const elements = record.fields.map((f) => defaultMember(ctx, record, f, node, uninitialised));
  return withClass(ctx, { kind: 'aggregate', type, elements });
}

/** A member that nobody gives a value: its own initialiser, or what its type is without one. */
function defaultMember(ctx: Context, record: RecordInfo, f: Field, node: Node, uninitialised: boolean): Value {
  if (record.name === 'dim3') return dimDefault(ctx, 'dim3', f.type, node);
  const member = record.declaration?.members?.find((m) => m.kind === 'variable' && m.name === f.name);
  const init = member?.kind === 'variable' ? member.initializer : undefined;
  if (init && record.scope) {
    const saved = ctx.scope;
    ctx.scope = record.scope;
    const value =
      init.form === 'assign'
        ? expression(ctx, init.value)
        : init.form === 'braces'
          ? initialiseFromList(ctx, f.type, init.list)
          : construct(ctx, f.type, [], node, false);
    ctx.scope = saved;
    return convertValue(ctx, rvalue(ctx, value, node), f.type, node);
  }
  return f.type.kind === 'record' || f.type.kind === 'array' || scalarOf(f.type)
    ? construct(ctx, f.type, [], node, uninitialised)
    : unknownValue(f.type, 'member could not be followed');
}

interface ListItem {
  readonly value: Expression;
  /** Of an element of a pack that the list expands. */
  readonly known?: Value;
}

/** A list's elements, packs expanded: `{first, rest...}`. */
function itemsOf(ctx: Context, { elements }: InitListExpression): readonly ListItem[] {
  if (!elements.some((e) => e.value.kind === 'packExpansion')) return elements;
  return elements.flatMap(({ value }): readonly ListItem[] => {
    if (value.kind !== 'packExpansion') return [{ value }];
    return listElements(ctx, [value]).map((known) => ({ value, known }));
  });
}

/** How many elements a list gives an array of a type; where inner braces are left out several values are one. */
function lengthOfList(ctx: Context, list: InitListExpression, of: Type): number {
  const items = itemsOf(ctx, list);
  const parts = of.kind === 'array' || (of.kind === 'record' && isAggregate(of.record)) ? countParts(of) : 1;
  if (parts === 1 || items.every(({ value }) => value.kind === 'initList')) return items.length;
  let count = 0;
  for (let at = 0; at < items.length; count++) at += isPart(ctx, items[at]) ? parts : 1;
  return count;
}

/** A number or the like, which makes no object on its own. */
const isPart = (ctx: Context, { value, known }: ListItem): boolean =>
  value.kind !== 'initList' &&
  value.kind !== 'string' &&
  scalarOf(withoutReference(known?.type ?? unevaluatedType(ctx, value))) !== undefined;

/** Made of its members in their order: no constructor takes them. */
const isAggregate = (record: RecordInfo): boolean => !hasConstructors(record) && record.declaration !== undefined;

/** Elements of an initialiser list that are still to be used. */
interface ListCursor {
  readonly list: InitListExpression;
  readonly items: readonly ListItem[];
  next: number;
  /** The next element's value, when it was looked at to see whether it is a whole record. */
  seen?: Value;
}

/** `T x = {…}` */
export function initialiseFromList(ctx: Context, type: Type, list: InitListExpression): Value {
  const plain = unqualified(type);
  const cursor = (): ListCursor => ({ list, items: itemsOf(ctx, list), next: 0 });
  if (plain.kind === 'array') {
    const whole = cursor();
    return fillArray(ctx, plain, whole, plain.count ?? whole.items.length);
  }
  if (plain.kind === 'record') return recordFromList(ctx, plain, list);
  if (scalarOf(plain)) return fill(ctx, plain, cursor());
  if (plain.kind === 'unknown' && plain.template) {
    const values = list.elements.map((e) => e.value);
    return construct(ctx, plain, listElements(ctx, values), list, false);
  }
  if (list.elements.length === 1) return expression(ctx, list.elements[0].value);
  return unknownValue(plain, 'initialiser list of a type that is not known');
}

function recordFromList(ctx: Context, type: Type & { kind: 'record' }, list: InitListExpression): Value {
  const { record } = type;
  const container = ctx.unit.isHost ? containerFromList(ctx, type, list) : undefined;
  if (container) return container;
  if (hasConstructors(record)) {
    if (ctx.unit.isHost && list.elements.length > 0 && constructorsOf(record).some(takesList))
      return construct(ctx, type, callArguments(ctx, [list]), list, false);
    const values = list.elements.map((e) => e.value);
    return construct(ctx, type, listElements(ctx, values), list, false);
  }
  const designated = list.elements.some((e) => e.designator !== undefined);
  const items = itemsOf(ctx, list);
  if (!designated) return fillRecord(ctx, type, { list, items, next: 0 });
  const positions = new Map(list.elements.map((e, i) => [e.designator ?? record.fields[i]?.name, i]));
  const elements = record.fields.map((f) => {
    const at = positions.get(f.name);
    return at === undefined ? defaultMember(ctx, record, f, list, false) : fill(ctx, f.type, { list, items, next: at });
  });
  return { kind: 'aggregate', type, elements };
}

/** One object from the list: from a list of its own, one value, or (inner braces left out) as many values as it has parts. */
function fill(ctx: Context, type: Type, cursor: ListCursor): Value {
  const { list, items } = cursor;
  const node = items[cursor.next]?.value;
  if (!node) return construct(ctx, type, [], list, false);
  if (node.kind === 'initList') {
    cursor.next++;
    return initialiseFromList(ctx, type, node);
  }
  const plain = unqualified(type);
  if (plain.kind === 'reference' && !cursor.seen) {
    cursor.next++;
    return items[cursor.next - 1].known ?? expression(ctx, node);
  }
  if (plain.kind === 'array' && node.kind !== 'string')
    return fillArray(ctx, plain, cursor, plain.count ?? items.length - cursor.next);
  const value = cursor.seen ?? rvalue(ctx, items[cursor.next].known ?? expression(ctx, node), node);
  cursor.seen = undefined;
  const isWhole =
    plain.kind !== 'record' ||
    plain.record.name === 'dim3' ||
    (plain.record.methods.size > 0 && !isAggregate(plain.record));
  if (plain.kind === 'record' && value.kind === 'scalar' && !isWhole) {
    cursor.seen = value;
    return fillRecord(ctx, plain, cursor);
  }
  cursor.next++;
  return convertValue(ctx, value, type, node);
}

function fillArray(ctx: Context, type: Type & { kind: 'array' }, cursor: ListCursor, count: number): Value {
  const elements = Array.from({ length: Math.min(count, MAX_ELEMENTS) }, () => fill(ctx, type.of, cursor));
  return { kind: 'aggregate', type: { ...type, count }, elements };
}

function fillRecord(ctx: Context, type: Type & { kind: 'record' }, cursor: ListCursor): Value {
  const { list, items } = cursor;
  const elements = type.record.fields.map((f) => {
    const isMissing = cursor.next >= items.length;
    return isMissing ? defaultMember(ctx, type.record, f, list, false) : fill(ctx, f.type, cursor);
  });
  return { kind: 'aggregate', type, elements };
}

/** `int a[] = {1, 2, 3}`: the list gives the size. */
export function completeArray(ctx: Context, type: Type, declaration: VariableDeclaration): Type {
  if (type.kind !== 'array' || type.count !== undefined) return type;
  const init = declaration.initializer;
  const list = init?.form === 'assign' ? init.value : init?.form === 'braces' ? init.list : undefined;
  if (list?.kind === 'initList') return { ...type, count: lengthOfList(ctx, list, unqualified(type.of)) };
  if (list?.kind === 'string') return { ...type, count: list.value.length + 1 };
  return type;
}
