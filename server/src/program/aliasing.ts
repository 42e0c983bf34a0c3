/** Which accesses may touch the same bytes. A kernel of a thousand accesses has a handful of classes of them. */
import type { AccessSite, Program } from './program';

/** The object that a site counts as where stores and loads are told apart: index into objects. */
export const memoryOf = ({ memory, object }: AccessSite): number | undefined => memory ?? object;

/** Whether two sites may touch the same bytes. Sites that name different objects do not. */
export function mayAlias(a: AccessSite, b: AccessSite): boolean {
  const [one, other] = [memoryOf(a), memoryOf(b)];
  if (one !== undefined && other !== undefined) return one === other;
  return a.space === b.space || a.space === 'generic' || b.space === 'generic';
}

/** Whether the executor keeps what is stored there within a kernel, global memory apart. */
export function keepsContents({ space }: AccessSite): boolean {
  return space === 'shared' || space === 'local' || space === 'generic';
}

export interface AliasClasses {
  /** By access site: its class. Accesses of one class may touch the same bytes as the same others. */
  readonly of: Int32Array;
  /** By class: a site of it. */
  readonly sites: readonly AccessSite[];
  /** By class: the classes that may touch the same bytes, itself among them. */
  readonly aliasing: readonly (readonly number[])[];
}

export function aliasClasses({ accesses }: Program): AliasClasses {
  const of = new Int32Array(accesses.length);
  const known = new Map<string, number>();
  const sites: AccessSite[] = [];
  accesses.forEach((site, access) => {
    // all that mayAlias asks about
    const key = `${site.space} ${memoryOf(site) ?? ''}`;
    of[access] = known.get(key) ?? sites.push(site) - 1;
    known.set(key, of[access]);
  });
  const aliasing = sites.map((a) => [...sites.keys()].filter((each) => mayAlias(a, sites[each])));
  return { of, sites, aliasing };
}
