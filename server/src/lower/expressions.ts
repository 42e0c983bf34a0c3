/** Expressions: one function a node kind; each gives a Value (an lvalue is a place). Nothing here throws. */
import type * as ast from '../parse/ast';
import { builtinVariable } from './builtins/variables';
import { callExpression } from './calls';
import { constantOf } from './constants';
import { construct, initialiseFromList } from './construct';
import { type Context, demandMemory, skip, step as spend } from './context';
import { convertValue, toPredicate } from './conversions';
import { globalValue } from './globals';
import { lookupQualified } from './lookup';
import {
  assignExpression,
  binaryExpression,
  binaryOnValues,
  conditionalExpression,
  unaryExpression,
  userOperator,
} from './operators';
import { expandPack } from './packs';
import { addressOf, memberAlignment, reasonOf, rvalue } from './places';
import { findField, findMethods, recordOf } from './records';
import { evaluateArguments, resolveNamedType, resolveType } from './resolve-type';
import type { Entity, Scope } from './scope';
import { alignOf, scalarOf, sizeOf, type Type, typeKey, types, unqualified, withoutReference } from './types';
import { type MemoryPlace, type Place, type RegisterTarget, type Storage, unknownValue, type Value } from './values';
import { viewOf } from './views';

const MAX_DEPTH = 400;
let depth = 0;

/** Lowers an expression. */
export function expression(ctx: Context, node: ast.Expression): Value {
  if (depth > MAX_DEPTH || !spend(ctx))
    return unknownValue({ kind: 'unknown', reason: 'nested too deeply' }, 'expression nested too deeply');
  depth++;
  try {
    return lowerExpression(ctx, node);
  } finally {
    depth--;
  }
}

function lowerExpression(ctx: Context, node: ast.Expression): Value {
  switch (node.kind) {
    case 'integer':
      return integerLiteral(ctx, node);
    case 'float':
      return number(ctx, node.type === 'float' ? types.float : types.double, node.value);
    case 'string':
      return {
        kind: 'scalar',
        type: { kind: 'pointer', to: types.char },
        register: ctx.builder.unknown('i64', 'address of a string'),
      };
    case 'name':
      return nameExpression(ctx, node);
    case 'this':
      return thisExpression(ctx);
    case 'unary':
      return unaryExpression(ctx, node);
    case 'binary':
      return binaryExpression(ctx, node);
    case 'assign':
      return assignExpression(ctx, node);
    case 'conditional':
      return conditionalExpression(ctx, node);
    case 'call':
      return callExpression(ctx, node);
    case 'index':
      return indexExpression(ctx, node);
    case 'member':
      return memberExpression(ctx, node);
    case 'cast':
      return castExpression(ctx, node);
    case 'sizeof':
      return sizeofExpression(ctx, node);
    case 'initList':
      return {
        kind: 'aggregate',
        type: { kind: 'unknown', reason: 'initialiser list' },
        elements: node.elements.map((e) => rvalue(ctx, expression(ctx, e.value), e.value)),
      };
    case 'lambda':
      return { kind: 'lambda', type: { kind: 'lambda', lambda: node }, lambda: node, scope: ctx.scope };
    case 'fold':
      return foldExpression(ctx, node);
    case 'packExpansion':
      return {
        kind: 'pack',
        type: types.void,
        elements: expandPack(ctx, node.operand) ?? [expression(ctx, node.operand)],
      };
    case 'launch':
      skip(ctx, node, 'launch from device code is not followed');
      return { kind: 'void', type: types.void };
    case 'throw':
      return { kind: 'void', type: types.void };
    case 'new':
      return unknownValue({ kind: 'pointer', to: types.void }, 'memory from new');
    default:
      skip(ctx, node, node.reason);
      return unknownValue({ kind: 'unknown', reason: node.reason }, node.reason);
  }
}

