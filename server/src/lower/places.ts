/** Reading and writing of lvalues: registers, or machine accesses to memory. */
import type { Node } from '../parse/ast';
import { type Alignment, bytesOf, NOT_INITIALISED, type Register, type ScalarType } from '../program/program';
import { baseOf } from './bases';
import { fitted, loadBits, storeBitRun, storeBits } from './bit-fields';
import { convertByConstructor, initialiseFromList } from './construct';
import { type Context, demandMemory, placeOf, skip } from './context';
import { convertRegister, convertValue } from './conversions';
import { asStored, keepInCell, readCell, signatureOf } from './host/closures';
import { copied, movedFrom, ownsMemory } from './host/copies';
import { withClass } from './host/virtual-calls';
import { emitLoad, emitStore, loadBytes, placeBehind, promisedBytes, storeBytes } from './loads-and-stores';
import { addressOfExpression } from './operators';
import { copiedAs } from './own-copies';
import { copyPadded, keepPadding, loadPadding, storePadding } from './record-padding';
import { recordOf } from './records';
import { inScope } from './resolve-type';
import { symbolValue } from './symbols';
import {
  alignOf,
  type Field,
  holderOf,
  isSigned,
  type RecordInfo,
  scalarOf,
  sizeOf,
  type Type,
  unqualified,
  withoutReference,
} from './types';
import { type MemoryPlace, type Place, type RegisterTarget, type Storage, unknownValue, type Value } from './values';
import { readView, writeView } from './views';

/** Parts of a record that one copy may consist of; larger ones are not followed. */
const MAX_PARTS = 1024;

/** Turns an lvalue into its value (loads, decays arrays); other values are returned as they are. */
export function rvalue(ctx: Context, value: Value, node: Node): Value {
  if (value.kind !== 'place') return value;
  const type = withoutReference(value.type);
  if (type.kind === 'array') return decay(ctx, value.place, type, node);
  const read =
    value.place.kind === 'storage' ? readStorage(ctx, value.place.storage) : readMemory(ctx, value.place, type);
  if (read.kind === 'scalar' && ctx.builder.asksForPlace(read.register))
    ctx.builder.readAt(read.register, () => placeOf(ctx, node));
  if (!ctx.unit.isHost || ctx.moves || value.handed === 'temporary' || !ownsMemory(type)) return read;
  return value.handed === 'expiring' ? movedFrom(ctx, value, read, node) : copied(ctx, read, node);
}

/** What lies there, looked at without being copied: a condition, an operand. */
export function peeked(ctx: Context, value: Value, node: Node): Value {
  const saved = ctx.moves;
  ctx.moves = true;
  const read = rvalue(ctx, value, node);
  ctx.moves = saved;
  return read;
}

/** The value as one of a type: an object of another class makes it, as it lies there. */
export function valueAs(ctx: Context, value: Value, type: Type, node: Node): Value {
  const own = ctx.unit.isHost && value.kind === 'place' ? recordOf(value.type) : undefined;
  const target = own && recordOf(type);
  if (own && target && own !== target && type.kind === 'record') {
    const base = baseOf(value, target);
    const made = base ? rvalue(ctx, base, node) : convertByConstructor(ctx, value, type, node);
    if (made) return base ? withClass(ctx, made) : peeked(ctx, made, node);
  }
  const list = ctx.unit.isHost && value.kind === 'aggregate' && type.kind === 'record' ? value.list : undefined;
  if (list) return inScope(ctx, list.scope, () => initialiseFromList(ctx, type, list.node));
  // what a constructor takes by reference is the object itself
  const isPlain = ctx.unit.isHost && value.kind === 'place' && !own && type.kind === 'record';
  const wrapped = isPlain ? convertByConstructor(ctx, value, type, node) : undefined;
  if (wrapped) return wrapped;
  const isNumber = own !== undefined && scalarOf(type) !== undefined;
  return convertValue(ctx, isNumber ? peeked(ctx, value, node) : rvalue(ctx, value, node), type, node);
}

/** Array to pointer. */
function decay(ctx: Context, place: Place, type: Type & { kind: 'array' }, node: Node): Value {
  const pointer: Type = { kind: 'pointer', to: type.of };
  if (place.kind === 'memory') return { kind: 'scalar', type: pointer, register: addressOf(ctx, place) };
  const storage = place.storage;
  if (storage.kind !== 'aggregate') return unknownValue(pointer, 'array without elements');
  void node;
  return {
    kind: 'placePointer',
    type: pointer,
    target: { elements: storage.elements, index: 0, elementType: type.of, owner: storage.owner },
  };
}

