/** Containers of host code that are made of a list in braces. */
import type { InitListExpression } from '../parse/ast';
import { convert, decay } from './conversion';
import { withElementBraces } from './elided-braces';
import type { HostType } from './host-type';
import { elementValues, evaluateAll } from './initialise';
import { containerOfElements, containerOfRange } from './make-container';
import type { Scope } from './scope';
import type { HostState } from './state';

import { typeOf, type Value } from './value';

/** Two pointers that are no elements are the ends of a range: `std::vector<std::string> words{argv, argv + argc}`. */
export function containerFromList(
  state: HostState,
  list: InitListExpression,
  type: HostType & { kind: 'container' },
  scope: Scope,
): Value {
  const { elements } = list;
  const isPair = elements.length === 2 && elements.every(({ value }) => value.kind !== 'initList');
  if (isPair && type.length === undefined && type.element.kind !== 'pointer' && type.element.kind !== 'auto') {
    const ends = evaluateAll(state, list, scope);
    if (ends.every((end) => leadsToMany(end, type.element))) return containerOfRange(state, type, ends[0], ends[1]);
    return containerOfElements(
      state,
      type,
      ends.map((end) => convert(state, end, type.element)),
    );
  }
  return containerOfElements(
    state,
    type,
    elementValues(state, bracedFor(state, list, type, scope), type.element, scope),
  );
}

/** A pointer where elements are numbers or objects; texts are made of pointers to characters themselves. */
function leadsToMany(value: Value, element: HostType): boolean {
  const type = value.kind === 'string' ? undefined : typeOf(decay(value));
  if (type?.kind !== 'pointer') return false;
  const isOfCharacters = type.to.kind === 'arithmetic' && type.to.name === 'char';
  return !isOfCharacters || element.kind === 'arithmetic';
}

/** The elements of a container; of `std::array` inner braces, and those of the array in it, may be left out. */
function bracedFor(
  state: HostState,
  list: InitListExpression,
  type: HostType & { kind: 'container' },
  scope: Scope,
): InitListExpression {
  return type.length === undefined ? list : withElementBraces(state, list, type.element, scope);
}
