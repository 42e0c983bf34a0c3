/** Declarations of variables inside functions, and objects in memory. */
import type {
  Expression,
  InitListExpression,
  Node,
  Specifiers,
  VariableDeclaration,
  VariableInitializer,
} from '../parse/ast';
import { asDeclared } from './bases';
import { declareBindings } from './bindings';
import { boundTo } from './bound-values';
import { callArguments, listElements } from './calls';
import { conditionalPlace } from './conditional';
import { completeArray, construct, constructInPlace, initialiseFields, initialiseFromList } from './construct';
import { type Context, demandMemory, placeOf, skip } from './context';
import { convertToReference, convertValue } from './conversions';
import { expression } from './expressions';
import { copyOfLambda } from './host/closures';
import { isContainer, ownsMemory } from './host/copies';
import { noteLocal } from './host/destructors';
import { emitHost } from './host/memory';
import { constructAll, isZeroExpression, isZeroMade } from './host/new-objects';
import { inFrame } from './host/recursion';
import { markClass } from './host/virtual-calls';
import { assign, countParts, rvalue, writeStorage } from './places';
import { declaredAlignment, hasClass, instanceAround } from './records';
import { resolveType } from './resolve-type';
import { isOnlyDeclared, type Scope, variableOfNamespace } from './scope';
import { declareTable, isTableOfDevice } from './static-tables';
import { letters, stringAddress } from './strings';
import {
  alignOf,
  type Field,
  holderOf,
  type RecordType,
  scalarOf,
  sizeOf,
  type Type,
  typeKey,
  types,
  withoutReference,
} from './types';
import { type LocalDeclaration, type MemoryPlace, type Storage, unknownValue, type Value } from './values';
import { memberOf } from './views';

/** Scalars that one local array may have and still be kept in registers (255 registers a thread at the most). */
const MAX_REGISTER_PARTS = 512;

/** Registers for a variable of the type; undefined when the type has no such form. */
export function allocateStorage(ctx: Context, type: Type, name: string, owner?: LocalDeclaration): Storage {
  const scalar = type.kind === 'reference' ? undefined : scalarOf(type);
  if (scalar)
    return {
      kind: 'scalar',
      type,
      register: ctx.builder.variable(scalar, name),
      owner: ctx.unit.isHost ? owner : undefined,
    };
  if (type.kind === 'record') {
    if (type.record.isUnion && type.record.fields.length > 1) return allocateUnion(ctx, type, name, owner);
    return {
      kind: 'aggregate',
      type,
      owner,
      elements: type.record.fields.map((f) => allocateField(ctx, f, name, owner)),
    };
  }
  if (type.kind === 'array') {
    const elements = Array.from({ length: type.count ?? 0 }, (_, i) =>
      allocateStorage(ctx, type.of, `${name}[${i}]`, owner),
    );
    return { kind: 'aggregate', type, elements, owner };
  }
  return { kind: 'fixed', type, cell: { value: unknownValue(type, `${name} is not initialised`) } };
}

/** Registers for a member of a variable. */
function allocateField(ctx: Context, field: Field, name: string, owner?: LocalDeclaration): Storage {
  const storage = allocateStorage(ctx, field.type, `${name}.${field.name}`, owner);
  return field.bits && storage.kind === 'scalar' ? { ...storage, bits: field.bits } : storage;
}

/** One member has registers, the others are views of them. */
function allocateUnion(ctx: Context, type: RecordType, name: string, owner?: LocalDeclaration): Storage {
  const { fields } = type.record;
  const holder = holderOf(type.record);
  const held = allocateField(ctx, fields[holder], name, owner);
  const target = { elements: [held], index: 0, elementType: fields[holder].type };
  const elements = fields.map((field, i) =>
    i === holder ? held : (memberOf(ctx, target, field) ?? allocateField(ctx, field, name, owner)),
  );
  return { kind: 'aggregate', type, owner, elements };
}

