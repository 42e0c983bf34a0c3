/**
 * Values of the host interpreter. They are immutable but for the cells inside: a struct is a set of cells, an array or an
 * allocation a sparse buffer of cells, so that references and pointers to parts of them work.
 */
import type { BuiltinTypeName, FunctionDeclaration, LambdaExpression } from '../parse/ast';
import { argumentName, type HostType } from './host-type';
import type { Scope } from './scope';

/** A variable, field or element. Write only through Memory.write, which keeps the undo journal. */
export interface Cell {
  value: Value;
  readonly type?: HostType;
  /** What a person calls it: `d_a`, `params.n`, `ptrs[2]`. */
  readonly name?: string;
  /** Call depth of the variable, so that a buffer allocated in a helper takes the name of the caller's variable. */
  readonly depth: number;
  /** Set once its address was taken. */
  buffer?: Buffer;
  /** Of a reference to an element whose index is not known: where all that it may be lie. */
  stands?: Buffer;
  /** Why nothing that is stored in it counts as known (unseen.ts). */
  lost?: string;
  /** Of a member of a union: all of these. */
  union?: readonly (readonly Cell[])[];
  /** Of a bit-field: what it keeps of a number. */
  readonly bits?: number;
}

/** An allocation, array or variable whose address is taken: cells by byte offset. */
export interface Buffer {
  name: string;
  /** Depth of the variable that gave the name; Infinity while it has no real name. */
  nameDepth: number;
  bytes?: number;
  readonly cells: Map<number, Cell>;
  /** Of a member whose address was taken: those that lie beside it, which `(&x)[1]` leads to. */
  beside?: readonly Cell[];
  /** Value of the elements that have no cell yet. 'named': an unknown that carries the element's name. */
  rest: 'zero' | 'unknown' | 'uninitialised' | 'named';
  readonly isDevice: boolean;
}

export type Value =
  | NumberValue
  | PointerValue
  | StructValue
  | ArrayValue
  | ContainerValue
  | FunctionValue
  | LambdaValue
  | StringValue
  | PackValue
  | UnknownValue;

export interface NumberValue {
  readonly kind: 'number';
  readonly value: number;
  readonly of: BuiltinTypeName;
  /** the enumeration it belongs to, or the pointer type that a null pointer was converted to */
  readonly declared?: HostType;
}
export interface PointerValue {
  readonly kind: 'pointer';
  readonly to: Buffer;
  /** bytes; NaN when unknown */
  readonly offset: number;
  /** One of several, of which any may be meant; null may be among them. */
  readonly oneOf?: 'pointers' | 'pointersAndNull';
  readonly element: HostType;
  /** why the offset is not known */
  readonly unknownOffset?: UnknownValue;
}
export interface StructValue {
  readonly kind: 'struct';
  readonly type: HostType;
  readonly fields: Map<string, Cell>;
}
/** A C array (or a row of one): `offset` bytes into its buffer. */
export interface ArrayValue {
  readonly kind: 'array';
  readonly buffer: Buffer;
  readonly offset: number;
  readonly element: HostType;
  readonly length?: number;
  /** Braces without a type yet: what an object is made of. */
  readonly list?: readonly { readonly value: Value; readonly cell?: Cell }[];
}
/** std::vector, std::array, thrust::device_vector, std::unique_ptr<T[]>, std::string … */
export interface ContainerValue {
  readonly kind: 'container';
  readonly type: HostType;
  readonly element: HostType;
  readonly buffer: Buffer;
  readonly size: Cell;
}
export interface FunctionValue {
  readonly kind: 'function';
  readonly name: string;
  readonly overloads: readonly FunctionSymbol[];
  readonly templateArguments?: readonly BoundArgument[];
  /** of a bound method */
  readonly self?: Cell;
  /** Other functions it may be, when a condition that is not known chose. */
  readonly others?: readonly FunctionValue[];
}
export interface FunctionSymbol {
  readonly declaration: FunctionDeclaration;
  /** where its names are looked up */
  readonly scope: Scope;
}
export interface LambdaValue {
  readonly kind: 'lambda';
  readonly expression: LambdaExpression;
  readonly scope: Scope;
  readonly captures: ReadonlyMap<string, Cell>;
}
export interface StringValue {
  readonly kind: 'string';
  readonly value: string;
}
export interface PackValue {
  readonly kind: 'pack';
  readonly elements: readonly Cell[];
}
export interface UnknownValue {
  readonly kind: 'unknown';
  readonly reason: string;
  readonly name?: string;
  readonly roots: readonly string[];
  readonly type?: HostType;
  readonly uninitialised?: boolean;
}

/** A template argument in the interpreter. */
export type BoundArgument =
  | { readonly kind: 'type'; readonly type: HostType }
  /** orType: what it is where it names a type, of a name that nothing declares */
  | { readonly kind: 'value'; readonly value: Value; readonly orType?: HostType }
  | { readonly kind: 'pack'; readonly elements: readonly BoundArgument[] };

export function number(value: number, of: BuiltinTypeName = 'int'): NumberValue {
  return { kind: 'number', value, of };
}

type UnknownOptions = Partial<Omit<UnknownValue, 'kind' | 'reason'>>;

/** All of one shape, and spelled out: copying objects of many shapes by spreading was 5 % of a search for launches. */
export function unknown(reason: string, options?: UnknownOptions): UnknownValue {
  return unknownLike(reason, options?.name, options?.roots ?? [], options?.type, options?.uninitialised);
}

function unknownLike(
  reason: string,
  name: string | undefined,
  roots: readonly string[],
  type: HostType | undefined,
  uninitialised: boolean | undefined,
): UnknownValue {
  return { kind: 'unknown', reason, name, roots, type, uninitialised };
}

