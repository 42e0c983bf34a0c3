/** Shows what a piece of C++ computes by the sectors of a store whose index it is. */
import { check } from '../analysis/check-accesses';

const kernel = (before: string, index: string, expected: string, outside: string) => `
${outside}
// warplens: block=32 grid=1
__global__ void k(int* out, int n) {
  ${before}
  out[${index}] = 1;
//${'^'.repeat(`out[${index}]`.length)} ${expected}
}`;

/** Sectors of a store with this many 4-byte words between neighbouring lanes. */
const strided = (words: number) => `global store ${Math.min(32, words * 4)}/4 sectors exact`;

/** A kernel of one warp that stores to `out[expression]`: neighbouring lanes are `words` apart (1 to 8). */
export function index(before: string, expression: string, words: number, outside = ''): void {
  check(kernel(before, expression, strided(words), outside));
}

/** The same for a constant: `expression` is this number (1 to 8). */
export function equals(before: string, expression: string, value: number, outside = ''): void {
  index(before, `threadIdx.x * (${expression})`, value, outside);
}