export function declareVariable(ctx: Context, declaration: VariableDeclaration): void {
  const s = declaration.specifiers;
  if (s.isShared) declareShared(ctx, declaration);
  else if (isTableOfDevice(ctx, declaration)) declareTable(ctx, declaration);
  else if (declaration.bindings) declareBindings(ctx, declaration, declaration.bindings);
  else if (declaration.name && isOnlyDeclared(declaration)) declareOuter(ctx, declaration, declaration.name);
  else if (declaration.name) declareLocal(ctx, declaration, declaration.name);
}

/** `extern int n;` in a function: the variable of the namespace. */
function declareOuter(ctx: Context, declaration: VariableDeclaration, name: string): void {
  const outer = variableOfNamespace(ctx.scope, name);
  const type = resolveType(ctx, declaration.type);
  ctx.scope.define(name, outer ?? { kind: 'value', value: unknownValue(type, `${name} is defined elsewhere`) });
}

// ---- locals ----

function declareLocal(ctx: Context, declaration: VariableDeclaration, name: string): void {
  const written = resolveType(ctx, declaration.type);
  let type: Type = declaration.specifiers.isConstexpr && scalarOf(written) ? { ...written, isConst: true } : written;
  const init = declaration.initializer;
  const first = singleValue(init);
  if ((hasAuto(declaration) || (type.kind === 'unknown' && isAnyGroup(declaration))) && first) {
    const value = type.kind === 'reference' ? referredTo(ctx, type, first) : expression(ctx, first);
    defineAuto(ctx, declaration, name, type, value, first);
    return;
  }
  if (type.kind === 'unknown' && type.template && init) {
    const value = initialValue(ctx, type, init, declaration);
    if (value.kind !== 'unknown') {
      defineAuto(ctx, declaration, name, type, value, declaration);
      return;
    }
  }
  if (type.kind === 'reference') {
    defineReference(ctx, name, type, first);
    return;
  }
  if (type.kind === 'pointer' && type.to.kind === 'function' && first) {
    defineFunctionPointer(ctx, name, type, rvalue(ctx, expression(ctx, first), first), first);
    return;
  }
  type = completeArray(ctx, type, declaration);
  const storage = storageFor(ctx, declaration, name, type);
  define(ctx.scope, name, storage);
  initialise(ctx, storage, type, declaration);
  noteVariable(ctx, name, declaration);
}

/** The value in `= value`, `(value)`, and `{value}`, which for `auto` and references is the same. */
function singleValue(init: VariableInitializer | undefined): Expression | undefined {
  if (init?.form === 'assign') return init.value;
  if (init?.form === 'call') return init.arguments.length === 1 ? init.arguments[0] : undefined;
  const [only, ...others] = init?.list.elements ?? [];
  return others.length === 0 && only?.designator === undefined ? only?.value : undefined;
}

/** What is done where its scope ends is noted once it is there. */
function noteVariable(ctx: Context, name: string, node: Node): void {
  const entity = ctx.unit.isHost ? ctx.scope.own(name) : undefined;
  if (entity?.kind === 'value') noteLocal(ctx, entity.value, node);
}

/** Functions have no number while lowering: the variable holds which one it is. */
function defineFunctionPointer(ctx: Context, name: string, type: Type, value: Value, node: Expression): void {
  const storage: Storage =
    value.kind === 'scalar'
      ? allocateStorage(ctx, type, name)
      : { kind: 'fixed', type, cell: { value: unknownValue(type, `${name} is not initialised`) } };
  writeStorage(ctx, storage, value, node);
  define(ctx.scope, name, { kind: 'registers', storage });
}

function hasAuto(declaration: VariableDeclaration): boolean {
  let t = declaration.type;
  while (t.kind === 'reference' || t.kind === 'pointer') t = t.to;
  return t.kind === 'auto';
}

/** `cg::thread_group` is whichever group it is made of. */
function isAnyGroup({ type }: VariableDeclaration): boolean {
  return type.kind === 'named' && type.name.parts.at(-1)?.name === 'thread_group';
}

