/** Questions about constructors that their declaration answers. */
import type { FunctionDeclaration } from './ast';

/** A copying or moving constructor of a class: often `= default`, and then it says nothing of how other objects are made. */
export function isCopyOf(name: string, { parameters: [first, ...others] }: FunctionDeclaration): boolean {
  if (first?.type.kind !== 'reference' || !others.every((parameter) => parameter.default)) return false;
  const { to } = first.type;
  return to.kind === 'named' && to.name.parts.at(-1)?.name === name;
}

/** Whether a call with so many arguments fits. */
export function takes({ parameters, isVariadic }: FunctionDeclaration, count: number): boolean {
  const required = parameters.filter((parameter) => !parameter.default && !parameter.pack).length;
  const isOpen = isVariadic || parameters.some((parameter) => parameter.pack);
  return count >= required && (isOpen || count <= parameters.length);
}

/** Whether braces with elements are one argument of it: `Matrix(std::initializer_list<T> values)`. */
export function takesList({ parameters: [first, ...others] }: FunctionDeclaration): boolean {
  const type = first?.type.kind === 'reference' ? first.type.to : first?.type;
  const isList = type?.kind === 'named' && type.name.parts.at(-1)?.name === 'initializer_list';
  return isList && others.every((parameter) => parameter.default);
}
