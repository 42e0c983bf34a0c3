/** Abstract values of a type: what a parameter without a caller, or a variable without initialiser, holds. */
import { convertNumber } from './arithmetic';
import { type HostType, type RecordType, sizeType, vectorFields } from './host-type';
import { layoutOf, sizeOf } from './layout';
import type { HostState } from './state';
import { tupleOf } from './tuples';
import { linkUnions } from './unions';
import { type Buffer, type Cell, number, unknown, type Value } from './value';

/** parameter: a value from outside, pointers point to buffers of their own. uninitialised: nothing was stored yet. */
export type Blankness = 'parameter' | 'uninitialised';

const deepest = 5;

/** An unknown of a type: scalars carry the name, structs have their fields, pointer parameters a buffer. */
export function unknownOf(state: HostState, type: HostType, name: string, how: Blankness, depth = 0): Value {
  switch (type.kind) {
    case 'reference':
      return unknownOf(state, type.to, name, how, depth);
    case 'record':
      return depth < deepest ? unknownRecord(state, type, name, how, depth) : unknownScalar(state, type, name, how);
    case 'tuple':
      return tupleOf(type, (element, part) => unknownOf(state, element, `${name}.${part}`, how, depth + 1));
    case 'vector':
      return unknownVector(state, type, name, how);
    case 'array':
      return arrayOf(state, type, name, how);
    case 'container':
      return containerOf(state, type, name, how);
    case 'pointer':
      return how === 'parameter' ? pointerTo(type.to, name) : unknownScalar(state, type, name, how);
    case 'pack':
      return { kind: 'pack', elements: [] };
    default:
      return unknownScalar(state, type, name, how);
  }
}

function unknownScalar(state: HostState, type: HostType, name: string, how: Blankness): Value {
  if (how === 'uninitialised') return unknown(`${name} is not initialised`, { type, uninitialised: true });
  const assumed = state.assume.get(name);
  if (assumed !== undefined && type.kind === 'arithmetic') {
    return number(convertNumber(assumed, type.name) ?? assumed, type.name);
  }
  return unknown(`${name} is not known in this file`, { name, roots: [name], type });
}

function pointerTo(element: HostType, name: string): Value {
  if (element.kind === 'function') return unknown(`${name} is not known in this file`, { name, roots: [name] });
  const to = buffer(name, 'named');
  return { kind: 'pointer', to, offset: 0, element };
}

function buffer(name: string, rest: Buffer['rest'], bytes?: number): Buffer {
  return { name, nameDepth: 0, cells: new Map(), rest, bytes, isDevice: false };
}

function restFor(how: Blankness): Buffer['rest'] {
  return how === 'parameter' ? 'named' : 'uninitialised';
}

function arrayOf(state: HostState, type: HostType & { kind: 'array' }, name: string, how: Blankness): Value {
  const bytes = sizeOf(state, type);
  return {
    kind: 'array',
    buffer: buffer(name, restFor(how), bytes),
    offset: 0,
    element: type.of,
    length: type.length,
  };
}

function containerOf(state: HostState, type: HostType & { kind: 'container' }, name: string, how: Blankness): Value {
  const sizeName = `${name}.size()`;
  let size: Value = number(type.length ?? 0, 'unsigned long');
  if (type.length === undefined && how === 'parameter') size = unknownScalar(state, sizeType, sizeName, how);
  return {
    kind: 'container',
    type,
    element: type.element,
    buffer: buffer(name, restFor(how)),
    size: { value: size, type: sizeType, name: sizeName, depth: 0, buffer: undefined },
  };
}

function unknownVector(state: HostState, type: HostType & { kind: 'vector' }, name: string, how: Blankness): Value {
  const fields = new Map<string, Cell>();
  const element: HostType = { kind: 'arithmetic', name: type.element };
  for (const field of vectorFields.slice(0, type.lanes)) {
    const full = `${name}.${field}`;
    // A dim3 without arguments is (1, 1, 1); other vectors are left uninitialised.
    const isOne = type.name === 'dim3' && how === 'uninitialised';
    const value = isOne ? number(1, 'unsigned int') : unknownScalar(state, element, full, how);
    fields.set(field, { value, type: element, name: full, depth: 0, buffer: undefined });
  }
  return { kind: 'struct', type, fields };
}

function unknownRecord(state: HostState, type: RecordType, name: string, how: Blankness, depth: number): Value {
  const fields = new Map<string, Cell>();
  for (const field of layoutOf(state, type).fields) {
    const full = `${name}.${field.name}`;
    const value = unknownOf(state, field.type, full, how, depth + 1);
    fields.set(field.name, { value, type: field.type, name: full, depth: 0, buffer: undefined });
  }
  linkUnions(type, fields);
  return { kind: 'struct', type, fields };
}
