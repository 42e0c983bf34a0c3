/** Lvalues of host code: which cell an expression names. */
import type { BinaryExpression, Expression, IndexExpression, MemberExpression } from '../parse/ast';
import { callMethod } from './call';
import { deviceElement, deviceMember } from './device-queries';
import { evaluate } from './expression';
import { type HostType, intType, withoutReference } from './host-type';
import { sizeOf } from './layout';
import { lookupQualified, memberOf } from './lookup';
import { blank, bufferOf, cellAt, changeRivals, forget, makeCell, smudge, standFor, write } from './memory';
import { lastName, localVariable, type Scope } from './scope';
import { type HostState, sourceText } from './state';
import { unknownOf } from './unknown-of';
import {
  asNamed,
  asTyped,
  type Buffer,
  type Cell,
  type ContainerValue,
  merge,
  number,
  type PointerValue,
  type StructValue,
  truth,
  type UnknownValue,
  unknown,
  unknownFrom,
  type Value,
} from './value';

export type Place =
  | { readonly kind: 'cell'; readonly cell: Cell }
  /** an element of a buffer whose index is not known */
  | { readonly kind: 'somewhere'; readonly buffer: Buffer; readonly value: Value }
  /** no lvalue, or one that is not followed */
  | { readonly kind: 'value'; readonly value: Value };

const valuePlace = (value: Value): Place => ({ kind: 'value', value });

/** The place an expression names. Evaluates it once, side effects included. */
export function locate(state: HostState, expression: Expression, scope: Scope): Place {
  switch (expression.kind) {
    case 'name': {
      const { parts, global } = expression.name;
      const local = parts.length === 1 && !global ? localVariable(scope, parts[0].name) : undefined;
      if (local) return { kind: 'cell', cell: local };
      const found = lookupQualified(state, expression.name, scope);
      return found?.kind === 'cell'
        ? { kind: 'cell', cell: found.cell }
        : valuePlace(evaluate(state, expression, scope));
    }
    case 'index':
      return locateElement(state, expression, scope);
    case 'member':
      return locateMember(state, expression, scope);
    case 'unary':
      if (expression.operator === '*')
        return dereference(state, evaluate(state, expression.operand, scope), expression);
      if (expression.operator !== '++' && expression.operator !== '--') break;
      evaluate(state, expression, scope);
      return locate(state, expression.operand, scope);
    case 'assign':
      evaluate(state, expression, scope);
      return locate(state, expression.left, scope);
    case 'call': {
      const value = evaluate(state, expression, scope);
      const { referred } = state;
      return referred?.at === expression ? { kind: 'cell', cell: referred.cell } : valuePlace(value);
    }
    case 'conditional':
      return locateEither(state, expression, scope);
    case 'binary':
      if (expression.operator !== '.*' && expression.operator !== '->*') break;
      forgetBehindMemberPointer(state, expression, scope);
      return valuePlace(unknown('a member behind a pointer'));
    case 'cast':
      if (expression.type.kind === 'reference' && expression.arguments.length === 1) {
        return locate(state, expression.arguments[0], scope);
      }
      break;
    default:
  }
  return valuePlace(evaluate(state, expression, scope));
}

/** `object.*pointer`: whichever member it is, and whatever is done with it, nothing of the object is known behind it. */
export function forgetBehindMemberPointer(state: HostState, { operator, left }: BinaryExpression, scope: Scope): void {
  const place =
    operator === '->*' ? dereference(state, evaluate(state, left, scope), left) : locate(state, left, scope);
  if (place.kind === 'cell') forget(state, place.cell, 'written by a pointer to a member');
  else if (place.kind === 'somewhere') smudge(state, place.buffer);
}

/** `c ? a : b` as a reference: where it is not known which of them is meant, both may be changed. */
function locateEither(state: HostState, expression: Expression & { kind: 'conditional' }, scope: Scope): Place {
  const holds = truth(evaluate(state, expression.condition, scope));
  if (holds !== undefined) return locate(state, holds ? expression.then : expression.else, scope);
  const places = [locate(state, expression.then, scope), locate(state, expression.else, scope)] as const;
  return valuePlace(merge(read(places[0]), read(places[1])));
}

/** The value at a place. */
export function read(place: Place): Value {
  return place.kind === 'cell' ? place.cell.value : place.value;
}

