/** Template argument deduction, as far as host wrappers and kernels need it. */
import type { Expression, TemplateArgument, TypeNode } from '../parse/ast';
import { type FunctionType, type HostType, intType, type RecordType, withoutReference } from './host-type';
import { layoutOf } from './layout';
import type { HostState } from './state';
import { type BoundArgument, number, typeOf, type Value } from './value';

/** Matches a parameter's type against an argument's and adds what follows for the open names. The first match of a name stays. */
export function deduceType(
  state: HostState,
  pattern: TypeNode,
  actual: HostType,
  names: ReadonlySet<string>,
  bound: Map<string, BoundArgument>,
): void {
  const type = withoutReference(actual);
  switch (pattern.kind) {
    case 'reference':
    case 'packExpansion':
      deduceType(state, pattern.kind === 'reference' ? pattern.to : pattern.of, type, names, bound);
      break;
    case 'pointer':
      if (type.kind === 'pointer') deduceType(state, pattern.to, type.to, names, bound);
      else if (type.kind === 'array') deduceType(state, pattern.to, type.of, names, bound);
      break;
    case 'array':
      deduceArray(state, pattern, type, names, bound);
      break;
    case 'function':
      if (type.kind === 'function') deduceFunction(state, pattern, type, names, bound);
      break;
    case 'named':
      deduceNamed(state, pattern, type, names, bound);
      break;
    default:
  }
}

function deduceArray(
  state: HostState,
  pattern: TypeNode & { kind: 'array' },
  type: HostType,
  names: ReadonlySet<string>,
  bound: Map<string, BoundArgument>,
): void {
  if (type.kind === 'pointer') deduceType(state, pattern.of, type.to, names, bound);
  if (type.kind !== 'array') return;
  deduceType(state, pattern.of, type.of, names, bound);
  const name = openExpression(pattern.size, names);
  if (name && type.length !== undefined)
    bind(bound, name, { kind: 'value', value: number(type.length, 'unsigned long') });
}

/** `R (A, B)`, `R (A...)` */
function deduceFunction(
  state: HostState,
  pattern: TypeNode & { kind: 'function' },
  { result, parameters = [] }: FunctionType,
  names: ReadonlySet<string>,
  bound: Map<string, BoundArgument>,
): void {
  if (result) deduceType(state, pattern.result, result, names, bound);
  for (const [index, { type, pack }] of pattern.parameters.entries()) {
    const { first, last } = type;
    const name = pack ? openArgument({ first, last, type, pack }, names) : undefined;
    if (name)
      bind(bound, name, {
        kind: 'pack',
        elements: parameters.slice(index).map((each) => ({ kind: 'type', type: each })),
      });
    else if (index < parameters.length) deduceType(state, type, parameters[index], names, bound);
  }
}

function deduceNamed(
  state: HostState,
  pattern: TypeNode & { kind: 'named' },
  type: HostType,
  names: ReadonlySet<string>,
  bound: Map<string, BoundArgument>,
): void {
  const part = pattern.name.parts.at(-1);
  if (!part) return;
  if (!part.templateArguments) {
    const isOpen = pattern.name.parts.length === 1 && names.has(part.name);
    if (isOpen && type.kind !== 'auto') bind(bound, part.name, { kind: 'type', type: decayed(type) });
    return;
  }
  const actual = argumentsOf(asBase(state, type, part.name), part.name);
  for (const [index, argument] of part.templateArguments.entries()) {
    if (argument.pack) {
      const name = openArgument(argument, names);
      if (name) bind(bound, name, { kind: 'pack', elements: actual.slice(index) });
      break;
    }
    const given = actual[index];
    if (!given) break;
    const open = openExpression(argument.expression, names);
    if (given.kind === 'type' && argument.type) deduceType(state, argument.type, given.type, names, bound);
    else if (given.kind === 'value' && open) bind(bound, open, given);
    else if (given.kind === 'value' && argument.type?.kind === 'named') {
      const name = argument.type.name.parts.at(-1)?.name ?? '';
      if (names.has(name)) bind(bound, name, given);
    }
  }
}

/** `Ts` in `Traits<Ts...>` */
function openArgument(argument: TemplateArgument, names: ReadonlySet<string>): string | undefined {
  const type = argument.type?.kind === 'packExpansion' ? argument.type.of : argument.type;
  const name = type?.kind === 'named' && type.name.parts.length === 1 ? type.name.parts[0].name : undefined;
  return name !== undefined && names.has(name) ? name : openExpression(argument.expression, names);
}

/** What a record derives from where the pattern names that (`const Expression<E> &` given a `Sum<A, B>`), else the type itself: aliases have other names. */
function asBase(state: HostState, type: HostType, name: string): HostType {
  if (type.kind !== 'record' || type.name === name) return type;
  return layoutOf(state, type).bases.flatMap((base) => baseNamed(state, base, name))[0] ?? type;
}

const baseNamed = (state: HostState, record: RecordType, name: string): RecordType[] =>
  record.name === name ? [record] : layoutOf(state, record).bases.flatMap((base) => baseNamed(state, base, name));

/** @param pattern the template's name: constants and sequences of numbers go by two */
function argumentsOf(type: HostType, pattern: string): readonly BoundArgument[] {
  if (type.kind === 'record') return type.arguments ?? [];
  if (type.kind === 'sequence') {
    const values = type.values.map((value): BoundArgument => ({ kind: 'value', value }));
    return pattern === 'integer_sequence' ? [{ kind: 'type', type: type.of }, ...values] : values;
  }
  if (type.kind === 'constant') return constantArguments(type.value, pattern);
  if (type.kind !== 'container') return [];
  const element: BoundArgument = { kind: 'type', type: type.element };
  return type.length === undefined
    ? [element]
    : [element, { kind: 'value', value: number(type.length, 'unsigned long') }];
}

/** `std::integral_constant<int, 3>`, `std::bool_constant<true>` */
function constantArguments(value: Value, pattern: string): readonly BoundArgument[] {
  const number: BoundArgument = { kind: 'value', value };
  return pattern === 'bool_constant' ? [number] : [{ kind: 'type', type: typeOf(value) ?? intType }, number];
}

function openExpression(expression: Expression | undefined, names: ReadonlySet<string>): string | undefined {
  if (expression?.kind !== 'name' || expression.name.parts.length !== 1) return undefined;
  const name = expression.name.parts[0].name;
  return names.has(name) ? name : undefined;
}

/** By value, arrays become pointers. */
function decayed(type: HostType): HostType {
  return type.kind === 'array' ? { kind: 'pointer', to: type.of } : type;
}

function bind(bound: Map<string, BoundArgument>, name: string, argument: BoundArgument): void {
  if (!bound.has(name)) bound.set(name, argument);
}
