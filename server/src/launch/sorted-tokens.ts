/** Searches in ascending token numbers. */

/** Where the first number stands that is not below a value. */
export function lowerBound(sorted: readonly number[], value: number): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Whether one of them is in first … last. */
export function anyWithin(sorted: readonly number[], first: number, last: number): boolean {
  const at = lowerBound(sorted, first);
  return at < sorted.length && sorted[at] <= last;
}
