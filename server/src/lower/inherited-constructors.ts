/** Constructors that a class has from its bases: `using Base::Base;`. */
import { isCopyOf } from '../parse/constructors';
import type { Context } from './context';
import { type ChosenFunction, chooseOverload } from './overloads';
import { recordOf } from './records';
import type { RecordInfo } from './types';
import type { Value } from './values';

const DEEPEST = 16;

/** The constructor of a base, and that base, that makes an object of these arguments. */
export function inheritedConstructor(
  ctx: Context,
  record: RecordInfo,
  args: readonly Value[],
  depth = 0,
): { readonly chosen: ChosenFunction; readonly base: RecordInfo } | undefined {
  for (const base of depth < DEEPEST ? basesOfConstructors(record) : []) {
    const name = base.declaration?.name?.parts.at(-1)?.name ?? '';
    const own = (base.methods.get(name) ?? []).filter((m) => m.body && !isCopyOf(name, m));
    const chosen = base.scope && chooseOverload(ctx, own, base.scope, args, undefined);
    if (chosen) return { chosen, base };
    const further = inheritedConstructor(ctx, base, args, depth + 1);
    if (further) return further;
  }
  return undefined;
}

export const inheritsConstructors = (record: RecordInfo): boolean => basesOfConstructors(record).length > 0;

/** `using Base<T>::Base;` names a base twice; by another name than its own (`using T::T;`) it is the only one. */
function basesOfConstructors({ declaration, fields }: RecordInfo): readonly RecordInfo[] {
  const bases = fields.flatMap(({ isBase, type }) => (isBase && recordOf(type)) || []);
  return (declaration?.members ?? []).flatMap((member) => {
    if (member.kind !== 'using' || member.isDirective || member.name.parts.length < 2) return [];
    const [outer, last] = member.name.parts.slice(-2);
    if (outer.name !== last.name) return [];
    const named = bases.filter((base) => base.declaration?.name?.parts.at(-1)?.name === last.name);
    return named.length > 0 ? named : bases.length === 1 ? bases : [];
  });
}
