/** Launches whose size only the run of the host's program tells. */
import assert from 'node:assert/strict';
import { analyse } from './check-accesses';

/** Grid, and the value of n or what it is assumed to be, of each reported launch. */
function check(source: string, expected: readonly string[]): void {
  const [kernel] = analyse(source).kernels;
  const shown = kernel.launches.map(({ grid, assumptions, accesses }) => {
    const assumed = assumptions
      .filter((a) => a.origin === 'assumed')
      .map((a) => a.name)
      .join(' ');
    const lanes = accesses.reduce((sum, a) => sum + a.activeLanes, 0);
    return `${grid.join('x')}${assumed ? ` assumed ${assumed}` : ''}, ${lanes} lanes`;
  });
  assert.deepEqual(shown, expected);
}

const kernel =
  '__global__ void k(float* p, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) p[i] = 1; }';

describe('launches completed by the run of the host', () => {
  it('a length that a loop has counted', () => {
    check(
      `${kernel}
int main() {
  std::vector<int> primes;
  for (int i = 2; i < 1000; i++) {
    bool isPrime = true;
    for (int j = 2; j * j <= i; j++) if (i % j == 0) isPrime = false;
    if (isPrime) primes.push_back(i);
  }
  float* d;
  cudaMalloc(&d, primes.size() * 4);
  int n = (int)primes.size();
  k<<<(n + 31) / 32, 32>>>(d, n);
}`,
      ['6x1x1, 168 lanes'],
    );
  });

  it('of one place, one of which the text tells: it is told once', () => {
    check(
      `${kernel}
void send(const std::vector<int>& h) {
  float* d;
  cudaMalloc(&d, h.size() * 4);
  k<<<(h.size() + 31) / 32, 32>>>(d, (int)h.size());
}
int main() {
  std::vector<int> odd;
  for (int i = 0; i < 300; i++) if (i * i % 7 == 1) odd.push_back(i);
  send(odd);
  std::vector<int> some(64);
  send(some);
}`,
      ['3x1x1, 85 lanes', '2x1x1, 64 lanes'],
    );
  });

  it('instances of a template that only a table of functions leads to', () => {
    const [{ launches }] = analyse(`
template <class T, int W> __global__ void strided(T* p) { p[W * (blockIdx.x * 256 + threadIdx.x)] = T(1); }
struct Step { virtual ~Step() = default; virtual void run(void* p, int n) = 0; };
template <class T> struct Scale : Step {
  void run(void* p, int n) override {
    constexpr int W = 16 / sizeof(T);
    strided<T, W><<<n / 256, 256>>>(static_cast<T*>(p));
  }
};
int main() {
  std::map<std::string, std::function<std::unique_ptr<Step>()>> makers;
  makers["double"] = [] { return std::make_unique<Scale<double>>(); };
  void* p;
  cudaMalloc(&p, 1 << 16);
  makers.at("double")()->run(p, 1024);
}`).kernels;
    const shown = launches.map(({ grid, templateArguments, accesses: [{ sectors, idealSectors, certainty }] }) =>
      [grid.join('x'), templateArguments.join(), sectors, idealSectors, certainty].join(' '),
    );
    assert.deepEqual(shown, ['4x1x1 double,2 512 256 exact']);
  });

  it('each with the instance of a template that a table has for it', () => {
    const launches = analyse(`
template <int W> __global__ void strided(float* p, int n) {
  int i = blockIdx.x * 32 + threadIdx.x;
  if (i < n) p[W * i] = 1;
}
using Launcher = std::function<void(float*, int)>;
template <int W> Launcher launcher() {
  return [](float* p, int n) { strided<W><<<(n + 31) / 32, 32>>>(p, n); };
}
const std::map<int, Launcher>& table() {
  static const std::map<int, Launcher> all = {{1, launcher<1>()}, {2, launcher<2>()}, {4, launcher<4>()}};
  return all;
}
int main() {
  float* p;
  cudaMalloc(&p, 1 << 16);
  for (int w : {1, 2, 4}) table().find(w)->second(p, 100 * w);
}`).kernels.flatMap((kernel) => kernel.launches);
    const shown = launches.map(({ grid, templateArguments, accesses: [{ activeLanes, sectors }] }) =>
      [grid.join('x'), templateArguments.join(), activeLanes, sectors].join(' '),
    );
    assert.deepEqual(shown, ['4x1x1 1 100 13', '7x1x1 2 200 50', '13x1x1 4 400 200']);
  });

  it('arrays within a structure that a function fills, given braces', () => {
    check(
      `struct Shape { int sizes[4]; int dims; };
__global__ void k(Shape s, float* p) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (s.dims == 2 && i < s.sizes[0] * s.sizes[1]) p[i] = 1; }
Shape shapeOf(std::vector<int> sizes) {
  Shape s{};
  s.dims = (int)sizes.size();
  for (int d = s.dims - 1; d >= 0; --d) s.sizes[d] = sizes[d];
  return s;
}
int main() {
  int rows = 6;
  Shape s = shapeOf({rows, 10});
  float* d;
  cudaMalloc(&d, 4096);
  k<<<8, 32>>>(s, d);
}`,
      ['8x1x1, 60 lanes'],
    );
  });

  it('options of a command line that the program holds', () => {
    const source = (call: string) => `${kernel}
struct option longs[] = {{"size", required_argument, NULL, 's'}, {0, 0, 0, 0}};
int main() {
  int argc = 6;
  char* words[] = {(char*)"prog", (char*)"-v", (char*)"-n60", (char*)"extra", (char*)"-b", (char*)"16"};
  char** argv = words;
  int n = 1000, block = 32, c;
  while ((c = ${call}) != -1) {
    switch (c) {
      case 'n': n = atoi(optarg); break;
      case 'b': block = atoi(optarg); break;
      case 'v': break;
      default: exit(1);
    }
  }
  float* d;
  cudaMalloc(&d, n * 4);
  k<<<(n + block - 1) / block, block>>>(d, n);
}`;
    check(source('getopt(argc, argv, "vn:b:")'), ['4x1x1, 60 lanes']);
    check(source('getopt_long(argc, argv, "vn:b:", longs, NULL)'), ['4x1x1, 60 lanes']);
  });

  it('words of a command line compared by helpers of the program, without regard to case', () => {
    check(
      `${kernel}
bool isGiven(int argc, char** argv, const char* name) {
  bool found = false;
  for (int i = 1; i < argc; i++) {
    const char* word = argv[i] + (argv[i][0] == '-');
    const char* end = strchr(word, '=');
    if (end - word == (int)strlen(name) && !strncasecmp(word, name, strlen(name))) {
      found = true;
      continue;
    }
  }
  return found;
}
int main(int argc, char** argv) {
  static char* words[] = {(char*)"prog", (char*)"-Small=1"};
  if (argc == 1) { argc = 2; argv = words; }
  int n = 1280;
  if (isGiven(argc, argv, "small")) n = 64;
  float* d;
  cudaMalloc(&d, n * 4);
  k<<<n / 32, 32>>>(d, n);
}`,
      ['2x1x1, 64 lanes'],
    );
  });

  it('the block as large as a kernel may have it', () => {
    check(
      `${kernel}
int main() {
  cudaFuncAttributes found;
  cudaFuncGetAttributes(&found, k);
  int block = found.maxThreadsPerBlock < 128 ? found.maxThreadsPerBlock : 128;
  float* d;
  cudaMalloc(&d, 4096);
  k<<<2, block>>>(d, 200);
}`,
      ['2x1x1, 200 lanes'],
    );
  });

  it('rounds of a loop whose length the text does not tell, the numbers that each passes', () => {
    check(
      `${kernel}
int main() {
  std::vector<int> pairs;
  for (int i = 0; i < 100; i++) if (i * i % 7 == 2) pairs.push_back(i);
  int n = (int)pairs.size();
  float* d;
  cudaMalloc(&d, 4096);
  int at;
  for (at = 0; at < n; at += 10) k<<<(n - at) / 10 + 1, 32>>>(d, at + 1);
}`,
      ['3x1x1, 1 lanes', '2x1x1, 11 lanes', '1x1x1, 21 lanes'],
    );
  });

  it('where in its block a pointer leads', () => {
    const { launches } = analyse(`${kernel}
int main() {
  std::vector<int> pairs;
  for (int i = 0; i < 100; i++) if (i * i % 7 == 2) pairs.push_back(i);
  int n = (int)pairs.size();
  float* d;
  cudaMalloc(&d, 4096);
  k<<<n, 32>>>(d + n % 3, n * 32);
}`).kernels[0];
    assert.deepEqual(
      launches.map(({ grid, accesses }) => [grid[0], accesses[0].sectors]),
      [[28, 28 * 5]],
    );
  });

  it('a length within a structure', () => {
    check(
      `struct Span { float* p; int n; };
struct View { Span in; Span spare; };
__global__ void k(View v, float* out) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < v.in.n) out[i] = 1; }
int main() {
  std::vector<int> pairs;
  for (int i = 0; i < 100; i++) if (i * i % 7 == 2) pairs.push_back(i);
  pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
  float *d, *out;
  cudaMalloc(&d, pairs.size() * 4);
  cudaMalloc(&out, 4096);
  const View v{{d, (int)pairs.size()}, {d, 0}};
  k<<<4, 32>>>(v, out);
}`,
      ['4x1x1, 28 lanes'],
    );
  });

  it('rounds of a loop that the data decide: the first, the middle, the last', () => {
    check(
      `${kernel}
int main() {
  std::vector<int> lengths(5);
  unsigned s = 1;
  for (auto& l : lengths) { s = s * 1664525u + 1013904223u; l = 32 + (s >> 16) % 64; }
  std::sort(lengths.begin(), lengths.end());
  float* d;
  cudaMalloc(&d, 4096);
  for (int l : lengths) k<<<4, 32>>>(d, l);
}`,
      ['4x1x1, 40 lanes', '4x1x1, 54 lanes', '4x1x1, 83 lanes'],
    );
  });

  it('levels of which each is passed many times', () => {
    check(
      `${kernel}
int main() {
  std::vector<int> lengths;
  for (int i = 10; i > 1; i--) if (i * i % 7 == 2) lengths.push_back(i);
  std::sort(lengths.begin(), lengths.end());
  float* d;
  cudaMalloc(&d, 4096);
  for (int n : lengths)
    for (int pass = 0; pass < 40; pass++) k<<<n, 32>>>(d, 10 * n);
}`,
      ['3x1x1, 30 lanes', '4x1x1, 40 lanes', '10x1x1, 100 lanes'],
    );
  });

  it('a way that only later rounds of a loop take, with the numbers of those', () => {
    check(
      `
__global__ void k(float* p, const int* at, int n, int open) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) p[at[0] + i] = open;
}
__global__ void first(float* p, int n) { p[threadIdx.x] = n; }
__global__ void next(int* count, int n) { if (threadIdx.x == 0) *count = n + 33; }
int main() {
  std::vector<int> many(3);
  float* d;
  int *count, *at;
  cudaMalloc(&d, 4096);
  cudaMalloc(&at, 128);
  cudaMemset(at, 0, 128);
  cudaMallocManaged(&count, 4);
  unsigned s = 1;
  for (auto& m : many) { s = s * 1664525u + 1013904223u; m = 32 + (s >> 16) % 64; }
  std::sort(many.begin(), many.end());
  int n = 1;
  while (n > 0 && n < 140) {
    if (n < 40) first<<<1, 32>>>(d, n);
    else k<<<(n + 31) / 32, 32>>>(d, at, n, many[0]);
    next<<<1, 32>>>(count, n);
    cudaDeviceSynchronize();
    n = count[0];
  }
}`,
      ['3x1x1, 134 lanes', '4x1x1, 200 lanes', '5x1x1, 266 lanes'],
    );
  });

  it('later rounds of a loop whose first the text tells whole', () => {
    check(
      `${kernel}
int main() {
  float* d;
  int left = 256;
  cudaMalloc(&d, 4096);
  for (int round = 0; round < 9 && left > 0; round++) {
    k<<<(left + 31) / 32, 32>>>(d, left);
    std::vector<int> kept(left, 1);
    left = (int)std::count_if(kept.begin() + left / 2, kept.end(), [](int x) { return x == 1; }) - 1;
  }
}`,
      ['8x1x1, 256 lanes', '1x1x1, 31 lanes', '1x1x1, 1 lanes'],
    );
  });

  it('a file that is not there leaves it open', () => {
    check(
      `${kernel}
int main() {
  int n = 0;
  FILE* f = fopen("n.txt", "r");
  fscanf(f, "%d", &n);
  float* d;
  cudaMalloc(&d, n * 4);
  k<<<4, 32>>>(d, n);
}`,
      ['4x1x1 assumed n, 128 lanes'],
    );
  });

  it('what the text tells stays as it is', () => {
    check(`${kernel}\nint main() { float* d; cudaMalloc(&d, 4096); k<<<2, 32>>>(d, 50); }`, ['2x1x1, 50 lanes']);
  });

  it('of one of several instances, whose pack takes a named enumeration and a pointer to constants', () => {
    const [apply] = analyse(`typedef enum { SMALL, LARGE } Mode;
template <class... Args> __global__ void apply(int n, float* p, Args... args) { if (threadIdx.x < n) p[threadIdx.x] = 1; }
template <class... Args> void run(const std::vector<int>& sizes, float* p, Args... args) {
  int blocks = 0;
  for (int size : sizes) blocks += size;
  apply<<<blocks, 32>>>(8, p, args...);
}
int main() {
  float* p;
  cudaMalloc(&p, 4096);
  std::vector<int> sizes;
  for (int i = 1; i < 3000; i = i * 3 + 1) sizes.push_back(i % 7);
  run(sizes, p, 1.0f);
  sizes.pop_back();
  const Mode mode = LARGE;
  run(sizes, p, mode, (const float*)p);
}`).kernels.map(({ launches }) => launches.map((l) => `${l.templateArguments} ${l.grid.join('x')}`));
    assert.deepEqual(apply, ['float 19x1x1', 'Mode,float* 18x1x1']);
  });

  it('of lists of pointers that are filled anew for each round', () => {
    const [kernel] = analyse(`struct List { float* at[41]; int count; };
__global__ void zero(List list) { list.at[blockIdx.x][threadIdx.x] = 0; }
void all(const std::vector<float*>& arrays) {
  List list;
  list.count = 0;
  for (int i = 0; i < (int)arrays.size(); i++) {
    list.at[list.count++] = arrays[i];
    if (list.count == 41 || i == (int)arrays.size() - 1) {
      zero<<<list.count, 32>>>(list);
      list.count = 0;
    }
  }
}
int main() {
  float* p;
  cudaMalloc(&p, 16384);
  std::vector<float*> arrays;
  for (int i = 0; i < 50; i++) arrays.push_back(p + i * 34);
  all(arrays);
}`).kernels;
    const shown = kernel.launches.map(({ grid, accesses: [store] }) => `${grid.join('x')} ${store.sectors} sectors`);
    // every fourth array begins with a sector
    assert.deepEqual(shown, [`41x1x1 ${11 * 4 + 30 * 5} sectors`, `9x1x1 ${2 * 4 + 7 * 5} sectors`]);
  });

  it('of lists of which a round fills a part: the rest is no size', () => {
    const [kernel] = analyse(`struct List { float* at; int begins[64]; unsigned char rows[320]; };
__global__ void zero(List list) { list.at[list.begins[list.rows[blockIdx.x]] + threadIdx.x] = 0; }
int main() {
  List list;
  cudaMalloc(&list.at, 16384);
  std::vector<int> lengths;
  for (int i = 0; i < 6; i++) lengths.push_back(i + 1);
  int blocks = 0, begin = 0;
  for (int i = 0; i < (int)lengths.size(); i++) {
    list.begins[i] = begin;
    begin += 34 * lengths[i];
    for (int row = 0; row < lengths[i]; row++) list.rows[blocks++] = i;
  }
  zero<<<blocks, 32>>>(list);
}`).kernels;
    const shown = kernel.launches.map(
      ({ grid, accesses: [store] }) => `${grid.join('x')} ${store.sectors} sectors ${store.certainty}`,
    );
    // 34 numbers times 0, 1, 3, 6, 10, 15: every fourth begins with a sector; list i is stored to i + 1 times
    const begins = [0, 1, 3, 6, 10, 15];
    const sectors = begins.map((begin, i) => (begin % 4 === 0 ? 4 : 5) * (i + 1)).reduce((a, b) => a + b);
    assert.deepEqual(shown, [`21x1x1 ${sectors} sectors exact`]);
  });
});
