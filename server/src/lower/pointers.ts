/** Dereference, subscripts and arrays, in memory and in registers. */
import type * as ast from '../parse/ast';
import type { Alignment, Register } from '../program/program';
import { baseOf } from './bases';
import { callExpression } from './calls';
import { chosenObject } from './conditional';
import { type Context, demandMemory } from './context';
import { numberOf } from './conversions';
import { expression } from './expressions';
import { lookupName } from './lookup';
import { chosenElement, openElement } from './open-elements';
import { reasonOf, rvalue, writeStorage } from './places';
import { findMethods, recordOf } from './records';
import { isAlike, moved } from './register-pointers';
import { qualified, sizeOf, type Type, typeKey, unqualified, withoutReference } from './types';
import {
  type FlatRows,
  type MemoryPlace,
  type Place,
  type RegisterTarget,
  type Storage,
  unknownValue,
  type Value,
} from './values';
import { viewOf } from './views';

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

export function indexExpression(ctx: Context, node: ast.IndexExpression): Value {
  const base = chosenObject(ctx, node.base);
  const index = node.indices[0];
  if (!index) return unknownValue(base.type, 'subscript without index');
  const behind = recordOf(base.type) && base.kind !== 'placePointer' ? pointerOf(ctx, base, node) : undefined;
  if (recordOf(base.type) && base.kind !== 'placePointer' && !behind) return callOperator(ctx, base, node);
  if (behind) return elementAt(ctx, behind, numberOf(ctx, rvalue(ctx, expression(ctx, index), index), index), node);
  const baseType = withoutReference(base.type);
  const indexValue = numberOf(ctx, rvalue(ctx, expression(ctx, index), index), index);
  if (baseType.kind === 'array' && base.kind === 'place')
    return arrayElement(ctx, base.place, baseType, indexValue, node);
  const fixed = baseType.kind === 'array' ? elementOfTable(ctx, base, indexValue) : undefined;
  if (fixed) return fixed;
  const pointer = rvalue(ctx, base, node.base);
  if (pointer.type.kind !== 'pointer' && indexValue.type.kind === 'pointer')
    return elementAt(ctx, indexValue, pointer, node); // 3[p]
  return elementAt(ctx, pointer, indexValue, node);
}

/** A constexpr table of the host is no memory of the device: only its numbers are, where the index is constant. */
function elementOfTable(ctx: Context, table: Value, index: Value): Value | undefined {
  if (table.kind !== 'aggregate' || index.kind !== 'scalar') return undefined;
  const at = ctx.builder.constantValue(index.register);
  return at === undefined ? undefined : table.elements[at];
}

/** `buffer[i]` where the class has no subscript but converts to a pointer. */
function pointerOf(ctx: Context, base: Value, node: ast.IndexExpression): Value | undefined {
  const record = recordOf(base.type);
  if (!record || findMethods(record, 'operator[]')) return undefined;
  const converted = numberOf(ctx, rvalue(ctx, base, node.base), node.base);
  return converted.type.kind === 'pointer' ? converted : undefined;
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
  const of = qualified(type.of, type.isConst === true, type.isVolatile === true);
  if (place.kind === 'storage') {
    if (place.storage.kind !== 'aggregate') return unknownValue(of, 'array without elements');
    return registerElement(ctx, wholeArray(ctx, place.storage, of), index, of, node);
  }
  const scaled = scaledIndex(ctx, index, of, place.address);
  if (scaled === undefined) return unknownValue(of, reasonOf(index));
  return {
    kind: 'place',
    type: of,
    place: {
      ...place,
      // `volatile float s[32]`: the elements are
      isVolatile: place.isVolatile || of.isVolatile,
      address: ctx.builder.binary('add', 'i64', place.address, scaled),
      node,
      aligned: elementAlignment(ctx, place, of, index, node),
    },
  };
}

/**
 * An element of a member has a place in the record as the member has, if the text says which: `p->q[2]`, `p->q[2 * k]` with a constant k, not q[i] of a
 * loop that is written out (PTX of 130 kernels over bytes, halves, words, alignments 4 … 16: read by numbers they are vectors, in loops single). A row or
 * a record among them is aligned wherever it stands as far as its size allows: `p->m[i][0]`, `p->m[i][1]` are read together (10 of 10 kernels).
 */