function defineAuto(
  ctx: Context,
  declaration: VariableDeclaration,
  name: string,
  type: Type,
  value: Value,
  node: Node,
): void {
  if (type.kind === 'reference' && value.kind === 'place') {
    ctx.scope.define(name, { kind: 'value', value: boundTo(ctx, type, value, node) });
    return;
  }
  const plain = rvalue(ctx, value, node);
  const isFunction = plain.kind !== 'scalar' && plain.kind !== 'aggregate';
  if (isFunction && plain.kind === 'lambda' && value.kind === 'place' && ctx.unit.isHost) {
    defineAuto(ctx, declaration, name, type, copyOfLambda(ctx, plain, node), node);
    return;
  }
  if (isFunction) {
    ctx.scope.define(name, {
      kind: 'value',
      value: {
        kind: 'place',
        type: plain.type,
        place: { kind: 'storage', storage: { kind: 'fixed', type: plain.type, cell: { value: plain } } },
      },
    });
    return;
  }
  const storage = storageFor(ctx, declaration, name, plain.type);
  define(ctx.scope, name, storage);
  if (storage.kind === 'memory') assign(ctx, storage.place, storage.type, plain, node);
  else writeStorage(ctx, storage.storage, plain, node);
  noteVariable(ctx, name, declaration);
}

function defineReference(
  ctx: Context,
  name: string,
  type: Type & { kind: 'reference' },
  init: Expression | undefined,
): void {
  const value = init ? referredTo(ctx, type, init) : unknownValue(type.to, `reference ${name} is not bound`);
  // the type that the reference declares counts: `float4& v = reinterpret_cast<float4&>(…)` was cast already
  const node = init ?? { first: 0, last: 0 };
  const referred = convertToReference(ctx, value, type.to, node) ?? asDeclared(type.to, value);
  ctx.scope.define(name, { kind: 'value', value: boundTo(ctx, type, referred, node, noteLocal) });
}

/** In kernels a constant reference may as well refer to a copy, which is what the compiler makes of a choice. */
export function referredTo(ctx: Context, type: Type & { kind: 'reference' }, init: Expression): Value {
  const isChoice = init.kind === 'conditional' && (ctx.unit.isHost || !type.to.isConst);
  return isChoice ? conditionalPlace(ctx, init, !type.to.isConst) : expression(ctx, init);
}

type Home =
  | { readonly kind: 'registers'; readonly storage: Storage }
  | { readonly kind: 'memory'; readonly type: Type; readonly place: MemoryPlace };

function storageFor(ctx: Context, declaration: VariableDeclaration, name: string, type: Type): Home {
  const owner: LocalDeclaration = { key: `${declaration.first}:${name}`, name };
  const parts = countParts(type);
  // what a virtual method is called of is told by memory
  const isInMemory = ctx.unit.isHost && (holdsArray(type) || hasClass(type));
  if (!ctx.inMemory.has(owner.key) && parts <= MAX_REGISTER_PARTS && !isInMemory)
    return { kind: 'registers', storage: allocateStorage(ctx, type, name, owner) };
  const sized = ctx.unit.isHost && type.kind === 'array' ? ofLengthAtRunTime(ctx, declaration, type) : undefined;
  if (sized) return { kind: 'memory', type, place: sized };
  const own = inFrame(ctx, sizeOf(type) ?? 0, alignOf(type), declaration);
  if (own) return { kind: 'memory', type, place: own };
  const object = memoryObject(ctx, declaration, name, type, 'local');
  return {
    kind: 'memory',
    type,
    place: { kind: 'memory', address: ctx.builder.objects[object].register, offset: 0, node: declaration, object },
  };
}

