/** 64-bit integers beyond 2^53: what is computed with them is what BigInt computes. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { analyse } from '../analysis/check-accesses';

interface Operation {
  /** In CUDA, of `a`, `b` (unsigned long long) and `n` (int, 0 to 63). */
  readonly text: string;
  readonly value: (a: bigint, b: bigint, n: bigint) => bigint;
}

const signed = (x: bigint): bigint => BigInt.asIntN(64, x);
const bits = (x: bigint): string => x.toString(2).padStart(64, '0');

const operations: readonly Operation[] = [
  { text: 'a + b', value: (a, b) => a + b },
  { text: 'a - b', value: (a, b) => a - b },
  { text: 'a * b', value: (a, b) => a * b },
  { text: 'a ^ b', value: (a, b) => a ^ b },
  { text: 'a & b', value: (a, b) => a & b },
  { text: 'a | b', value: (a, b) => a | b },
  { text: '~a', value: (a) => ~a },
  { text: '-a', value: (a) => -a },
  { text: 'a << n', value: (a, _, n) => a << n },
  { text: 'a >> n', value: (a, _, n) => a >> n },
  { text: '(unsigned long long)((long long)a >> n)', value: (a, _, n) => signed(a) >> n },
  { text: '__umul64hi(a, b)', value: (a, b) => (a * b) >> 64n },
  { text: 'a % (unsigned)(1000 + n)', value: (a, _, n) => a % (1000n + n) },
  { text: 'a / (unsigned)(1000 + n)', value: (a, _, n) => a / (1000n + n) },
  { text: 'a % 2147483647', value: (a) => a % 2147483647n },
  { text: 'a / 1000000007', value: (a) => a / 1000000007n },
  { text: 'a % (1ull << 63)', value: (a) => a % 2n ** 63n },
  { text: 'a % (1ull << n)', value: (a, _, n) => a % 2n ** n },
  { text: 'a / (1ull << n)', value: (a, _, n) => a / 2n ** n },
  { text: 'min(a, b)', value: (a, b) => (a < b ? a : b) },
  { text: 'max(a, b)', value: (a, b) => (a > b ? a : b) },
  { text: '(a < b ? a : ~b)', value: (a, b) => (a < b ? a : ~b) },
  { text: '((long long)a >= (long long)b ? a : b)', value: (a, b) => (signed(a) >= signed(b) ? a : b) },
  { text: 'a * b + a', value: (a, b) => a * b + a },
  { text: '(unsigned long long)__popcll(a)', value: (a) => BigInt(bits(a).replaceAll('0', '').length) },
  { text: '(unsigned long long)__clzll(a)', value: (a) => BigInt(`${bits(a)}1`.indexOf('1')) },
  { text: '__brevll(a)', value: (a) => BigInt(`0b${[...bits(a)].reverse().join('')}`) },
  { text: '__shfl_sync(~0u, a, 0)', value: (a) => a },
];

/** The byte offset that the only store goes to. */
function storedAt(index: string, a: bigint, b: bigint, n: bigint): number | undefined {
  const report = analyse(`
__global__ void k(int *out) {
  unsigned long long zero = threadIdx.x & 0, a = ${a}ull + zero, b = ${b}ull + zero;
  int n = ${n} + (int)zero;
  out[${index}] = 1;
}
int main() { int *out; cudaMalloc(&out, 1 << 30); k<<<1, 32>>>(out); }`);
  const [access] = report.kernels[0].launches[0].accesses;
  const address = access.witness?.addresses[0];
  return access.certainty === 'exact' && address != null ? address % 2 ** 36 : undefined;
}