/** The address of a memory place in one register. */
export function addressOf(ctx: Context, place: MemoryPlace): Register {
  if (place.offset === 0) return place.address;
  return ctx.builder.binary('add', 'i64', place.address, ctx.builder.constant('i64', place.offset));
}

// ---- registers ----

export function readStorage(ctx: Context, declared: Storage): Value {
  const storage = ctx.openElements.get(declared) ?? declared;
  switch (storage.kind) {
    case 'scalar': {
      const register = readRegister(ctx, storage.register);
      return ctx.heldPointers.get(register) ?? { kind: 'scalar', type: storage.type, register };
    }
    case 'aggregate':
      return readAggregate(ctx, storage);
    case 'fixed':
      return readCell(ctx, storage.cell.value);
    case 'view':
      return readView(ctx, storage, (leaf) => readStorage(ctx, leaf));
  }
}

function readAggregate(ctx: Context, storage: Storage & { kind: 'aggregate' }): Value {
  const elements = storage.elements.map((e) => readStorage(ctx, e));
  const loaded = ctx.loadedVectors.get(storage);
  const isWhole = loaded?.every((value, i) => registerOf(value) === registerOf(elements[i]));
  const padding = ctx.padding.get(storage)?.map((register) => readRegister(ctx, register));
  return { kind: 'aggregate', type: storage.type, elements, vector: isWhole ? 'handed on' : undefined, padding };
}

const registerOf = (value: Value): Register | undefined => (value.kind === 'scalar' ? value.register : undefined);

/** A stable register with the variable's present value. */
export function readRegister(ctx: Context, register: Register): Register {
  if (ctx.builder.registers[register].role !== 'variable') return register;
  const known = ctx.known.get(register);
  if (known !== undefined) return known;
  const type = ctx.builder.typeOf(register);
  const copy = ctx.builder.register(type, 'temporary', ctx.builder.registers[register].name);
  ctx.builder.emit({ op: 'unary', fn: 'mov', type, dst: copy, a: register });
  ctx.known.set(register, copy);
  if (ctx.builder.intoShared.get(register)) ctx.builder.intoShared.set(copy, true);
  return copy;
}

/** Assigns a variable in the active lanes and remembers the value. */
export function writeRegister(ctx: Context, variable: Register, value: Register): void {
  ctx.builder.move(variable, value);
  if (ctx.builder.typeOf(variable) === 'i64' && ctx.builder.intoShared.get(variable) !== false)
    ctx.builder.intoShared.set(variable, ctx.builder.isIntoShared(value));
  if (ctx.builder.registers[value].role === 'variable') ctx.known.delete(variable);
  else ctx.known.set(variable, value);
}

/** Assigns storage from a value of (nearly) its type; what does not fit becomes unknown. */
export function writeStorage(ctx: Context, declared: Storage, value: Value, node: Node): void {
  const storage = ctx.openElements.get(declared) ?? declared;
  switch (storage.kind) {
    case 'fixed':
      // which of several functions it is at a place in the program is not followed
      storage.cell.value =
        keepInCell(ctx, storage, value, node) ??
        (storage.cell.value.kind === 'functions' && value !== storage.cell.value
          ? unknownValue(storage.type, 'a function pointer that is assigned more than once')
          : value);
      break;
    case 'view': {
      const converted = convertValue(ctx, rvalue(ctx, value, node), storage.type, node);
      writeView(ctx, storage, converted.kind === 'scalar' ? converted.register : undefined, node);
      break;
    }
    case 'scalar': {
      const converted = toStore(ctx, value, storage.type, node);
      // a pointer that is kept needs an address to hold
      if (converted.kind === 'placePointer' && ctx.unit.isHost && converted.target.owner)
        demandMemory(ctx, converted.target.owner);
      if (converted.kind === 'scalar') writeRegister(ctx, storage.register, fitted(ctx, storage, converted.register));
      else {
        const register = ctx.builder.unknown(ctx.builder.typeOf(storage.register), reasonOf(converted));
        if (converted.kind === 'placePointer') ctx.heldPointers.set(register, converted);
        writeRegister(ctx, storage.register, register);
      }
      break;
    }
    case 'aggregate': {
      const whole =
        value.kind === 'place' && value.type.kind === 'array'
          ? readElements(ctx, value, node)
          : valueAs(ctx, value, storage.type, node);
      const { type } = storage;
      const holder = type.kind === 'record' && type.record.isUnion ? holderOf(type.record) : undefined;
      storage.elements.forEach((element, i) => {
        if (holder !== undefined && i !== holder) return;
        const part = whole.kind === 'aggregate' ? whole.elements[i] : undefined;
        writeStorage(ctx, element, part ?? unknownValue(element.type, reasonOf(whole)), node);
      });
      // elements of arrays are no variables of their own
      if (whole.kind === 'aggregate' && whole.vector !== undefined && !ctx.arrayOf.has(storage))
        ctx.loadedVectors.set(storage, whole.elements);
      if (whole.kind === 'aggregate' && whole.padding) keepPadding(ctx, storage, whole.padding);
      break;
    }
  }
}

