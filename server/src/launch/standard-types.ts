/** Library types whose headers are not read: containers, smart pointers and the usual traits. */
import { type HostType, sizeType, withoutReference } from './host-type';
import { traitAnswer, traitNames } from './type-traits';
import { type BoundArgument, number, truth, type Value } from './value';

type Make = (types: readonly HostType[], values: readonly BoundArgument[]) => HostType | undefined;

const containerNames = ['vector', 'device_vector', 'host_vector', 'deque', 'initializer_list', 'span', 'list'];
const smartPointers = ['unique_ptr', 'shared_ptr'];
const transparent = [
  'remove_reference_t',
  'remove_cv_t',
  'remove_cvref_t',
  'decay_t',
  'add_const_t',
  'remove_const_t',
  'type_identity_t',
];

const charType: HostType = { kind: 'arithmetic', name: 'char' };

function numberArgument(argument: BoundArgument | undefined): number | undefined {
  return argument?.kind === 'value' && argument.value.kind === 'number' ? argument.value.value : undefined;
}

function integralConstant(value: BoundArgument | undefined): HostType | undefined {
  return value?.kind === 'value' ? { kind: 'constant', value: value.value } : undefined;
}

const makers: ReadonlyMap<string, Make> = new Map<string, Make>([
  ...containerNames.map((name): [string, Make] => [name, ([element]) => container(name, element)]),
  ...smartPointers.map((name): [string, Make] => [name, ([element]) => smartPointer(name, element)]),
  ...transparent.map((name): [string, Make] => [name, ([type]) => type && withoutReference(type)]),
  [
    'array',
    ([element], [, size]) => element && { kind: 'container', name: 'array', element, length: numberArgument(size) },
  ],
  ['pair', (elements) => ({ kind: 'tuple', name: 'pair', elements })],
  ['tuple', (elements) => ({ kind: 'tuple', name: 'tuple', elements })],
  ['device_ptr', ([element]) => element && { kind: 'pointer', to: element }],
  ['string', () => ({ kind: 'container', name: 'string', element: charType })],
  ['integral_constant', (_types, [, value]) => integralConstant(value)],
  ['bool_constant', (_types, [value]) => integralConstant(value)],
  ['true_type', () => ({ kind: 'constant', value: number(1, 'bool') })],
  ['false_type', () => ({ kind: 'constant', value: number(0, 'bool') })],
  ...traitNames.map((name): [string, Make] => [name, (types) => answered(traitAnswer(name, types))]),
  ['conditional_t', (_types, values) => chosen(values)],
  ['index_sequence', (_types, values) => sequence(sizeType, values)],
  ['integer_sequence', ([of], [, ...values]) => sequence(of, values)],
  ['make_index_sequence', (_types, [count]) => counting(sizeType, count)],
  ['make_integer_sequence', ([of], [, count]) => counting(of, count)],
]);

const answered = (holds: boolean | undefined): HostType | undefined =>
  holds === undefined ? undefined : { kind: 'constant', value: number(holds ? 1 : 0, 'bool') };

function sequence(of: HostType, given: readonly BoundArgument[]): HostType {
  return { kind: 'sequence', of, values: given.flatMap((g) => (g.kind === 'value' ? [g.value] : [])) };
}

const longestSequence = 256;

function counting(of: HostType, argument: BoundArgument | undefined): HostType | undefined {
  const count = numberArgument(argument);
  if (count === undefined || count < 0 || count > longestSequence) return undefined;
  const name = of.kind === 'arithmetic' ? of.name : 'int';
  return { kind: 'sequence', of, values: Array.from({ length: count }, (_, i) => number(i, name)) };
}

function container(name: string, element: HostType | undefined): HostType | undefined {
  if (!element) return undefined;
  const of = element.kind === 'array' ? element.of : element;
  return { kind: 'container', name, element: of };
}

/** To one object it is a pointer, to an array a container without a length. */
function smartPointer(name: string, element: HostType | undefined): HostType | undefined {
  return element?.kind === 'array' || !element ? container(name, element) : { kind: 'pointer', to: element };
}

function chosen(values: readonly BoundArgument[]): HostType | undefined {
  const [condition, then, otherwise] = values;
  const holds = condition?.kind === 'value' ? truth(condition.value) : undefined;
  const choice = holds === undefined ? undefined : holds ? then : otherwise;
  return choice?.kind === 'type' ? choice.type : undefined;
}

/** `std::vector<T>` and its kin, by the last part of their name. */
export function standardType(name: string, given: readonly BoundArgument[]): HostType | undefined {
  const types = given.flatMap((argument) => (argument.kind === 'type' ? [argument.type] : []));
  return makers.get(name)?.(types, given);
}

/** `std::is_same<A, B>::value`, `std::is_same_v<A, B>`: what a name that nothing declares stands for as a constant of the library. */
export function standardConstant(
  last: string,
  own: readonly BoundArgument[],
  outer: { readonly name: string; readonly given: readonly BoundArgument[] } | undefined,
): Value | undefined {
  const type =
    last === 'value' && outer
      ? standardType(outer.name, outer.given)
      : last.endsWith('_v')
        ? standardType(last.slice(0, -2), own)
        : undefined;
  return type?.kind === 'constant' ? type.value : undefined;
}
