import { followDirective } from './directives';
import type { TokenSource } from './expansion';
import { endOfGroup, isConditionalElse } from './line-structure';
import type { Lexeme } from './macro';
import { endOfLine } from './positions';
import { Fixed } from './spellings';
import { type Frame, lexemeAt, type Unit } from './unit';

/** Raw tokens that may be looked at in vain for the ends of calls in the whole unit, before each look is cut short. */
const scanLimit = 1_000_000;
const shortScan = 100;

/** The text behind a macro name in a file. Directives among the arguments of a call are followed. */
export class FileSource implements TokenSource {
  /** Offset behind the last token taken, or behind the name. */
  end: number;
  private readonly depth: number;
  private lineEnd = -1;

  /** @param nameEnd offset behind the macro name */
  constructor(
    private readonly unit: Unit,
    private readonly frame: Frame,
    nameEnd: number,
  ) {
    this.end = nameEnd;
    this.depth = unit.frames.length;
  }

  opensCall(): boolean {
    const { lexed, index } = this.frame;
    return index < lexed.count && lexed.spelling[index] === Fixed.leftParenthesis;
  }

  /** Of every condition within the call the first group is looked at: groups are balanced alike in code that compiles. */
  closesCall(depth: number): boolean {
    const { unit, frame } = this;
    const { spelling, directives, count } = frame.lexed;
    const limit = unit.scannedInVain > scanLimit ? Math.min(count, frame.index + shortScan) : count;
    let next = frame.directive;
    let open = depth;
    let index = frame.index;
    for (; index < limit; index++) {
      if (directives[next]?.hash === index) {
        if (isConditionalElse(directives[next].name)) next = endOfGroup(directives, next + 1, true);
        index = (directives[next++]?.end ?? count) - 1;
      } else if (spelling[index] === Fixed.leftParenthesis) open++;
      else if (spelling[index] === Fixed.rightParenthesis && --open === 0) break;
    }
    if (index < limit) return true;
    unit.scannedInVain += index - frame.index;
    return false;
  }

  take(): Lexeme | undefined {
    for (let frame = this.unit.frame; frame !== undefined; frame = this.unit.frame) {
      if (frame.index >= frame.lexed.count) {
        // a call does not go on behind the file that it began in
        if (this.unit.frames.length <= this.depth) return undefined;
        this.unit.close();
      } else if (frame.atDirective) followDirective(this.unit, frame);
      else return this.token(frame, frame.index++);
    }
    return undefined;
  }

  private token(frame: Frame, index: number): Lexeme {
    if (frame !== this.frame) return lexemeAt(frame.lexed, index, false);
    const { lexed } = frame;
    if (this.lineEnd < 0) this.lineEnd = endOfLine(lexed.text, this.end);
    this.end = lexed.end[index];
    return lexemeAt(lexed, index, lexed.start[index] < this.lineEnd);
  }
}
