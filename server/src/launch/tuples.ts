/** std::pair and std::tuple as objects: an element is a field, `first` and `second`, or named by its number. */
import type { CallExpression, Expression } from '../parse/ast';
import type { Builtin } from './builtins';
import { convert } from './conversion';
import { autoType, type HostType, type TupleType, typeName } from './host-type';
import { makeCell } from './memory';
import { bindArguments } from './resolve-type';
import { lastName } from './scope';
import { lose } from './unseen';
import { type Cell, typeOf, unknown, type Value } from './value';

const partsOfPair = ['first', 'second'];

/** A pair or tuple of a type, each element as `make` gives it. */
export function tupleOf(type: TupleType, make: (element: HostType, part: string, index: number) => Value): Value {
  const fields = new Map<string, Cell>();
  for (const [index, element] of type.elements.entries()) {
    const part = type.name === 'pair' ? partsOfPair[index] : String(index);
    fields.set(part, makeCell(make(element, part, index), { type: element, name: part }));
  }
  return { kind: 'struct', type, fields };
}

/** std::make_pair(…), std::make_tuple(…) */
const makes =
  (name: TupleType['name']): Builtin =>
  ({ state, values, list, call }) => {
    if (name === 'pair' && values.length !== 2) return undefined;
    // an element that is a reference may be written through, and tells what is written to the variable
    for (const { cell, isHandedOut } of list) if (cell && isHandedOut) lose(state, cell, 'a tuple refers to it');
    const given = values.map((value, i) =>
      refers(call.arguments[i])
        ? unknown('a reference in a tuple', { type: typeOf(value) })
        : convert(state, value, autoType),
    );
    const elements = given.map(
      (value): HostType => typeOf(value) ?? (value.kind === 'function' ? functionType : autoType),
    );
    return tupleOf({ kind: 'tuple', name, elements }, (_element, _part, index) => given[index]);
  };

/** `std::ref(x)` */
const refers = (node: Expression | undefined): boolean =>
  node?.kind === 'call' && node.callee.kind === 'name' && /^c?ref$/.test(lastName(node.callee.name));

const functionType: HostType = { kind: 'pointer', to: { kind: 'function' } };

/** `std::get<1>(t)` and `std::get<T>(t)` of a pair or a tuple. */
const get: Builtin = ({ state, call, scope, values: [of] }) => {
  const given = templateArgumentsOf(call);
  const [which] = given ? bindArguments(state, given, scope) : [];
  if (of?.kind !== 'struct') return undefined;
  const elements = [...of.fields.values()];
  if (which?.kind === 'type') {
    const name = typeName(which.type);
    const own = elements.filter((element) => typeName(element.type) === name);
    return own.length === 1 ? own[0].value : undefined;
  }
  if (which?.kind !== 'value' || which.value.kind !== 'number') return undefined;
  const element = elements[which.value.value];
  return element?.value ?? unknown('an element that the tuple does not have');
};

function templateArgumentsOf({ callee }: CallExpression) {
  return callee.kind === 'name' ? callee.name.parts.at(-1)?.templateArguments : undefined;
}

export const tupleBuiltins: readonly (readonly [string, Builtin])[] = [
  ['make_pair', makes('pair')],
  ['make_tuple', makes('tuple')],
  ['get', get],
];