/** `*value` */
export function dereference(state: HostState, value: Value, expression: Expression, index?: Value): Place {
  if (value.kind === 'array') {
    return element(state, value.buffer, value.offset, value.element, index, undefined);
  }
  if (value.kind === 'pointer') {
    return element(state, value.to, value.offset, value.element, index, value.unknownOffset);
  }
  if (value.kind === 'container') return element(state, value.buffer, 0, value.element, index, undefined);
  if (value.kind === 'function' || value.kind === 'lambda') return valuePlace(value);
  if (value.kind === 'string') return valuePlace(character(value.value, index));
  if (value.kind === 'unknown') return valuePlace(unknownElement(state, value, expression));
  return valuePlace(unknownFrom([value], 'not a pointer'));
}

/** `text[i]`, the zero at its end included. */
function character(text: string, index: Value | undefined): Value {
  const type = { kind: 'arithmetic', name: 'char' } as const;
  if (index && index.kind !== 'number') return unknownFrom([index], 'a character', type);
  const at = index?.value ?? 0;
  const code = at === text.length ? 0 : text.charCodeAt(at);
  // NaN outside of the text; what is beyond ASCII has several bytes
  return code < 128 ? number(code, 'char') : unknown('a character', { type });
}

/** What an unknown pointer points to: named after the expression, so that a person can supply it. */
function unknownElement(state: HostState, value: UnknownValue, expression: Expression): Value {
  const type = value.type?.kind === 'pointer' ? value.type.to : undefined;
  const name = sourceText(state, expression);
  const assumed = state.assume.get(name);
  if (assumed !== undefined && (!type || type.kind === 'arithmetic'))
    return { kind: 'number', value: assumed, of: type?.name ?? 'int' };
  return asNamed(asTyped(value, type), name || value.name, name ? [name] : value.roots);
}

function element(
  state: HostState,
  buffer: Buffer,
  offset: number,
  type: HostType,
  index: Value | undefined,
  unknownOffset: UnknownValue | undefined,
): Place {
  const size = sizeOf(state, type);
  const steps = index === undefined ? 0 : index.kind === 'number' ? index.value : Number.NaN;
  if (buffer.beside && (steps !== 0 || offset !== 0)) {
    // which member that is nobody says here
    for (const member of buffer.beside) forget(state, member, 'a member is reached from another');
    return valuePlace(unknown('a member that is reached from another', { type }));
  }
  const at = steps === 0 ? offset : offset + steps * (size ?? Number.NaN);
  const doubt = index?.kind === 'unknown' ? index : unknownOffset;
  if (type.kind === 'array') {
    if (Number.isNaN(at)) return { kind: 'somewhere', buffer, value: somewhere(state, buffer, type, doubt) };
    return valuePlace({ kind: 'array', buffer, offset: at, element: type.of, length: type.length });
  }
  // An element of a type whose size is not known is told apart by its index.
  const where = Number.isNaN(at) && size === undefined && !Number.isNaN(steps) ? offset + steps : at;
  if (!Number.isNaN(where)) return { kind: 'cell', cell: cellAt(state, buffer, where, type) };
  return { kind: 'somewhere', buffer, value: somewhere(state, buffer, type, doubt) };
}

/** Whether some element of a buffer of pointers may be null. */
function holdsNull({ rest, bytes, cells }: Buffer): boolean {
  const isFull = bytes !== undefined && cells.size >= bytes / POINTER_BYTES;
  return (rest !== 'named' && !isFull) || [...cells.values()].some(({ value }) => value.kind !== 'pointer');
}

const POINTER_BYTES = 8;

/** The value of an element whose index is not known: equal elements would do, so those seen are looked at first. */
function somewhere(state: HostState, buffer: Buffer, type: HostType, doubt: UnknownValue | undefined): Value {
  if (type.kind === 'pointer') {
    for (const { value } of buffer.cells.values())
      if (value.kind === 'pointer') return { ...value, oneOf: holdsNull(buffer) ? 'pointersAndNull' : 'pointers' };
    const value = unknownOf(state, type, `${buffer.name}[]`, 'parameter');
    return value.kind === 'pointer' && holdsNull(buffer) ? { ...value, oneOf: 'pointersAndNull' } : value;
  }
  if (type.kind === 'record') return unknownOf(state, type, `${buffer.name}[]`, 'parameter');
  return unknownFrom(doubt ? [doubt] : [], `an element of ${buffer.name} at an index that is not known`, type);
}