/** The same unknown by a name, with what it is computed from. */
export function asNamed(value: UnknownValue, name: string | undefined, roots: readonly string[]): UnknownValue {
  return unknownLike(value.reason, name, roots, value.type, value.uninitialised);
}

/** The same unknown as one of a type. */
export function asTyped(value: UnknownValue, type: HostType | undefined): UnknownValue {
  return unknownLike(value.reason, value.name, value.roots, type, value.uninitialised);
}

/** The unknown result of a computation with these operands: keeps the reason and the names of what was unknown. */
export function unknownFrom(operands: readonly Value[], fallback: string, type?: HostType): UnknownValue {
  const roots = new Set<string>();
  let reason: string | undefined;
  for (const operand of operands) {
    if (operand.kind !== 'unknown') continue;
    reason ??= operand.reason;
    for (const root of operand.roots) if (roots.size < maximalRoots) roots.add(root);
  }
  return unknownLike(reason ?? fallback, undefined, [...roots], type, undefined);
}

const maximalRoots = 16;

export function isNull(value: Value): boolean {
  return value.kind === 'number' && value.value === 0;
}

/** True, false, or undefined where the condition is not known. */
export function truth(value: Value): boolean | undefined {
  switch (value.kind) {
    case 'number':
      return value.value !== 0;
    case 'pointer':
      return value.oneOf === 'pointersAndNull' ? undefined : true;
    case 'array':
    case 'function':
    case 'lambda':
    case 'string':
      return true;
    case 'unknown':
      // `std::is_pointer<T>()` converts to its value
      return value.type?.kind === 'constant' ? truth(value.type.value) : undefined;
    default:
      return undefined;
  }
}

export function sameValue(a: Value, b: Value): boolean {
  if (a === b) return true;
  if (a.kind === 'number') return b.kind === 'number' && Object.is(a.value, b.value) && a.of === b.of;
  if (a.kind === 'pointer') return b.kind === 'pointer' && a.to === b.to && Object.is(a.offset, b.offset);
  if (a.kind === 'array') return b.kind === 'array' && a.buffer === b.buffer && a.offset === b.offset;
  if (a.kind === 'string') return b.kind === 'string' && a.value === b.value;
  if (a.kind === 'function') return b.kind === 'function' && sameFunction(a, b);
  if (a.kind === 'lambda') return b.kind === 'lambda' && a.expression === b.expression && a.scope === b.scope;
  if (a.kind === 'struct') return b.kind === 'struct' && sameFields(a, b);
  if (a.kind === 'unknown') return b.kind === 'unknown' && a.name === b.name && a.reason === b.reason;
  return false;
}

function sameFunction(a: FunctionValue, b: FunctionValue): boolean {
  if (a.overloads[0]?.declaration !== b.overloads[0]?.declaration || a.name !== b.name) return false;
  const [x, y] = [a.templateArguments ?? [], b.templateArguments ?? []];
  return x.length === y.length && x.every((argument, index) => argumentName(argument) === argumentName(y[index]));
}

function sameFields(a: StructValue, b: StructValue): boolean {
  if (a.fields.size !== b.fields.size) return false;
  for (const [name, cell] of a.fields) {
    const other = b.fields.get(name);
    if (!other || !sameValue(cell.value, other.value)) return false;
  }
  return true;
}

/** What holds when either of two values may: equal stays known, of two pointers the first (either shows the pattern). */
export function merge(a: Value, b: Value, name?: string): Value {
  if (sameValue(a, b)) return a;
  if (a.kind === 'unknown' && a.uninitialised) return b;
  if (b.kind === 'unknown' && b.uninitialised) return a;
  if (a.kind === 'pointer' && (b.kind === 'pointer' || isNull(b))) return mergePointers(a, b);
  if (b.kind === 'pointer' && isNull(a)) return b;
  if (a.kind === 'struct' && b.kind === 'struct') return mergeStructs(a, b);
  if (a.kind === 'function' && b.kind === 'function')
    return { ...a, others: [...(a.others ?? []), b, ...(b.others ?? [])] };
  if (a.kind === 'function' && isNull(b)) return a;
  if (b.kind === 'function' && isNull(a)) return b;
  return unknownFrom([a, b], name ? `${name} depends on a condition` : 'depends on a condition', typeOf(a));
}

function mergePointers(a: PointerValue, b: Value): Value {
  if (b.kind === 'pointer' && a.to === b.to && !Object.is(a.offset, b.offset)) return { ...a, offset: Number.NaN };
  return a;
}

function mergeStructs(a: StructValue, b: StructValue): Value {
  const fields = new Map<string, Cell>();
  for (const [name, cell] of a.fields) {
    const other = b.fields.get(name);
    if (other === cell) {
      fields.set(name, cell);
      continue;
    }
    const value = other ? merge(cell.value, other.value, cell.name) : cell.value;
    fields.set(name, { value, type: cell.type, name: cell.name, depth: cell.depth, buffer: cell.buffer });
  }
  return { kind: 'struct', type: a.type, fields };
}

/** The static type as far as the value carries it. */
export function typeOf(value: Value): HostType | undefined {
  switch (value.kind) {
    case 'number':
      return value.declared ?? { kind: 'arithmetic', name: value.of };
    case 'pointer':
      return { kind: 'pointer', to: value.element };
    case 'struct':
    case 'container':
      return value.type;
    case 'array':
      return { kind: 'array', of: value.element, length: value.length };
    case 'string':
      return { kind: 'pointer', to: { kind: 'arithmetic', name: 'char' } };
    case 'unknown':
      return value.type;
    default:
      return undefined;
  }
}
