/**
 * Asynchronous copies from global to shared memory (cp.async, LDGSTS). A wavefront takes, of the lanes of a phase, one word from
 * each place modulo 128 bytes of the sources, and puts one into each bank; sources do not broadcast. A phase (32, 16 or 8 lanes, as
 * for stores) costs as many wavefronts as lanes share a source place, plus as many as share a bank, less one.
 *
 * Source: H200, 168 copies of 4, 8 and 16 bytes of 14 kinds (test/hardware/programs/async_copy_shapes.cu), all exact. Capabilities
 * before 9.0 are taken to do the same.
 */

const BANKS = 32;
const WORD = 4;

const sourceLoad = new Int32Array(BANKS);
const targetLoad = new Int32Array(BANKS);

/** What a copy by one warp costs in shared memory. */
export interface CopyCost {
  wavefronts: number;
  /** What lanes share more often, over all phases. */
  boundBy: 'source' | 'target';
}

/**
 * Counts one warp's copy into `out`; allocates nothing.
 * @param bytes 4, 8 or 16 a lane
 * @param sources byte addresses in global memory, @param targets in shared memory, both at first … first + lanes - 1
 */
export function copyCost(
  bytes: number,
  sources: Float64Array,
  targets: Float64Array,
  active: Uint8Array,
  first: number,
  lanes: number,
  out: CopyCost,
): void {
  const words = Math.max(1, bytes / WORD);
  const phase = BANKS / words;
  let wavefronts = 0;
  let fromSources = 0;
  let fromTargets = 0;
  for (let start = first; start < first + lanes; start += phase) {
    const end = Math.min(start + phase, first + lanes);
    const source = largestLoad(sources, active, start, end, words, sourceLoad);
    if (source === 0) continue;
    const target = largestLoad(targets, active, start, end, words, targetLoad);
    wavefronts += source + target - 1;
    fromSources += source;
    fromTargets += target;
  }
  out.wavefronts = wavefronts;
  out.boundBy = fromSources > fromTargets ? 'source' : 'target';
}

/** Lanes that share the fullest of the 32 places. */
function largestLoad(
  addresses: Float64Array,
  active: Uint8Array,
  start: number,
  end: number,
  words: number,
  load: Int32Array,
): number {
  load.fill(0);
  let largest = 0;
  for (let lane = start; lane < end; lane++) {
    if (active[lane] === 0) continue;
    const place = Math.floor(addresses[lane] / WORD) % BANKS;
    for (let word = 0; word < words; word++) {
      const count = ++load[(place + word) % BANKS];
      if (count > largest) largest = count;
    }
  }
  return largest;
}