export function number(ctx: Context, type: Type, value: number): Value {
  const scalar = scalarOf(type) ?? 'i32';
  return {
    kind: 'scalar',
    type,
    register: ctx.builder.constant(scalar, scalar === 'f32' ? Math.fround(value) : value),
  };
}

const literalTypes: Partial<Record<string, Type>> = {
  bool: types.bool,
  char: types.char,
  int: types.int,
  'unsigned int': types.uint,
  long: types.long,
  'unsigned long': types.ulong,
  'long long': types.longlong,
  'unsigned long long': types.ulonglong,
  nullptr: { kind: 'pointer', to: types.void },
};

function integerLiteral(ctx: Context, node: ast.IntegerLiteral): Value {
  const type = literalTypes[node.type] ?? types.int;
  const value = Number(node.value);
  if (Number.isSafeInteger(value)) return number(ctx, type, value);
  return {
    kind: 'scalar',
    type,
    register: ctx.builder.unknown(scalarOf(type) ?? 'u64', 'integer constant beyond 2^53'),
  };
}

// ---- names ----

function nameExpression(ctx: Context, node: ast.NameExpression): Value {
  const entity = lookupQualified(ctx, ctx.scope, node.name);
  const part = node.name.parts[node.name.parts.length - 1];
  if (entity) return entityValue(ctx, entity, part, node);
  const builtin = builtinVariable(ctx, part.name);
  if (builtin) return builtin;
  const trait = traitValue(ctx, node.name);
  if (trait) return trait;
  const templateArguments = part.templateArguments
    ? evaluateArguments(ctx, part.templateArguments, ctx.scope)
    : undefined;
  return { kind: 'builtin', type: { kind: 'function' }, name: part.name, templateArguments };
}

function entityValue(ctx: Context, entity: Entity, part: ast.NamePart, node: ast.Expression): Value {
  switch (entity.kind) {
    case 'value':
      return at(entity.value, node);
    case 'template':
      return templateEntity(ctx, entity.value, node);
    case 'functions': {
      const templateArguments = part.templateArguments
        ? evaluateArguments(ctx, part.templateArguments, ctx.scope)
        : undefined;
      return {
        kind: 'functions',
        type: { kind: 'function' },
        declarations: entity.declarations,
        scope: entity.scope,
        templateArguments,
        self: implicitThis(ctx, entity.scope),
      };
    }
    case 'global':
      return at(memberOrGlobal(ctx, entity, part, node), node);
    case 'enumerator':
      return enumeratorValue(ctx, entity, node);
    default: {
      const type = resolveNamedType(ctx, ctx.scope, entity, part);
      return unknownValue(type ?? { kind: 'unknown', reason: part.name }, `${part.name} is a type`);
    }
  }
}

/** The expression a user points at becomes the node of a memory place. */
function at(value: Value, node: ast.Node): Value {
  return value.kind === 'place' && value.place.kind === 'memory'
    ? { ...value, place: { ...value.place, node } }
    : value;
}

function templateEntity(ctx: Context, value: import('./types').TemplateValue, node: ast.Expression): Value {
  if (value.kind === 'number') return number(ctx, value.type, value.value);
  if (value.kind === 'name') {
    const entity = value.entity as Entity | undefined;
    if (entity?.kind === 'value') return entity.value;
    if (entity) return entityValue(ctx, entity, { name: value.name }, node);
    return { kind: 'builtin', type: { kind: 'function' }, name: value.name };
  }
  if (value.kind === 'pack')
    return { kind: 'pack', type: types.void, elements: value.elements.map((e) => templateEntity(ctx, e, node)) };
  if (value.kind === 'type') return unknownValue(value.type, 'a type');
  return unknownValue({ kind: 'unknown', reason: value.reason }, value.reason);
}