function locateElement(state: HostState, expression: IndexExpression, scope: Scope): Place {
  const base = locate(state, expression.base, scope);
  const index = expression.indices.length > 0 ? evaluate(state, expression.indices[0], scope) : unknown('no index');
  // an array in a union may be written, which its other members see
  if (base.kind === 'cell' && base.cell.union) changeRivals(state, base.cell);
  const value = read(base);
  if (value.kind === 'pack' && index.kind === 'number') {
    const cell = value.elements[index.value];
    return cell ? { kind: 'cell', cell } : valuePlace(unknown('outside of a pack'));
  }
  // a key that is not there yet makes one
  if (value.kind === 'container' && /map/.test(containerName(value))) {
    forget(state, value.size, `how many ${value.buffer.name} has`);
    smudge(state, value.buffer);
  }
  if (value.kind === 'struct' && base.kind === 'cell') {
    const result = callMethod(state, base.cell, 'operator[]', [{ value: index }], expression);
    if (result && state.referred?.at === expression) return { kind: 'cell', cell: state.referred.cell };
    return valuePlace(result ?? unknownFrom([value], 'operator[] is not known'));
  }
  const answer = value.kind === 'unknown' ? deviceElement(state, value, index) : undefined;
  if (answer) return valuePlace(answer);
  const plain = index.kind === 'number' && index.declared ? { ...index } : index;
  return within(base, dereference(state, value, expression, plain));
}

const containerName = ({ type }: ContainerValue): string => (type.kind === 'container' ? type.name : '');

/** A part of an element whose index is not known is as little known: what is assigned to it may be any element's. */
function within(whole: Place, part: Place): Place {
  const isPart = whole.kind === 'somewhere' && whole.value.kind !== 'pointer';
  return isPart ? { kind: 'somewhere', buffer: whole.buffer, value: read(part) } : part;
}

function locateMember(state: HostState, expression: MemberExpression, scope: Scope): Place {
  const name = lastName(expression.name);
  const object = locate(state, expression.object, scope);
  const holder = expression.arrow ? throughArrow(state, object, expression) : object;
  const value = opened(state, holder);
  if (value.kind === 'struct') return within(holder, memberPlace(state, holder, value, name, expression));
  if (value.kind === 'unknown') return within(holder, valuePlace(unknownMember(state, value, name, expression)));
  return valuePlace(unknownFrom([value], `${name} of something that is no struct`));
}

/** A variable of a type that is not declared here becomes a struct whose fields appear as they are used. */
function opened(state: HostState, holder: Place): Value {
  const value = read(holder);
  if (value.kind !== 'unknown' || holder.kind !== 'cell' || value.type?.kind !== 'opaque') return value;
  const open: StructValue = { kind: 'struct', type: value.type, fields: new Map() };
  write(state, holder.cell, open);
  return open;
}

function memberPlace(
  state: HostState,
  holder: Place,
  value: StructValue,
  name: string,
  expression: MemberExpression,
): Place {
  const field = value.fields.get(name);
  if (field) return { kind: 'cell', cell: field };
  if (value.type.kind === 'vector') return valuePlace(unknown(`${name} is no member`));
  if (value.type.kind !== 'record') {
    const text = sourceText(state, expression) || name;
    const blankValue = unknown(`${text} is not known in this file`, { type: value.type });
    const cell = makeCell(unknownMember(state, blankValue, name, expression), { name: text });
    value.fields.set(name, cell);
    return { kind: 'cell', cell };
  }
  const self = holder.kind === 'cell' ? holder.cell : aliasOf(holder, value);
  const found = memberOf(state, value.type, name, self);
  if (found?.kind === 'cell') return { kind: 'cell', cell: found.cell };
  if (found?.kind === 'functions') return valuePlace({ kind: 'function', name, overloads: found.overloads, self });
  // A field of a base that is not there: made on first use, so that what is stored is read again.
  const cell = makeCell(blank(state, { kind: 'auto' }, name), { name: `${holderName(holder)}.${name}` });
  value.fields.set(name, cell);
  return { kind: 'cell', cell };
}

const aliasOf = (holder: Place, value: Value): Cell =>
  holder.kind === 'somewhere' ? standFor(makeCell(value), holder.buffer) : makeCell(value);

function holderName(holder: Place): string {
  return (holder.kind === 'cell' && holder.cell.name) || 'object';
}

