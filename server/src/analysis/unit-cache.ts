/**
 * Units between analyses: when the compiler has answered, when the data of the host are there, or when a setting has changed, the text
 * is the one that was parsed before. Parsing is 12 % of the answer that rests on the compiler's PTX (38 recorded programs).
 */
import type { LexCache } from '../preprocess/lex-cache';
import { type ParsedUnit, type ParseRequest, readUnit, unitToRead } from './parsed-unit';
import type { SourceUnit } from './request';

type Include = SourceUnit['include'];

/** An `#include` that was asked for, and what it gave. */
interface Included {
  readonly asked: Parameters<Include>;
  readonly found: ReturnType<Include>;
}

interface Kept {
  readonly unit: SourceUnit;
  readonly included: readonly Included[];
  readonly parsed: ParsedUnit;
}

/** The one in the editor, and another that is open beside it. */
const KEPT = 2;

export class UnitCache {
  private kept: readonly Kept[] = [];

  constructor(private readonly lexCache: LexCache) {}

  /**
   * The unit of a request; the same object as long as the text, its macros and every file that it includes are the same.
   * @param isTrial a text that nobody will ask for again: it takes no other's place
   */
  parse(request: ParseRequest, isTrial = false): ParsedUnit {
    const unit = unitToRead(request);
    const known = this.kept.find((each) => isSame(each, unit));
    const current = known ?? this.read(unit);
    if (!isTrial) this.kept = [current, ...this.kept.filter((each) => each !== current)].slice(0, KEPT);
    return current.parsed;
  }

  private read(unit: SourceUnit): Kept {
    const included: Included[] = [];
    const include: Include = (...asked) => {
      const found = unit.include(...asked);
      included.push({ asked, found });
      return found;
    };
    return { unit, included, parsed: readUnit({ ...unit, include }, this.lexCache) };
  }
}

/** Includes are asked for once more: a header may have changed since. */
function isSame({ unit: known, included }: Kept, unit: SourceUnit): boolean {
  return (
    known.path === unit.path &&
    known.text === unit.text &&
    known.defines.size === unit.defines.size &&
    [...known.defines].every(([name, value]) => unit.defines.get(name) === value) &&
    included.every(({ asked, found }) => {
      const now = unit.include(...asked);
      return now?.path === found?.path && now?.text === found?.text;
    })
  );
}
