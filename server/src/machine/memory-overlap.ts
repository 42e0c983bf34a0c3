/** Which accesses may reach the same memory. */
import type { AccessSite, Program } from '../program/program';

export function isReadOnly(site: AccessSite, program: Program): boolean {
  if (site.readOnly) return true;
  const space = site.object === undefined ? site.space : program.objects[site.object].space;
  return space === 'constant';
}

/**
 * Whether two accesses may meet: not in different spaces, not in different declared arrays, not through a pointer that is
 * `__restrict__` and another one. Pointers that are not may point to the same buffer, a declared array among them.
 */
export function mayTouch(program: Program, a: AccessSite, b: AccessSite): boolean {
  const first = a.object === undefined ? undefined : program.objects[a.object];
  const second = b.object === undefined ? undefined : program.objects[b.object];
  const spaceOfFirst = first?.space ?? a.space;
  const spaceOfSecond = second?.space ?? b.space;
  if (spaceOfFirst !== 'generic' && spaceOfSecond !== 'generic' && spaceOfFirst !== spaceOfSecond) return false;
  if (first === undefined || second === undefined || first === second) return true;
  if (first.isRestrict || second.isRestrict) return false;
  return first.bytes === undefined || second.bytes === undefined;
}

/** Whether a barrier may change what is read: others have written it meanwhile, but not behind a `__restrict__` pointer. */
export function changesAtBarrier(program: Program, site: AccessSite): boolean {
  return site.object === undefined || !program.objects[site.object].isRestrict;
}
