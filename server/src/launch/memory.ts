/** Cells and buffers of the host interpreter: reading, writing, undoing, forgetting. */
import { arithmeticTypes, convertNumber } from './arithmetic';
import { convert } from './conversion';
import { type HostType, isView } from './host-type';
import { sizeOf } from './layout';
import type { HostState } from './state';
import { linkUnions } from './unions';
import { unknownOf } from './unknown-of';
import { unseenOf } from './unseen';
import {
  asNamed,
  type Buffer,
  type Cell,
  type LambdaValue,
  merge,
  number,
  type StructValue,
  sameValue,
  typeOf,
  unknown,
  type Value,
} from './value';

const noOptions: Partial<Omit<Cell, 'value'>> = {};

export function makeCell(value: Value, options: Partial<Omit<Cell, 'value'>> = noOptions): Cell {
  const { type, name, depth = 0, buffer, bits } = options;
  return { value, type, name, depth, buffer, bits };
}

export function makeBuffer(name: string, options: Partial<Omit<Buffer, 'name'>> = {}): Buffer {
  return {
    name,
    nameDepth: Number.POSITIVE_INFINITY,
    cells: new Map(),
    rest: 'uninitialised',
    isDevice: false,
    ...options,
  };
}

/** Replaces a cell's value, so that an open journal can undo it. */
export function write(state: HostState, cell: Cell, value: Value): void {
  const journal = state.journals.at(-1);
  if (journal && !journal.has(cell)) journal.set(cell, cell.value);
  cell.value = value;
  changeAny(state, cell);
  changeRivals(state, cell);
}

/** The other members of a union hold what nobody knows then. */
export function changeRivals(state: HostState, cell: Cell): void {
  const { union } = cell;
  if (!union || state.changing.has(union)) return;
  state.changing.add(union);
  for (const others of union)
    if (!others.includes(cell))
      for (const other of others) forget(state, other, 'another member of the union was written');
  state.changing.delete(union);
}

/** A reference to an element whose index is not known, and the members of what it refers to. */
export function standFor(cell: Cell, buffer: Buffer): Cell {
  cell.stands = buffer;
  if (cell.value.kind === 'struct') for (const field of cell.value.fields.values()) standFor(field, buffer);
  return cell;
}

/** Something was assigned to what a cell may stand for. */
export function changeAny(state: HostState, cell: Cell): void {
  const { stands } = cell;
  // one of its own elements is such a reference where it was stored without being copied
  if (!stands || state.changing.has(stands)) return;
  state.changing.add(stands);
  smudge(state, stands);
  state.changing.delete(stands);
}

/** Assignment: converts to the cell's type, copies structs, gives names to what is unknown and to new buffers. */
export function store(state: HostState, cell: Cell, value: Value): void {
  write(state, cell, named(state, cell, fitted(cell, convert(state, value, cell.type))));
}

/** What a bit-field keeps of a number. */
function fitted({ bits, type }: Cell, value: Value): Value {
  if (bits === undefined || value.kind !== 'number' || !Number.isSafeInteger(value.value)) return value;
  const isSigned = type?.kind !== 'arithmetic' || arithmeticTypes[type.name].signed;
  const kept = isSigned ? BigInt.asIntN(bits, BigInt(value.value)) : BigInt.asUintN(bits, BigInt(value.value));
  return { ...value, value: Number(kept) };
}

/** The value as the variable holds it: an unknown takes the variable's name, or the value the user assumes for it. */
export function named(state: HostState, cell: Cell, given: Value): Value {
  const name = cell.name;
  const reason = whyUnseen(state, cell, given);
  const value = reason ? unknown(reason, { type: cell.type ?? typeOf(given) }) : given;
  if (!name) return value;
  if (value.kind === 'pointer') {
    adoptName(state, value.to, cell);
    return value;
  }
  if (value.kind === 'container') adoptName(state, value.buffer, cell);
  if (value.kind !== 'unknown' || value.uninitialised) return value;
  const assumed = state.assume.get(name);
  if (assumed !== undefined && (!value.type || value.type.kind === 'arithmetic' || value.type.kind === 'auto')) {
    const of = value.type?.kind === 'arithmetic' ? value.type.name : 'int';
    return number(convertNumber(assumed, of) ?? assumed, of);
  }
  if (value.name) return value;
  return asNamed(value, name, value.roots.length > 0 ? value.roots : [name]);
}