function memberOrGlobal(
  ctx: Context,
  entity: Entity & { kind: 'global' },
  part: ast.NamePart,
  node: ast.Expression,
): Value {
  const record = entity.scope.recordType;
  const s = entity.declaration.specifiers;
  if (record && !s.isStatic && !s.isConstexpr && !entity.declaration.scope) {
    const self = implicitThis(ctx, entity.scope);
    if (self)
      return (
        memberOf(ctx, self, part.name, node) ??
        unknownValue({ kind: 'unknown', reason: part.name }, `member ${part.name}`)
      );
  }
  return globalValue(ctx, entity, node);
}

/** The object of the method being lowered. */
function implicitThis(ctx: Context, owner: Scope): Value | undefined {
  if (!owner.recordType) return undefined;
  for (let s: Scope | undefined = ctx.scope; s; s = s.parent) if (s.thisValue) return s.thisValue;
  return undefined;
}

function enumeratorValue(ctx: Context, entity: Entity & { kind: 'enumerator' }, _node: ast.Expression): Value {
  const list = entity.declaration.enumerators ?? [];
  const type: Type = { kind: 'enum', scalar: 'i32', name: entity.declaration.name?.parts.at(-1)?.name ?? 'enum' };
  const saved = ctx.scope;
  ctx.scope = entity.scope;
  let value: number | undefined = -1;
  for (let i = 0; i <= entity.index; i++) {
    const node = list[i].value;
    if (node) value = constantOf(ctx, node);
    else if (value !== undefined) value++;
  }
  ctx.scope = saved;
  return value === undefined ? unknownValue(type, 'enumerator is not constant') : number(ctx, type, value);
}

function thisExpression(ctx: Context): Value {
  for (let s: Scope | undefined = ctx.scope; s; s = s.parent) {
    const self = s.thisValue;
    if (!self) continue;
    const pointer: Type = { kind: 'pointer', to: self.type };
    if (self.kind === 'place' && self.place.kind === 'memory')
      return { kind: 'scalar', type: pointer, register: addressOf(ctx, self.place) };
    if (self.kind === 'place' && self.place.kind === 'storage') {
      return {
        kind: 'placePointer',
        type: pointer,
        target: { elements: [self.place.storage], index: 0, elementType: self.type },
      };
    }
    return unknownValue(pointer, 'this of a temporary');
  }
  return unknownValue({ kind: 'pointer', to: types.void }, 'this outside a method');
}

/** `std::is_same_v<A, B>` and the like. */
function traitValue(ctx: Context, name: ast.QualifiedName): Value | undefined {
  const direct = name.parts[name.parts.length - 1];
  const part = direct.name === 'value' ? name.parts[name.parts.length - 2] : direct;
  const trait = part?.name.replace(/_v$/, '');
  if (trait !== 'is_same' || !part.templateArguments) return undefined;
  const [a, b] = evaluateArguments(ctx, part.templateArguments, ctx.scope);
  if (a?.kind !== 'type' || b?.kind !== 'type' || a.type.kind === 'unknown' || b.type.kind === 'unknown')
    return undefined;
  const same = typeKey(a.type) === typeKey(b.type) && Boolean(a.type.isConst) === Boolean(b.type.isConst);
  return number(ctx, types.bool, same ? 1 : 0);
}

// ---- members ----

function memberExpression(ctx: Context, node: ast.MemberExpression): Value {
  let object = expression(ctx, node.object);
  if (node.arrow) {
    const pointer = rvalue(ctx, object, node.object);
    object = dereference(ctx, pointer, node);
  }
  const part = node.name.parts[node.name.parts.length - 1];
  const member = memberOf(ctx, object, part.name, node);
  if (member) return member;
  const record = recordOf(object.type);
  const methods = record && findMethods(record, part.name);
  const templateArguments = part.templateArguments
    ? evaluateArguments(ctx, part.templateArguments, ctx.scope)
    : undefined;
  if (methods && record?.scope) {
    return {
      kind: 'functions',
      type: { kind: 'function' },
      declarations: methods.declarations,
      scope: methods.owner.scope ?? record.scope,
      templateArguments,
      self: object,
    };
  }
  return { kind: 'builtin', type: { kind: 'function' }, name: part.name, templateArguments, self: object };
}