/** `char line[length + 1]`: made where the program comes to it. */
function ofLengthAtRunTime(
  ctx: Context,
  declaration: VariableDeclaration,
  { of, count }: Type & { kind: 'array' },
): MemoryPlace | undefined {
  const each = sizeOf(of);
  const length = declaration.type.kind === 'array' ? declaration.type.size : undefined;
  if (count !== undefined || each === undefined || !length) return undefined;
  const elements = convertValue(ctx, rvalue(ctx, expression(ctx, length), length), types.long, length);
  if (elements.kind !== 'scalar') return undefined;
  const bytes = ctx.builder.binary('mul', 'i64', elements.register, ctx.builder.constant('i64', each));
  return { kind: 'memory', address: emitHost(ctx, 'allocate', [bytes]), offset: 0, node: declaration, bytes };
}

/** Arrays of the host are in memory from the start: it costs nothing, and every index may be asked for. */
export function holdsArray(type: Type): boolean {
  if (type.kind === 'array') return true;
  return type.kind === 'record' && type.record.fields.some((f) => holdsArray(f.type));
}

function define(scope: Scope, name: string, home: Home): void {
  const value: Value =
    home.kind === 'memory'
      ? { kind: 'place', type: home.type, place: home.place }
      : { kind: 'place', type: home.storage.type, place: { kind: 'storage', storage: home.storage } };
  scope.define(name, { kind: 'value', value });
}

function initialise(ctx: Context, home: Home, type: Type, declaration: VariableDeclaration): void {
  const init = declaration.initializer;
  if (home.kind === 'memory' && ctx.unit.isHost) {
    initialiseInMemory(ctx, home.place, type, init, declaration);
    // a copy of a derived object is one of this class
    markClass(ctx, { kind: 'place', type, place: home.place }, declaration);
    return;
  }
  if (!init && home.kind === 'memory') return;
  if (!init && keepsFromPassToPass(ctx, home, type, declaration)) return;
  const value = init ? initialValue(ctx, type, init, declaration) : construct(ctx, type, [], declaration, true);
  if (home.kind === 'memory') assign(ctx, home.place, type, value, declaration);
  else if (home.storage.kind === 'scalar' && type.kind === 'pointer')
    initialisePointer(ctx, home.storage, value, declaration);
  else writeStorage(ctx, home.storage, value, declaration);
}

/**
 * A number that a loop of the host declares without a value, and that something may assign or not: it lies where it lay in the pass before. Programs that
 * read to the end of a file rest on that (`while (!in.eof()) { int x; in >> x; … }`).
 */
function keepsFromPassToPass(ctx: Context, home: Home, type: Type, node: VariableDeclaration): boolean {
  const { beforeLoops } = ctx.frame;
  if (beforeLoops === undefined || home.kind === 'memory' || home.storage.kind !== 'scalar' || !scalarOf(type))
    return false;
  const { storage } = home;
  ctx.builder.atEndOf(beforeLoops, () => writeStorage(ctx, storage, construct(ctx, type, [], node, true), node));
  ctx.known.delete(storage.register);
  return true;
}

/** An object of the host that lies in memory. */
export function initialiseInMemory(
  ctx: Context,
  place: MemoryPlace,
  type: Type,
  init: VariableInitializer | undefined,
  node: Node,
): void {
  const list = init?.form === 'braces' ? init.list : init?.form === 'assign' ? init.value : undefined;
  const given =
    init?.form === 'call' ? init.arguments : init?.form === 'braces' ? init.list.elements.map((e) => e.value) : [];
  const isList = init?.form === 'braces' && init.list.elements.length > 0 && isContainer(type);
  const isConstructed = !init || init.form === 'call' || (init.form === 'braces' && type.kind === 'record' && !isList);
  const evaluate = init?.form === 'call' ? callArguments : listElements;
  if (isConstructed && constructInPlace(ctx, place, type, evaluate(ctx, given), node)) return;
  if (!init) {
    constructParts(ctx, place, type, node);
    return;
  }
  if (list?.kind === 'string' && type.kind === 'array' && sizeOf(type.of) === 1) {
    clear(ctx, place, type);
    const bytes = ctx.builder.constant('i64', Math.min(list.value.length, type.count ?? 0));
    const to = ctx.builder.binary('add', 'i64', place.address, ctx.builder.constant('i64', place.offset));
    emitHost(ctx, 'copy', [to, stringAddress(ctx, list), bytes]);
    return;
  }
  if (list?.kind !== 'initList') {
    assign(ctx, place, type, initialValue(ctx, type, init, node), node);
    return;
  }
  clear(ctx, place, type);
  if (!isZeroMade(type) || !isZeroList(list))
    assignToZeros(ctx, place, type, initialValue(ctx, type, init, node), node);
}

