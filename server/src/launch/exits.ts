/** Which statements can end the program: only those have to be undoable. */
import { type HostTokens, spellings } from './host-tokens';
import { type HostIndex, lastName } from './scope';

export const exitFunctions: readonly string[] = ['exit', '_exit', 'abort', 'terminate', 'quick_exit', '_Exit'];

export class Exits {
  private words?: ReadonlySet<string>;
  private readonly known = new Map<number, boolean>();

  constructor(
    private readonly index: HostIndex,
    private readonly tokens: HostTokens | undefined,
  ) {}

  /** True if running the statement of tokens first … last may reach exit(), abort() or a throw. */
  mayExit(first: number, last: number): boolean {
    const tokens = this.tokens;
    if (!tokens) return true;
    const known = this.known.get(first);
    if (known !== undefined) return known;
    this.words ??= exitWords(this.index);
    const found = this.anyWord(tokens, first, last);
    this.known.set(first, found);
    return found;
  }

  private anyWord(tokens: HostTokens, first: number, last: number): boolean {
    for (const word of spellings(tokens, first, last)) if (this.words?.has(word)) return true;
    return false;
  }
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
