/**
 * A file of a thousand lines with ten kernels, as people write them: constants, helper functions, kernels, reference
 * code, host functions with checks and launches. nvcc compiles it.
 */

interface Kernel {
  readonly name: string;
  /** Body of a kernel with the parameters (float *out, const float *in, int n). */
  readonly body: string;
  readonly block: string;
  readonly grid: string;
}

const kernels: readonly Kernel[] = [
  {
    name: 'scale',
    block: 'dim3(256)',
    grid: 'dim3((n + 255) / 256)',
    body: `int i = blockIdx.x * blockDim.x + threadIdx.x;
if (i < n)
    out[i] = weight(in[i], 0) * 2.0f;`,
  },
  {
    name: 'columns',
    block: 'dim3(32, 8)',
    grid: 'dim3(n / TILE, n / TILE)',
    body: `int x = blockIdx.x * TILE + threadIdx.x;
int y = blockIdx.y * TILE + threadIdx.y;
for (int j = 0; j < TILE; j += ROWS)
    out[x * n + (y + j)] = in[(y + j) * n + x];`,
  },
  {
    name: 'tiled',
    block: 'dim3(32, 8)',
    grid: 'dim3(n / TILE, n / TILE)',
    body: `__shared__ float tile[TILE][TILE];
int x = blockIdx.x * TILE + threadIdx.x;
int y = blockIdx.y * TILE + threadIdx.y;
for (int j = 0; j < TILE; j += ROWS)
    tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * n + x];
__syncthreads();
x = blockIdx.y * TILE + threadIdx.x;
y = blockIdx.x * TILE + threadIdx.y;
for (int j = 0; j < TILE; j += ROWS)
    out[(y + j) * n + x] = tile[threadIdx.x][threadIdx.y + j];`,
  },
  {
    name: 'product',
    block: 'dim3(16, 16)',
    grid: 'dim3(n / 16, n / 16)',
    body: `__shared__ float a[16][16];
__shared__ float b[16][16];
int row = blockIdx.y * 16 + threadIdx.y;
int column = blockIdx.x * 16 + threadIdx.x;
float sum = 0.0f;
for (int t = 0; t < n; t += 16) {
    a[threadIdx.y][threadIdx.x] = in[row * n + t + threadIdx.x];
    b[threadIdx.y][threadIdx.x] = in[(t + threadIdx.y) * n + column];
    __syncthreads();
    for (int k = 0; k < 16; ++k)
        sum += a[threadIdx.y][k] * b[k][threadIdx.x];
    __syncthreads();
}
out[row * n + column] = sum;`,
  },
  {
    name: 'reduce',
    block: 'dim3(256)',
    grid: 'dim3((n + 255) / 256)',
    body: `__shared__ float part[256];
int tid = threadIdx.x;
int i = blockIdx.x * blockDim.x + tid;
part[tid] = i < n ? in[i] : 0.0f;
__syncthreads();
for (int s = 1; s < blockDim.x; s *= 2) {
    int index = 2 * s * tid;
    if (index < blockDim.x)
        part[index] += part[index + s];
    __syncthreads();
}
if (tid == 0)
    out[blockIdx.x] = part[0];`,
  },
  {
    name: 'stencil',
    block: 'dim3(32, 8)',
    grid: 'dim3(n / 32, n / 8)',
    body: `int x = blockIdx.x * blockDim.x + threadIdx.x;
int y = blockIdx.y * blockDim.y + threadIdx.y;
if (x > 0 && x < n - 1 && y > 0 && y < n - 1) {
    float around = in[y * n + x - 1] + in[y * n + x + 1];
    around += in[(y - 1) * n + x] + in[(y + 1) * n + x];
    out[y * n + x] = 0.25f * around;
}`,
  },
  {
    name: 'particles',
    block: 'dim3(128)',
    grid: 'dim3(n / 128)',
    body: `int i = blockIdx.x * blockDim.x + threadIdx.x;
const Particle *p = reinterpret_cast<const Particle *>(in);
Particle *q = reinterpret_cast<Particle *>(out);
if (i < n) {
    q[i].x = p[i].x + p[i].vx * STEP;
    q[i].y = p[i].y + p[i].vy * STEP;
    q[i].z = p[i].z + p[i].vz * STEP;
}`,
  },
  {
    name: 'gather',
    block: 'dim3(256)',
    grid: 'dim3((n + 255) / 256)',
    body: `int i = blockIdx.x * blockDim.x + threadIdx.x;
if (i < n) {
    int at = static_cast<int>(in[i]);
    out[i] = in[at & 1023] + in[(i * 3) & 1023];
}`,
  },
  {
    name: 'bins',
    block: 'dim3(256)',
    grid: 'dim3(64)',
    body: `__shared__ int counts[64 * 4];
for (int b = threadIdx.x; b < 64 * 4; b += blockDim.x)
    counts[b] = 0;
__syncthreads();
for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
    atomicAdd(&counts[(threadIdx.x & 3) * 64 + (static_cast<int>(in[i]) & 63)], 1);
__syncthreads();
if (threadIdx.x < 64)
    out[blockIdx.x * 64 + threadIdx.x] = counts[threadIdx.x] + counts[64 + threadIdx.x];`,
  },
  {
    name: 'vectors',
    block: 'dim3(256)',
    grid: 'dim3(n / 1024)',
    body: `int i = blockIdx.x * blockDim.x + threadIdx.x;
float4 v = reinterpret_cast<const float4 *>(in)[i];
v.x = weight(v.x, 1);
v.y = weight(v.y, 2);
v.z = weight(v.z, 3);
v.w = weight(v.w, 4);
reinterpret_cast<float4 *>(out)[i] = v;`,
  },
];