/** The elements of an array, each a place of its own; undefined when it is none. */
export function arrayElements(array: Value): readonly Value[] | undefined {
  if (array.kind === 'aggregate') return array.elements;
  const { type } = array;
  if (array.kind !== 'place' || type.kind !== 'array') return undefined;
  const { place } = array;
  if (place.kind === 'memory') {
    const size = sizeOf(type.of) ?? 1;
    const count = Math.min(type.count ?? 0, MAX_PARTS);
    return Array.from(
      { length: count },
      (_, i): Value => ({ kind: 'place', type: type.of, place: placeBehind(place, i * size) }),
    );
  }
  if (place.storage.kind !== 'aggregate') return undefined;
  return place.storage.elements.map(
    (storage): Value => ({ kind: 'place', type: type.of, place: { kind: 'storage', storage } }),
  );
}

/** All elements of an array place, without decay. */
function readElements(ctx: Context, value: Value & { kind: 'place' }, node: Node): Value {
  if (value.place.kind === 'storage') return readStorage(ctx, value.place.storage);
  const place = value.place;
  const type = value.type;
  if (type.kind !== 'array') return rvalue(ctx, value, node);
  const size = sizeOf(type.of) ?? 1;
  const count = Math.min(type.count ?? 0, MAX_PARTS);
  const elements = Array.from({ length: count }, (_, i) => readMemory(ctx, placeBehind(place, i * size), type.of));
  return { kind: 'aggregate', type, elements };
}

export function reasonOf(value: Value): string {
  return value.kind === 'unknown' ? value.reason : 'value could not be followed';
}

// ---- memory ----

/** bool is a byte in memory */
const machineType = (scalar: ScalarType): ScalarType => (scalar === 'pred' ? 'u8' : scalar);

export function readMemory(ctx: Context, place: MemoryPlace, type: Type): Value {
  const scalar = scalarOf(type);
  const preset = scalar || (type.kind === 'record' && type.record.isVector) ? symbolValue(ctx, place, type) : undefined;
  if (preset) return preset;
  if (type.kind === 'reference') return referredIn(ctx, place, type);
  const fixed = scalar && fixedElement(ctx, place, scalar);
  if (fixed !== undefined) return { kind: 'scalar', type: unqualified(type), register: fixed };
  if (scalar) return { kind: 'scalar', type: unqualified(type), register: loadScalar(ctx, place, scalar) };
  if (type.kind === 'callable') return { kind: 'scalar', type, register: loadScalar(ctx, place, 'i64') };
  if (type.kind === 'record') return readRecord(ctx, place, type);
  if (type.kind === 'array') return readElements(ctx, { kind: 'place', type, place }, place.node);
  return unknownValue(type, type.kind === 'unknown' ? type.reason : 'value has no size');
}

/**
 * A number of a table that is declared const, where the index is constant: NVVM reads nothing then, of `__device__ const` and `__constant__ const` arrays alike
 * (PTX of ten kernels, nvcc 13.0; what is not const is read, static or not).
 */
function fixedElement(ctx: Context, place: MemoryPlace, scalar: ScalarType): Register | undefined {
  const { object, bits, isVolatile } = place;
  const table = object === undefined ? undefined : ctx.builder.objects[object];
  if (!table?.isFixed || !table.contents || bits || isVolatile) return undefined;
  const { register, offset } = ctx.builder.splitAddress(addressOf(ctx, place));
  const { type, values } = table.contents;
  const index = offset / bytesOf[scalar];
  return type === scalar &&
    register === table.register &&
    Number.isInteger(index) &&
    index >= 0 &&
    index < values.length
    ? ctx.builder.constant(scalar, values[index])
    : undefined;
}

/** What a reference in memory, a member of an object that lies there, leads to. */
export function referredIn(ctx: Context, place: MemoryPlace, { to }: Type & { kind: 'reference' }): Value {
  const address = loadScalar(ctx, place, 'i64');
  return { kind: 'place', type: to, place: { kind: 'memory', address, offset: 0, node: place.node } };
}