/** A data member (through bases and anonymous members), undefined when there is none of that name. */
export function memberOf(ctx: Context, object: Value, name: string, node: ast.Node): Value | undefined {
  const record = recordOf(object.type);
  const found = record && findField(record, name);
  if (!found) {
    if (record?.scope) {
      const entity = record.scope.own(name);
      if (
        entity?.kind === 'global' &&
        (entity.declaration.specifiers.isStatic || entity.declaration.specifiers.isConstexpr)
      )
        return globalValue(ctx, entity, node);
    }
    return undefined;
  }
  let value: Value = object.kind === 'builtin' ? rvalue(ctx, object, node) : object;
  for (const field of found.path) value = step(value, field, node);
  return value;
}

function step(value: Value, field: import('./types').Field, node: ast.Node): Value {
  const inherited = withoutReference(value.type);
  const type =
    field.type.kind === 'reference'
      ? field.type.to
      : { ...field.type, isConst: field.type.isConst || inherited.isConst };
  const index = inherited.kind === 'record' ? inherited.record.fields.indexOf(field) : -1;
  if (value.kind === 'place') {
    const place = value.place;
    if (place.kind === 'memory') {
      const aligned = inherited.kind === 'record' ? memberAlignment(place, inherited.record, field.offset) : undefined;
      return {
        kind: 'place',
        type,
        place: { ...place, offset: place.offset + field.offset, bits: field.bits, node, aligned },
      };
    }
    if (place.storage.kind === 'aggregate' && place.storage.elements[index]) {
      return { kind: 'place', type, place: { kind: 'storage', storage: place.storage.elements[index] } };
    }
    return unknownValue(type, `member ${field.name} of a value that could not be followed`);
  }
  if (value.kind === 'aggregate' && value.elements[index]) return value.elements[index];
  return unknownValue(type, reasonOf(value));
}

// ---- pointers and arrays ----

/** `*p` */
export function dereference(ctx: Context, pointer: Value, node: ast.Node): Value {
  if (pointer.kind === 'placePointer') return dereferenceRegisters(ctx, pointer, 0);
  const type = pointer.type.kind === 'pointer' ? pointer.type : undefined;
  if (pointer.kind === 'scalar' && type)
    return { kind: 'place', type: type.to, place: memoryPlace(pointer.register, 0, type, node) };
  if (pointer.kind === 'scalar')
    return unknownValue({ kind: 'unknown', reason: 'dereference of a number' }, 'dereference of a number');
  const to = type?.to ?? { kind: 'unknown' as const, reason: reasonOf(pointer) };
  if (pointer.kind === 'unknown' && type) {
    // an access happens all the same: its address is not known, and the reason is kept
    return { kind: 'place', type: to, place: memoryPlace(ctx.builder.unknown('i64', pointer.reason), 0, type, node) };
  }
  return unknownValue(to, reasonOf(pointer));
}

function memoryPlace(
  address: number,
  offset: number,
  pointer: Type & { kind: 'pointer' },
  node: ast.Node,
): MemoryPlace {
  return {
    kind: 'memory',
    address,
    offset,
    node,
    readOnly: Boolean(pointer.isRestrict && pointer.to.isConst),
    isVolatile: pointer.to.isVolatile,
  };
}