/** Why a number that is stored does not count as known (unseen.ts). */
function whyUnseen(state: HostState, { lost, name }: Cell, value: Value): string | undefined {
  if (value.kind !== 'number' && value.kind !== 'string') return undefined;
  if (lost) return lost;
  const isUnseen = value.kind === 'number' && name !== undefined && unseenOf(state.index).names.has(name);
  return isUnseen ? `${name} changes where objects are copied or end` : undefined;
}

/** A buffer goes by the name of the first variable that held it, but a helper's local gives way to its caller's. */
function adoptName(state: HostState, buffer: Buffer, cell: Cell): void {
  if (!cell.name || Math.max(cell.depth, state.depth) >= buffer.nameDepth) return;
  buffer.name = cell.name;
  buffer.nameDepth = Math.min(cell.depth, state.depth);
}

/** The element of a buffer at a byte offset, made when it is first asked for. */
export function cellAt(state: HostState, buffer: Buffer, offset: number, type: HostType): Cell {
  const known = buffer.cells.get(offset);
  if (known && !isSeenOtherwise(known.type, type)) return known;
  const others = overlapping(state, buffer, offset, type);
  if (others.length > 0) return seenOtherwise(state, buffer, offset, others, type);
  const cell: Cell = {
    value: restOf(state, buffer, offset, type),
    type,
    name: elementName(state, buffer, offset, type),
    depth: buffer.nameDepth,
    buffer: undefined,
  };
  buffer.cells.set(offset, cell);
  return cell;
}

/** Numbers of other sizes or another kind than what is there: the bytes of an array of characters as words, the bits of a float. */
function isSeenOtherwise(held: HostType | undefined, type: HostType): boolean {
  if (held?.kind !== 'arithmetic' || type.kind !== 'arithmetic' || held.name === 'void' || type.name === 'void')
    return false;
  const [a, b] = [arithmeticTypes[held.name], arithmeticTypes[type.name]];
  return a.bytes !== b.bytes || a.floating !== b.floating;
}

/** The numbers of other sizes that lie where a number is asked for. */
function overlapping(state: HostState, buffer: Buffer, offset: number, type: HostType): Cell[] {
  if (type.kind !== 'arithmetic' || type.name === 'void' || buffer.cells.size === 0) return [];
  const size = sizeOf(state, type) ?? 1;
  const found: Cell[] = [];
  const add = (at: number, reach: number): void => {
    const cell = buffer.cells.get(at);
    if (cell?.type?.kind !== 'arithmetic' || !isSeenOtherwise(cell.type, type)) return;
    if (arithmeticTypes[cell.type.name].bytes > reach) found.push(cell);
  };
  for (let at = offset; at < offset + size; at++) add(at, 0);
  // wider ones that begin before it
  for (const width of [2, 4, 8]) {
    const start = offset - (offset % width);
    if (start < offset) add(start, offset - start);
  }
  return found;
}

/** A number of other bytes than those that are kept: not known, and neither are these, since it may be written. */
function seenOtherwise(state: HostState, buffer: Buffer, offset: number, held: readonly Cell[], type: HostType): Cell {
  const reason = `${buffer.name} is seen as numbers of another type`;
  const narrow = held[0].type ?? type;
  const [size, step] = [sizeOf(state, type) ?? 1, sizeOf(state, narrow) ?? 1];
  const cells = new Set(held);
  // what nobody has asked for yet is changed as well
  for (let at = offset; step < size && at < offset + size; at += step) cells.add(cellAt(state, buffer, at, narrow));
  for (const cell of cells) forget(state, cell, reason);
  return makeCell(unknown(reason, { type }), { type });
}