/** Binds a reference that lies in memory: it is there as the address of what it leads to. */
export function bindInMemory(
  ctx: Context,
  place: MemoryPlace,
  { to }: Type & { kind: 'reference' },
  value: Value,
  node: Node,
): void {
  const pointer: Type = { kind: 'pointer', to };
  storeScalar(ctx, place, pointer, 'i64', addressOfExpression(ctx, value, node), node);
}

function loadScalar(ctx: Context, place: MemoryPlace, scalar: ScalarType): Register {
  const type = machineType(scalar);
  const dst = place.bits ? loadBits(ctx, place, place.bits, type) : loadBytes(ctx, place, type);
  return scalar === 'pred' ? ctx.builder.compare('ne', 'u8', dst, ctx.builder.constant('u8', 0)) : dst;
}

/**
 * What is known of the address of a member: what the record around its record promises, or its record's own alignment. What a packed record
 * promises of a member holds wherever the record is.
 */
export function memberAlignment(place: MemoryPlace, record: RecordInfo, { offset, type }: Field): Alignment {
  const alone = copiedAs(type);
  if (alone) return { modulus: alone.alignment, remainder: 0 };
  const own = { modulus: record.alignment, remainder: offset % record.alignment };
  const outer = place.aligned;
  const isPacked = promisedBytes(own) < alignOf(type);
  if (!outer || (isPacked && outer.modulus > own.modulus)) return own;
  return { modulus: outer.modulus, remainder: (outer.remainder + offset) % outer.modulus };
}

const naturalAlignment = (place: MemoryPlace, type: Type): MemoryPlace =>
  place.aligned ? place : { ...place, aligned: { modulus: alignOf(type), remainder: 0 } };

function readRecord(ctx: Context, place: MemoryPlace, type: Type & { kind: 'record' }): Value {
  const record = type.record;
  if (record.isVector && !isPackedVector(place, record)) {
    const dst = record.fields.map((f) => ctx.builder.register(machineType(scalarOf(f.type) ?? 'i32'), 'temporary'));
    emitLoad(ctx, naturalAlignment(place, type), machineType(scalarOf(record.fields[0].type) ?? 'i32'), dst);
    return {
      kind: 'aggregate',
      type,
      elements: record.fields.map((f, i) => ({ kind: 'scalar', type: f.type, register: dst[i] })),
      vector: 'loaded',
    };
  }
  if (countParts(type) > MAX_PARTS) return unknownValue(type, `${record.name} is too large to follow`);
  const holder = record.isUnion ? holderOf(record) : undefined;
  return {
    kind: 'aggregate',
    type,
    elements: record.fields.map((f, i) =>
      holder === undefined || i === holder
        ? readMemory(ctx, memberPlace(place, record, f), f.type)
        : unknownValue(f.type, 'another member of a union that was copied'),
    ),
    padding: loadPadding(ctx, place, record),
  };
}

const memberPlace = (place: MemoryPlace, record: RecordInfo, field: Field): MemoryPlace => ({
  ...place,
  copied: {
    record: place.copied?.record ?? record,
    offset: (place.copied?.offset ?? 0) + field.offset,
  },
  offset: place.offset + field.offset,
  bits: field.bits,
  aligned: memberAlignment(place, record, field),
});

export function countParts(type: Type): number {
  if (type.kind === 'record') return type.record.fields.reduce((n, f) => n + countParts(f.type), 0);
  if (type.kind === 'array') return (type.count ?? 0) * countParts(type.of);
  return 1;
}

/** Writes a value to a place of the given type. */
export function assign(ctx: Context, place: Place, type: Type, value: Value, node: Node): void {
  if (place.kind === 'storage') {
    writeStorage(ctx, place.storage, value, node);
    return;
  }
  writeMemory(ctx, place, withoutReference(type), value, node);
}

function writeMemory(ctx: Context, place: MemoryPlace, type: Type, value: Value, node: Node): void {
  if (type.kind === 'reference') {
    bindInMemory(ctx, place, type, value, node);
    return;
  }
  const scalar = scalarOf(type);
  if (scalar) {
    storeScalar(ctx, place, type, scalar, value, node);
    return;
  }
  if (type.kind === 'callable') {
    storeBytes(ctx, place, 'i64', asStored(ctx, rvalue(ctx, value, node), type.of, node));
    return;
  }
  if (type.kind === 'record' && copyPadded(ctx, place, type.record, value)) return;
  const whole =
    value.kind === 'place' && value.type.kind === 'array'
      ? readElements(ctx, value, node)
      : type.kind === 'record'
        ? valueAs(ctx, value, type, node)
        : rvalue(ctx, value, node);
  if (type.kind === 'record') writeRecord(ctx, place, type, whole, node);
  else if (type.kind === 'array') {
    const size = sizeOf(type.of) ?? 1;
    // an array that nothing was assigned to is left as it is
    const isLost = ctx.unit.isHost && whole.kind === 'unknown' && whole.reason !== NOT_INITIALISED;
    for (let i = 0; i < Math.min(type.count ?? 0, MAX_PARTS); i++) {
      const part =
        whole.kind === 'aggregate' ? whole.elements[i] : isLost ? unknownValue(type.of, whole.reason) : undefined;
      if (part) writeMemory(ctx, placeBehind(place, i * size), type.of, part, node);
    }
  } else skip(ctx, node, type.kind === 'unknown' ? type.reason : 'assignment to a value without size');
}

