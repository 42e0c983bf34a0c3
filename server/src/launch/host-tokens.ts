/** Tokens of the translation units that one program is linked from: the nodes of each have numbers of its own. */
import type { TokenStream } from '../preprocess/token';

export interface HostUnit {
  /** What the numbers of the unit's nodes begin with: its token t is number `base` + t. */
  readonly base: number;
  readonly tokens: TokenStream;
}

/** By ascending base. */
export type HostTokens = readonly HostUnit[];

/** The unit of a token's number. */
export function unitOf(units: HostTokens, token: number): HostUnit | undefined {
  return units.findLast(({ base }) => base <= token);
}

/** Spellings of the tokens first … last, in their order. */
export function* spellings(units: HostTokens, first: number, last: number): Generator<string> {
  const unit = unitOf(units, first);
  if (!unit) return;
  const { base, tokens } = unit;
  for (let at = first - base; at <= last - base && at < tokens.count; at++) yield tokens.text[at];
}
