/** Containers of host code, as their initialisers make them. */
import { convert, decay, viewOf } from './conversion';
import { type HostType, isView, sizeType } from './host-type';
import { sizeOf } from './layout';
import { cellAt, makeBuffer, makeCell } from './memory';
import type { HostState } from './state';
import { type Buffer, type ContainerValue, number, typeOf, unknown, type Value } from './value';

/** Elements of a list that are looked at. */
export const longestList = 4096;

/** Elements one behind the other, each converted to their type. */
export function fill(
  state: HostState,
  buffer: Buffer,
  offset: number,
  values: readonly Value[],
  element: HostType,
): void {
  const size = sizeOf(state, element) ?? 1;
  for (const [index, value] of values.entries()) {
    const cell = cellAt(state, buffer, offset + index * size, element);
    cell.value = convert(state, value, element);
  }
}

function makeContainer(type: HostType & { kind: 'container' }, buffer: Buffer, size: Value): ContainerValue {
  return { kind: 'container', type, element: type.element, buffer, size: makeCell(size, { type: sizeType }) };
}

export function containerOfElements(
  state: HostState,
  type: HostType & { kind: 'container' },
  values: readonly Value[],
): Value {
  const buffer = makeBuffer('a list', { rest: 'zero' });
  fill(state, buffer, 0, values.slice(0, longestList), type.element);
  return makeContainer(type, buffer, number(type.length ?? values.length, 'unsigned long'));
}

/** Elements between two pointers: copies of them, as far as it is known where the pointers lie. */
export function containerOfRange(
  state: HostState,
  type: HostType & { kind: 'container' },
  first: Value,
  last: Value,
): Value {
  const [from, to] = [decay(first), decay(last)];
  const isPair = from.kind === 'pointer' && to.kind === 'pointer' && !from.oneOf && !to.oneOf && from.to === to.to;
  const bytes = isPair ? sizeOf(state, from.element) : undefined;
  const length = isPair && bytes ? (to.offset - from.offset) / bytes : Number.NaN;
  if (from.kind === 'pointer' && bytes && length >= 0 && length <= longestList) {
    const elements = Array.from(
      { length },
      (_, i) => cellAt(state, from.to, from.offset + i * bytes, from.element).value,
    );
    return containerOfElements(state, type, elements);
  }
  const buffer = makeBuffer('elements of a range', { rest: 'unknown' });
  return makeContainer(type, buffer, unknown('a size'));
}

/** `vector<T>(n)`, `vector<T>(n, value)`, a copy, `unique_ptr<T>(pointer)`, `string("…")`. */
export function containerFrom(
  state: HostState,
  type: HostType & { kind: 'container' },
  values: readonly Value[],
): Value {
  const [first, second] = values;
  const view = first && values.length === 1 && isView(type) ? viewOf(first, type) : undefined;
  if (view) return view;
  const value = first && decay(first);
  if (value?.kind === 'container') {
    const copy = convert(state, value, undefined);
    // device_vector from host_vector: the same contents elsewhere
    return copy.kind === 'container'
      ? { ...copy, type, buffer: { ...copy.buffer, name: 'a copy', nameDepth: Number.POSITIVE_INFINITY } }
      : copy;
  }
  if (value?.kind === 'pointer' && second && typeOf(decay(second))?.kind === 'pointer')
    return containerOfRange(state, type, value, second);
  if (value?.kind === 'pointer' && value.offset === 0) return makeContainer(type, value.to, unknown('a size'));
  if (value?.kind === 'string')
    return makeContainer(type, makeBuffer('a string'), number(value.value.length, 'unsigned long'));
  const bytes = sizeOf(state, type.element);
  const buffer = makeBuffer('a container', { rest: 'zero' });
  if (value?.kind === 'number' && bytes) buffer.bytes = value.value * bytes;
  if (second) {
    buffer.rest = 'unknown';
    if (value?.kind === 'number') fillContainer(state, buffer, value.value, second, type.element);
  }
  return makeContainer(type, buffer, value ? convert(state, value, sizeType) : number(0, 'unsigned long'));
}

function fillContainer(state: HostState, buffer: Buffer, count: number, value: Value, element: HostType): void {
  if (count > MOST_FILLED || count * cellsIn(value) > MOST_FILLED ** 2) return;
  fill(
    state,
    buffer,
    0,
    Array.from({ length: count }, () => value),
    element,
  );
}

/** Elements that a container is filled with; of containers in containers its square. */
const MOST_FILLED = 256;

/** Cells that a copy makes anew: those of elements that are containers themselves, too. */
function cellsIn(value: Value): number {
  if (value.kind !== 'container') return 1;
  let sum = 0;
  for (const cell of value.buffer.cells.values()) sum += cellsIn(cell.value);
  return sum;
}
