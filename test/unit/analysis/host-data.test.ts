/** Kernels that load what main has filled in: masks and addresses that rest on it are figures, assumed with the reason. */
import assert from 'node:assert/strict';
import { createAnalyzer } from '../../../server/src/analysis/analyze';
import { analyse, check } from './check-accesses';

const fill = (formula: string, n = 4096): string => `
int main() {
  std::vector<int> h(${n});
  for (int i = 0; i < ${n}; i++) h[i] = ${formula};
  int *in, *out;
  cudaMalloc(&in, ${n} * sizeof(int));
  cudaMalloc(&out, 8 * ${n} * sizeof(int));
  cudaMemcpy(in, h.data(), ${n} * sizeof(int), cudaMemcpyHostToDevice);
  k<<<${n} / 256, 256>>>(in, out);
}`;

describe('data of the host in kernels', () => {
  it('decide which lanes take part', () => {
    check(`
__global__ void k(const int* in, int* out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (in[i] > 2) out[i] = 1;
//               ^^^^^^ global store 4/1 sectors 8 lanes assumed
}
${fill('i % 4')}`);
  });

  it('are made anew where a run was cancelled: nothing of it is kept', () => {
    const many = Array.from({ length: 300 }, (_, i) => `h[${i}] = h[${i + 1}] * 3 + ${i};`).join(' ');
    const text = `__global__ void k(const int* in, int* out) { out[in[threadIdx.x]] = 1; }
int main() {
  std::vector<int> h(4096);
  ${many}
  for (int i = 0; i < 4096; i++) h[i] = i * 8;
  int *in, *out;
  cudaMalloc(&in, 4096 * 4);
  cudaMalloc(&out, 8 * 4096 * 4);
  cudaMemcpy(in, h.data(), 4096 * 4, cudaMemcpyHostToDevice);
  k<<<1, 32>>>(in, out);
}`;
    const options = { computeCapability: '9.0', defines: new Map(), assume: new Map() };
    const analyzer = createAnalyzer();
    const storeOf = (isEnded: boolean) => {
      let hasBegun = false;
      let polled = 0;
      const onFileWork = () => {
        hasBegun = true;
      };
      const cancelled = () => isEnded && hasBegun && ++polled > 0;
      const request = { path: 'test.cu', text, options, include: () => undefined, onFileWork, cancelled };
      const [kernel] = analyzer.analyze(request).kernels;
      assert.equal(polled > 0, isEnded);
      return kernel?.launches[0]?.accesses.find((a) => a.operation === 'store');
    };
    storeOf(true);
    assert.equal(storeOf(false)?.sectors, 32);
  });

  it('are addresses', () => {
    check(`
__global__ void k(const int* in, int* out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[in[i]] = 1;
//^^^^^^^^^^ global store 32/4 sectors assumed
}
${fill('i * 8')}`);
  });

  it('are known beside a number that nobody tells, which is named where something rests on it', () => {
    const source = (body: string) => `
__global__ void k(const int* in, int* out, double scale) { int i = blockIdx.x * blockDim.x + threadIdx.x; ${body} }
int main() {
  std::vector<int> h(4096);
  for (int i = 0; i < 4096; i++) h[i] = i * 8;
  int *in, *out;
  cudaMalloc(&in, 4096 * 4);
  cudaMalloc(&out, 8 * 4096 * 4);
  cudaMemcpy(in, h.data(), 4096 * 4, cudaMemcpyHostToDevice);
  k<<<16, 256>>>(in, out, measured_elsewhere());
}`;
    const told = (body: string) => {
      const [{ launches }] = analyse(source(body)).kernels;
      const store = launches[0].accesses.find((a) => a.operation === 'store');
      return [store?.sectors, store?.idealSectors, store?.reason];
    };
    assert.deepEqual(told('out[in[i]] = (int)(in[i] * scale);'), [
      4096,
      512,
      'with the data that main fills in before this launch',
    ]);
    assert.match(String(told('if (scale > 2) out[in[i]] = 1;')[2]), /condition measured_elsewhere is not known/);
  });

  it('may lead one block elsewhere: blocks that were executed tell nothing of the others', () => {
    // 64 blocks, and one of them, somewhere in the middle, has less to do
    check(`
__global__ void k(const int* in, int* out) {
  if (threadIdx.x < in[blockIdx.x])
    out[blockIdx.x * 256 + threadIdx.x] = 1;
//  ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ global store x508 assumed
}
int main() {
  std::vector<int> h(64, 256);
  h[37] = 128;
  int *in, *out;
  cudaMalloc(&in, 256);
  cudaMalloc(&out, 64 * 256 * 4);
  cudaMemcpy(in, h.data(), 256, cudaMemcpyHostToDevice);
  k<<<64, 256>>>(in, out);
}`);
  });

  it('may lead a few of many blocks elsewhere: of more than can be executed, many are', () => {
    check(`
__global__ void k(const int* in, int* out) {
  if (in[blockIdx.x] == 0) return;
  out[blockIdx.x * 64 + threadIdx.x] = 1;
//^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ global store 4/4 sectors assumed
}
int main() {
  std::vector<int> h(6000);
  for (int i = 0; i < 6000; i++) h[i] = i % 97 == 50;
  int *in, *out;
  cudaMalloc(&in, 24000);
  cudaMalloc(&out, 6000 * 64 * 4);
  cudaMemcpy(in, h.data(), 24000, cudaMemcpyHostToDevice);
  k<<<6000, 64>>>(in, out);
}`);
  });

  it('take lanes out of a loop, each group to what waits for it there: a flag that only they change is known', () => {
    // H100, 17 kernels: not where the loop is written out whole, nor where nothing follows but the end
    check(`
__global__ void k(const int* in, int* out, int n) {
  bool isTop = true;
  for (int k = 0; k < n; k++)
    if (in[k * 32 + threadIdx.x] == 1) {
      isTop = false;
      break;
    }
  if (isTop) out[threadIdx.x] = 1;
//           ^^^^^^^^^^^^^^^^ global store x1 assumed
  else atomicAdd(out, 1);
//     ^^^^^^^^^^^^^^^^^ global atomic x4 assumed
  out[64 + threadIdx.x] = 2;
}
int main() {
  std::vector<int> h(256);
  for (int i = 0; i < 256; i++) h[i] = i % 32 < 24 && i / 32 == i % 32 / 6;
  int *in, *out;
  cudaMalloc(&in, 1024);
  cudaMalloc(&out, 1024);
  cudaMemcpy(in, h.data(), 1024, cudaMemcpyHostToDevice);
  k<<<1, 32>>>(in, out, 8);
}`);
  });

  it('are what atomics find, where only these decide', () => {
    // of two threads at a flag the second goes on
    check(`
__global__ void k(int* flag, int* out) {
  int n = (blockIdx.x * blockDim.x + threadIdx.x) / 2;
  if (atomicAdd(flag + n, 1) == 0) return;
  out[n] = 1;
//^^^^^^ global store x16 16 lanes 2/2 sectors assumed
}
int main() {
  int *flag, *out;
  cudaMalloc(&flag, 1024);
  cudaMalloc(&out, 1024);
  cudaMemset(flag, 0, 1024);
  k<<<4, 128>>>(flag, out);
}`);
  });

  it('are those that the kernel has stored itself where it loads them again', () => {
    check(`
__global__ void k(int* in, int* out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  in[i] = in[i] * 4;
  out[in[i]] = 1;
//^^^^^^^^^^ global store 16/4 sectors assumed
}
${fill('i')}`);
  });

  it('say so', () => {
    const report = analyse(`
__global__ void k(const int* in, int* out) { out[in[threadIdx.x]] = in[threadIdx.x]; }
${fill('i')}`);
    const accesses = report.kernels[0].launches[0].accesses;
    assert.deepEqual(
      accesses.map((a) => [a.expression, a.certainty, a.reason]),
      [
        ['in[threadIdx.x]', 'exact', null],
        ['out[in[threadIdx.x]]', 'assumed', 'with the data that main fills in before this launch'],
      ],
    );
  });

  it('are zeros where nothing was written to memory of the device, and it is said', () => {
    const report = analyse(`
__global__ void k(const int* in, int* out) { out[in[threadIdx.x] * 8 + threadIdx.x] = 1; }
int main() {
  int *in, *out;
  cudaMalloc(&in, 1 << 26);
  cudaMalloc(&out, 1 << 26);
  k<<<1, 32>>>(in, out);
}`);
    const [, store] = report.kernels[0].launches[0].accesses;
    assert.deepEqual([store.sectors, store.idealSectors], [4, 4]);
    assert.match(store.reason ?? '', /where nothing was written to it before this launch \(zeros\)/);
  });

  it('are what the atomics of the blocks before have made of them', () => {
    check(`
__global__ void k(int* in, int* out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  atomicAdd(&in[i % 2048], 7);
  if (i >= 2048) out[in[i - 2048]] = 1;
//               ^^^^^^^^^^^^^^^^^ global store 5/4 sectors assumed
}
${fill('i')}`);
    check(`
__global__ void k(int* in, int* out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i % 2 == 0) out[32 * atomicAdd(in, 1) + in[i] % 3] = 1;
//                ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ global store 16/2 sectors assumed
}
${fill('i == 0 ? 0 : 3')}`);
  });

  it('are not known where atomics of more blocks change them than can be executed, or where they were not followed', () => {
    check(`
__global__ void k(int* in, int* out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int j = 0; j < 1000; j++) atomicAdd(&in[(i + j) % 7], 1);
  out[in[i]] = 1;
//^^^^^^^^^^ global store unknown
}
${fill('i')}`);
    check(`
__global__ void k(const int* in, int* out) {
  out[in[threadIdx.x]] = 1;
//^^^^^^^^^^^^^^^^^^^^ global store unknown
}
${fill('fgetc(stdin)')}`);
  });

  it('hold whatever size it is that the run does not know: what rests on that is assumed', () => {
    const report = analyse(`
__global__ void k(const int* in, int* out, int n) { if (threadIdx.x < n) out[in[threadIdx.x]] = 1; }
int main() {
  int h[32], n;
  for (int i = 0; i < 32; i++) h[i] = i;
  scanf("%d", &n);
  int *in, *out;
  cudaMalloc(&in, sizeof h);
  cudaMalloc(&out, sizeof h);
  cudaMemcpy(in, h, sizeof h, cudaMemcpyHostToDevice);
  k<<<1, 32>>>(in, out, n);
}`);
    const store = report.kernels[0].launches[0].accesses.find((a) => a.operation === 'store');
    assert.deepEqual([store?.certainty, store?.sectors], ['assumed', 4]);
    assert.match(store?.reason ?? '', /main fills in before this launch; rests on assumed n/);
  });

  it('hold whatever a number is that the kernel does not read', () => {
    check(`
struct View { const int* at; int rows; };
__global__ void k(View v, int* out, int n) {
  out[v.at[threadIdx.x]] = 1;
//^^^^^^^^^^^^^^^^^^^^^^ global store 32/4 sectors assumed
}
int main() {
  int h[32], n;
  for (int i = 0; i < 32; i++) h[i] = 8 * i;
  scanf("%d", &n);
  int *in, *out;
  cudaMalloc(&in, sizeof h);
  cudaMalloc(&out, 8 * sizeof h);
  cudaMemcpy(in, h, sizeof h, cudaMemcpyHostToDevice);
  View v{in, n};
  k<<<1, 32>>>(v, out, n);
}`);
  });

  it('are in rows of three-dimensional memory, and hold whatever a member is that the kernel does not read', () => {
    check(`
struct Job { cudaPitchedPtr volume; float* out; };
__global__ void k(Job job) {
  const int* row = (const int*)((const char*)job.volume.ptr + threadIdx.x * job.volume.pitch);
  job.out[row[1]] = 1;
//^^^^^^^^^^^^^^^ global store 32/4 sectors assumed
}
int main() {
  std::vector<int> h(32 * 4);
  for (int i = 0; i < 32; i++) h[4 * i + 1] = 8 * i;
  Job job;
  cudaMalloc3D(&job.volume, make_cudaExtent(4 * sizeof(int), 8, 4));
  cudaMalloc(&job.out, 4096);
  cudaMemcpy3DParms copy = {};
  copy.srcPtr = make_cudaPitchedPtr(h.data(), 4 * sizeof(int), 4, 8);
  copy.dstPtr = job.volume;
  copy.extent = make_cudaExtent(4 * sizeof(int), 8, 4);
  copy.kind = cudaMemcpyHostToDevice;
  cudaMemcpy3D(&copy);
  k<<<1, 32>>>(job);
}`);
  });

  it('follow an edit of the host, and stay through one of the kernel', () => {
    const analyzer = createAnalyzer();
    const sectors = (text: string): number | undefined =>
      analyzer
        .analyze({
          path: 'test.cu',
          text,
          options: { computeCapability: '9.0', defines: new Map(), assume: new Map() },
          include: () => undefined,
        })
        .kernels[0].launches[0].accesses.find((a) => a.operation === 'store')?.sectors;
    const kernel = (body: string) =>
      `__global__ void k(const int* in, int* out) { int i = blockIdx.x * blockDim.x + threadIdx.x; ${body} }`;
    const direct = kernel('out[in[i]] = 1;');
    assert.equal(sectors(direct + fill('i')), 512);
    assert.equal(sectors(direct + fill('2 * i')), 1024);
    assert.equal(sectors(kernel('out[2 * in[i]] = 1;') + fill('2 * i')), 2048);
    assert.equal(sectors(direct + fill('i')), 512);
  });

  it('are not waited for where the caller does not want to, and used once they are there', () => {
    const analyzer = createAnalyzer();
    const text = `__global__ void k(const int* in, int* out) { out[in[threadIdx.x]] = 1; }${fill('i')}`;
    const store = (followData: 'ready' | true) => {
      const options = { computeCapability: '9.0', defines: new Map(), assume: new Map(), followData };
      const { kernels, dataPending } = analyzer.analyze({ path: 'test.cu', text, options, include: () => undefined });
      return [kernels[0].launches[0].accesses.find((a) => a.operation === 'store')?.certainty, dataPending];
    };
    assert.deepEqual(store('ready'), ['unknown', true]);
    assert.deepEqual(store('ready'), ['unknown', true]);
    assert.deepEqual(store(true), ['assumed', undefined]);
    assert.deepEqual(store('ready'), ['assumed', undefined]);
  });
});

