/**
 * Blocks of a row whose counts change at few places: where a stride over the grid ends, the first blocks make one round more. The
 * places are found by halving, so that each run of equal blocks is counted by its length.
 */

/** What a block counted. */
export type Counters = Float64Array;

/** More changes than this are no few places. */
const MOST_CHANGES = 3;

/** Blocks that are executed for a row that is looked at by remainders. */
const MOST_RUNS = 300;

type Run = (n: number) => Counters | undefined;

/**
 * The sum over blocks 0 … size - 1 from some that were executed, or undefined where these change too often or `run` gives up.
 * @param known counters by block
 * @param run executes a block; undefined when it may not
 * @param period blocks after which alignment repeats: those of one remainder are a row of their own
 * @param mostChanges between the blocks known of a row
 */
export function sumOfRuns(
  known: ReadonlyMap<number, Counters>,
  size: number,
  run: Run,
  period = 1,
  mostChanges = MOST_CHANGES,
): Counters | undefined {
  if (period === 1) {
    const isPiecewise = changesOf(known) > 0 && changesOf(known) <= mostChanges;
    const at = isPiecewise ? executeChanges(known, size, run) : undefined;
    return at && sumUp(at);
  }
  return sumOfRemainders(known, size, run, period, mostChanges);
}

function sumOfRemainders(
  known: ReadonlyMap<number, Counters>,
  size: number,
  run: Run,
  period: number,
  mostChanges: number,
): Counters | undefined {
  let left = MOST_RUNS;
  let sum: Counters | undefined;
  /** Where the row before changed: the next one does so there, or close by. */
  let changes: readonly number[] = [];
  for (let remainder = 0; remainder < Math.min(period, size); remainder++) {
    const own = [...known].filter(([n]) => n % period === remainder);
    const row = new Map(own.map(([n, counters]) => [(n - remainder) / period, counters]));
    const runOwn = (n: number) => (left-- > 0 ? run(remainder + n * period) : undefined);
    const length = Math.ceil((size - remainder) / period);
    if (changesOf(row) > mostChanges) return undefined;
    for (const place of changes.flatMap((at) => [at - 1, at]))
      if (place < length && !execute(row, place, runOwn)) return undefined;
    const at = executeChanges(row, length, runOwn);
    if (!at) return undefined;
    changes = placesOfChange(at);
    const part = sumUp(at);
    if (sum) for (let i = 0; i < part.length; i++) sum[i] += part[i];
    else sum = part;
  }
  return sum;
}

/** Of the blocks known those that differ from the one before. */
function placesOfChange(known: ReadonlyMap<number, Counters>): readonly number[] {
  const places = [...known.keys()].sort((a, b) => a - b);
  return places.filter((place, k) => k > 0 && !areEqual(countersAt(known, place), countersAt(known, places[k - 1])));
}

const changesOf = (known: ReadonlyMap<number, Counters>): number => placesOfChange(known).length;

/** The blocks known, both ends, and those on both sides of each change. */
function executeChanges(
  known: ReadonlyMap<number, Counters>,
  size: number,
  run: Run,
): ReadonlyMap<number, Counters> | undefined {
  const at = new Map(known);
  for (const end of [0, size - 1]) if (!execute(at, end, run)) return undefined;
  const ends = [...at.keys()].sort((a, b) => a - b);
  for (let k = 1; k < ends.length; k++) if (!halve(at, ends[k - 1], ends[k], run)) return undefined;
  return at;
}

/** Executes blocks between two that differ, until neighbours do. */
function halve(at: Map<number, Counters>, first: number, last: number, run: Run): boolean {
  if (last - first <= 1 || areEqual(countersAt(at, first), countersAt(at, last))) return true;
  const middle = Math.floor((first + last) / 2);
  return execute(at, middle, run) && halve(at, first, middle, run) && halve(at, middle, last, run);
}

function execute(at: Map<number, Counters>, n: number, run: Run): boolean {
  if (at.has(n)) return true;
  const counters = run(n);
  if (counters) at.set(n, counters.slice());
  return counters !== undefined;
}

/** Every block counts as the one executed last before it. */
function sumUp(at: ReadonlyMap<number, Counters>): Counters {
  const places = [...at.keys()].sort((a, b) => a - b);
  const sum = new Float64Array(countersAt(at, places[0]).length);
  places.forEach((place, k) => {
    const length = k + 1 < places.length ? places[k + 1] - place : 1;
    const counters = countersAt(at, place);
    for (let i = 0; i < sum.length; i++) sum[i] += length * counters[i];
  });
  return sum;
}

const countersAt = (at: ReadonlyMap<number, Counters>, place: number): Counters => at.get(place) ?? new Float64Array(0);

/** Whether two blocks counted the same. @param used behind it both are zero */
export function areEqual(a: Counters, b: Counters, used = a.length): boolean {
  for (let i = 0; i < used; i++) if (a[i] !== b[i]) return false;
  return true;
}