function elementName(state: HostState, buffer: Buffer, offset: number, type: HostType): string {
  const bytes = sizeOf(state, type);
  if (!bytes) return `${buffer.name}[]`;
  return offset === 0 && buffer.bytes === bytes ? buffer.name : `${buffer.name}[${Math.floor(offset / bytes)}]`;
}

function restOf(state: HostState, buffer: Buffer, offset: number, type: HostType): Value {
  if (buffer.rest === 'zero' && (type.kind === 'arithmetic' || type.kind === 'pointer')) {
    return number(0, type.kind === 'arithmetic' ? type.name : 'long');
  }
  if (buffer.rest === 'named') return unknownOf(state, type, elementName(state, buffer, offset, type), 'parameter');
  const name = elementName(state, buffer, offset, type);
  const value = blank(state, type, name, buffer.rest === 'uninitialised');
  // what an element begins with says nothing of what it was filled with since
  if (buffer.rest === 'unknown' && (value.kind === 'container' || value.kind === 'struct'))
    forget(state, makeCell(value, { type, name }), `${buffer.name} is filled at run time`);
  return value;
}

/** A variable without initialiser. */
export function blank(state: HostState, type: HostType, name: string, uninitialised = true): Value {
  const value = unknownOf(state, type, name, 'uninitialised');
  return value.kind === 'unknown' && !uninitialised ? unknown(`${name} is not known`, { type }) : value;
}

/** Forgets everything a buffer holds; cells that are only numbers go, so that doing it again costs nothing. */
export function smudge(state: HostState, buffer: Buffer): void {
  buffer.rest = 'unknown';
  state.steps -= buffer.cells.size >> 3;
  for (const [offset, cell] of buffer.cells) {
    const isPlain = cell.value.kind === 'number' || cell.value.kind === 'unknown';
    if (isPlain && cell.buffer === undefined) buffer.cells.delete(offset);
    else forget(state, cell, `${buffer.name} is filled at run time`);
  }
}

/** Makes a cell unknown; the fields of a struct each, a pointer keeps its buffer. */
export function forget(state: HostState, cell: Cell, reason: string): void {
  const value = cell.value;
  if (value.kind === 'struct') for (const field of value.fields.values()) forget(state, field, reason);
  else if (value.kind === 'array') smudge(state, value.buffer);
  else if (value.kind === 'container') {
    smudge(state, value.buffer);
    forget(state, value.size, reason);
  } else if (value.kind === 'number' || value.kind === 'unknown' || value.kind === 'string') {
    write(state, cell, named(state, cell, unknown(reason, { type: cell.type ?? typeOf(value) })));
  }
}

/** A struct or array by value: new cells with the same contents. */
export function copyValue(value: Value): Value {
  switch (value.kind) {
    case 'struct':
      return { kind: 'struct', type: value.type, fields: copyFields(value) };
    case 'lambda':
      return { ...value, captures: copyCaptures(value) };
    case 'array':
      return { ...value, buffer: copyBuffer(value.buffer) };
    case 'container':
      return {
        ...value,
        // a view leads to what it was made of
        buffer: isView(value.type) ? value.buffer : copyBuffer(value.buffer),
        size: makeCell(value.size.value, { type: value.size.type }),
      };
    default:
      return value;
  }
}

/** What a lambda captured by value is its own in every copy. */
function copyCaptures({ expression, captures }: LambdaValue): Map<string, Cell> {
  const isReferred = (name: string) => expression.captures.some((c) => c.name === name && c.byReference);
  return new Map([...captures].map(([name, cell]) => [name, isReferred(name) ? cell : copyCell(cell)]));
}

/** Members that are references: a copy refers to the same. */
export function referencesOf({ type }: StructValue): ReadonlySet<string> {
  const fields = (type.kind === 'record' && type.layout?.fields) || [];
  return new Set(fields.flatMap((field) => (field.type.kind === 'reference' ? [field.name] : [])));
}