/** `= {0}`, `{{0, 0}, {}}`. */
const isZeroList = ({ elements }: InitListExpression): boolean =>
  elements.every(({ value }) => (value.kind === 'initList' ? isZeroList(value) : isZeroExpression(value)));

/** What is zero is there already: large arrays are given a few numbers. */
function assignToZeros(ctx: Context, place: MemoryPlace, type: Type, value: Value, node: Node): void {
  const each = type.kind === 'array' ? sizeOf(type.of) : undefined;
  if (type.kind !== 'array' || value.kind !== 'aggregate' || each === undefined) {
    const isZero = value.kind === 'scalar' && Object.is(ctx.builder.constantValue(value.register), 0);
    if (!isZero) assign(ctx, place, type, value, node);
    return;
  }
  for (const [i, element] of value.elements.entries())
    assignToZeros(ctx, { ...place, offset: place.offset + i * each }, type.of, element, node);
}

/** Elements of one array that are constructed one by one. */
const MAX_CONSTRUCTED = 64;

/** Objects inside of one that has no initialiser: those with constructors or initialisers of their own are made, other numbers stay what they are. */
function constructParts(ctx: Context, place: MemoryPlace, type: Type, node: Node): void {
  if (type.kind === 'record' && type.record.name === 'dim3') {
    assign(ctx, place, type, construct(ctx, type, [], node, true), node);
    return;
  }
  if (type.kind === 'array' && type.of.kind === 'record') {
    const size = sizeOf(type.of) ?? 0;
    const isAll = (type.count ?? 0) <= MAX_CONSTRUCTED;
    if (!isAll && ownsMemory(type.of)) clear(ctx, place, type);
    if (!isAll && !isZeroMade(type.of)) constructMany(ctx, place, type, node);
    for (let i = 0; isAll && i < (type.count ?? 0); i++)
      initialiseInMemory(ctx, { ...place, offset: place.offset + i * size }, type.of, undefined, node);
  } else if (type.kind === 'record') {
    initialiseFields(ctx, place, type.record, node);
    markClass(ctx, { kind: 'place', type, place }, node);
  }
}

function constructMany(ctx: Context, place: MemoryPlace, type: Type & { kind: 'array' }, node: Node): void {
  const { builder } = ctx;
  const register = builder.binary('add', 'i64', place.address, builder.constant('i64', place.offset));
  const count = builder.constant('i64', type.count ?? 0);
  const first: Value = { kind: 'scalar', type: { kind: 'pointer', to: type.of }, register };
  constructAll(ctx, first, { kind: 'scalar', type: types.long, register: count }, node);
}

/** What a list leaves out is zero. */
function clear(ctx: Context, place: MemoryPlace, type: Type): void {
  const { builder } = ctx;
  const bytes = builder.constant('i64', sizeOf(type) ?? 0);
  const first = builder.binary('add', 'i64', place.address, builder.constant('i64', place.offset));
  emitHost(ctx, 'fill', [first, builder.constant('i64', 0), bytes]);
}

function initialValue(ctx: Context, type: Type, init: VariableInitializer, node: Node): Value {
  const text = init.form === 'assign' && init.value.kind === 'string' ? init.value.value : undefined;
  if (text !== undefined && type.kind === 'array') return letters(ctx, type, text);
  if (init.form === 'braces') return initialiseFromList(ctx, type, init.list);
  if (init.form === 'call') return construct(ctx, type, callArguments(ctx, init.arguments), node, false);
  return init.value.kind === 'initList' ? initialiseFromList(ctx, type, init.value) : expression(ctx, init.value);
}

