/** Allocation and copying: which pointer points into which buffer. */

import { arithmeticTypes } from './arithmetic';
import type { Builtin, BuiltinCall } from './builtins';
import { forgetBehind } from './call';
import { convert, decay } from './conversion';
import { type HostType, voidType, withoutReference } from './host-type';
import { newObject } from './initialise';
import { roundUp, sizeOf } from './layout';
import { cellAt, copyValue, forget, makeBuffer, makeCell, smudge, store, write } from './memory';
import { bindArguments } from './resolve-type';
import { lastName } from './scope';
import { type HostState, sourceText } from './state';
import { type Cell, number, type PointerValue, unknown, unknownFrom, type Value } from './value';

/** Pitch of cudaMallocPitch: rows begin at multiples of 512 bytes on current devices. */
const pitchBytes = 512;

/** The variable behind `&variable` or an out parameter, which is about to be written; which of several it is may not be known: then it is any. */
export function target(state: HostState, value: Value | undefined, type: HostType = voidType): Cell | undefined {
  const pointer = value && decay(value);
  if (pointer?.kind !== 'pointer') return undefined;
  if (Number.isNaN(pointer.offset)) {
    smudge(state, pointer.to);
    return undefined;
  }
  return cellAt(state, pointer.to, pointer.offset, withoutReference(type));
}

function allocated(state: HostState, call: BuiltinCall, bytes: Value | undefined, isDevice: boolean): PointerValue {
  const to = makeBuffer(sourceText(state, call.call) || 'an allocation', { isDevice });
  if (bytes?.kind === 'number') to.bytes = bytes.value;
  return { kind: 'pointer', to, offset: 0, element: voidType };
}

/** `cudaMalloc(&p, bytes)` */
function allocateInto(isDevice: boolean): Builtin {
  return (call) => {
    const { state, values } = call;
    const cell = target(state, values[0], { kind: 'pointer', to: voidType });
    if (cell) {
      const pointer = allocated(state, call, values[1], isDevice);
      const type = cell.type && withoutReference(cell.type);
      store(state, cell, type?.kind === 'pointer' ? { ...pointer, element: type.to } : pointer);
    }
    return number(0);
  };
}

const allocatePitch: Builtin = (call) => {
  const { state, values } = call;
  const width = values[2];
  const pitch = width?.kind === 'number' ? number(roundUp(width.value, pitchBytes), 'unsigned long') : undefined;
  const height = values[3];
  const bytes = pitch && height?.kind === 'number' ? number(pitch.value * height.value, 'unsigned long') : undefined;
  const out = target(state, values[1]);
  if (out)
    store(
      state,
      out,
      pitch ?? unknown('the pitch is not known', { type: { kind: 'arithmetic', name: 'unsigned long' } }),
    );
  const withBytes = { ...call, values: [values[0], bytes ?? unknown('')] };
  return allocateInto(true)(withBytes);
};

/** malloc and its kin: `count` picks the bytes from the arguments. */
function allocateReturned(
  bytesOf: (values: readonly Value[]) => Value | undefined,
  rest: 'zero' | 'uninitialised',
): Builtin {
  return (call) => {
    const pointer = allocated(call.state, call, bytesOf(call.values), false);
    pointer.to.rest = rest;
    return pointer;
  };
}

function productOf(values: readonly Value[]): Value | undefined {
  const [a, b] = values;
  return a?.kind === 'number' && b?.kind === 'number' ? number(a.value * b.value, 'unsigned long') : undefined;
}

const copy: Builtin = ({ state, values }) => {
  const [to, from] = values;
  const cell = singleCell(to);
  const source = singleCell(from);
  if (cell && source && !isDevice(from) && isSameForm(cell, source))
    write(state, cell, convert(state, source.value, cell.type));
  else if (to) forgetBehind(state, to);
  return number(0);
};

/** Bytes of another type mean another number. */
function isSameForm({ type: a }: Cell, { type: b }: Cell): boolean {
  if (a?.kind !== 'arithmetic' || b?.kind !== 'arithmetic') return a?.kind === b?.kind;
  const [x, y] = [arithmeticTypes[a.name], arithmeticTypes[b.name]];
  return x.bytes === y.bytes && x.floating === y.floating && x.signed === y.signed;
}