function elementAlignment(
  ctx: Context,
  { aligned }: MemoryPlace,
  of: Type,
  index: Value,
  node: ast.Node,
): Alignment | undefined {
  const size = sizeOf(of);
  const expression = (node as ast.Expression).kind === 'index' ? (node as ast.IndexExpression).indices[0] : undefined;
  const at = constantIndex(ctx, index);
  if (!aligned || size === undefined || !expression) return undefined;
  if (at === undefined || !isFolded(ctx, expression)) {
    if (size === 0 || (of.kind !== 'array' && of.kind !== 'record')) return undefined;
    const modulus = Math.min(aligned.modulus, size & -size);
    return { modulus, remainder: modulo(aligned.remainder, modulus), isElement: true };
  }
  return {
    modulus: aligned.modulus,
    remainder: modulo(aligned.remainder + at * size, aligned.modulus),
    isElement: true,
  };
}

const modulo = (a: number, n: number): number => ((a % n) + n) % n;

/** Made of numbers, template arguments and constants: the front end of the compiler knows what it is. */
function isFolded(ctx: Context, e: ast.Expression): boolean {
  if (e.kind === 'integer') return true;
  if (e.kind === 'unary') return isFolded(ctx, e.operand);
  if (e.kind === 'binary') return isFolded(ctx, e.left) && isFolded(ctx, e.right);
  if (e.kind !== 'name' || e.name.parts.length !== 1) return false;
  const entity = lookupName(ctx, ctx.scope, e.name.parts[0].name);
  return entity !== undefined && entity.kind !== 'value';
}

/** The elements behind the first one of an array; of a row those of the rows around it, as they follow in memory. */
function wholeArray(ctx: Context, array: Storage & { kind: 'aggregate' }, of: Type): RegisterTarget {
  const plain = { elements: array.elements, index: 0, elementType: of, owner: array.owner };
  const rows = ctx.arrayOf.get(array);
  if (!rows) return plain;
  let flat = ctx.flatRows.get(rows.elements);
  if (!flat) ctx.flatRows.set(rows.elements, (flat = flattened(rows.elements)));
  return { ...plain, elements: flat.elements, index: flat.starts[rows.index] };
}

function flattened(rows: readonly Storage[]): FlatRows {
  const elements: Storage[] = [];
  const starts = Int32Array.from(rows, (row) => {
    const start = elements.length;
    if (row.kind === 'aggregate') for (const e of row.elements) elements.push(e);
    return start;
  });
  return { elements, starts };
}

/** `p[i]` */
export function elementAt(ctx: Context, pointer: Value, index: Value, node: ast.Node): Value {
  if (pointer.kind === 'placePointer') {
    const i = constantIndex(ctx, index) ?? onlyIndex(ctx, pointer);
    if (i !== undefined) return dereferenceRegisters(ctx, pointer, i);
    return registerElement(ctx, pointer.target, index, pointer.target.elementType, node);
  }
  const type = pointer.type.kind === 'pointer' ? pointer.type : undefined;
  if (!type)
    return unknownValue(
      { kind: 'unknown', reason: 'subscript of a value that is no array' },
      pointer.kind === 'unknown' ? pointer.reason : 'subscript of a value that is no array or pointer',
    );
  if (pointer.kind !== 'scalar') return dereference(ctx, pointer, node);
  const scaled = scaledIndex(ctx, index, type.to, pointer.register);
  const address =
    scaled === undefined
      ? ctx.builder.unknown('i64', reasonOf(index))
      : ctx.builder.binary('add', 'i64', pointer.register, scaled);
  return { kind: 'place', type: type.to, place: memoryPlace(address, 0, type, node) };
}

function constantIndex(ctx: Context, index: Value): number | undefined {
  return index.kind === 'scalar' ? ctx.builder.constantValue(index.register) : undefined;
}

/**
 * Where an index that is open must lead in an object of one element, of which there is no other that a program might mean. nvcc 13.0 takes it for zero (PTX
 * for sm_90: `c = n; p = &c; o[t] = p[i];` loads nothing, nor does a copy of one byte from `&p[i]`). The host's memory tells what really happens.
 */
export function onlyIndex(ctx: Context, { type, target }: Value & { kind: 'placePointer' }): number | undefined {
  if (ctx.unit.isHost || target.elements.length !== 1 || type.kind !== 'pointer') return undefined;
  // bytes of an object are several
  return typeKey(unqualified(type.to)) === typeKey(unqualified(target.elementType)) ? -target.index : undefined;
}