/** A pointer to registers has no number: the variable stands for the target itself. */
function initialisePointer(
  ctx: Context,
  storage: Storage & { kind: 'scalar' },
  value: Value,
  declaration: VariableDeclaration,
): void {
  const plain = rvalue(ctx, value, declaration);
  // the pointer may be given another value later, and holds a number then
  if (ctx.unit.isHost && plain.kind === 'placePointer' && plain.target.owner) demandMemory(ctx, plain.target.owner);
  if (plain.kind === 'placePointer' || plain.kind === 'functions') {
    const fixed: Storage = {
      kind: 'fixed',
      type: storage.type,
      cell: { value: convertValue(ctx, plain, storage.type, declaration) },
    };
    if (declaration.name) define(ctx.scope, declaration.name, { kind: 'registers', storage: fixed });
    return;
  }
  writeStorage(ctx, storage, plain, declaration);
}

// ---- shared and other memory ----

function declareShared(ctx: Context, declaration: VariableDeclaration): void {
  const name = declaration.name ?? '(unnamed)';
  const objects = sharedObjects(ctx, declaration);
  const instance = declaration.specifiers.isExtern ? '' : instanceAround(ctx);
  const type = resolveType(ctx, declaration.type);
  const object = objects.get(instance) ?? memoryObject(ctx, declaration, name, type, 'shared');
  objects.set(instance, object);
  const place: MemoryPlace = {
    kind: 'memory',
    address: ctx.builder.objects[object].register,
    offset: 0,
    node: declaration,
    object,
    isVolatile: type.isVolatile,
  };
  ctx.scope.define(name, { kind: 'value', value: { kind: 'place', type: withoutReference(type), place } });
}

const dynamicKey = {};

/**
 * One object a declaration, and one for each instance of a template that it stands in (H200: 64 bytes of a reduction by maximum and one by
 * sum); all dynamic arrays of a kernel are the same memory.
 */
function sharedObjects(ctx: Context, declaration: VariableDeclaration): Map<string, number> {
  const key = declaration.specifiers.isExtern ? dynamicKey : declaration;
  let objects = ctx.sharedObjects.get(key);
  if (!objects) ctx.sharedObjects.set(key, (objects = new Map()));
  return objects;
}

/** Makes the memory object of a declaration. */
export function memoryObject(
  ctx: Context,
  declaration: Node & { readonly specifiers: Specifiers; readonly nameToken?: number },
  name: string,
  type: Type,
  space: 'shared' | 'local' | 'global' | 'constant',
): number {
  const dimensions: number[] = [];
  let element = withoutReference(type);
  while (element.kind === 'array') {
    dimensions.push(element.count ?? 0);
    element = element.of;
  }
  const isDynamic =
    space === 'shared' && (declaration.specifiers.isExtern || (type.kind === 'array' && type.count === undefined));
  const bytes = sizeOf(type);
  if (bytes === undefined && !isDynamic) skip(ctx, declaration, `size of ${name} is not known`);
  const wanted = declaration.specifiers.alignment
    ? declaredAlignment(ctx, declaration.specifiers.alignment, ctx.scope)
    : 1;
  return ctx.builder.object({
    name,
    space,
    bytes: isDynamic ? 0 : (bytes ?? 0),
    alignment: Math.max(alignOf(type), wanted),
    isDynamic,
    dimensions,
    elementBytes: sizeOf(element) ?? 4,
    elementType: typeKey(element),
    place: placeOf(ctx, nameOf(declaration)),
  });
}

/** Where a declaration's name stands; a parameter is shown whole. */
function nameOf({ first, last, nameToken }: Node & { readonly nameToken?: number }): Node {
  return nameToken === undefined ? { first, last } : { first: nameToken, last: nameToken };
}