/** The variable behind a pointer to one: `&n`, but not an array of several. */
function singleCell(value: Value | undefined): Cell | undefined {
  if (value?.kind !== 'pointer' || value.to.isDevice || value.offset !== 0) return undefined;
  const cell = value.to.cells.get(0);
  return cell?.buffer === value.to ? cell : undefined;
}

function isDevice(value: Value | undefined): boolean {
  return value?.kind === 'pointer' && value.to.isDevice;
}

/** memset(p, 0, n) of a variable. */
const set: Builtin = ({ state, values }) => {
  const [to, byte] = values;
  const cell = singleCell(to);
  if (cell && byte?.kind === 'number' && byte.value === 0) clear(state, cell);
  else if (to?.kind === 'array' && byte?.kind === 'number' && byte.value === 0 && to.buffer.cells.size === 0)
    to.buffer.rest = 'zero';
  else if (to && !isDevice(to)) forgetBehind(state, to);
  return to ?? unknown('memset');
};

function clear(state: HostState, cell: Cell): void {
  const value = cell.value;
  if (value.kind === 'struct') for (const field of value.fields.values()) clear(state, field);
  else if (cell.type?.kind === 'arithmetic' || cell.type?.kind === 'pointer') store(state, cell, number(0));
  else forget(state, cell, 'set to zero bytes');
}

/** cudaMemcpyToSymbol(symbol, source, …): the device global has that value from now on. */
const copyToSymbol: Builtin = (call) => {
  const name = symbolName(call);
  if (!name) return number(0);
  const { state, values } = call;
  const offset = values[3];
  const isWhole = !offset || (offset.kind === 'number' && offset.value === 0);
  const value = isWhole ? pointee(state, values[1]) : unknown(`${name} is filled in part`);
  const symbol = state.symbols.get(name) ?? makeCell(unknown(`${name} is not set`), { name });
  state.symbols.set(name, symbol);
  write(state, symbol, value.kind === 'unknown' ? unknown(`${name} is set at run time`) : value);
  return number(0);
};

function pointee(state: HostState, value: Value | undefined): Value {
  if (value?.kind === 'array') return copyValue(value);
  if (value?.kind !== 'pointer') return unknown('the source is not known');
  const only = singleCell(value);
  if (only) return copyValue(only.value);
  const size = sizeOf(state, value.element);
  const length = value.to.bytes !== undefined && size ? value.to.bytes / size : undefined;
  return copyValue({ kind: 'array', buffer: value.to, offset: value.offset, element: value.element, length });
}

function symbolName({ call, values }: BuiltinCall): string | undefined {
  const first = call.arguments[0];
  const operand = first?.kind === 'unary' && first.operator === '&' ? first.operand : first;
  if (operand?.kind === 'name') return lastName(operand.name);
  return values[0]?.kind === 'string' ? values[0].value : undefined;
}

const symbolAddress: Builtin = (call) => {
  const { state, values } = call;
  const cell = target(state, values[0], { kind: 'pointer', to: voidType });
  const name = symbolName({
    ...call,
    call: { ...call.call, arguments: call.call.arguments.slice(1) },
    values: values.slice(1),
  });
  if (cell && name) {
    const to = makeBuffer(name, { nameDepth: 0, isDevice: true });
    store(state, cell, {
      kind: 'pointer',
      to,
      offset: 0,
      element: cell.type?.kind === 'pointer' ? cell.type.to : voidType,
    });
  }
  return number(0);
};

/** cudaHostGetDevicePointer(&device, host, 0): both are one buffer. */
const devicePointer: Builtin = ({ state, values }) => {
  const cell = target(state, values[0], { kind: 'pointer', to: voidType });
  if (cell && values[1]) store(state, cell, decay(values[1]));
  return number(0);
};

/** thrust::raw_pointer_cast(x), x.data() or &x[0] */
const rawPointer: Builtin = ({ values }) => {
  const [value] = values;
  if (value?.kind === 'container') return { kind: 'pointer', to: value.buffer, offset: 0, element: value.element };
  return value && decay(value);
};