function copyFields(value: StructValue): Map<string, Cell> {
  const fields = new Map<string, Cell>();
  const references = referencesOf(value);
  for (const [name, cell] of value.fields) fields.set(name, references.has(name) ? cell : copyCell(cell));
  linkUnions(value.type, fields);
  return fields;
}

function copyBuffer(buffer: Buffer): Buffer {
  const cells = new Map<number, Cell>();
  for (const [offset, cell] of buffer.cells) cells.set(offset, copyCell(cell));
  return { ...buffer, cells };
}

const copyCell = ({ value, type, name, depth, bits }: Cell): Cell => ({
  value: copyValue(value),
  type,
  name,
  depth,
  buffer: undefined,
  bits,
});

/** The buffer behind `&cell`. */
export function bufferOf(cell: Cell): Buffer {
  cell.buffer ??= makeBuffer(cell.name ?? 'a temporary', { nameDepth: cell.depth, cells: new Map([[0, cell]]) });
  return cell.buffer;
}

// ---- undoing --------------------------------------------------------------------------------------------------------

/** Values that cells had at the end of a run that was undone. */
export type Outcome = ReadonlyMap<Cell, Value>;

/** Runs something, undoes what it wrote and returns it. */
export function tryOut<T>(state: HostState, run: () => T): { readonly result: T; readonly outcome: Outcome } {
  const journal = new Map<Cell, Value>();
  state.journals.push(journal);
  const result = run();
  state.journals.pop();
  const outcome = new Map<Cell, Value>();
  for (const [cell, old] of journal) {
    outcome.set(cell, cell.value);
    cell.value = old;
  }
  return { result, outcome };
}

/** Runs something for good and returns the old value of every cell it wrote. */
export function watch<T>(state: HostState, run: () => T): { readonly result: T; readonly before: Outcome } {
  const journal = new Map<Cell, Value>();
  state.journals.push(journal);
  const result = run();
  state.journals.pop();
  const outer = state.journals.at(-1);
  if (outer) for (const [cell, old] of journal) if (!outer.has(cell)) outer.set(cell, old);
  return { result, before: journal };
}

export function apply(state: HostState, outcome: Outcome): void {
  for (const [cell, value] of outcome) write(state, cell, value);
}

/** Either of two outcomes happened: what is equal in both stays known. */
export function applyEither(state: HostState, a: Outcome, b: Outcome): void {
  for (const [cell, value] of a) settle(state, cell, value, b.get(cell) ?? cell.value);
  for (const [cell, value] of b) if (!a.has(cell)) settle(state, cell, value, cell.value);
}

function settle(state: HostState, cell: Cell, a: Value, b: Value): void {
  write(state, cell, named(state, cell, merge(a, b, cell.name)));
}

/**
 * Ways out of a function that were not followed may have been taken: what they wrote counts too. `only`: one of them was
 * taken for sure. What the function wrote behind them stays known, since most such ways are error checks.
 */
export function settleLeft(state: HostState, left: readonly Outcome[], only: boolean): void {
  const touched = new Set<Cell>();
  for (const outcome of left) {
    for (const [cell, value] of outcome) {
      if (only && !touched.has(cell)) write(state, cell, value);
      else settle(state, cell, cell.value, value);
      touched.add(cell);
    }
  }
}

/** What was written may not have happened, or may have happened again: numbers that changed become unknown. */
export function blur(state: HostState, before: Outcome, reason: string): void {
  for (const [cell, old] of before) {
    if (sameValue(old, cell.value) || (old.kind === 'unknown' && old.uninitialised)) continue;
    if (cell.value.kind === 'pointer') continue;
    if (cell.value.kind === 'unknown' && cell.value.roots.length > 0) continue;
    if (cell.value.kind === 'struct' || cell.value.kind === 'container') {
      write(state, cell, merge(old, cell.value, cell.name));
    } else forget(state, cell, reason);
  }
}
