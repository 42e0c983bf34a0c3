/** Types of host code, resolved: what sizeof, conversions and template deduction need. */
import type { BuiltinTypeName, RecordDeclaration, TypeNode, VariableDeclaration } from '../parse/ast';
import { headerTypes } from '../parse/header-types';
import { arithmeticTypes } from './arithmetic';
import type { Scope } from './scope';
import type { BoundArgument, Value } from './value';

export type HostType =
  | { readonly kind: 'arithmetic'; readonly name: BuiltinTypeName }
  | { readonly kind: 'pointer'; readonly to: HostType }
  | { readonly kind: 'reference'; readonly to: HostType }
  | { readonly kind: 'array'; readonly of: HostType; readonly length?: number }
  | VectorType
  | RecordType
  | { readonly kind: 'enum'; readonly name: string; readonly underlying: BuiltinTypeName; readonly scope?: Scope }
  | TupleType
  | { readonly kind: 'container'; readonly name: string; readonly element: HostType; readonly length?: number }
  /** a type of which only the name (and perhaps the size) is known */
  | { readonly kind: 'opaque'; readonly name: string; readonly bytes?: number; readonly node?: TypeNode }
  | FunctionType
  | { readonly kind: 'auto' }
  | { readonly kind: 'pack'; readonly elements: readonly HostType[] }
  /** std::integral_constant and its kin */
  | { readonly kind: 'constant'; readonly value: Value }
  /** std::integer_sequence; `of`: the type of its numbers */
  | { readonly kind: 'sequence'; readonly of: HostType; readonly values: readonly Value[] };

/** Its signature, where it is known: what partial specialisations take apart (`Traits<R (*)(A)>`). */
export interface FunctionType {
  readonly kind: 'function';
  readonly result?: HostType;
  readonly parameters?: readonly HostType[];
}

export interface VectorType {
  readonly kind: 'vector';
  readonly name: string;
  readonly element: BuiltinTypeName;
  readonly lanes: number;
  readonly alignment: number;
}

/** std::pair and std::tuple */
export interface TupleType {
  readonly kind: 'tuple';
  readonly name: 'pair' | 'tuple';
  readonly elements: readonly HostType[];
}

export interface RecordType {
  readonly kind: 'record';
  readonly name: string;
  readonly declaration: RecordDeclaration;
  /** Holds the template arguments and the members; its parent is where the record stands. */
  scope: Scope;
  readonly arguments?: readonly BoundArgument[];
  layout?: RecordLayout;
}

export interface RecordLayout {
  /** Own and inherited fields, in the order of memory. */
  readonly fields: readonly RecordField[];
  /** undefined when a field's size is not known */
  readonly bytes?: number;
  readonly alignment: number;
  readonly bases: readonly RecordType[];
}

export interface RecordField {
  readonly name: string;
  readonly type: HostType;
  readonly initializer?: VariableDeclaration;
  /** where its initializer is evaluated */
  readonly scope: Scope;
  /** Bytes in front of it, as far as that is known. */
  readonly offset?: number;
}

export const intType: HostType = { kind: 'arithmetic', name: 'int' };
export const sizeType: HostType = { kind: 'arithmetic', name: 'unsigned long' };
export const voidType: HostType = { kind: 'arithmetic', name: 'void' };
export const autoType: HostType = { kind: 'auto' };

export const vectorFields = ['x', 'y', 'z', 'w'] as const;

const vectorElements: Readonly<Record<string, BuiltinTypeName>> = {
  char: 'signed char',
  uchar: 'unsigned char',
  short: 'short',
  ushort: 'unsigned short',
  int: 'int',
  uint: 'unsigned int',
  long: 'long',
  ulong: 'unsigned long',
  longlong: 'long long',
  ulonglong: 'unsigned long long',
  float: 'float',
  double: 'double',
};

/** Builtin vector types with the alignments of vector_types.h (CUDA C++ Programming Guide, "Built-in Vector Types"). */
const vectorTypes: ReadonlyMap<string, VectorType> = new Map(
  [...Object.entries(vectorElements)].flatMap(([base, element]) =>
    [1, 2, 3, 4].map((lanes): [string, VectorType] => {
      const bytes = arithmeticTypes[element].bytes;
      const alignment = lanes === 3 ? bytes : Math.min(16, bytes * lanes);
      return [`${base}${lanes}`, { kind: 'vector', name: `${base}${lanes}`, element, lanes, alignment }];
    }),
  ),
);
export const dim3Type: VectorType = { kind: 'vector', name: 'dim3', element: 'unsigned int', lanes: 3, alignment: 4 };

const renamed: Readonly<Record<string, string>> = {
  cuComplex: 'float2',
  cuFloatComplex: 'float2',
  cuDoubleComplex: 'double2',
  cufftComplex: 'float2',
  cufftDoubleComplex: 'double2',
};

