/** Two questions about the lanes of a request that both memory models ask first. */

/** Active lanes among from … to - 1. */
export function countActive(active: Uint8Array, from: number, to: number): number {
  let count = 0;
  for (let lane = from; lane < to; lane++) if (active[lane] !== 0) count++;
  return count;
}

/** The common difference of neighbouring lanes' addresses, or NaN where it is not the same for all. */
export function constantStride(addresses: Float64Array, from: number, to: number): number {
  let last = addresses[from];
  const stride = from + 1 < to ? addresses[from + 1] - last : 0;
  for (let lane = from + 1; lane < to; lane++) {
    const address = addresses[lane];
    if (address - last !== stride) return Number.NaN;
    last = address;
  }
  return stride;
}
