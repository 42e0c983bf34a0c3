/**
 * Every distinct token text once, with a small number for it. Macros are looked up and punctuators compared by these
 * numbers, so that the hot loops touch typed arrays only.
 */

/** Texts the preprocessor itself knows; their numbers are the same in every table. */
const fixedTexts = {
  leftParenthesis: '(',
  rightParenthesis: ')',
  comma: ',',
  hash: '#',
  hashHash: '##',
  ellipsis: '...',
  less: '<',
  greater: '>',
  zero: '0',
  one: '1',
  empty: '',
  define: 'define',
  undef: 'undef',
  include: 'include',
  includeNext: 'include_next',
  import: 'import',
  if: 'if',
  ifdef: 'ifdef',
  ifndef: 'ifndef',
  elif: 'elif',
  elifdef: 'elifdef',
  elifndef: 'elifndef',
  else: 'else',
  endif: 'endif',
  pragma: 'pragma',
  once: 'once',
  unroll: 'unroll',
  nounroll: 'nounroll',
  pack: 'pack',
  defined: 'defined',
  vaArgs: '__VA_ARGS__',
  vaOpt: '__VA_OPT__',
  pragmaOperator: '_Pragma',
} as const;

/** Number of each of the fixed texts. */
export const Fixed = Object.fromEntries(Object.keys(fixedTexts).map((name, index) => [name, index])) as Readonly<
  Record<keyof typeof fixedTexts, number>
>;

/** One step of the hash that `internRange` expects, over UTF-16 units, starting from 0. */
export function hashStep(hash: number, code: number): number {
  return (Math.imul(hash, 31) + code) | 0;
}

/** Above this length V8 makes a slice that keeps the whole file alive; interned texts outlive files. */
const longestCopiedSlice = 12;

export class Spellings {
  /** Text by number. */
  readonly texts: string[] = [];
  private slots = new Int32Array(1 << 12).fill(-1);
  private hashes = new Int32Array(1 << 11);

  constructor() {
    for (const text of Object.values(fixedTexts)) this.intern(text);
  }

  get count(): number {
    return this.texts.length;
  }

  /** Number of a text, new or known. */
  intern(text: string): number {
    let hash = 0;
    for (let index = 0; index < text.length; index++) hash = hashStep(hash, text.charCodeAt(index));
    return this.internRange(text, 0, text.length, hash);
  }

  /** Number of `text.slice(start, end)`, whose hash (of `hashStep`) the caller has computed on the way. */
  internRange(text: string, start: number, end: number, hash: number): number {
    const mask = this.slots.length - 1;
    let slot = (hash ^ (hash >>> 15)) & mask;
    for (let id = this.slots[slot]; id >= 0; id = this.slots[slot]) {
      if (this.hashes[id] === hash && equalsRange(this.texts[id], text, start, end)) return id;
      slot = (slot + 1) & mask;
    }
    return this.add(slot, text.slice(start, end), hash);
  }

  private add(slot: number, text: string, hash: number): number {
    const id = this.texts.length;
    this.texts.push(text.length > longestCopiedSlice ? ` ${text}`.slice(1) : text);
    this.hashes[id] = hash;
    this.slots[slot] = id;
    if (this.texts.length === this.hashes.length) this.grow();
    return id;
  }

  private grow(): void {
    const hashes = new Int32Array(this.hashes.length * 2);
    hashes.set(this.hashes);
    this.hashes = hashes;
    this.slots = new Int32Array(hashes.length * 2).fill(-1);
    const mask = this.slots.length - 1;
    for (let id = 0; id < this.texts.length; id++) {
      let slot = (hashes[id] ^ (hashes[id] >>> 15)) & mask;
      while (this.slots[slot] >= 0) slot = (slot + 1) & mask;
      this.slots[slot] = id;
    }
  }
}

function equalsRange(known: string, text: string, start: number, end: number): boolean {
  const length = end - start;
  if (known.length !== length) return false;
  for (let index = 0; index < length; index++) {
    if (known.charCodeAt(index) !== text.charCodeAt(start + index)) return false;
  }
  return true;
}
