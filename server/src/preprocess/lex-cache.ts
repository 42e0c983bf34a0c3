import type { LexedFile } from './lexed-file';
import { lex } from './lexer';
import { Spellings } from './spellings';

/**
 * Raw tokens of the files read lately. An editor preprocesses the same headers at every key press, and only the text
 * of one file has changed. An entry holds for exactly one text.
 */
export class LexCache {
  private table = new Spellings();
  private readonly files = new Map<string, LexedFile>();
  private characters = 0;
  /** Tokens that the unit of a main file had last time: room for as many is made at once. */
  readonly expectedTokens = new Map<string, number>();

  /** Limits: UTF-16 units of text kept, and distinct token texts known, after which all is forgotten. */
  constructor(
    private readonly maximumCharacters = 64_000_000,
    private readonly maximumSpellings = 1_000_000,
  ) {}

  /** Table of the texts of all tokens; the same object for the duration of one `preprocess` call. */
  get spellings(): Spellings {
    return this.table;
  }

  /** Makes room before a unit is read. Called once at its start, never within: the numbers of spellings must last. */
  trim(): void {
    if (this.table.count > this.maximumSpellings) {
      this.files.clear();
      this.characters = 0;
      this.table = new Spellings();
      this.expectedTokens.clear();
    }
    for (const [path, file] of this.files) {
      if (this.characters <= this.maximumCharacters) return;
      this.forget(path, file);
    }
  }

  /** The tokens of a file, lexed now or taken from the cache if its text is the same as last time. */
  lex(path: string, text: string): LexedFile {
    const known = this.files.get(path);
    const plain = text.charCodeAt(0) === 0xfeff ? text.slice(1) : text;
    if (known !== undefined) this.forget(path, known);
    const file = known !== undefined && known.text === plain ? known : lex(plain, this.table);
    // put last: the first entry of the map is the one not used for longest
    this.files.set(path, file);
    this.characters += plain.length;
    return file;
  }

  private forget(path: string, file: LexedFile): void {
    this.files.delete(path);
    this.characters -= file.text.length;
  }
}
