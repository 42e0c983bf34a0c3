/** Copies of objects that own memory: a vector that is assigned or passed by value has elements of its own. */
import type { InitListExpression, Node } from '../../parse/ast';
import { callFunction } from '../calls';
import { construct, initialiseFromList } from '../construct';
import type { Context } from '../context';
import { convertValue } from '../conversions';
import { expression, number } from '../expressions';
import { assign, readStorage, rvalue, writeStorage } from '../places';
import { findMethods, recordOf } from '../records';
import { inScope, resolveType } from '../resolve-type';
import { type RecordInfo, sizeOf, type Type, types, withoutReference } from '../types';
import type { Value } from '../values';
import { allocateStorage } from '../variables';

const owners = new WeakMap<RecordInfo, boolean>();

/** Whether a copy of the value must copy memory behind it. */
export function ownsMemory(type: Type): boolean {
  if (type.kind === 'array') return ownsMemory(type.of);
  if (type.kind !== 'record') return false;
  let owns = owners.get(type.record);
  if (owns === undefined) {
    owns = type.record.methods.has('__copied') || type.record.fields.some((f) => ownsMemory(f.type));
    owners.set(type.record, owns);
  }
  return owns;
}

/** The value with memory of its own. */
export function copied(ctx: Context, value: Value, node: Node): Value {
  if (value.kind !== 'aggregate' || !ownsMemory(value.type)) return value;
  const record = value.type.kind === 'record' ? value.type.record : undefined;
  const copy = record && findMethods(record, '__copied');
  if (!record || !copy?.owner.scope) return { ...value, elements: value.elements.map((e) => copied(ctx, e, node)) };
  const storage = allocateStorage(ctx, value.type, 'copied');
  writeStorage(ctx, storage, value, node);
  const self: Value = { kind: 'place', type: value.type, place: { kind: 'storage', storage } };
  const chosen = { declaration: copy.declarations[0], scope: copy.owner.scope, templateArguments: [] };
  return callFunction(ctx, chosen, [], self, node);
}

/** Braces mean its elements, not arguments of a constructor. */
export function isContainer(type: Type): boolean {
  const record = recordOf(type);
  if (!record) return false;
  return (
    record.methods.has('__has') ||
    (record.templateArguments?.[0]?.kind === 'type' && findMethods(record, '__copied') !== undefined)
  );
}

/** `std::vector<T> v{a, b, c}`: a vector of as many elements, each given its value; undefined for records of other kinds. */
export function containerFromList(
  ctx: Context,
  type: Type & { kind: 'record' },
  list: InitListExpression,
): Value | undefined {
  const { record } = type;
  if (record.methods.has('__has')) return orderedFromList(ctx, type, list);
  if (!isContainer(type) || record.templateArguments?.[0]?.kind !== 'type') return undefined;
  const element = record.templateArguments[0].type;
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
        : convertValue(ctx, rvalue(ctx, expression(ctx, node), node), element, node);
    assign(ctx, { kind: 'memory', address: register, offset: i * size, node: list }, element, value, node);
  });
  return made;
}

/** `std::set<T> s{a, b}`, `std::map<K, V> m{{a, x}, {b, y}}`: each is inserted in its turn. */
function orderedFromList(ctx: Context, type: Type & { kind: 'record' }, list: InitListExpression): Value | undefined {
  const insert = findMethods(type.record, 'insert');
  const declaration = insert?.declarations.find(({ parameters }) => parameters.length === 1);
  const scope = insert?.owner.scope;
  if (!declaration || !scope) return undefined;
  const element = withoutReference(inScope(ctx, scope, () => resolveType(ctx, declaration.parameters[0].type)));
  const storage = allocateStorage(ctx, type, 'ordered');
  writeStorage(ctx, storage, construct(ctx, type, [], list, false), list);
  const self: Value = { kind: 'place', type, place: { kind: 'storage', storage } };
  for (const { value: node } of list.elements) {
    const value =
      node.kind === 'initList' ? initialiseFromList(ctx, element, node) : rvalue(ctx, expression(ctx, node), node);
    callFunction(ctx, { declaration, scope, templateArguments: [] }, [value], self, list);
  }
  return readStorage(ctx, storage);
}