function registerElement(ctx: Context, target: RegisterTarget, index: Value, of: Type, node: ast.Node): Value {
  const i = constantIndex(ctx, index);
  const element = i === undefined ? undefined : target.elements[target.index + i];
  if (element && i !== undefined) {
    ctx.arrayOf.set(element, { ...target, index: target.index + i });
    return { kind: 'place', type: of, place: { kind: 'storage', storage: element } };
  }
  const chosen = i === undefined ? chosenElement(ctx, target, index) : undefined;
  if (chosen) return chosen;
  const open = i === undefined ? openElement(ctx, target, node) : undefined;
  if (open) return { kind: 'place', type: of, place: { kind: 'storage', storage: open } };
  if (ctx.unit.isHost && target.owner && target.elements.length === 1) demandMemory(ctx, target.owner);
  // the host may store to it: which of them is not known
  if (ctx.unit.isHost) for (const e of target.elements) writeStorage(ctx, e, unknownValue(of, 'open index'), node);
  return unknownValue(of, i === undefined ? 'index of a local array that is not constant' : 'index outside the array');
}

/**
 * index · sizeof(element), as a 64-bit offset; undefined when the index is unknown. Addresses of shared memory have 32 bits, so that an unsigned sum that may
 * wrap is there what a signed one is: `s[m * 64 + threadIdx.x * 4]` and its three neighbours are one access (machine code of 12 kernels, nvcc 13.0, sm_90).
 */
function scaledIndex(ctx: Context, index: Value, element: Type, base: Register): number | undefined {
  const size = sizeOf(element);
  if (index.kind !== 'scalar' || size === undefined) {
    if (index.kind === 'unknown') return ctx.builder.unknown('i64', index.reason);
    return size === undefined
      ? ctx.builder.unknown('i64', element.kind === 'unknown' ? element.reason : 'size of the element is not known')
      : undefined;
  }
  const type = ctx.builder.typeOf(index.register);
  const isWord = type === 'u32' && ctx.builder.isIntoShared(base);
  const word = isWord ? ctx.builder.convert('u32', 'i32', index.register) : index.register;
  const wide = ctx.builder.convert(isWord ? 'i32' : type, 'i64', word);
  return ctx.builder.binary('mul', 'i64', wide, ctx.builder.constant('i64', size));
}

const placeIn = (storage: Storage, type: Type): Value => ({ kind: 'place', type, place: { kind: 'storage', storage } });

/** What a pointer into registers points to, seen as its (possibly cast) type. */
function dereferenceRegisters(ctx: Context, pointer: Value & { kind: 'placePointer' }, offset: number): Value {
  const { target } = pointer;
  const to = pointer.type.kind === 'pointer' ? pointer.type.to : target.elementType;
  if (isAlike(target, to) || to.kind === 'void') {
    const element = target.elements[target.index + offset];
    // `(&x)[1]` of a vector's first member is the second: members lie one behind the other in memory
    if (!element && ctx.unit.isHost && target.owner) demandMemory(ctx, target.owner);
    if (!element) return unknownValue(to, 'pointer outside its array');
    if (target.elements.length > 1) ctx.arrayOf.set(element, { ...target, index: target.index + offset });
    return { kind: 'place', type: to, place: { kind: 'storage', storage: element } };
  }
  const [part, base] = [target.elements[target.index + offset], recordOf(to)];
  const isWhole = part && target.bytes === undefined;
  const object = isWhole && target.elementType.kind === 'record' ? placeIn(part, target.elementType) : undefined;
  const ofBase = object && base && baseOf(object, base);
  if (ofBase) return ofBase;
  const storage = viewOf(ctx, target, to, offset);
  // memory knows byte by byte what has been written
  const isPart = storage?.kind === 'view' && !storage.isWhole;
  if (isPart && ctx.unit.isHost && target.owner) demandMemory(ctx, target.owner);
  // bytes follow each other: `&p[1]` reaches on
  if (storage?.kind === 'view') ctx.arrayOf.set(storage, moved(target, to, offset));
  if (storage) return { kind: 'place', type: to, place: { kind: 'storage', storage } };
  return unknownValue(to, `bits of a local variable seen as ${typeKey(to)}`);
}