function indexExpression(ctx: Context, node: ast.IndexExpression): Value {
  const base = expression(ctx, node.base);
  const index = node.indices[0];
  if (!index) return unknownValue(base.type, 'subscript without index');
  if (recordOf(base.type) && base.kind !== 'placePointer') return callOperator(ctx, base, node);
  const baseType = withoutReference(base.type);
  const indexValue = rvalue(ctx, expression(ctx, index), index);
  if (baseType.kind === 'array' && base.kind === 'place')
    return arrayElement(ctx, base.place, baseType, indexValue, node);
  const pointer = rvalue(ctx, base, node.base);
  if (pointer.type.kind !== 'pointer' && indexValue.type.kind === 'pointer')
    return elementAt(ctx, indexValue, pointer, node); // 3[p]
  return elementAt(ctx, pointer, indexValue, node);
}

function callOperator(ctx: Context, base: Value, node: ast.IndexExpression): Value {
  const record = recordOf(base.type);
  const methods = record && findMethods(record, 'operator[]');
  if (!methods || !record?.scope)
    return unknownValue(
      { kind: 'unknown', reason: 'operator[]' },
      `operator[] of ${record?.name ?? 'a record'} is not known`,
    );
  const callee: Value = {
    kind: 'functions',
    type: { kind: 'function' },
    declarations: methods.declarations,
    scope: methods.owner.scope ?? record.scope,
    self: base,
  };
  return callExpression(
    ctx,
    { kind: 'call', callee: node.base, arguments: node.indices, first: node.first, last: node.last },
    callee,
  );
}

function arrayElement(ctx: Context, place: Place, type: Type & { kind: 'array' }, index: Value, node: ast.Node): Value {
  const of = {
    ...type.of,
    isConst: type.of.isConst || type.isConst,
    isVolatile: type.of.isVolatile || type.isVolatile,
  };
  if (place.kind === 'storage') {
    if (place.storage.kind !== 'aggregate') return unknownValue(of, 'array without elements');
    return registerElement(ctx, wholeArray(ctx, place.storage, of), index, of);
  }
  const scaled = scaledIndex(ctx, index, of);
  if (scaled === undefined) return unknownValue(of, reasonOf(index));
  return {
    kind: 'place',
    type: of,
    place: { ...place, address: ctx.builder.binary('add', 'i64', place.address, scaled), node, aligned: undefined },
  };
}

/** The elements behind the first one of an array; of a row those of the rows around it, as they follow in memory. */
function wholeArray(ctx: Context, array: Storage & { kind: 'aggregate' }, of: Type): RegisterTarget {
  const plain = { elements: array.elements, index: 0, elementType: of, owner: array.owner };
  const rows = ctx.arrayOf.get(array);
  if (!rows) return plain;
  let flat = flatRows.get(rows.elements);
  if (!flat)
    flatRows.set(rows.elements, (flat = rows.elements.flatMap((r) => (r.kind === 'aggregate' ? r.elements : []))));
  return { ...plain, elements: flat, index: flat.indexOf(array.elements[0]) };
}

const flatRows = new WeakMap<readonly Storage[], readonly Storage[]>();

/** `p[i]` */
export function elementAt(ctx: Context, pointer: Value, index: Value, node: ast.Node): Value {
  if (pointer.kind === 'placePointer') {
    const i = constantIndex(ctx, index);
    if (i !== undefined) return dereferenceRegisters(ctx, pointer, i);
    return registerElement(ctx, pointer.target, index, pointer.target.elementType);
  }
  const type = pointer.type.kind === 'pointer' ? pointer.type : undefined;
  if (!type)
    return unknownValue(
      { kind: 'unknown', reason: 'subscript of a value that is no array' },
      pointer.kind === 'unknown' ? pointer.reason : 'subscript of a value that is no array or pointer',
    );
  if (pointer.kind !== 'scalar') return dereference(ctx, pointer, node);
  const scaled = scaledIndex(ctx, index, type.to);
  const address =
    scaled === undefined
      ? ctx.builder.unknown('i64', reasonOf(index))
      : ctx.builder.binary('add', 'i64', pointer.register, scaled);
  return { kind: 'place', type: type.to, place: memoryPlace(address, 0, type, node) };
}