describe('integers of 64 bits', () => {
  it('are computed with exactly', () => {
    const word = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n });
    const small = fc.bigInt({ min: 0n, max: 1000n });
    fc.assert(
      fc.property(
        fc.constantFrom(...operations),
        fc.oneof(word, small),
        fc.oneof(word, small),
        fc.bigInt({ min: 0n, max: 63n }),
        fc.constantFrom(0n, 20n, 31n, 32n, 33n, 50n),
        ({ text, value }, a, b, n, part) => {
          const expected = (BigInt.asUintN(64, value(a, b, n)) >> part) & 1023n;
          assert.equal(storedAt(`((${text}) >> ${part}) & 1023`, a, b, n), Number(expected) * 4, text);
        },
      ),
      { numRuns: 300 },
    );
  });

  it('go round in loops, and lead to addresses', () => {
    // 100 steps of Knuth's MMIX generator
    let state = 42n;
    for (let i = 0; i < 100; i++) state = BigInt.asUintN(64, state * 6364136223846793005n + 1442695040888963407n);
    const report = analyse(`
__global__ void k(int *out, int steps) {
  unsigned long long state = 42;
  for (int i = 0; i < steps; i++) state = state * 6364136223846793005ull + 1442695040888963407ull;
  out[state >> 44] = 1;
}
int main() { int *out; cudaMalloc(&out, 1 << 30); k<<<1, 32>>>(out, 100); }`);
    const [{ certainty, witness }] = report.kernels[0].launches[0].accesses;
    assert.equal(certainty, 'exact');
    assert.equal((witness?.addresses[0] ?? 0) % 2 ** 36, Number(state >> 44n) * 4);
  });

  it('are computed with in kernels that come before, whose results are data', () => {
    const words = Array.from({ length: 1024 }, (_, i) => {
      let h = BigInt.asUintN(64, BigInt(i + 1) * 0x9e3779b97f4a7c15n);
      h ^= h >> 29n;
      return Number(BigInt.asUintN(64, h * 0xbf58476d1ce4e5b9n) >> 52n);
    });
    let sectors = 0;
    for (let warp = 0; warp < 32; warp++)
      sectors += new Set(words.slice(32 * warp, 32 * warp + 32).map((word) => word >> 3)).size;
    const report = analyse(`
__global__ void fill(int *idx) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned long long h = (i + 1) * 0x9E3779B97F4A7C15ull;
  h ^= h >> 29;
  idx[i] = (h * 0xBF58476D1CE4E5B9ull) >> 52;
}
__global__ void gather(const int *idx, float *out) { out[idx[blockIdx.x * blockDim.x + threadIdx.x]] = 1; }
int main() {
  int *idx; float *out;
  cudaMalloc(&idx, 4096);
  cudaMalloc(&out, 16384);
  fill<<<4, 256>>>(idx);
  gather<<<4, 256>>>(idx, out);
}`);
    const store = report.kernels[1].launches[0].accesses.find(({ operation }) => operation === 'store');
    assert.equal(store?.sectors, sectors, store?.reason ?? '');
  });

  /** Sectors that warps of 32 lanes touch with these indices of words. */
  const sectorsOf = (words: readonly number[]): number => {
    let sectors = 0;
    for (let first = 0; first < words.length; first += 32)
      sectors += new Set(words.slice(first, first + 32).map((word) => word >> 3)).size;
    return sectors;
  };
  const keyOf = (i: number): bigint => BigInt.asUintN(64, BigInt(i + 7) * 0x9e3779b97f4a7c15n);

  it('are found in memory, where the host or a kernel has put them', () => {
    const report = analyse(`
__global__ void mix(const unsigned long long *in, unsigned long long *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned long long k = in[i];
  k ^= k >> 31;
  out[i] = k;
}
__global__ void scatter(const unsigned long long *keys, float *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[keys[i] >> 54] = 1;
}
int main() {
  static unsigned long long h[256];
  for (int i = 0; i < 256; i++) h[i] = (i + 7) * 0x9E3779B97F4A7C15ull;
  unsigned long long *in, *keys; float *out;
  cudaMalloc(&in, 2048);
  cudaMalloc(&keys, 2048);
  cudaMalloc(&out, 4096);
  cudaMemcpy(in, h, 2048, cudaMemcpyHostToDevice);
  scatter<<<2, 128>>>(in, out);
  mix<<<2, 128>>>(in, keys);
  scatter<<<4, 64>>>(keys, out);
}`);
    const keys = Array.from({ length: 256 }, (_, i) => keyOf(i));
    const stores = report.kernels[1].launches.map(({ accesses }) => accesses.find((a) => a.operation === 'store'));
    assert.deepEqual(
      stores.map((store) => store?.sectors),
      [
        sectorsOf(keys.map((key) => Number(key >> 54n))),
        sectorsOf(keys.map((key) => Number((key ^ (key >> 31n)) >> 54n))),
      ],
    );
  });

  it('are masks whose bits are walked', () => {
    const report = analyse(`
__global__ void fill(unsigned long long *masks) {
  unsigned long long mask = 0;
  for (int bit = 0; bit < 64; bit++) if ((threadIdx.x * 7 + bit * 13) % 5 == 0) mask |= 1ull << bit;
  masks[threadIdx.x] = mask;
}
__global__ void compact(const unsigned long long *masks, int *places) {
  int at = threadIdx.x * 16;
  for (unsigned long long mask = masks[threadIdx.x]; mask; mask &= mask - 1) places[at++] = __ffsll(mask) - 1;
}
__global__ void scatter(const int *places, float *out) { out[places[threadIdx.x]] = 1; }
int main() {
  unsigned long long *masks; int *places; float *out;
  cudaMalloc(&masks, 1024);
  cudaMalloc(&places, 8192);
  cudaMalloc(&out, 4096);
  cudaMemset(places, 0, 8192);
  fill<<<1, 128>>>(masks);
  compact<<<1, 128>>>(masks, places);
  scatter<<<1, 128>>>(places, out);
}`);
    const places = new Array<number>(2048).fill(0);
    for (let thread = 0; thread < 128; thread++) {
      let at = thread * 16;
      for (let bit = 0; bit < 64; bit++) if ((thread * 7 + bit * 13) % 5 === 0) places[at++] = bit;
    }
    const store = report.kernels[2].launches[0].accesses.find(({ operation }) => operation === 'store');
    assert.equal(store?.sectors, sectorsOf(places.slice(0, 128)), store?.reason ?? '');
  });

  it('are found in shared memory', () => {
    const report = analyse(`
// warplens: block=64 grid=1
__global__ void k(float *out) {
  __shared__ unsigned long long s[64];
  s[threadIdx.x] = (threadIdx.x + 7) * 0x9E3779B97F4A7C15ull;
  __syncthreads();
  unsigned long long k = s[63 - threadIdx.x];
  out[k >> 54] = 1;
}`);
    const keys = Array.from({ length: 64 }, (_, i) => keyOf(63 - i));
    const store = report.kernels[0].launches[0].accesses.find((a) => a.space === 'global');
    assert.equal(store?.sectors, sectorsOf(keys.map((key) => Number(key >> 54n))), store?.reason ?? '');
  });

  it('are what atomics compare, exchange and give back', () => {
    const table = (where: string) => `
__global__ void build(unsigned long long *slots, int mask, float *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned long long key = ((unsigned long long)(i * 2654435761u) << 32) | i;
  int s = (i * 5) & mask;
  while (atomicCAS(&slots[s], 0xFFFFFFFFFFFFFFFFull, key) != 0xFFFFFFFFFFFFFFFFull) s = (s + 1) & mask;
  unsigned long long old = atomicMax(&slots[s], key);
  ${where}
}
__global__ void probe(const unsigned long long *slots, float *out) {
  unsigned long long key = slots[blockIdx.x * blockDim.x + threadIdx.x];
  if (key != 0xFFFFFFFFFFFFFFFFull) out[key >> 54] = 1;
}
int main() {
  unsigned long long *slots; float *out;
  cudaMalloc(&slots, 1024 * 8);
  cudaMalloc(&out, 4096);
  cudaMemset(slots, 0xff, 1024 * 8);
  build<<<4, 128>>>(slots, 1023, out);
  probe<<<8, 128>>>(slots, out);
}`;
    const slots: (bigint | undefined)[] = Array.from({ length: 1024 }, () => undefined);
    const keys = Array.from({ length: 512 }, (_, i) => (BigInt((i * 2654435761) % 2 ** 32) << 32n) | BigInt(i));
    keys.forEach((key, i) => {
      let s = (i * 5) & 1023;
      while (slots[s] !== undefined) s = (s + 1) & 1023;
      slots[s] = key;
    });
    let sectors = 0;
    for (let first = 0; first < 1024; first += 32) {
      const found = slots.slice(first, first + 32).filter((key): key is bigint => key !== undefined);
      sectors += sectorsOf(found.map((key) => Number(key >> 54n)));
    }
    const report = analyse(table('out[old >> 54] = 1;'));
    const [built, probed] = report.kernels.map(({ launches }) =>
      launches[0].accesses.find((a) => a.operation === 'store'),
    );
    assert.equal(built?.sectors, sectorsOf(keys.map((key) => Number(key >> 54n))), built?.reason ?? '');
    assert.equal(probed?.sectors, sectors, probed?.reason ?? '');
  });

  it('keys that were loaded are compared', () => {
    const search = (large: string) => `
__global__ void find(const unsigned long long *sorted, const unsigned long long *keys, float *out, int n) {
  int low = 0, high = n;
  while (low < high) {
    int middle = (low + high) / 2;
    if (sorted[middle] < keys[threadIdx.x]) low = middle + 1; else high = middle;
  }
  out[low * 8] = 1;
}
int main() {
  unsigned long long s[256], k[32], *sorted, *keys;
  for (int i = 0; i < 256; i++) s[i] = i * ${large};
  for (int i = 0; i < 32; i++) k[i] = i * 5 * ${large} + 1;
  float *out;
  cudaMalloc(&sorted, 2048); cudaMalloc(&keys, 256); cudaMalloc(&out, 16384);
  cudaMemcpy(sorted, s, 2048, cudaMemcpyHostToDevice);
  cudaMemcpy(keys, k, 256, cudaMemcpyHostToDevice);
  find<<<1, 32>>>(sorted, keys, out, 256);
}`;
    for (const large of ['3ull', '0x0123456789abcdull']) {
      const { accesses } = analyse(search(large)).kernels[0].launches[0];
      const store = accesses.find((a) => a.operation === 'store');
      // each key lies behind an element of its own, and each of their places in a sector of its own
      assert.equal(store?.sectors, 32, store?.reason ?? undefined);
    }
  });

  it('constants grow beyond 2^53 bit by bit', () => {
    const { accesses } = analyse(`
__global__ void fold(float *out) {
  unsigned long long powers[64], x = 1, sum = 0;
  for (int i = 0; i < 64; i++) { powers[i] = x; x = (x << 1) ^ ((long long)x < 0 ? 0x1b : 0); }
  for (int j = 0; j < 64; j++) if ((threadIdx.x >> (j & 3)) & 1) sum ^= powers[j];
  out[sum >> 55] = 1;
}
int main() { float *out; cudaMalloc(&out, 4096); fold<<<1, 32>>>(out); }`).kernels[0].launches[0];
    const powers: bigint[] = [];
    for (let x = 1n; powers.length < 64; x = BigInt.asUintN(64, x << 1n) ^ (x >> 63n ? 0x1bn : 0n)) powers.push(x);
    const sums = Array.from({ length: 32 }, (_, lane) =>
      powers.filter((_, j) => (lane >> (j & 3)) & 1).reduce((sum, x) => sum ^ x, 0n),
    );
    assert.equal(
      accesses[0].sectors,
      sectorsOf(sums.map((sum) => Number(sum >> 55n))),
      accesses[0].reason ?? undefined,
    );
  });

  it('keys that are brought to shared memory and sorted there', () => {
    const { accesses } = analyse(`
__global__ void sort(const unsigned long long *in, float *out) {
  __shared__ unsigned long long s[64];
  s[threadIdx.x] = in[threadIdx.x];
  s[threadIdx.x + 32] = in[threadIdx.x + 32];
  __syncthreads();
  for (int round = 0; round < 64; round++) {
    int low = 2 * threadIdx.x + (round & 1);
    if (low < 63) {
      unsigned long long a = s[low], b = s[low + 1];
      if (b < a) { s[low] = b; s[low + 1] = a; }
    }
    __syncthreads();
  }
  out[(s[threadIdx.x] & 63) * 8] = 1;
}
int main() {
  unsigned long long h[64], *in;
  for (int i = 0; i < 64; i++) h[i] = (i * 37 % 64) * 0x0123456789abcdc0ull / 64 * 64 + i;
  float *out;
  cudaMalloc(&in, 512); cudaMalloc(&out, 65536);
  cudaMemcpy(in, h, 512, cudaMemcpyHostToDevice);
  sort<<<1, 32>>>(in, out);
}`).kernels[0].launches[0];
    const last = accesses.find((a) => a.space === 'global' && a.operation === 'store');
    assert.equal(last?.sectors, 32, last?.reason ?? undefined);
    const exchanged = accesses.find((a) => a.space === 'shared' && a.operation === 'store' && a.line === 11);
    assert.doesNotMatch(exchanged?.reason ?? '', /beyond/);
  });
});
