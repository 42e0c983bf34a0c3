/** Inner braces that a list leaves out: `int m[2][3] = {1, 2, 3, 4}`, `Dims d = {256, 4096, 1, 7}` for `{int sizes[3]; int stride;}`. */
import type { Expression, InitListExpression } from '../parse/ast';
import { evaluate } from './expression';
import { constructorsOf } from './function-call';
import { dim3Type, type HostType } from './host-type';
import { layoutOf } from './layout';
import type { Scope } from './scope';
import type { HostState } from './state';
import { typeOf } from './value';

type Element = InitListExpression['elements'][number];

/** The parts that braces inside of a list would be for; undefined for what no braces make part by part. */
function partsOf(state: HostState, type: HostType): readonly HostType[] | undefined {
  if (type.kind === 'array') return repeated(type.of, type.length);
  if (type.kind === 'container' && type.length !== undefined) return repeated(type.element, type.length);
  // of the vectors dim3 alone has a constructor: a number is one
  if (type.kind === 'vector' && type.name === dim3Type.name) return undefined;
  if (type.kind === 'vector') return repeated({ kind: 'arithmetic', name: type.element }, type.lanes);
  if (type.kind !== 'record' || constructorsOf(state, type).length > 0) return undefined;
  return layoutOf(state, type).fields.map((field) => field.type);
}

/** Longer ones are not looked at. */
const LONGEST = 4096;

const repeated = (type: HostType, length = 0): readonly HostType[] | undefined =>
  length > 0 && length <= LONGEST ? Array.from({ length }, () => type) : undefined;

/** The list with the braces that it leaves out, for an array of elements of one type. */
export function withElementBraces(
  state: HostState,
  list: InitListExpression,
  of: HostType,
  scope: Scope,
): InitListExpression {
  if (list.elements.length > LONGEST || !partsOf(state, of)) return list;
  return regrouped(state, list, () => of, scope);
}

/** The same for a record, an array of known length, or what is made of one. */
export function withBraces(
  state: HostState,
  list: InitListExpression,
  type: HostType,
  scope: Scope,
): InitListExpression {
  const parts = partsOf(state, type);
  return parts ? regrouped(state, list, (index) => parts[index], scope) : list;
}

function regrouped(
  state: HostState,
  list: InitListExpression,
  partAt: (index: number) => HostType | undefined,
  scope: Scope,
): InitListExpression {
  const { elements } = list;
  if (elements.every(({ value, designator }) => value.kind === 'initList' || designator !== undefined)) return list;
  const grouped: Element[] = [];
  let at = 0;
  const take = (type: HostType | undefined): Element => {
    const element = elements[at];
    const parts = type && partsOf(state, type);
    if (!parts || !isPart(state, element.value, scope)) {
      at++;
      return element;
    }
    const inner: Element[] = [];
    for (const part of parts) if (at < elements.length) inner.push(take(part));
    return { value: { ...list, elements: inner } };
  };
  while (at < elements.length) grouped.push(take(partAt(grouped.length)));
  return grouped.length === elements.length ? list : { ...list, elements: grouped };
}

/** A number or the like, which makes no object on its own. What a call gives is not asked. */
function isPart(state: HostState, value: Expression, scope: Scope): boolean {
  switch (value.kind) {
    case 'integer':
    case 'float':
    case 'sizeof':
      return true;
    case 'unary':
      return value.operator !== '*' && isPart(state, value.operand, scope);
    case 'binary':
      return isPart(state, value.left, scope) && isPart(state, value.right, scope);
    case 'name':
    case 'index':
    case 'member': {
      const type = typeOf(evaluate(state, value, scope));
      return type?.kind === 'arithmetic' || type?.kind === 'enum' || type?.kind === 'pointer';
    }
    default:
      return false;
  }
}
