/** Programs of several files: main in one, kernels in another, what makes their data in a third. */
import { check } from './program-files';

const declarations = '#pragma once\n#include <vector>\nvoid scatter(const std::vector<int>& at, int* out);';
const kernel = `#include "scatter.h"
__global__ void put(const int* at, int* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[at[i]] = i;
}
void scatter(const std::vector<int>& at, int* out) {
  int* d; cudaMalloc(&d, at.size() * 4);
  cudaMemcpy(d, at.data(), at.size() * 4, cudaMemcpyHostToDevice);
  put<<<(at.size() + 63) / 64, 64>>>(d, out, at.size());
}`;
const main = (fill: string) => `#include "scatter.h"
${fill}
int main() {
  std::vector<int> at(128);
  for (int i = 0; i < 128; i++) at[i] = place(i);
  int* out; cudaMalloc(&out, 1 << 20);
  scatter(at, out);
}`;
const strided = ['put:4 load 16/16 128 lanes', 'put:4 store 128/16 128 lanes'];

describe('programs of several files', () => {
  it('are run where main is in a C++ file and fills the data', () => {
    const files = {
      'scatter.h': declarations,
      'scatter.cu': kernel,
      'main.cpp': main('int place(int i) { return i * 8; }'),
    };
    check(files, 'scatter.cu', strided);
  });
  it('are run where main calls what stands in more files than a person would count', () => {
    const many = Array.from({ length: 30 }, (_, i) => i);
    const files = {
      'scatter.h': declarations,
      'scatter.cu': kernel,
      'steps.h': many.map((i) => `int step${i}(int i);`).join('\n'),
      ...Object.fromEntries(many.map((i) => [`step${i}.cpp`, `#include "steps.h"\nint step${i}(int i) { return i; }`])),
      'main.cpp': main(
        `#include "steps.h"\nint place(int i) { return 8 * ${many.reduce((inner, i) => `step${i}(${inner})`, 'i')}; }`,
      ),
    };
    check(files, 'scatter.cu', strided);
  });
  it('tell what constant memory holds that a third file defines', () => {
    const files = {
      'put.h': '#pragma once\nextern __constant__ int pitch, count;\n__global__ void put(int* out);',
      'put.cu':
        '#include "put.h"\n__global__ void put(int* out) { int i = threadIdx.x; if (i < count) out[i * pitch] = i; }',
      'constants.cu': '__constant__ int pitch, count;',
      'main.cu': `#include "put.h"
int main() {
  int p = 0, n = 0;
  sscanf("8 24", "%d %d", &p, &n);
  cudaMemcpyToSymbol(pitch, &p, sizeof p);
  cudaMemcpyToSymbol(count, &n, sizeof n);
  int* out; cudaMalloc(&out, 4096);
  put<<<1, 32>>>(out);
}`,
    };
    check(files, 'put.cu', ['put:2 store 24/3 24 lanes']);
  });
  it('are run where a table in main leads to what the files define', () => {
    const files = {
      'scatter.h': declarations,
      'scatter.cu': kernel,
      'places.cpp': 'int near(int i) { return i; }\nint far(int i) { return i * 8; }',
      'main.cpp': main(
        'int near(int i);\nint far(int i);\nint (*const places[])(int) = {near, far};\n#define place places[1]',
      ),
    };
    check(files, 'scatter.cu', strided);
  });
  it('are run where only a header of main calls what leads to the launch', () => {
    const files = {
      'scatter.h': declarations,
      'scatter.cu': kernel,
      'driver.hpp': `#pragma once
#include "scatter.h"
template <int STEP> void drive(int n) {
  std::vector<int> at(n);
  for (int i = 0; i < n; i++) at[i] = i * STEP;
  int* out; cudaMalloc(&out, 1 << 20);
  scatter(at, out);
}`,
      'main.cpp': '#include "driver.hpp"\nint main() { drive<8>(128); }',
    };
    check(files, 'scatter.cu', strided);
  });
  it('are run where layers of files lie between the launch and main', () => {
    const layers = ['tile', 'layer', 'model', 'session'];
    const declared = (name: string) => `void ${name}(const std::vector<int>& at, int* out)`;
    const layer = (name: string, i: number) => {
      const inner = i === 0 ? 'scatter' : layers[i - 1];
      return `#include <vector>\n${declared(inner)};\n${declared(name)} { ${inner}(at, out); }`;
    };
    const files = {
      'scatter.h': declarations,
      'scatter.cu': kernel,
      ...Object.fromEntries(layers.map((name, i) => [`${name}.cpp`, layer(name, i)])),
      'main.cpp': main('int place(int i) { return i * 8; }').replaceAll('scatter', 'session'),
      'session.h': `#include <vector>\n${declared('session')};`,
    };
    check(files, 'scatter.cu', strided);
  });
  it('are run where what uses the kernels beside them leads to no main, and a folder of its own does', () => {
    const files = {
      'lib/scatter.h': declarations,
      'lib/scatter.cu': kernel,
      'lib/session.cpp': `#include "scatter.h"
struct Session { void run(const std::vector<int>& at, int* out) { scatter(at, out); } };`,
      'bench/main.cpp': main('int place(int i) { return i * 8; }').replace('scatter.h', '../lib/scatter.h'),
    };
    // both ways to the launch are told
    check(files, 'lib/scatter.cu', [...strided, ...strided]);
  });
  it('are run where main asks a table of functions that a variable of the file is made by', () => {
    const files = {
      'table.h': `#pragma once
#include <map>
#include <string>
template <class T> struct Table {
  using Entry = void (*)(T);
  static std::map<std::string, Entry>& all() { static std::map<std::string, Entry> table; return table; }
  static bool add(const std::string& name, Entry entry) { all()[name] = entry; return true; }
  static Entry find(const std::string& name) { return all().find(name)->second; }
};
template <class F> struct Taken;
template <class R, class A> struct Taken<R (*)(A)> { using type = A; };`,
      'job.h': '#pragma once\nstruct Job { int* out; int n; };',
      'driver.h': `#pragma once
#include "table.h"
template <class T> struct Driver { typename Table<T>::Entry entry; Driver(const char* name) { entry = Table<T>::find(name); } };`,
      'fill.cu': `#include "job.h"
#include "table.h"
__global__ void put(int* out, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) out[i * 8] = i; }
void fill(Job job) { put<<<(job.n + 31) / 32, 32>>>(job.out, job.n); }
namespace { static const bool isAdded = Table<Taken<decltype(&fill)>::type>::add("fill", fill); }`,
      'main.cu': `#include "driver.h"
#include "job.h"
int main() {
  Driver<Job> driver("fill");
  Job job;
  job.n = 48;
  cudaMalloc(&job.out, 4096);
  driver.entry(job);
}`,
    };
    check(files, 'fill.cu', ['put:3 store 48/6 48 lanes']);
  });
  it('are run where a third file makes the data, in the order of its names', () => {
    const files = {
      'scatter.h': `${declarations}\nint place(int i);`,
      'scatter.cu': kernel,
      'data.cpp': '#include "scatter.h"\nint step = 8;\nint place(int i) { return i * step; }',
      'main.cpp': main(''),
    };
    check(files, 'scatter.cu', strided);
  });
  it('are run from the file with main too, when its helpers are elsewhere', () => {
    const files = {
      'place.h': 'int place(int i);',
      'place.cpp': '#include "place.h"\nint place(int i) { return i * 8; }',
      'main.cu': `#include "place.h"\n${kernel.replace('#include "scatter.h"', '#include <vector>')}\n${main('').replace('#include "scatter.h"', '')}`,
    };
    check(
      files,
      'main.cu',
      strided.map((each) => each.replace(':4', ':5')),
    );
  });
  it('are run where main comes to what launches by a table in a header of both', () => {
    const files = {
      'scatter.h': `${declarations}
using Scatter = void (*)(const std::vector<int>&, int*);
inline const Scatter* versions(int& count) {
  static const Scatter all[] = {scatter};
  count = sizeof(all) / sizeof(all[0]);
  return all;
}`,
      'scatter.cu': kernel,
      'main.cu': main('int place(int i) { return i * 8; }').replace(
        'scatter(at, out);',
        'int n; const Scatter* all = versions(n); for (int i = 0; i < n; i++) all[i](at, out);',
      ),
    };
    check(files, 'scatter.cu', strided);
  });
  it('have methods that another file defines', () => {
    const files = {
      'scatter.h': `${declarations}\nstruct Places { int step; Places(); int of(int i) const; };`,
      'scatter.cu': kernel,
      'places.cpp':
        '#include "scatter.h"\nPlaces::Places() : step(8) {}\nint Places::of(int i) const { return i * step; }',
      'main.cpp': main('static Places places;\nint place(int i) { return places.of(i); }'),
    };
    check(files, 'scatter.cu', strided);
  });
  it('have classes that only a function of their own file makes', () => {
    const files = {
      'step.h':
        '#pragma once\n#include <memory>\nstruct Step { virtual ~Step() {} virtual void run(const std::vector<int>& at, int* out) = 0; };',
      'make.h': '#include "step.h"\nstd::unique_ptr<Step> newScatter(); std::unique_ptr<Step> make(int kind);',
      'make.cpp':
        '#include "make.h"\nstd::unique_ptr<Step> make(int kind) { return kind == 1 ? newScatter() : nullptr; }',
      'scatter.cu': `#include "make.h"
${kernel.replace(/.*\n/, '').replace('void scatter(const std::vector<int>& at, int* out) {', 'namespace { struct Scatter : Step { void run(const std::vector<int>& at, int* out) override {')} }; }
std::unique_ptr<Step> newScatter() { return std::make_unique<Scatter>(); }`,
      'main.cpp': main('int place(int i) { return i * 8; }')
        .replace('scatter.h', 'make.h')
        .replace('scatter(at, out);', 'auto step = make(1);\n  step->run(at, out);'),
    };
    check(files, 'scatter.cu', strided);
  });
  it('have classes that a third file makes, between that of the kernels and main', () => {
    const files = {
      'layer.h': `#pragma once
struct Layer { virtual void forward(int* out) = 0; };
struct Spread : Layer { int n; explicit Spread(int n); void forward(int* out) override; };`,
      'spread.cu': `#include "layer.h"
__global__ void put(int* out, int n) { if (threadIdx.x < n) out[threadIdx.x * n] = 1; }
Spread::Spread(int n) : n(n) {}
void Spread::forward(int* out) { put<<<1, 32>>>(out, n); }`,
      'model.h': '#pragma once\n#include "layer.h"\nLayer* create(int n);',
      'model.cpp': '#include "model.h"\nLayer* create(int n) { return new Spread(n); }',
      'main.cu': `#include "model.h"
int main() {
  int* out; cudaMalloc(&out, 1 << 20);
  create(8)->forward(out);
}`,
    };
    check(files, 'spread.cu', ['put:2 store 8/1 8 lanes']);
  });
  it('have C files', () => {
    const files = {
      'scatter.cu': `extern "C" void scatter(const int* at, int n, int* out);\n${kernel
        .replace('#include "scatter.h"', '')
        .replace('const std::vector<int>& at, int* out', 'const int* at, int n, int* out')
        .replaceAll('at.size()', 'n')
        .replaceAll('at.data()', 'at')}`,
      'main.c': `#include <stdlib.h>
void scatter(const int* at, int n, int* out);
int main(void) {
  int* at = malloc(128 * sizeof(int));
  for (int i = 0; i < 128; i++) at[i] = i * 8;
  int* out; cudaMalloc((void**)&out, 1 << 20);
  scatter(at, 128, out);
  return 0;
}`,
    };
    check(
      files,
      'scatter.cu',
      strided.map((each) => each.replace(':4', ':5')),
    );
  });
  it('may have a function and a variable of their own in each file under the same name', () => {
    const files = {
      'scatter.h': `${declarations}\nint place(int i);`,
      'scatter.cu': kernel.replace(
        'void scatter',
        'static int scale(int i) { return i * 2; }\nstatic int step = 3;\nvoid scatter',
      ),
      'data.cpp': `#include "scatter.h"
namespace { int step = 4; }
static int scale(int i) { return i * step; }
int place(int i) { return scale(i); }`,
      'main.cpp': main('static int scale(int i) { return i; }').replace('place(i)', 'scale(place(i)) * 2'),
    };
    check(files, 'scatter.cu', strided);
  });
  it('may have types and enumerators of their own in each file under the same name', () => {
    const files = {
      'scatter.h': `${declarations}\nint place(int i);`,
      'scatter.cu': kernel.replace('void scatter', 'struct Step { int by; };\nenum { WIDE = 1 };\nvoid scatter'),
      'data.cpp': `#include "scatter.h"
struct Step { int first, by; Step(int by); int of(int i) const { return first + i * by; } };
Step::Step(int by) : first(0), by(by) {}
enum class Kind { NARROW };
enum { WIDE = 8 };
int place(int i) { return Step(WIDE).of(i); }`,
      'main.cpp': main('class Kind {};'),
    };
    check(files, 'scatter.cu', strided);
  });
  it('keep the names of members that their headers declare, whatever variables are called', () => {
    const files = {
      'scatter.h': `${declarations}\nint place(int i);\nstruct Places { int step = 8; int of(int i) const; };`,
      'scatter.cu': kernel.replace('void scatter', 'static int step = 3;\nvoid scatter'),
      'data.cpp': `#include "scatter.h"
static int step = 5;
int Places::of(int i) const { return i * step; }
int place(int i) { Places places; return places.of(i); }`,
      'main.cpp': main(''),
    };
    check(files, 'scatter.cu', strided);
  });
  it('rest on kernels of other files', () => {
    const launcher = 'void scatterAt(int* at, int n, int* out) { put<<<n / 64, 64>>>(at, out, n); }';
    const files = {
      'scatter.h': `${declarations}\nvoid fillPlaces(int* at, int n);\nvoid scatterAt(int* at, int n, int* out);`,
      'fill.cu': `#include "scatter.h"
__global__ void fill(int* at, int n) { int i = blockIdx.x * 64 + threadIdx.x; if (i < n) at[i] = i * 8; }
void fillPlaces(int* at, int n) { fill<<<n / 64, 64>>>(at, n); }`,
      'scatter.cu': kernel.slice(0, kernel.indexOf('void scatter')) + launcher,
      'main.cpp': `#include "scatter.h"
int main() {
  int *at, *out; cudaMalloc(&at, 512); cudaMalloc(&out, 1 << 20);
  fillPlaces(at, 128);
  scatterAt(at, 128, out);
}`,
    };
    check(files, 'scatter.cu', strided);
  });
  it('are not put together from two files that define the same', () => {
    const files = {
      'scatter.h': `${declarations}\nint place(int i);`,
      'scatter.cu': kernel,
      'one.cpp': '#include "scatter.h"\nint place(int i) { return i * 8; }',
      'two.cpp': '#include "scatter.h"\nint place(int i) { return i; }',
      'main.cpp': main(''),
    };
    check(files, 'scatter.cu', ['put:4 load 16/16 128 lanes', 'put:4 store ?']);
  });
  it('are those in the own language where a program stands there in two', () => {
    const other = '#include "scatter.h"\nint place(int i) { return i; }';
    const files = {
      'scatter.h': `${declarations}\nint place(int i);`,
      'scatter.cu': kernel,
      'place.cu': other.replace('return i', 'return i * 8'),
      'place.cpp': other,
      'main.cu': main(''),
      'main.cpp': main('').replace('128', '64'),
    };
    check(files, 'scatter.cu', strided);
  });
  it('keep what was run while a kernel is typed, and follow its new text', () => {
    const files = {
      'scatter.h': declarations,
      'scatter.cu': kernel,
      'main.cpp': main('int place(int i) { return i * 8; }'),
    };
    const edited = kernel.replace('out[at[i]] = i', 'out[at[i] / 8] = i');
    check(
      files,
      'scatter.cu',
      ['put:4 load 16/16 128 lanes', 'put:4 store 16/16 128 lanes'],
      [kernel.replace('out[at[i]] = i', 'out[at['), edited],
    );
  });

  it('a variable that another file defines', () => {
    const header = 'extern const int stride;\nextern int rows[2];\nint unrelated();';
    const text = (use: string) => `#include "sizes.h"
__global__ void copy(const float* a, float* b, int n) { b[threadIdx.x * n] = a[threadIdx.x]; }
int main() {
  float *a, *b; cudaMalloc(&a, 4096); cudaMalloc(&b, 65536);
  copy<<<1, 32>>>(a, b, ${use});
}`;
    const sizes = '#include "sizes.h"\nconst int stride = 8;\nint rows[2] = {2, 4};';
    const expected = (sectors: number) => ['copy:2 load 4/4 32 lanes', `copy:2 store ${sectors}/4 32 lanes`];
    check({ 'a.cu': text('stride'), 'sizes.h': header, 'sizes.cu': sizes }, 'a.cu', expected(32));
    check({ 'a.cu': text('rows[1]'), 'sizes.h': header, 'sizes.cpp': sizes }, 'a.cu', expected(16));
  });

  it('a function with the name of a parameter of its kernel', () => {
    const files = {
      'scatter.cu': `__global__ void put(float* scatter, int n) { scatter[threadIdx.x * n] = 0; }
void scatter(float* out, int n) { put<<<1, 32>>>(out, n); }`,
      'main.cpp': `void scatter(float* out, int n);
int main() { float* out; cudaMalloc(&out, 4096); scatter(out, 4); }`,
    };
    check(files, 'scatter.cu', ['put:1 store 16/4 32 lanes']);
  });

  it('a function whose parentheses stand behind a tab or on the next line', () => {
    const files = (size: string) => ({
      'a.cu': `int size(int);
__global__ void put(float* out, int n) { out[threadIdx.x * n] = 0; }
int main() { float* out; cudaMalloc(&out, 4096); put<<<1, 32>>>(out, size(2)); }`,
      'size.cpp': size,
    });
    check(files('int size\t(int n) { return 2 * n; }'), 'a.cu', ['put:2 store 16/4 32 lanes']);
    check(files('int size\n(int n)\n{ return 2 * n; }'), 'a.cu', ['put:2 store 16/4 32 lanes']);
    // comments among the parameters and behind them
    for (const comment of ['// lanes; (all of them)\n', '/* lanes { all } */'])
      check(files(`int size(int n ${comment}) ${comment} { return 2 * n; }`), 'a.cu', ['put:2 store 16/4 32 lanes']);
  });
});
