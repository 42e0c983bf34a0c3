/**
 * Members of a base that a class hides. References and pointers lead to the object itself here, whatever class they are declared to lead to: where a
 * class and its base both have a method that is not virtual, the declared class has to be found, or nobody knows which of the two is meant.
 */
import type { MemberExpression } from '../parse/ast';
import type { HostType, RecordType } from './host-type';
import { layoutOf } from './layout';
import { lastName, localVariable, type Scope } from './scope';
import type { HostState } from './state';
import type { StructValue, Value } from './value';

/** The classes that declare a method of a name, a class itself first. */
function declaring(state: HostState, type: RecordType, name: string, depth = 0): readonly RecordType[] {
  const has = type.scope.symbols?.get(name)?.some(({ kind }) => kind === 'function') === true;
  const inherited =
    depth < DEEPEST ? layoutOf(state, type).bases.flatMap((base) => declaring(state, base, name, depth + 1)) : [];
  return has ? [type, ...inherited] : inherited;
}

const DEEPEST = 16;

export function isVirtual(state: HostState, type: RecordType, name: string): boolean {
  return declaring(state, type, name).some(({ scope }) =>
    scope.symbols?.get(name)?.some((symbol) => symbol.kind === 'function' && symbol.declaration.specifiers.isVirtual),
  );
}

/** The class that an object is seen as where that decides which method is called; undefined where it is its own. */
export function classSeen(
  state: HostState,
  { object, arrow, name }: MemberExpression,
  target: StructValue,
  pointer: Value,
  given: number,
  scope: Scope,
): RecordType | 'open' | undefined {
  const method = lastName(name);
  const { type } = target;
  if (type.kind !== 'record') return undefined;
  const classes = declaring(state, type, method);
  if (classes.length < 2) return undefined;
  // default arguments are those of the class that is written
  if (isVirtual(state, type, method))
    return classes.some((each) => hasDefault(each, method, given)) ? 'open' : undefined;
  if (object.kind === 'this') return methodClass(scope) ?? 'open';
  if (arrow) return ofElement(pointer.kind === 'pointer' ? pointer.element : undefined);
  const cell = object.kind === 'name' ? localVariable(scope, lastName(object.name)) : undefined;
  // what a reference is bound to bears another name, or is a variable of another call
  const isItself = cell && object.kind === 'name' && cell.name === lastName(object.name) && cell.depth === state.depth;
  return isItself && cell.type === type ? undefined : 'open';
}

const hasDefault = ({ scope }: RecordType, name: string, given: number): boolean =>
  scope.symbols
    ?.get(name)
    ?.some(
      (symbol) => symbol.kind === 'function' && symbol.declaration.parameters.slice(given).some((p) => p.default),
    ) === true;

const ofElement = (type: HostType | undefined): RecordType | 'open' => (type?.kind === 'record' ? type : 'open');

/** The class whose method runs. */
function methodClass(scope: Scope): RecordType | undefined {
  for (let at: Scope | undefined = scope; at; at = at.parent) if (at.record) return at.record;
  return undefined;
}
