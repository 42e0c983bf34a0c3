/** The part of an object that is one of its base classes. */
import { memberAlignment } from './places';
import { recordOf } from './records';
import type { Field, RecordInfo, Type } from './types';
import type { Storage, Value } from './values';

const MAX_DEPTH = 64;

/** The way from a record to one of its bases: [] to itself, undefined when it is no base. */
export function pathToBase(record: RecordInfo, base: RecordInfo, depth = 0): readonly Field[] | undefined {
  if (record === base) return [];
  if (depth > MAX_DEPTH) return undefined;
  for (const field of record.fields) {
    const inner = field.isBase && recordOf(field.type);
    const path = inner && pathToBase(inner, base, depth + 1);
    if (path) return [field, ...path];
  }
  return undefined;
}

/** Where a base lies in an object of a class, in bytes; undefined when it is no base. */
export function offsetOfBase(record: RecordInfo, base: RecordInfo): number | undefined {
  return pathToBase(record, base)?.reduce((sum, { offset }) => sum + offset, 0);
}

/** What is added to an address that is taken as one of another class: of an object's base, or of the object that a base is a part of. */
export function betweenClasses(from: RecordInfo | undefined, to: RecordInfo | undefined): number {
  if (!from || !to || from === to) return 0;
  const below = offsetOfBase(from, to);
  if (below !== undefined) return below;
  return -(offsetOfBase(to, from) ?? 0);
}

/** The base's part of a value or place; undefined when it has no such base. */
export function baseOf(value: Value, base: RecordInfo): Value | undefined {
  const record = recordOf(value.type);
  const path = record && pathToBase(record, base);
  if (!path) return undefined;
  let part: Value | undefined = value;
  for (const field of path) part = part && subobject(part, field);
  return part;
}

/** What the parts of objects in registers are parts of. */
const wholes = new WeakMap<Storage, Value & { kind: 'place' }>();

/** The object of a class in registers that a base is a part of. */
export function wholeOf(part: Value, record: RecordInfo): Value | undefined {
  let whole: Value | undefined = part;
  for (let depth = 0; whole?.kind === 'place' && depth < MAX_DEPTH; depth++) {
    if (recordOf(whole.type) === record) return whole;
    whole = whole.place.kind === 'storage' ? wholes.get(whole.place.storage) : undefined;
  }
  return undefined;
}

/** The part of an object that a field is. */
export function subobject(object: Value, field: Field): Value | undefined {
  const record = recordOf(object.type);
  const index = record?.fields.indexOf(field) ?? -1;
  if (object.kind === 'aggregate') return object.elements[index];
  if (object.kind !== 'place' || !record) return undefined;
  const { place } = object;
  const handed = object.handed === 'expiring' ? object.handed : undefined;
  const type = { ...field.type, isConst: field.type.isConst || object.type.isConst };
  if (place.kind === 'memory') {
    const aligned = memberAlignment(place, record, field);
    const at = { ...place, offset: place.offset + field.offset, bits: field.bits, aligned };
    return { kind: 'place', type, place: at, handed };
  }
  const storage = place.storage.kind === 'aggregate' ? place.storage.elements[index] : undefined;
  if (storage) wholes.set(storage, object);
  return storage && { kind: 'place', type, place: { kind: 'storage', storage }, handed };
}

/** A reference to a base is to that part of an object. */
export function asDeclared(to: Type, value: Value): Value {
  const record = recordOf(to);
  if (!record || value.kind !== 'place') return value;
  const part = baseOf(value, record) ?? value;
  // through a reference to const it has its constant methods
  return to.isConst && !part.type.isConst ? { ...part, type: { ...part.type, isConst: true } } : part;
}
