/** What a function cannot change of what it is given. */
import type { TypeNode } from '../../parse/ast';
import { LIBRARY_TOKENS } from '../context';
import { type RecordType, type Type, withoutReference } from '../types';

export function holdsPointer(type: Type): boolean {
  if (type.kind === 'array') return holdsPointer(type.of);
  return type.kind === 'pointer' || (type.kind === 'record' && type.record.fields.some((f) => holdsPointer(f.type)));
}

/**
 * A parameter by reference or pointer to const: what it leads to stays as it is, as far as nothing in there points on. Containers of the library hand on
 * that they are const to their elements; a record of the user's with a pointer does not.
 */
export function isOnlyRead(parameter: TypeNode | undefined, given: Type): boolean {
  if (parameter?.kind !== 'reference' && parameter?.kind !== 'pointer') return false;
  if (!parameter.to.isConst) return false;
  const type = withoutReference(given);
  const to = parameter.kind === 'pointer' && type.kind === 'pointer' ? type.to : type;
  if (to.kind !== 'record' || !isOfLibrary(to)) return isPlain(to);
  return to.record.fields.every(({ type: field }) => isPlain(field.kind === 'pointer' ? field.to : field));
}

const isPlain = (type: Type): boolean => type.kind !== 'unknown' && type.kind !== 'void' && !holdsPointer(type);

/** A container, a string, a stream: declared by the library. */
export const isOfLibrary = ({ record }: RecordType): boolean =>
  record.declaration !== undefined && record.declaration.first >= LIBRARY_TOKENS;
