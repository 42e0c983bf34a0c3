/** Types of functions: what partial specialisations (`Traits<R (*)(A)>`) take apart. */
import type { Expression, FunctionDeclaration } from '../parse/ast';
import { evaluate } from './expression';
import { autoType, type HostType, typeName } from './host-type';
import { resolveType } from './resolve-type';
import type { Scope } from './scope';
import type { HostState } from './state';
import { typeOf } from './value';

/** A function's name is of its type, with `&` of a pointer to it; which of several is meant is not known. */
export function typeOfDecltype(state: HostState, expression: Expression, scope: Scope): HostType {
  const value = evaluate(state, expression, scope);
  if (value.kind !== 'function') return typeOf(value) ?? autoType;
  if (value.others || value.overloads.some(({ declaration }) => declaration.templateParameters)) return autoType;
  const types = value.overloads.map((each) => signatureOf(state, each.declaration, each.scope));
  const [type] = types;
  // a declaration and its definition are one
  if (!type || types.some((other) => typeName(other) !== typeName(type))) return autoType;
  return expression.kind === 'name' ? type : { kind: 'pointer', to: type };
}

/** Of a type or a declaration; nothing more is known of it where a pack among its parameters is not. */
export function signatureOf(
  state: HostState,
  { result, parameters }: Pick<FunctionDeclaration, 'result' | 'parameters'>,
  scope: Scope,
): HostType {
  const given = parameters.map(({ type }) => resolveType(state, type, scope));
  if (given.some(({ kind }, i) => parameters[i].pack && kind !== 'pack')) return { kind: 'function' };
  const flat = given.flatMap((type) => (type.kind === 'pack' ? type.elements : [type]));
  const isNone = flat.length === 1 && typeName(flat[0]) === 'void';
  return { kind: 'function', result: resolveType(state, result, scope), parameters: isNone ? [] : flat };
}