/** As a scalar of the type; of a function on the host what calls tell it by. */
function toStore(ctx: Context, value: Value, type: Type, node: Node): Value {
  const converted = valueAs(ctx, value, type, node);
  const isFunction = converted.kind === 'functions' || converted.kind === 'lambda';
  const signature = isFunction ? signatureOf(ctx, type) : undefined;
  return signature ? { kind: 'scalar', type, register: asStored(ctx, converted, signature, node) } : converted;
}

function storeScalar(ctx: Context, place: MemoryPlace, type: Type, scalar: ScalarType, value: Value, node: Node): void {
  const machine = machineType(scalar);
  const converted = toStore(ctx, value, type, node);
  if (converted.kind === 'placePointer' && ctx.unit.isHost && converted.target.owner)
    demandMemory(ctx, converted.target.owner);
  let register = converted.kind === 'scalar' ? converted.register : ctx.builder.unknown(machine, reasonOf(converted));
  if (scalar === 'pred' && converted.kind === 'scalar') register = convertRegister(ctx, register, 'pred', 'u8');
  if (place.bits) storeBits(ctx, place, place.bits, machine, register);
  else storeBytes(ctx, place, machine, register);
}

function writeRecord(
  ctx: Context,
  place: MemoryPlace,
  type: Type & { kind: 'record' },
  value: Value,
  node: Node,
): void {
  const record = type.record;
  const parts = value.kind === 'aggregate' ? value.elements : undefined;
  if (record.isVector && !isPackedVector(place, record)) {
    const scalar = machineType(scalarOf(record.fields[0].type) ?? 'i32');
    const values = record.fields.map((f, i) => {
      const part = parts?.[i] && convertValue(ctx, parts[i], f.type, node);
      return part?.kind === 'scalar' ? part.register : ctx.builder.unknown(scalar, reasonOf(value));
    });
    const isHandedOn = value.kind === 'aggregate' && value.vector === 'handed on';
    const isCopy = isHandedOn && place.copied === undefined && !copiedAs(type);
    emitStore(ctx, naturalAlignment(place, type), scalar, values, isCopy);
    return;
  }
  const holder = record.isUnion ? holderOf(record) : undefined;
  const partOf = (f: Field, i: number): Value => parts?.[i] ?? unknownValue(f.type, reasonOf(value));
  for (const { first, fields } of bitRuns(record)) {
    const [only] = fields;
    const isHeld = holder === undefined || first === holder;
    if (!isHeld) continue;
    if (only.bits === undefined)
      writeMemory(ctx, memberPlace(place, record, only), only.type, partOf(only, first), node);
    else
      storeBitRun(
        ctx,
        (f) => memberPlace(place, record, f),
        fields.map((field, k) => ({ field, value: rvalue(ctx, partOf(field, first + k), node) })),
      );
  }
  if (value.kind === 'aggregate') storePadding(ctx, place, record, value.padding);
}

/** The members of a record one by one, bit-fields that share bytes together. */
function bitRuns({ fields }: RecordInfo): readonly { readonly first: number; readonly fields: readonly Field[] }[] {
  const runs: { readonly first: number; readonly fields: Field[] }[] = [];
  fields.forEach((field, i) => {
    const last = runs.at(-1)?.fields;
    if (field.bits !== undefined && last?.[0].bits !== undefined) last.push(field);
    else runs.push({ first: i, fields: [field] });
  });
  return runs;
}

/** A built-in vector in a packed record, which is read element by element. */
const isPackedVector = (place: MemoryPlace, record: RecordInfo): boolean =>
  place.aligned !== undefined && promisedBytes(place.aligned) < record.alignment;

// ---- elements of register arrays ----

/** The element of a register array that a constant index selects; undefined when it is out of range. */
export function elementOf(target: RegisterTarget, index: number): Storage | undefined {
  return target.elements[target.index + index];
}

export const unsignedOf = (type: Type): boolean => {
  const scalar = scalarOf(type);
  return scalar !== undefined && !isSigned(scalar);
};