const prologue = `#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define CHECK(call)                                                     \\
    do {                                                                \\
        cudaError_t status = (call);                                    \\
        if (status != cudaSuccess) {                                    \\
            std::fprintf(stderr, "%s\\n", cudaGetErrorString(status));   \\
            std::exit(1);                                               \\
        }                                                               \\
    } while (0)

constexpr int TILE = 32;
constexpr int ROWS = 8;
constexpr float STEP = 0.01f;
constexpr int SIZE = 1024;

struct Particle {
    float x, y, z;
    float vx, vy, vz;
    float mass;
};

__device__ inline float weight(float value, int kind)
{
    return kind == 0 ? value : value * kind + 1.0f;
}
`;

const indented = (text: string): string => text.replace(/^(?=.)/gm, '    ');

/** Kernel and host code around it, about 97 lines. */
function section({ name, body, block, grid }: Kernel, index: number): string {
  const title = name.charAt(0).toUpperCase() + name.slice(1);
  const steps = Array.from({ length: 40 }, (_, k) =>
    k % 8 === 0
      ? `    // step ${k / 8 + 1} of the check of ${name}`
      : `    total += std::fabs(values[(${k * 7} + ${index}) % values.size()]) * ${k}.5;`,
  );
  return `
// ---- ${name} ${'-'.repeat(80 - name.length)}

__global__ void ${name}Kernel(float *out, const float *in, int n)
{
${indented(body)}
}

/** Adds up what the kernel left, for comparison with the run before. */
static double check${title}(const std::vector<float> &values)
{
    double total = 0.0;
    if (values.empty())
        return total;
${steps.join('\n')}
    return total;
}

static double run${title}(float *out, const float *in)
{
    const int n = SIZE;
    std::vector<float> values(n);
    dim3 block = ${block};
    dim3 grid = ${grid};
    ${name}Kernel<<<grid, block>>>(out, in, n);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(values.data(), out, values.size() * sizeof(float), cudaMemcpyDeviceToHost));
    return check${title}(values);
}
`;
}

/** The file's text, and the names of its kernels. */
export function largeFile(lines = 1_000): { text: string; kernels: readonly string[] } {
  const sections = kernels.map(section);
  const calls = kernels.map(({ name }) => `    total += run${name.charAt(0).toUpperCase() + name.slice(1)}(out, in);`);
  const main = `
int main()
{
    float *in, *out;
    CHECK(cudaMalloc(&in, SIZE * SIZE * sizeof(float)));
    CHECK(cudaMalloc(&out, SIZE * SIZE * sizeof(float)));
    double total = 0.0;
${calls.join('\n')}
    std::printf("%f\\n", total);
    return 0;
}
`;
  const text = prologue + sections.join('') + main;
  const missing = Math.max(0, lines - text.split('\n').length);
  const notes = Array.from(
    { length: missing },
    (_, index) => `// note ${index + 1}: sizes are those of the first run\n`,
  );
  return {
    text: prologue + notes.join('') + sections.join('') + main,
    kernels: kernels.map(({ name }) => `${name}Kernel`),
  };
}