function constantIndex(ctx: Context, index: Value): number | undefined {
  return index.kind === 'scalar' ? ctx.builder.constantValue(index.register) : undefined;
}

function registerElement(ctx: Context, target: RegisterTarget, index: Value, of: Type): Value {
  const i = constantIndex(ctx, index);
  const element = i === undefined ? undefined : target.elements[target.index + i];
  if (element && i !== undefined) {
    ctx.arrayOf.set(element, { ...target, index: target.index + i });
    return { kind: 'place', type: of, place: { kind: 'storage', storage: element } };
  }
  if (i === undefined && target.owner) demandMemory(ctx, target.owner);
  return unknownValue(of, i === undefined ? 'index of a local array that is not constant' : 'index outside the array');
}

/** index · sizeof(element), as a 64-bit offset; undefined when the index is unknown. */
export function scaledIndex(ctx: Context, index: Value, element: Type): number | undefined {
  const size = sizeOf(element);
  if (index.kind !== 'scalar' || size === undefined) {
    if (index.kind === 'unknown') return ctx.builder.unknown('i64', index.reason);
    return size === undefined
      ? ctx.builder.unknown('i64', element.kind === 'unknown' ? element.reason : 'size of the element is not known')
      : undefined;
  }
  const wide = ctx.builder.convert(ctx.builder.typeOf(index.register), 'i64', index.register);
  return ctx.builder.binary('mul', 'i64', wide, ctx.builder.constant('i64', size));
}

/** What a pointer into registers points to, seen as its (possibly cast) type. */
function dereferenceRegisters(ctx: Context, pointer: Value & { kind: 'placePointer' }, offset: number): Value {
  const { target } = pointer;
  const to = pointer.type.kind === 'pointer' ? pointer.type.to : target.elementType;
  if (typeKey(unqualified(to)) === typeKey(unqualified(target.elementType)) || to.kind === 'void') {
    const element = target.elements[target.index + offset];
    if (!element) return unknownValue(to, 'pointer outside its array');
    if (target.elements.length > 1) ctx.arrayOf.set(element, { ...target, index: target.index + offset });
    return { kind: 'place', type: to, place: { kind: 'storage', storage: element } };
  }
  const storage = viewOf(target, to, offset);
  if (storage) return { kind: 'place', type: to, place: { kind: 'storage', storage } };
  return unknownValue(to, `bits of a local variable seen as ${typeKey(to)}`);
}

// ---- casts, sizes ----

function castExpression(ctx: Context, node: ast.CastExpression): Value {
  const type = resolveType(ctx, node.type);
  if (node.form === 'functional' || node.form === 'braced') {
    if (node.form === 'braced' && node.arguments.length === 1 && node.arguments[0].kind === 'initList')
      return initialiseFromList(ctx, type, node.arguments[0]);
    const args = node.arguments.map((a) => expression(ctx, a));
    if (type.kind === 'unknown') return unknownValue(type, type.reason);
    return construct(ctx, type, args, node, false);
  }
  const operand = node.arguments[0];
  if (!operand) return unknownValue(type, 'cast of nothing');
  const value = expression(ctx, operand);
  if (type.kind === 'reference') return castReference(value, type.to);
  if (type.kind === 'void') return { kind: 'void', type };
  const plain = rvalue(ctx, value, operand);
  if (type.kind === 'pointer' && plain.kind === 'scalar') return castPointer(ctx, plain, type);
  return convertValue(ctx, plain, type, node);
}

/** Restrict and const of a parameter survive a cast to a vector type: the compiler looks at the pointer's origin. */
function castPointer(ctx: Context, value: Value & { kind: 'scalar' }, type: Type & { kind: 'pointer' }): Value {
  const from = value.type.kind === 'pointer' ? value.type : undefined;
  const register = ctx.builder.convert(ctx.builder.typeOf(value.register), 'i64', value.register);
  const isRestrict = type.isRestrict || Boolean(from?.isRestrict && from.to.isConst && type.to.isConst);
  return { kind: 'scalar', type: { ...type, isRestrict }, register };
}