const arithmeticNames: ReadonlyMap<string, BuiltinTypeName> = new Map([
  ...headerTypes,
  ['uchar', 'unsigned char'],
  ['byte', 'unsigned char'],
  ['cufftReal', 'float'],
  ['cufftDoubleReal', 'double'],
  ['cudaError_t', 'int'],
  ['cudaError', 'int'],
  ['CUresult', 'int'],
  ['cublasStatus_t', 'int'],
  ['cufftResult', 'int'],
]);

/** Sizes of CUDA's own opaque types. */
const opaqueSizes: Readonly<Record<string, number>> = {
  half: 2,
  __half: 2,
  half2: 4,
  __half2: 4,
  __nv_bfloat16: 2,
  nv_bfloat16: 2,
  __nv_bfloat162: 4,
  nv_bfloat162: 4,
  __nv_fp8_e4m3: 1,
  __nv_fp8_e5m2: 1,
  cudaStream_t: 8,
  cudaEvent_t: 8,
  cudaTextureObject_t: 8,
  cudaSurfaceObject_t: 8,
  cublasHandle_t: 8,
  cufftHandle: 4,
  curandState: 48,
  curandState_t: 48,
  curandStateXORWOW_t: 48,
};

/** A type that every CUDA program knows without a declaration; undefined for others. */
export function wellKnownType(name: string): HostType | undefined {
  if (name === 'dim3') return dim3Type;
  const arithmetic = arithmeticNames.get(name);
  if (arithmetic) return { kind: 'arithmetic', name: arithmetic };
  const vector = vectorTypes.get(Object.hasOwn(renamed, name) ? renamed[name] : name);
  if (vector) return vector;
  return Object.hasOwn(opaqueSizes, name) ? { kind: 'opaque', name, bytes: opaqueSizes[name] } : undefined;
}

/** Elements of another's memory: copies of it lead to the same. */
export const isView = (type: HostType): boolean =>
  (type.kind === 'container' || type.kind === 'opaque') && /(?:^|::)(?:span|(?:basic_)?string_view)$/.test(type.name);

/** Spelling of a type, the same for equal types; for messages and comparison. */
export function typeName(type: HostType | undefined): string {
  if (!type) return '?';
  switch (type.kind) {
    case 'arithmetic':
      return type.name;
    case 'pointer':
      return type.to.kind === 'function' && type.to.parameters ? functionName(type.to, '(*)') : `${typeName(type.to)}*`;
    case 'reference':
      return `${typeName(type.to)}&`;
    case 'array':
      return `${typeName(type.of)}[${type.length ?? ''}]`;
    case 'record':
      return recordName(type);
    case 'container':
      return `${type.name}<${typeName(type.element)}>`;
    case 'tuple':
      return `${type.name}<${type.elements.map(typeName).join(', ')}>`;
    case 'pack':
      return type.elements.map(typeName).join(', ');
    case 'constant':
      return `integral_constant<${argumentName({ kind: 'value', value: type.value })}>`;
    case 'sequence':
      return `integer_sequence<${type.values.map((value) => argumentName({ kind: 'value', value })).join(', ')}>`;
    case 'function':
      return type.parameters ? functionName(type, '') : type.kind;
    case 'auto':
      return type.kind;
    default:
      return type.name;
  }
}

const functionName = ({ result, parameters = [] }: FunctionType, declarator: string): string =>
  `${typeName(result)} ${declarator}(${parameters.map(typeName).join(', ')})`;

/** A member's begins with its record's: `View<float>::Handle` and `View<double>::Handle` are two types. */
function recordName(type: RecordType): string {
  // between the two stands the scope of its own template arguments
  const outer = type.scope.parent?.parent?.record;
  const own = type.arguments ? `${type.name}<${type.arguments.map(argumentName).join(', ')}>` : type.name;
  return outer && outer !== type ? `${recordName(outer)}::${own}` : own;
}

/** Spelling of a template argument, the same for equal arguments. */
export function argumentName(argument: BoundArgument): string {
  if (argument.kind === 'type') return typeName(argument.type);
  if (argument.kind === 'pack') return argument.elements.map(argumentName).join(', ');
  const value = argument.value;
  if (value.kind === 'number') return String(value.value);
  if (value.kind === 'function')
    return value.templateArguments
      ? `${value.name}<${value.templateArguments.map(argumentName).join(', ')}>`
      : value.name;
  if (value.kind === 'unknown') return value.name ?? '?';
  return value.kind;
}

export function isPointerLike(type: HostType | undefined): boolean {
  return type?.kind === 'pointer' || type?.kind === 'array';
}

/** The type behind references. */
export function withoutReference(type: HostType): HostType {
  return type.kind === 'reference' ? withoutReference(type.to) : type;
}
