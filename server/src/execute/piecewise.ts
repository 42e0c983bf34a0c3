/**
 * Blocks of a row whose counts change at few places: where a stride over the grid ends, the first blocks make one round more. The
 * places are found by halving, so that each run of equal blocks is counted by its length. Where its blocks begin at different places of a
 * segment, they are equal only with the index modulo 8.
 */

/** What a block counted. */
export type Counters = Float64Array;

/** Addresses repeat with the block index modulo 8, whatever the step from block to block. */
const PERIOD = 8;

/** More changes than this are no few places. */
const MOST_CHANGES = 3;

/**
 * The sum over blocks 0 … size - 1 from some that were executed, or undefined where these change too often or `run` gives up.
 * @param known counters by block
 * @param run executes a block; undefined when it may not
 * @param alignment where in their segments the requests of the block that was executed last begin, as one number
 */
export function sumOfRuns(
  known: ReadonlyMap<number, Counters>,
  size: number,
  run: (n: number) => Counters | undefined,
  alignment: () => number,
): Counters | undefined {
  const places = [...known.keys()].sort((a, b) => a - b);
  const changes = places.filter(
    (place, k) => k > 0 && !areEqual(countersAt(known, place), countersAt(known, places[k - 1])),
  );
  if (changes.length === 0 || changes.length > MOST_CHANGES) return undefined;
  const at = new Map(known);
  for (const end of [0, size - 1]) if (!execute(at, end, run)) return undefined;
  const ends = [...at.keys()].sort((a, b) => a - b);
  for (let k = 1; k < ends.length; k++) if (!halve(at, ends[k - 1], ends[k], run)) return undefined;
  return sumUp(at, run, alignment);
}

/** Executes blocks between two that differ, until neighbours do. */
function halve(
  at: Map<number, Counters>,
  first: number,
  last: number,
  run: (n: number) => Counters | undefined,
): boolean {
  if (last - first <= 1 || areEqual(countersAt(at, first), countersAt(at, last))) return true;
  const middle = Math.floor((first + last) / 2);
  return execute(at, middle, run) && halve(at, first, middle, run) && halve(at, middle, last, run);
}

function execute(at: Map<number, Counters>, n: number, run: (n: number) => Counters | undefined): boolean {
  if (at.has(n)) return true;
  const counters = run(n);
  if (counters) at.set(n, counters.slice());
  return counters !== undefined;
}

/** Every block counts as the last one before it that was executed and is aligned alike. */
function sumUp(
  at: ReadonlyMap<number, Counters>,
  run: (n: number) => Counters | undefined,
  alignment: () => number,
): Counters {
  const all = [...at.keys()].sort((a, b) => a - b);
  const places = all.filter((place, k) => k === 0 || !areEqual(countersAt(at, place), countersAt(at, all[k - 1])));
  const end = all[all.length - 1] + 1;
  const sum = new Float64Array(countersAt(at, places[0]).length);
  places.forEach((place, k) => {
    const length = (places[k + 1] ?? end) - place;
    const period = periodOf(at, place, length, run, alignment);
    period.forEach((counters, n) => {
      const times = Math.ceil((length - n) / period.length);
      for (let i = 0; i < sum.length; i++) sum[i] += times * counters[i];
    });
  });
  return sum;
}

/** The first blocks of a run, up to where they repeat: one where the next two are aligned alike. */
function periodOf(
  at: ReadonlyMap<number, Counters>,
  place: number,
  length: number,
  run: (n: number) => Counters | undefined,
  alignment: () => number,
): readonly Counters[] {
  const period = [countersAt(at, place)];
  let aligned: number | undefined;
  for (let n = 1; n < Math.min(PERIOD, length); n++) {
    const counters = run(place + n);
    // as far as the budget goes
    if (!counters) return period.slice(0, 1);
    if (n === 2 && aligned === alignment()) return period.slice(0, 1);
    aligned ??= alignment();
    period.push(counters.slice());
  }
  return period;
}

const countersAt = (at: ReadonlyMap<number, Counters>, place: number): Counters => at.get(place) ?? new Float64Array(0);

/** Whether two blocks counted the same. @param used behind it both are zero */
export function areEqual(a: Counters, b: Counters, used = a.length): boolean {
  for (let i = 0; i < used; i++) if (a[i] !== b[i]) return false;
  return true;
}