function castReference(value: Value, to: Type): Value {
  if (value.kind !== 'place') return value;
  if (value.place.kind === 'memory') return { ...value, type: to };
  const target: RegisterTarget = {
    elements:
      value.place.storage.kind === 'aggregate' && value.type.kind === 'array'
        ? value.place.storage.elements
        : [value.place.storage],
    index: 0,
    elementType: value.type,
  };
  const storage = viewOf(target, to, 0);
  return storage
    ? { kind: 'place', type: to, place: { kind: 'storage', storage } }
    : unknownValue(to, `bits of a local variable seen as ${typeKey(to)}`);
}

function sizeofExpression(ctx: Context, node: ast.SizeofExpression): Value {
  if (node.operator === 'sizeof...') {
    const inner = node.expression && expression(ctx, node.expression);
    return inner?.kind === 'pack'
      ? number(ctx, types.ulong, inner.elements.length)
      : unknownValue(types.ulong, 'size of a pack');
  }
  const type = node.type
    ? resolveType(ctx, node.type)
    : node.expression
      ? unevaluatedType(ctx, node.expression)
      : undefined;
  if (!type) return unknownValue(types.ulong, 'sizeof');
  const plain = withoutReference(type);
  const size = node.operator === 'alignof' ? alignOf(plain) : sizeOf(plain);
  return size === undefined
    ? unknownValue(types.ulong, plain.kind === 'unknown' ? plain.reason : 'size is not known')
    : number(ctx, types.ulong, size);
}

/** The type of an operand that is not evaluated: what is emitted for it lands in a block that nothing reaches. */
function unevaluatedType(ctx: Context, node: ast.Expression): Type {
  const saved = ctx.builder.currentBlock;
  const known = ctx.known.fork();
  ctx.builder.use(ctx.builder.newBlock());
  ctx.builder.enterRegion();
  const type = expression(ctx, node).type;
  ctx.builder.leaveRegion();
  ctx.builder.use(saved);
  ctx.known = known;
  return type;
}

function foldExpression(ctx: Context, node: ast.FoldExpression): Value {
  const elements = expandPack(ctx, node.pack);
  const reason = 'fold expression over a pack that is not known';
  if (!elements) {
    skip(ctx, node, reason);
    return unknownValue({ kind: 'unknown', reason }, reason);
  }
  const initial = node.initial && rvalue(ctx, expression(ctx, node.initial), node.initial);
  const all = node.left ? [...(initial ? [initial] : []), ...elements] : [...elements, ...(initial ? [initial] : [])];
  if (all.length === 0)
    return node.operator === ','
      ? { kind: 'void', type: types.void }
      : number(ctx, types.bool, node.operator === '&&' ? 1 : 0);
  const combine = (a: Value, b: Value): Value => foldStep(ctx, node, a, b);
  return node.left ? all.reduce(combine) : all.reduceRight((b, a) => combine(a, b));
}

/** The elements are evaluated already: of && and || all of them, as for operands without side effects. */
function foldStep(ctx: Context, node: ast.FoldExpression, a: Value, b: Value): Value {
  if (node.operator === ',') return b;
  if (node.operator === '&&' || node.operator === '||') {
    const fn = node.operator === '&&' ? 'and' : 'or';
    const left = toPredicate(ctx, rvalue(ctx, a, node));
    const right = toPredicate(ctx, rvalue(ctx, b, node));
    return { kind: 'scalar', type: types.bool, register: ctx.builder.binary(fn, 'pred', left, right) };
  }
  const overloaded = userOperator(ctx, `operator${node.operator}`, [a, b], node);
  return overloaded ?? binaryOnValues(ctx, node.operator, rvalue(ctx, a, node), rvalue(ctx, b, node), node);
}
