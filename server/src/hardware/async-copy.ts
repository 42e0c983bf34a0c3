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

const LINE = 128;
const SECTOR = 32;
const SECTORS_OF_LINE = LINE / SECTOR;
/** Bytes a lane, the only size that goes past L1. */
const PIECE = 16;
const LANES = 32;

const groupSource = new Float64Array(LANES);
const groupTarget = new Float64Array(LANES);
/** 1 where the halves of the sector change places. */
const groupSwap = new Uint8Array(LANES);
/** Bit 0 for the first half, bit 1 for the second. */
const groupHalves = new Uint8Array(LANES);
/** Lines that the sectors are of. */
const groupSourceLine = new Float64Array(LANES);
const groupTargetLine = new Float64Array(LANES);
/** The wavefront that takes the sector. */
const groupWavefront = new Uint8Array(LANES);

/** What a copy past L1 costs: `cp.async.cg`, LDGSTS.E.BYPASS. */
export interface PastL1Cost {
  wavefronts: number;
  idealWavefronts: number;
  sectors: number;
  idealSectors: number;
}

/**
 * Copies of 16 bytes a lane that go past L1, which is how `cp.async.cg`, `__pipeline_memcpy_async` and `cuda::memcpy_async` move 16 bytes.
 * Memory hands over sectors of 32 bytes: lanes share one if they copy its halves to the halves of one sector of shared memory, both in
 * order or both swapped. A wavefront takes different sectors of one line of 128 bytes that go to one line of shared memory, all of them whole, or all
 * of them the same half, all of them or none to a place of the other parity. So rows that begin at another place of a line than they are put to
 * cost twice the wavefronts, and more where they are moved by an odd number of 16 bytes; swizzled rows cost nothing. Lanes that are off count for nothing, whether a branch or a predicate turns them off.
 *
 * Source: H200, 154 copies of rows of 2 to 32 lanes, pitches of 8 to 20 elements on both sides, 1 to 32 lanes on, all four counters exact;
 * async_copy_shapes.cu (26 of 28 copies of 14 kinds, two permutations at random within 2 of 28; its table has every other copy with no
 * figures at all, and no lane for those off), gemm_async.cu:16 (15 wavefronts, 24 sectors), rows of 64 and 128 bytes swizzled by their number.
 * Where the instruction says how many bytes are read (its fourth operand), sectors are read by the lanes that read any, and a warp of which some
 * lanes read nothing stores first, as a plain store of all its lanes, and then moves what the others read (H200, hgemm_ladder.cu:104: 24 copies of swizzled
 * rows, 20 of them exact and four, of misaligned rows whose last ones are off, within 0.7 %; fi_decode.cu:109, 20 copies). Under the predicate P0 the
 * profiler takes it for the store alone (cp_async_sgemm.cu: 22 copies; hgemm_ladder.cu: 12, each the first of its stretch of code but four).
 * Lanes off: H100, 38 kernels of 1 to 16 copies of 12 lanes behind conditions of eleven kinds, 25 of them branched around, 10 under predicates other than
 * P0. Under P0 (4 kernels), which the profiler's own code uses, its counters take all lanes with whatever addresses their registers hold, and warps of
 * which none is on (H200: a pipeline that runs four tiles past its last one, 84 requests a warp instead of 80, where the tag requests, which the hardware
 * counts, are those of 80): a defect of the measurement, of which no source text can tell, and which is left out.
 */
export function pastL1Cost(
  sources: Float64Array,
  targets: Float64Array,
  active: Uint8Array,
  first: number,
  lanes: number,
  out: PastL1Cost,
): void {
  let groups = 0;
  let count = 0;
  for (let lane = first; lane < first + lanes; lane++) {
    if (active[lane] === 0) continue;
    count++;
    const source = Math.floor(sources[lane] / SECTOR);
    const target = Math.floor(targets[lane] / SECTOR);
    const half = Math.floor(sources[lane] / PIECE) % 2;
    const swap = half ^ (Math.floor(targets[lane] / PIECE) % 2);
    // mostly the sector of the lane before
    let at = groups - 1;
    while (at >= 0 && (groupSource[at] !== source || groupTarget[at] !== target || groupSwap[at] !== swap)) at--;
    if (at < 0) {
      at = groups++;
      groupSource[at] = source;
      groupTarget[at] = target;
      groupSwap[at] = swap;
      groupHalves[at] = 0;
      groupSourceLine[at] = Math.floor(source / SECTORS_OF_LINE);
      groupTargetLine[at] = Math.floor(target / SECTORS_OF_LINE);
    }
    groupHalves[at] |= 1 << half;
  }
  out.sectors = groups;
  out.idealSectors = Math.ceil((count * PIECE) / SECTOR);
  out.idealWavefronts = Math.ceil((count * PIECE) / LINE);
  out.wavefronts = wavefrontsOf(groups);
}

function wavefrontsOf(groups: number): number {
  let wavefronts = 0;
  for (let at = 0; at < groups; at++) {
    groupWavefront[at] = wavefrontFor(at, wavefronts);
    if (groupWavefront[at] === wavefronts) wavefronts++;
  }
  return wavefronts;
}

/** One of the wavefronts there are, or the next one. */
function wavefrontFor(at: number, wavefronts: number): number {
  for (let wavefront = wavefronts - 1; wavefront >= 0; wavefront--) {
    let fits = true;
    for (let other = 0; fits && other < at; other++)
      fits = groupWavefront[other] !== wavefront || goTogether(other, at);
    if (fits) return wavefront;
  }
  return wavefronts;
}

const goTogether = (one: number, other: number): boolean =>
  groupSourceLine[one] === groupSourceLine[other] &&
  groupTargetLine[one] === groupTargetLine[other] &&
  groupSwap[one] === groupSwap[other] &&
  groupHalves[one] === groupHalves[other] &&
  groupSource[one] !== groupSource[other] &&
  isMovedToOtherParity(one) === isMovedToOtherParity(other);

/** Whether a sector goes to an odd place of its line from an even one, or the other way round. */
const isMovedToOtherParity = (at: number): boolean => (groupSource[at] ^ groupTarget[at]) % 2 !== 0;