function throughArrow(state: HostState, object: Place, expression: MemberExpression): Place {
  const value = read(object);
  if (value.kind === 'struct' && object.kind === 'cell') {
    const result = callMethod(state, object.cell, 'operator->', [], expression);
    if (result) return dereference(state, result, expression.object);
  }
  if (value.kind === 'container') return dereference(state, value, expression.object);
  return dereference(state, value, expression.object);
}

/** Members of cudaDeviceProp that are the same on every device since 2.0. */
const fixedMembers: Readonly<Record<string, number>> = { warpSize: 32, maxThreadsPerBlock: 1024 };

function unknownMember(state: HostState, value: UnknownValue, name: string, expression: MemberExpression): Value {
  if (value.type?.kind === 'constant' && name === 'value') return value.type.value;
  const answer = deviceMember(state, value, name);
  if (answer) return answer;
  const text = sourceText(state, expression) || name;
  if (Object.hasOwn(fixedMembers, name)) return { kind: 'number', value: fixedMembers[name], of: 'int' };
  const assumed = state.assume.get(text);
  if (assumed !== undefined) return { kind: 'number', value: assumed, of: 'int' };
  return unknown(value.reason, { name: text, roots: [text] });
}

/** `&expression` */
export function addressOf(state: HostState, expression: Expression, scope: Scope): Value {
  const place = locate(state, expression, scope);
  const value = read(place);
  if (value.kind === 'function' || value.kind === 'lambda') return value;
  if (value.kind === 'array') {
    const type: HostType = { kind: 'array', of: value.element, length: value.length };
    return { kind: 'pointer', to: value.buffer, offset: value.offset, element: type };
  }
  if (place.kind === 'cell') {
    const pointer = elementAddress(state, expression, scope) ?? pointerTo(place.cell);
    const object = objectAround(state, expression, scope);
    const members = object?.kind === 'struct' ? [...object.fields.values()] : [];
    if (members.includes(place.cell)) pointer.to.beside = members;
    return pointer;
  }
  if (place.kind === 'somewhere') {
    const doubt = unknown(`where in ${place.buffer.name} it points is not known`);
    const type = elementType(value);
    return { kind: 'pointer', to: place.buffer, offset: Number.NaN, element: type, unknownOffset: doubt };
  }
  return unknownFrom([value], 'the address of a temporary');
}

/** The object that a member is named of. */
function objectAround(state: HostState, expression: Expression, scope: Scope): Value | undefined {
  if (expression.kind === 'member' && !expression.arrow && expression.object.kind === 'name')
    return read(locate(state, expression.object, scope));
  if (expression.kind !== 'name') return undefined;
  for (let at: Scope | undefined = scope; at; at = at.parent) if (at.self) return at.self.value;
  return undefined;
}

function elementType(value: Value): HostType {
  if (value.kind === 'unknown' && value.type) return value.type;
  return value.kind === 'struct' ? value.type : intType;
}

/** `&a[i]` points into the buffer of a, not to a cell of its own. */
function elementAddress(state: HostState, expression: Expression, scope: Scope): PointerValue | undefined {
  if (expression.kind === 'unary' && expression.operator === '*') {
    const value = evaluate(state, expression.operand, scope);
    return value.kind === 'pointer' ? value : undefined;
  }
  if (expression.kind !== 'index' || expression.indices.length === 0) return undefined;
  const base = read(locate(state, expression.base, scope));
  const index = evaluate(state, expression.indices[0], scope);
  if (base.kind !== 'pointer' && base.kind !== 'array' && base.kind !== 'container') return undefined;
  const size = sizeOf(state, base.element);
  if (index.kind !== 'number' || size === undefined) return undefined;
  const to = base.kind === 'pointer' ? base.to : base.buffer;
  const start = base.kind === 'container' ? 0 : base.offset;
  return { kind: 'pointer', to, offset: start + index.value * size, element: base.element };
}

/** A pointer to a variable. */
export function pointerTo(cell: Cell): PointerValue {
  const type = cell.type ?? typeOfCell(cell);
  return { kind: 'pointer', to: bufferOf(cell), offset: 0, element: withoutReference(type) };
}

function typeOfCell(cell: Cell): HostType {
  if (cell.value.kind === 'struct' || cell.value.kind === 'container') return cell.value.type;
  if (cell.value.kind === 'pointer') return { kind: 'pointer', to: cell.value.element };
  return cell.value.kind === 'number' ? { kind: 'arithmetic', name: cell.value.of } : { kind: 'auto' };
}
