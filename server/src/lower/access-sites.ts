import type { AccessSite, MemorySpace, Register } from '../program/program';
import { type Context, inUserText, placeOf, textOf } from './context';
import type { MemoryPlace } from './values';

export type SiteExtra = Pick<AccessSite, 'atomic' | 'resultUsed'>;

/** What one place in the source was last asked for. */
export interface LastSite extends SiteExtra {
  readonly callPath: string;
  /** The first token of where it is shown. */
  readonly first: number;
  readonly operation: AccessSite['operation'];
  readonly object: number | undefined;
  readonly index: number;
}

/**
 * The access site of an expression: one for each place in the source, operation and call path, however often it is lowered
 * (unrolled copies, the parts of a struct).
 */
export function accessSite(
  ctx: Context,
  place: MemoryPlace,
  operation: AccessSite['operation'],
  address: Register,
  extra: SiteExtra = {},
): number {
  const object = place.object ?? objectOfAddress(ctx, address);
  const { first } = place.at ?? place.node;
  // copies of a loop's body ask for the same site one after the other: without a text to be made of it
  const last = ctx.lastSites.get(place.node);
  if (
    last?.operation === operation &&
    last.object === object &&
    last.first === first &&
    last.atomic === extra.atomic &&
    last.resultUsed === extra.resultUsed &&
    last.callPath === ctx.callPath
  )
    return last.index;
  const index = siteOf(ctx, place, operation, object, extra);
  const { atomic, resultUsed } = extra;
  ctx.lastSites.set(place.node, { callPath: ctx.callPath, first, operation, object, atomic, resultUsed, index });
  return index;
}

function siteOf(
  ctx: Context,
  place: MemoryPlace,
  operation: AccessSite['operation'],
  object: number | undefined,
  extra: SiteExtra,
): number {
  const space = object === undefined ? 'generic' : ctx.builder.objects[object].space;
  const at = place.at ?? place.node;
  const key = `${ctx.callPath}:${place.node.first}:${place.node.last}:${at.first}:${operation}:${object ?? ''}:${extra.atomic ?? ''}:${extra.resultUsed ?? ''}`;
  const known = ctx.sites.get(key);
  if (known !== undefined) return known;
  const site: AccessSite = {
    place: placeOf(ctx, at),
    expression: textOf(ctx.unit.tokens, inUserText(ctx, place.node)),
    operation,
    space: space as MemorySpace | 'generic',
    object,
    readOnly: place.readOnly,
    isVolatile: place.isVolatile,
    copiedBytes: place.copied?.record.bytes,
    isMember: place.isOfMember === true,
    isAssembly: place.isAssembly,
    isPastL1: place.isPastL1,
    isInHeader: place.isInHeader,
    ...extra,
  };
  const index = ctx.builder.access(site);
  ctx.sites.set(key, index);
  return index;
}

/** The object an address is derived from, by its linear form: the one term that is an object's or parameter's address. */
export function objectOfAddress(ctx: Context, address: Register): number | undefined {
  const form = ctx.builder.linearForm(address);
  if (!form) return undefined;
  let found: number | undefined;
  for (let k = 0; k < form.registers.length; k++) {
    if (form.factors[k] !== 1) continue;
    const index = ctx.builder.objectAt(form.registers[k]);
    if (index < 0) continue;
    if (found !== undefined) return undefined;
    found = index;
  }
  return found;
}
