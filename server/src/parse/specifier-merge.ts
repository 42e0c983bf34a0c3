import type { Specifiers } from './ast';
import type { Declarator } from './declarators';
import { noSpecifiers, type SpecifierSet } from './specifiers';

/** The specifiers of a declaration together with what one of its declarators adds (alignment, restrict). */
export function mergeSpecifiers(set: SpecifierSet, declarator: Declarator): Specifiers {
  const own = declarator.specifiers.value;
  if (own === noSpecifiers && (!declarator.restrict || set.value.isRestrict)) return set.value;
  const merged: Record<string, unknown> = { ...set.value };
  for (const [key, value] of Object.entries(own)) if (value) merged[key] = value;
  if (declarator.restrict) merged.isRestrict = true;
  return merged as unknown as Specifiers;
}
