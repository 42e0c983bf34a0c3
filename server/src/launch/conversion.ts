/** Conversions to a declared type: what an initialisation, an assignment, a cast or an argument does to a value. */
import { convertNumber } from './arithmetic';
import { convertedByClass, slicedTo } from './conversion-functions';
import { dim3Type, type HostType, isPointerLike, isView, sizeType, vectorFields } from './host-type';
import { copyValue, makeCell } from './memory';
import type { HostState } from './state';
import { asTyped, type Cell, number, type StructValue, unknown, unknownFrom, type Value } from './value';

/** The value as an object of `type`; structs and arrays are copied (large ones pay steps). What does not fit becomes unknown. */
export function convert(state: HostState, value: Value, type: HostType | undefined): Value {
  if (value.kind === 'array') state.steps -= value.buffer.cells.size >> 3;
  if (value.kind === 'container') state.steps -= value.buffer.cells.size >> 3;
  if (!type) return copyValue(value);
  // std::integral_constant converts to its value.
  if (value.kind === 'unknown' && value.type?.kind === 'constant' && type.kind !== 'auto') {
    return convert(state, value.type.value, type);
  }
  switch (type.kind) {
    case 'arithmetic':
      return toArithmetic((value.kind === 'struct' && convertedByClass(state, value, type)) || value, type);
    case 'enum':
      return value.kind === 'number' ? { ...value, of: type.underlying, declared: type } : toArithmetic(value, type);
    case 'pointer':
      return toPointer(value, type);
    case 'reference':
      // an object of a derived class stays one
      return type.to.kind === 'record' && value.kind === 'struct' ? copyValue(value) : convert(state, value, type.to);
    case 'record':
      return copyValue(value.kind === 'struct' ? slicedTo(state, value, type) : asTypedIfOpen(value, type));
    case 'vector':
      return toVector(value, type);
    case 'auto':
      return value.kind === 'array' ? decay(value) : copyValue(value);
    case 'container':
      return (isView(type) && viewOf(value, type)) || convertWhole(value, type);
    case 'array':
    case 'tuple':
      return convertWhole(value, type);
    default:
      if (isView(type)) return viewOf(value, type) ?? copyValue(value);
      return value.kind === 'unknown' && value.type === undefined ? asTyped(value, type) : copyValue(value);
  }
}

const convertWhole = (value: Value, type: HostType): Value =>
  value.kind === 'unknown' ? asTyped(value, type) : copyValue(value);

/** A view of a container or an array, in whose memory it writes and reads. */
export function viewOf(value: Value, type: HostType): Value | undefined {
  if (value.kind === 'array' && type.kind === 'container' && value.offset === 0) {
    const { buffer, element, length } = value;
    const size = length === undefined ? unknown('a size') : number(length, 'unsigned long');
    return { kind: 'container', type, element, buffer, size: makeCell(size, { type: sizeType }) };
  }
  if (value.kind !== 'container') return undefined;
  const { element, buffer, size } = value;
  const own: HostType = type.kind === 'container' ? type : { kind: 'container', name: 'string_view', element };
  return { kind: 'container', type: own, element, buffer, size: makeCell(size.value, { type: sizeType }) };
}

const asTypedIfOpen = (value: Value, type: HostType): Value =>
  value.kind === 'unknown' ? asTyped(value, type) : value;

function toArithmetic(value: Value, type: HostType): Value {
  const of = type.kind === 'enum' ? type.underlying : type.kind === 'arithmetic' ? type.name : 'int';
  if (value.kind === 'number') {
    const converted = convertNumber(value.value, of);
    return converted === undefined ? unknown('a number that its type cannot hold', { type }) : number(converted, of);
  }
  if (value.kind === 'unknown') return asTyped(value, type);
  if (of === 'bool' && value.kind === 'pointer') return number(1, 'bool');
  if (value.kind === 'struct') {
    const only = value.fields.size === 1 ? [...value.fields.values()][0] : undefined;
    if (only?.value.kind === 'number') return toArithmetic(only.value, type);
  }
  return unknownFrom([value], `a ${value.kind} taken as a number`, type);
}

