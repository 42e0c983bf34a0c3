/** `#pragma pack`: the largest alignment that members of records get from one token on. */
import type { UnrollPragma } from './parser';

interface Change {
  readonly beforeToken: number;
  /** undefined: alignments are the types' own. */
  readonly largest: number | undefined;
}

/** What the pragmas of a unit say of packing, in its order: `pack(2)`, `pack(push, 1)`, `pack(pop)`, `pack()`. */
export class Packing {
  private readonly changes: Change[] = [];

  constructor(pragmas: readonly UnrollPragma[]) {
    const outer: (number | undefined)[] = [];
    let largest: number | undefined;
    for (const { beforeToken, text } of pragmas) {
      const words = /^pack\s*\(([^)]*)\)/.exec(text)?.[1].split(',');
      if (!words) continue;
      const [what, ...rest] = words.map((word) => word.trim());
      if (what === 'push') outer.push(largest);
      else if (what === 'pop') largest = outer.pop();
      const given = (what === 'push' || what === 'pop' ? rest : [what]).find((word) => /^\d+$/.test(word));
      if (given !== undefined) largest = Number(given);
      else if (what === '') largest = undefined;
      this.changes.push({ beforeToken, largest });
    }
  }

  /** In force where a token stands. */
  at(token: number): number | undefined {
    let largest: number | undefined;
    for (const change of this.changes) {
      if (change.beforeToken > token) break;
      largest = change.largest;
    }
    return largest;
  }
}
