/** Copies of objects that own memory: a vector that is assigned or passed by value has elements of its own. */
import type { FunctionDeclaration, InitListExpression, Node } from '../../parse/ast';
import { isCopyOf } from '../../parse/constructors';
import { subobject } from '../bases';
import { materialise } from '../bound-values';
import { callFunction } from '../calls';
import { unevaluatedType } from '../casts';
import { construct, constructCopy, initialiseFromList } from '../construct';
import type { Context } from '../context';
import { expression, number } from '../expressions';
import { assign, peeked, readStorage, rvalue, valueAs, writeStorage } from '../places';
import { findMethods, recordOf } from '../records';
import { inScope, resolveType } from '../resolve-type';
import { type RecordInfo, sizeOf, type Type, typeKey, types, unqualified, withoutReference } from '../types';
import type { Value } from '../values';
import { allocateStorage } from '../variables';
import { isDestroyed } from './destructors';
import { isOfLibrary } from './only-read';

const owners = new WeakMap<RecordInfo, boolean>();

/** Whether a copy of the value must do more than copy its bytes. */
export function ownsMemory(type: Type): boolean {
  if (type.kind === 'array') return ownsMemory(type.of);
  if (type.kind !== 'record') return false;
  let owns = owners.get(type.record);
  if (owns === undefined) {
    const { methods, fields } = type.record;
    const isOwn = methods.has('__copied') || methods.has('__left') || copying(type.record).length > 0;
    owns = isOwn || fields.some((f) => ownsMemory(f.type));
    owners.set(type.record, owns);
  }
  return owns;
}

const nameOf = ({ declaration }: RecordInfo): string => declaration?.name?.parts.at(-1)?.name ?? '';

/** Constructors that make a class of another object of it, and say how. */
const copying = (record: RecordInfo, which?: 'moving'): readonly FunctionDeclaration[] =>
  isOfLibrary({ kind: 'record', record })
    ? []
    : (record.methods.get(nameOf(record)) ?? []).filter(
        (m) => m.body && isCopyOf(nameOf(record), m) && (!which || isMoving(m)),
      );

const isMoving = ({ parameters: [first] }: FunctionDeclaration): boolean =>
  first?.type.kind === 'reference' && first.type.rvalue;

/** The value with memory of its own. */
export function copied(ctx: Context, value: Value, node: Node): Value {
  if (value.kind !== 'aggregate' || !ownsMemory(value.type)) return value;
  const record = recordOf(value.type);
  if (record && copying(record).some((m) => !isMoving(m)))
    return madeOf(ctx, value.type, materialise(ctx, value, node), node) ?? value;
  const copy = record && findMethods(record, '__copied');
  if (!record || !copy?.owner.scope) return { ...value, elements: value.elements.map((e) => copied(ctx, e, node)) };
  const storage = allocateStorage(ctx, value.type, 'copied');
  writeStorage(ctx, storage, value, node);
  const self: Value = { kind: 'place', type: value.type, place: { kind: 'storage', storage } };
  const chosen = { declaration: copy.declarations[0], scope: copy.owner.scope, templateArguments: [] };
  return callFunction(ctx, chosen, [], self, node);
}

/** What the class's own constructor makes of another object. */
function madeOf(ctx: Context, type: Type, from: Value, node: Node): Value | undefined {
  const made = constructCopy(ctx, type, from, node);
  return made && peeked(ctx, made, node);
}

/**
 * What is moved out of a place: a container leaves an empty one behind, a class of the user's what its own constructor leaves. Classes that say how they are
 * copied or destroyed and not how they are moved are copied.
 * @param read what lies there
 */
export function movedFrom(ctx: Context, from: Value & { kind: 'place' }, read: Value, node: Node): Value {
  const record = recordOf(from.type);
  if (!record || record.isUnion || read.kind !== 'aggregate') return read;
  if (copying(record, 'moving').length > 0) return madeOf(ctx, unqualified(from.type), from, node) ?? read;
  if (!movesMembers(record)) return copied(ctx, read, node);
  const leave = findMethods(record, '__left');
  if (leave?.owner.scope) {
    const chosen = { declaration: leave.declarations[0], scope: leave.owner.scope, templateArguments: [] };
    callFunction(ctx, chosen, [], { ...from, handed: undefined }, node);
    return read;
  }
  const elements = record.fields.map((field, i) => {
    const part = ownsMemory(field.type) ? subobject({ ...from, handed: 'expiring' }, field) : undefined;
    return part?.kind === 'place' ? movedFrom(ctx, part, read.elements[i], node) : read.elements[i];
  });
  return { ...read, elements };
}

/** Whether the class has a moving constructor that it does not write down. */
function movesMembers(record: RecordInfo): boolean {
  if (isOfLibrary({ kind: 'record', record })) return true;
  const name = nameOf(record);
  const copies = (record.methods.get(name) ?? []).filter((m) => isCopyOf(name, m));
  if (copies.some(isMoving)) return true;
  const assigns = (record.methods.get('operator=') ?? []).some((m) => isCopyOf(name, m));
  return copies.length === 0 && !assigns && !record.methods.has(`~${name}`);
}