function toPointer(value: Value, type: HostType & { kind: 'pointer' }): Value {
  if (value.kind === 'array') return toPointer(decay(value), type);
  if (value.kind === 'pointer') {
    const isVoid = type.to.kind === 'arithmetic' && type.to.name === 'void';
    const keeps = isVoid || type.to.kind === 'auto' || type.to.kind === 'function';
    return keeps ? value : { ...value, element: type.to };
  }
  if (value.kind === 'unknown') return asTyped(value, type);
  if (value.kind === 'number') return { ...number(value.value, 'long'), declared: type };
  return value;
}

/** Array to pointer. */
export function decay(value: Value): Value {
  if (value.kind !== 'array') return value;
  return { kind: 'pointer', to: value.buffer, offset: value.offset, element: value.element };
}

function toVector(value: Value, type: HostType & { kind: 'vector' }): Value {
  if (value.kind === 'struct') {
    return value.type.kind === 'vector' && value.type.name !== type.name ? retagged(value, type) : copyValue(value);
  }
  if (type.name === 'dim3' && (value.kind === 'number' || value.kind === 'unknown'))
    return makeVector(dim3Type, [value]);
  return unknownFrom([value], 'not a vector', type);
}

/** dim3 from uint3 and the like. */
function retagged(value: StructValue, type: HostType & { kind: 'vector' }): Value {
  return makeVector(
    type,
    [...value.fields.values()].map((cell) => cell.value),
  );
}

/** A builtin vector from its leading components; the others are 1 for dim3, else 0. */
export function makeVector(type: HostType & { kind: 'vector' }, values: readonly Value[]): StructValue {
  const element: HostType = { kind: 'arithmetic', name: type.element };
  const fields = new Map<string, Cell>();
  for (const [index, name] of vectorFields.slice(0, type.lanes).entries()) {
    const given = values[index] ?? number(type.name === 'dim3' ? 1 : 0, type.element);
    fields.set(name, { value: toArithmetic(given, element), type: element, name, depth: 0 });
  }
  return { kind: 'struct', type, fields };
}

/** True when a value may initialise a parameter of that type without a stretch; ranks overloads. */
export function conversionCost(value: Value, type: HostType): number {
  switch (type.kind) {
    case 'reference':
      return conversionCost(value, type.to);
    case 'arithmetic':
    case 'enum':
      return arithmeticCost(value, type);
    case 'pointer':
      return pointerCost(value, type);
    case 'vector':
    case 'record':
      if (value.kind === 'struct') return value.type === type ? 0 : nameOf(value.type) === type.name ? 0 : 20;
      return value.kind === 'unknown' ? 3 : 12;
    case 'container':
      return value.kind === 'container' ? 0 : 12;
    default:
      return 4;
  }
}

function nameOf(type: HostType): string {
  return 'name' in type ? type.name : '';
}

function arithmeticCost(value: Value, type: HostType): number {
  if (value.kind === 'number') {
    if (value.declared?.kind === 'pointer') return nameOf(type) === 'bool' ? 8 : Number.POSITIVE_INFINITY;
    if (type.kind === 'enum') return value.declared === type ? 0 : 12;
    // an enumerator is promoted
    if (value.declared) return type.kind === 'arithmetic' && value.of === type.name ? 1 : 2;
    return type.kind === 'arithmetic' && value.of === type.name ? 0 : 2;
  }
  if (value.kind === 'unknown') {
    return value.type?.kind === type.kind && nameOf(value.type) === nameOf(type) ? 0 : 3;
  }
  return 15;
}

function pointerCost(value: Value, type: HostType & { kind: 'pointer' }): number {
  if (value.kind === 'pointer' || value.kind === 'array') {
    const exact = type.to.kind === value.element.kind && nameOf(type.to) === nameOf(value.element);
    return exact ? 0 : type.to.kind === 'arithmetic' && type.to.name === 'void' ? 2 : 8;
  }
  if (value.kind === 'unknown') return isPointerLike(value.type) ? 1 : 4;
  if (value.kind === 'string') return type.to.kind === 'arithmetic' && type.to.name === 'char' ? 0 : 8;
  if (value.kind === 'number' && value.declared?.kind === 'pointer') return 1;
  return value.kind === 'number' && value.value === 0 ? 5 : value.kind === 'function' ? 2 : 15;
}
