/**
 * Line continuations. They may stand anywhere, inside a name or an operator too, so the lexer reads the text with the
 * continuations cut out, and offsets are moved back afterwards.
 */

const LINE_FEED = 10;
const CARRIAGE_RETURN = 13;
const BACKSLASH = 92;

export interface SplicedText {
  readonly text: string;
  /** Offsets in the spliced text at which something was cut out, ascending. */
  readonly cuts: Int32Array;
  /** Characters cut out up to and with each of the cuts. */
  readonly removed: Int32Array;
}

/** Cuts the line continuations out of a text; undefined where there are none. */
export function spliceLines(text: string): SplicedText | undefined {
  const pieces: string[] = [];
  const cuts: number[] = [];
  const removed: number[] = [];
  let kept = 0;
  let total = 0;
  for (let at = text.indexOf('\\'); at >= 0; at = text.indexOf('\\', at + 1)) {
    const end = continuationEnd(text, at);
    if (end < 0) continue;
    pieces.push(text.slice(kept, at));
    cuts.push(at - total);
    total += end - at;
    removed.push(total);
    kept = end;
    at = end - 1;
  }
  if (cuts.length === 0) return undefined;
  pieces.push(text.slice(kept));
  return { text: pieces.join(''), cuts: new Int32Array(cuts), removed: new Int32Array(removed) };
}

/**
 * Where the continuation that begins with the backslash at `at` ends, or -1; blanks before the line break are allowed (GCC).
 * Two backslashes are one as well: nvcc preprocesses first, which joins the second one's line and writes the first one at the
 * end of a line again, and its front end joins that (nvcc 13.0 takes such a text, g++ alone does not).
 */
function continuationEnd(text: string, at: number): number {
  let position = at + 1;
  let code = text.charCodeAt(position);
  if (code === BACKSLASH) code = text.charCodeAt(++position);
  while (code === 32 || code === 9) code = text.charCodeAt(++position);
  if (code === LINE_FEED) return position + 1;
  if (code !== CARRIAGE_RETURN) return -1;
  return text.charCodeAt(position + 1) === LINE_FEED ? position + 2 : position + 1;
}

/** Offset in the original text of the character at `position` of the spliced one. */
export function originalOffset(splices: SplicedText, position: number): number {
  const { cuts, removed } = splices;
  let low = 0;
  let high = cuts.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (cuts[middle] <= position) low = middle + 1;
    else high = middle;
  }
  return low === 0 ? position : position + removed[low - 1];
}

/** Offset in the spliced text of a character of the original that was not cut out. */
export function splicedOffset(splices: SplicedText, offset: number): number {
  const { cuts, removed } = splices;
  let low = 0;
  let high = cuts.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (cuts[middle] + removed[middle] <= offset) low = middle + 1;
    else high = middle;
  }
  return low === 0 ? offset : offset - removed[low - 1];
}

/** Moves ascending ranges of the spliced text to the original text, in place. */
export function moveToOriginal(splices: SplicedText, starts: Int32Array, ends: Int32Array): void {
  const { cuts, removed } = splices;
  let startCut = 0;
  let endCut = 0;
  for (let index = 0; index < starts.length; index++) {
    while (startCut < cuts.length && cuts[startCut] <= starts[index]) startCut++;
    // a range ends behind its last character, not behind a continuation that follows it
    const last = ends[index] - 1;
    while (endCut < cuts.length && cuts[endCut] <= last) endCut++;
    if (startCut > 0) starts[index] += removed[startCut - 1];
    if (endCut > 0) ends[index] += removed[endCut - 1];
  }
}
