/** The machine instructions that the assembler made of each access of a PTX text. */
import type { MachineAccess } from '../cubin/machine-access';
import type { AccessSite, MachineInstruction, SourcePlace } from '../program/program';
import type { Places } from './places';

export class MachineSites {
  private readonly byLine = new Map<number, MachineAccess[]>();
  private readonly lineStarts: readonly number[];
  private readonly placed = new Map<string, SourcePlace>();
  /** By what is asked for, as one number. */
  private readonly known = new Map<number, readonly MachineInstruction[]>();

  /**
   * @param accesses of one kernel
   * @param text of the PTX, whose lines the accesses name
   */
  constructor(
    accesses: readonly MachineAccess[],
    text: string,
    private readonly places: Places,
  ) {
    this.lineStarts = lineStartsOf(text);
    for (const access of accesses) {
      const known = this.byLine.get(access.ptxLine);
      if (known) known.push(access);
      else this.byLine.set(access.ptxLine, [access]);
    }
  }

  /**
   * The same list for the same instruction; undefined for a space that is not followed.
   * @param at offset of the PTX instruction in the text
   */
  of(
    at: number,
    operation: AccessSite['operation'],
    space: AccessSite['space'],
  ): readonly MachineInstruction[] | undefined {
    if (space === 'constant' || space === 'texture') return undefined;
    const key = (at * operations.length + operations.indexOf(operation)) * spaces.length + spaces.indexOf(space);
    let known = this.known.get(key);
    if (!known) {
      const made = this.byLine.get(this.lineOf(at)) ?? [];
      known = made
        .filter((each) => each.operation === operation && isSameSpace(each.space, space))
        .map(({ bytes, isPredicated, lines }) => ({ bytes, isPredicated, place: this.placeOf(lines) }));
      this.known.set(key, known);
    }
    return known;
  }

  private lineOf(at: number): number {
    let low = 0;
    let high = this.lineStarts.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.lineStarts[middle] <= at) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** The innermost line of the user's. */
  private placeOf(lines: MachineAccess['lines']): SourcePlace | undefined {
    const own = lines.find(({ file }) => this.places.isOwnFile(file));
    if (!own) return undefined;
    const key = `${own.line} ${own.file}`;
    let place = this.placed.get(key);
    if (!place) this.placed.set(key, (place = { first: -1, last: -1, location: { ...own, column: 0 } }));
    return place;
  }
}

const operations: readonly AccessSite['operation'][] = ['load', 'store', 'atomic'];
const spaces: readonly AccessSite['space'][] = ['shared', 'global', 'local', 'generic'];

let latest: { readonly text: string; readonly starts: readonly number[] } | undefined;

/** Offsets of the lines of a text; those of the latest are kept, since all its kernels ask for them. */
function lineStartsOf(text: string): readonly number[] {
  if (latest?.text === text) return latest.starts;
  const starts = [0];
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) starts.push(at + 1);
  latest = { text, starts };
  return starts;
}

const isSameSpace = (machine: MachineAccess['space'], ptx: AccessSite['space']): boolean =>
  machine === ptx || machine === 'generic' || ptx === 'generic';
