/** Which statements can end the program: only those have to be undoable. */
import type { TokenStream } from '../preprocess/token';
import type { HostTokens } from './host-tokens';
import { type HostIndex, lastName } from './scope';
import { anyWithin } from './sorted-tokens';

export const exitFunctions: readonly string[] = ['exit', '_exit', 'abort', 'terminate', 'quick_exit', '_Exit'];

/**
 * Numbers of the tokens that spell a way out, ascending, by the tokens of the first unit: for all searches in the same units they are found once
 * (each search has an index of its own).
 */
const knownTokens = new WeakMap<TokenStream, readonly ExitTokens[]>();
/** The unit alone, and with those that it is linked with: one is searched after the other, for each sample. */
const MOST_KNOWN = 3;

interface ExitTokens {
  readonly tokens: HostTokens;
  readonly exits: readonly number[];
}

/** Those that a search has found, or looked up. */
const knownOf = new WeakMap<HostTokens, readonly number[]>();

export class Exits {
  constructor(
    private readonly index: HostIndex,
    private readonly tokens: HostTokens | undefined,
  ) {}

  /** True if running the statement of tokens first … last may reach exit(), abort() or a throw. */
  mayExit(first: number, last: number): boolean {
    if (!this.tokens) return true;
    return anyWithin(exitTokens(this.index, this.tokens), first, last);
  }
}

function exitTokens(index: HostIndex, tokens: HostTokens): readonly number[] {
  let exits = knownOf.get(tokens);
  if (!exits) {
    const first = tokens[0].tokens;
    const known = knownTokens.get(first) ?? [];
    const same = known.find((each) => areSame(each.tokens, tokens));
    exits = same?.exits ?? findExits(index, tokens);
    if (!same) knownTokens.set(first, [{ tokens, exits }, ...known].slice(0, MOST_KNOWN));
    knownOf.set(tokens, exits);
  }
  return exits;
}

const areSame = (one: HostTokens, other: HostTokens): boolean =>
  one.length === other.length &&
  one.every(({ base, tokens }, i) => base === other[i].base && tokens === other[i].tokens);

function findExits(index: HostIndex, tokens: HostTokens): readonly number[] {
  const words = exitWords(index);
  const exits: number[] = [];
  for (const { base, tokens: unit } of tokens)
    for (let at = 0; at < unit.count; at++) if (words.has(unit.text[at])) exits.push(base + at);
  return exits;
}

/** exit and its kin, and the functions that mention one of them, directly or not. */
function exitWords(index: HostIndex): Set<string> {
  const words = new Set([...exitFunctions, 'throw']);
  for (let size = 0; size < words.size; ) {
    size = words.size;
    for (const { declaration } of index.functions) {
      const name = lastName(declaration.name);
      if (!words.has(name) && mentionsAny(declaration.mentions, words)) words.add(name);
    }
  }
  return words;
}

function mentionsAny(mentions: ReadonlySet<string>, words: ReadonlySet<string>): boolean {
  for (const word of mentions) if (words.has(word)) return true;
  return false;
}
