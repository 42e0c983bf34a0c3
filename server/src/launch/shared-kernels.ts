/** Launches of linked units that no kernel of the unit in question is in: nobody needs to come to them. */
import type { HostUnit } from './host-tokens';
import { type HostIndex, lastName } from './scope';

/** Tokens of a template's arguments that are looked through for their begin. */
const MOST_ARGUMENTS = 64;

/** Names of kernels that only linked units define; the first unit is the one in question. */
export function foreignKernels(index: HostIndex, units: readonly HostUnit[]): ReadonlySet<string> {
  const foreign = new Set<string>();
  const own = new Set<string>();
  const firstOther = units[1]?.base ?? Number.POSITIVE_INFINITY;
  for (const { declaration } of index.functions) {
    if (!declaration.specifiers.isGlobal) continue;
    (declaration.first < firstOther ? own : foreign).add(lastName(declaration.name));
  }
  for (const name of own) foreign.delete(name);
  return foreign;
}

/** The name in front of a launch: `name<<<`, `name<…><<<`. */
export function launchedName(text: readonly string[], site: number): string | undefined {
  let depth = 0;
  for (let at = site - 1; at > site - MOST_ARGUMENTS && at >= 0; at--) {
    if (text[at] === '>') depth++;
    else if (text[at] === '>>') depth += 2;
    else if (text[at] === '<') depth--;
    if (text[at] !== '<' && depth <= 0) return text[at];
  }
  return undefined;
}