const sorted = (kernels: string): string => `
${kernels}
int main() {
  std::vector<int> h(4096);
  for (int i = 0; i < 4096; i++) h[i] = i;
  int *in, *mid, *out;
  cudaMalloc(&in, 4096 * sizeof(int));
  cudaMalloc(&mid, 4096 * sizeof(int));
  cudaMalloc(&out, 32 * 4096 * sizeof(int));
  cudaMemcpy(in, h.data(), 4096 * sizeof(int), cudaMemcpyHostToDevice);
  first<<<16, 256>>>(in, mid);
  second<<<16, 256>>>(mid, out);
}`;

describe('data of the kernels before', () => {
  it('are addresses and masks like those of the host, and the reason says so', () => {
    check(
      sorted(`
__global__ void first(const int* in, int* mid) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  mid[i] = 8 * in[i];
}
__global__ void second(const int* mid, int* out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[mid[i]] = 1;
//^^^^^^^^^^^ global store 32/4 sectors assumed
  if (mid[i] % 64 == 0) out[i] = 1;
//                      ^^^^^^ global store 4/1 sectors 4 lanes assumed
}`),
    );
    const report = analyse(
      sorted(`
__global__ void first(const int* in, int* mid) { mid[in[threadIdx.x]] = 1; }
__global__ void second(const int* mid, int* out) { out[mid[threadIdx.x]] = 1; }`),
    );
    const reasons = report.kernels.map((k) => k.launches[0].accesses.find((a) => a.operation === 'store')?.reason);
    assert.deepEqual(reasons, [
      'with the data that main fills in before this launch',
      'with the data that main and the kernels before this launch leave in memory',
    ]);
  });

  it('follow an edit of the kernel that writes them', () => {
    const analyzer = createAnalyzer();
    const options = { computeCapability: '9.0', defines: new Map(), assume: new Map() };
    const sectors = (factor: number, followData: 'ready' | true = true) => {
      const text = sorted(`
__global__ void first(const int* in, int* mid) { int i = blockIdx.x * 256 + threadIdx.x; mid[in[i]] = ${factor} * i; }
__global__ void second(const int* mid, int* out) { out[mid[blockIdx.x * 256 + threadIdx.x]] = 1; }`);
      const { kernels, dataPending } = analyzer.analyze({
        path: 'test.cu',
        text,
        options: { ...options, followData },
        include: () => undefined,
      });
      const stores = kernels.map((k) => k.launches[0].accesses.find((a) => a.operation === 'store'));
      return [...stores.map((a) => (a?.certainty === 'unknown' ? '?' : a?.sectors)), dataPending === true];
    };
    assert.deepEqual(sectors(1), [512, 512, false]);
    assert.deepEqual(sectors(2), [512, 1024, false]);
    // nobody waits: the first kernel still has the host's data, the second waits for the first one's
    assert.deepEqual(sectors(4, 'ready'), [512, '?', true]);
    assert.deepEqual(sectors(2, 'ready'), [512, 1024, false]);
    assert.deepEqual(sectors(4), [512, 2048, false]);
    assert.deepEqual(sectors(4, 'ready'), [512, 2048, false]);
  });
});