/** std::make_unique<T[]>(n), std::make_unique<T>(…) */
const makeSmart: Builtin = (call) => {
  const { state, scope, values } = call;
  const callee = call.call.callee;
  const given = callee.kind === 'name' ? callee.name.parts.at(-1)?.templateArguments : undefined;
  const [argument] = given ? bindArguments(state, given, scope) : [];
  if (argument?.kind !== 'type') return undefined;
  if (argument.type.kind !== 'array') return newObject(state, argument.type, call.call.arguments, scope);
  const element = argument.type.of;
  const type: HostType = { kind: 'container', name: 'unique_ptr', element };
  const buffer = makeBuffer('an allocation', { rest: 'zero' });
  return { kind: 'container', type, element, buffer, size: makeCell(values[0] ?? number(1)) };
};

const swap: Builtin = ({ state, list }) => {
  const [a, b] = list;
  if (!a?.cell || !b?.cell) return unknown('swap');
  const { value } = a.cell;
  write(state, a.cell, b.cell.value);
  write(state, b.cell, value);
  return unknown('swap gives no value');
};

/** std::exchange(x, value): what x held. */
const exchange: Builtin = ({ state, list, values }) => {
  const cell = list[0]?.cell;
  if (!cell) return undefined;
  const old = copyValue(cell.value);
  store(state, cell, values[1] ?? unknown('exchange'));
  return old;
};

/** Iterators that append to a container: what they are given to is not followed. */
const inserter: Builtin = ({ state, list, values }) => {
  const cell = list[0]?.cell;
  if (cell) forget(state, cell, `${cell.name ?? 'it'} is appended to`);
  return unknownFrom(values, 'an iterator that appends');
};

const done: Builtin = () => number(0);

export const memoryBuiltins: readonly (readonly [string, Builtin])[] = [
  ...['cudaMalloc', 'cudaMallocManaged', 'cudaMallocAsync', 'cudaMallocFromPoolAsync', 'cuMemAlloc'].map(
    (name): [string, Builtin] => [name, allocateInto(true)],
  ),
  ...['cudaMallocHost', 'cudaHostAlloc'].map((name): [string, Builtin] => [name, allocateInto(false)]),
  ['posix_memalign', (call) => allocateInto(false)({ ...call, values: [call.values[0], call.values[2]] })],
  ['cudaMallocPitch', allocatePitch],
  ['malloc', allocateReturned(([bytes]) => bytes, 'uninitialised')],
  ['calloc', allocateReturned(productOf, 'zero')],
  ['realloc', allocateReturned(([, bytes]) => bytes, 'uninitialised')],
  ['aligned_alloc', allocateReturned(([, bytes]) => bytes, 'uninitialised')],
  ['_mm_malloc', allocateReturned(([bytes]) => bytes, 'uninitialised')],
  ['device_malloc', allocateReturned(() => undefined, 'uninitialised')],
  ...['cudaMemcpy', 'cudaMemcpyAsync', 'memcpy'].map((name): [string, Builtin] => [name, copy]),
  ...['memset', 'bzero'].map((name): [string, Builtin] => [name, set]),
  ['cudaMemset', done],
  ['cudaMemsetAsync', done],
  ['cudaMemPrefetchAsync', done],
  ['cudaMemAdvise', done],
  ['cudaFree', done],
  ['cudaFreeHost', done],
  ['cudaFreeAsync', done],
  ['free', done],
  ['cudaMemcpyToSymbol', copyToSymbol],
  ['cudaMemcpyToSymbolAsync', copyToSymbol],
  ['cudaGetSymbolAddress', symbolAddress],
  ['cudaHostGetDevicePointer', devicePointer],
  ['raw_pointer_cast', rawPointer],
  ['device_pointer_cast', rawPointer],
  ['make_unique', makeSmart],
  ['make_shared', makeSmart],
  ['swap', swap],
  ['exchange', exchange],
  ...['back_inserter', 'front_inserter', 'inserter'].map((name): [string, Builtin] => [name, inserter]),
];