/** Braces mean its elements, not arguments of a constructor. */
export function isContainer(type: Type): boolean {
  const record = recordOf(type);
  if (!record) return false;
  // pointers that share an object have copies too, and nothing to go through
  const isSequence = ['__copied', 'begin'].every((name) => findMethods(record, name) !== undefined);
  if (record.methods.has('__has') || record.methods.has('__link')) return true;
  return record.templateArguments?.[0]?.kind === 'type' && isSequence;
}

/** `std::vector<T> v{a, b, c}`: a vector of as many elements, each given its value; undefined for records of other kinds. */
export function containerFromList(
  ctx: Context,
  type: Type & { kind: 'record' },
  list: InitListExpression,
): Value | undefined {
  const { record } = type;
  if (record.methods.has('__has')) return orderedFromList(ctx, type, list, 'insert');
  if (findMethods(record, '__link') && findMethods(record, 'push_back'))
    return orderedFromList(ctx, type, list, 'push_back');
  if (!isContainer(type) || record.templateArguments?.[0]?.kind !== 'type') return undefined;
  const element = record.templateArguments[0].type;
  if (areEnds(ctx, list, element)) {
    const ends = list.elements.map(({ value }) => rvalue(ctx, expression(ctx, value), value));
    return construct(ctx, type, ends, list, false);
  }
  const size = sizeOf(element);
  if (size === undefined) return undefined;
  const made = construct(ctx, type, [number(ctx, types.ulong, list.elements.length)], list, false);
  let first: Value | undefined = made;
  while (first?.kind === 'aggregate') [first] = first.elements;
  if (first?.kind !== 'scalar') return made;
  const { register } = first;
  list.elements.forEach(({ value: node }, i) => {
    const value =
      node.kind === 'initList'
        ? initialiseFromList(ctx, element, node)
        : valueAs(ctx, expression(ctx, node), element, node);
    assign(ctx, { kind: 'memory', address: register, offset: i * size, node: list }, element, value, node);
  });
  return made;
}

/** `std::vector<std::string> words{argv, argv + argc}`: two pointers that make no elements are the ends of a range. */
const areEnds = (ctx: Context, { elements }: InitListExpression, element: Type): boolean =>
  elements.length === 2 &&
  elements.every(({ value }) => value.kind !== 'initList' && leadsTo(unevaluatedType(ctx, value), element));

function leadsTo(from: Type, element: Type): boolean {
  const plain = unqualified(withoutReference(from));
  const to = plain.kind === 'pointer' ? plain.to : plain.kind === 'array' ? plain.of : undefined;
  if (!to) return false;
  if (element.kind !== 'record') return to.kind === element.kind;
  // texts and their like are made of one pointer, and of no pointer to pointers
  return to.kind === 'pointer' || typeKey(unqualified(to)) === typeKey(unqualified(element));
}

/** `std::set<T> s{a, b}`, `std::map<K, V> m{{a, x}, {b, y}}`, lists: each is inserted in its turn. */
function orderedFromList(
  ctx: Context,
  type: Type & { kind: 'record' },
  list: InitListExpression,
  how: 'insert' | 'push_back',
): Value | undefined {
  const insert = findMethods(type.record, how);
  const declaration = insert?.declarations.find(({ parameters }) => parameters.length === 1);
  const scope = insert?.owner.scope;
  if (!declaration || !scope) return undefined;
  const element = withoutReference(inScope(ctx, scope, () => resolveType(ctx, declaration.parameters[0].type)));
  const storage = allocateStorage(ctx, type, 'ordered');
  writeStorage(ctx, storage, construct(ctx, type, [], list, false), list);
  const self: Value = { kind: 'place', type, place: { kind: 'storage', storage } };
  if (list.elements.length > 1 && !isDestroyed(ctx, element)) {
    // inserted in a loop: what inserts is there once
    const several = insert.declarations.find((d) => d !== declaration && d.parameters.length === 1);
    const from = several && withoutReference(inScope(ctx, scope, () => resolveType(ctx, several.parameters[0].type)));
    const elements = from?.kind === 'record' && from.record !== type.record && containerFromList(ctx, from, list);
    if (several && elements) {
      callFunction(ctx, { declaration: several, scope, templateArguments: [] }, [elements], self, list);
      return readStorage(ctx, storage);
    }
  }
  for (const { value: node } of list.elements) {
    const value =
      node.kind === 'initList' ? initialiseFromList(ctx, element, node) : rvalue(ctx, expression(ctx, node), node);
    callFunction(ctx, { declaration, scope, templateArguments: [] }, [value], self, list);
  }
  return readStorage(ctx, storage);
}
