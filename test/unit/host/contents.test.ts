/** What kernels find in memory: the program of the host is run, as far as it can be followed. */
import { check, upload } from './check-contents';

describe('data of the host', () => {
  it('comes from formulas in loops', () => {
    check(`
__global__ void k(const int* a, int n) {}
int main() {
  const int n = 6;
  int h[n];
  for (int i = 0; i < n; i++) h[i] = (i * 7 + 3) % 5;
  int* d;
  cudaMalloc(&d, sizeof h);
  cudaMemcpy(d, h, sizeof h, cudaMemcpyHostToDevice);
  k<<<1, 32>>>(d, n); //= a: 3 0 2 4 1 3, n: 6
}`);
  });

  it('is what copies have written to memory of the device, and zero where nothing was', () => {
    check(`
__global__ void k(const int* a, const int* b, const int* c, const int* z) {}
int main() {
  int h[2] = {1, 2};
  int *a, *b, *c;
  cudaMalloc(&a, 4 * sizeof(int));
  cudaMalloc(&b, 2 * sizeof(int));
  cudaMalloc(&c, 4 * sizeof(int));
  cudaMemcpy(a + 1, h, sizeof h, cudaMemcpyHostToDevice);
  cudaMemcpy(c, a, 4 * sizeof(int), cudaMemcpyDeviceToDevice);
  int* z = (int*)calloc(3, sizeof(int));
  k<<<1, 32>>>(a, b, c, z); //= a: 0 1 2 0, b: 0 0, c: 0 1 2 0, z: 0 0 0
  int back[2] = {5, 6};
  cudaMemcpy(back, b, sizeof back, cudaMemcpyDeviceToHost);
  k<<<1, 32>>>(back, b, c, z); //= a: 0 0, b: 0 0, c: 0 1 2 0
}`);
  });

  it('is zero in memory that the device gave and nobody wrote to, up to what blocks are aligned to; what follows memory given back may be old', () => {
    check(`
__global__ void k(const int* a, const int* b) {}
__global__ void copy(const int* a, int* b) { b[a[threadIdx.x]] = a[threadIdx.x] + 3; }
int main(int argc, char** argv) {
  int *a, *b, *large;
  int one = 1;
  cudaMalloc(&a, 4 * sizeof(int));
  cudaMalloc(&b, 4 * sizeof(int));
  cudaMalloc(&large, 1 << 25);
  k<<<1, 32>>>(a, large); //= a: 0 0 0 0 0, b: 0 0
  copy<<<1, 1>>>(a, b);
  k<<<1, 32>>>(b, a); //= a: 3 0 0 0, b: 0 0
  cudaMemcpy(large + 1, &one, sizeof one, cudaMemcpyHostToDevice);
  k<<<1, 32>>>(a, large); //= a: 0 0, b: ? 1 ?
  read(argv, a);
  k<<<1, 32>>>(a, b); //= a: ? ?, b: 3 0
  cudaFree(large);
  cudaMalloc(&large, 4 * sizeof(int));
  k<<<1, 32>>>(a, large); //= b: ? ?
  copy<<<1, 1>>>(b, b);
}`);
  });

  it("comes from generators of one's own, also of 64 bits", () => {
    check(`
__global__ void k(const unsigned* a, const long* b) {}
${upload}
struct Random { unsigned state; explicit Random(unsigned s) : state(s) {} unsigned next() { state = state * 1664525u + 1013904223u; return state >> 16; } };
int main() {
  Random r(1);
  std::vector<unsigned> a(3);
  for (unsigned& x : a) x = r.next();
  unsigned long long s = 88172645463325252ull;
  std::vector<long> b;
  for (int i = 0; i < 2; i++) { s ^= s << 13; s ^= s >> 7; s ^= s << 17; b.push_back(s % 1000003); }
  k<<<1, 32>>>(up(a), up(b)); //= a: 15496 24200 33046, b: 634629 122062
}`);
  });

  it('is built by loops whose length depends on data: rows of a sparse matrix', () => {
    check(`
struct Csr { const int* start; const int* column; int rows; };
__global__ void k(Csr m) {}
${upload}
int main() {
  std::vector<int> start(1, 0), column;
  for (int r = 0; r < 4; r++) {
    for (int c = 0; c <= r; c += 1 + r % 2) column.push_back(c);
    start.push_back((int)column.size());
  }
  Csr m = {up(start), up(column), 4};
  k<<<1, 32>>>(m); //= m.start: 0 1 2 5 7, m.column: 0 0 0 1 2 0 2, m.rows: 4
}`);
  });

  it('has letters of strings', () => {
    check(`
__global__ void k(const char* a, const char* b) {}
${upload}
static char base(unsigned k) { return "ACGT"[k & 3]; }
int main() {
  std::vector<char> a(6), b;
  for (size_t i = 0; i < a.size(); i++) a[i] = base(3 * i);
  const char* word = "lanes";
  for (const char* p = word; *p; p++) b.push_back(*p);
  k<<<1, 32>>>(up(a), up(b)); //= a: 65 84 71 67 65 84, b: 108 97 110 101 115
}`);
  });

  it('is kept of small blocks also where large ones take all that they may', () => {
    check(`
__global__ void k(const int* a, const int* b, const int* at) {}
int main() {
  int *a, *b, *at;
  cudaMalloc(&a, 1 << 26);
  cudaMalloc(&b, 1 << 26);
  cudaMalloc(&at, 2 * sizeof(int));
  for (int i = 1; i < 3; i++) {
    cudaMemset(a, i, 1 << 26);
    cudaMemset(b, i, 1 << 26);
    cudaMemcpy(at, &i, sizeof i, cudaMemcpyHostToDevice);
    k<<<1, 32>>>(a, b, at); //= at: 1 0; at: 2 0
  }
}`);
  });

  it('is what strings are put together to', () => {
    check(`
__global__ void k(const char* a, int n, int m) {}
int sizeOf(const std::string& s) { return (int)s.size(); }
int main() {
  std::string text;
  for (int i = 9; i < 11; ++i) text += "n" + std::to_string(i) + ' ';
  char* d;
  cudaMalloc(&d, text.size());
  cudaMemcpy(d, text.c_str(), text.size(), cudaMemcpyHostToDevice);
  k<<<1, 32>>>(d, (int)text.size(), sizeOf("abc")); //= a: 110 57 32 110 49 48 32, n: 7, m: 3
  std::map<std::string, int> count;
  for (const char* word : {"b", "a", "b"}) count[word]++;
  k<<<1, 32>>>(d, count["b"], (int)count.size()); //= n: 2, m: 2
  std::vector<std::string> all = {"xy", "z"};
  all.push_back(text.substr(3));
  k<<<1, 32>>>(d, (int)(all[0] + all[2] + "!").length(), std::stoi(all[2].substr(1, 2))); //= n: 7, m: 10
  k<<<1, 32>>>(d, all[1] == "z" ? 1 : 2, (int)std::to_string(-1.5f).find('.')); //= n: 1, m: 2
}`);
  });

  it('has the different ones of sorted pairs', () => {
    check(`
__global__ void k(const int* edges, int n) {}
${upload}
int main() {
  std::vector<std::pair<int, int>> edges;
  for (int i = 0; i < 9; i++) { int a = i * 5 % 3, b = i * 7 % 2; edges.push_back({a, b}); edges.push_back({b, a}); }
  std::sort(edges.begin(), edges.end());
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  k<<<1, 32>>>((const int*)up(edges), edges.size()); //= edges: 0 0 0 1 0 2 1 0 1 1 1 2 2 0 2 1, n: 8
}`);
  });

  it('is sorted, and a copy is an object of its own', () => {
    check(`
__global__ void k(const int* a, const int* b) {}
${upload}
int main() {
  std::vector<int> a = {5, 1, 4, 1, 3};
  std::vector<int> b = a;
  std::sort(b.begin(), b.end(), [](int x, int y) { return x > y; });
  k<<<1, 32>>>(up(a), up(b)); //= a: 5 1 4 1 3, b: 5 4 3 1 1
}`);
  });

  it('may be in parts unknown', () => {
    check(`
__global__ void k(const int* a) {}
int main(int argc, char** argv) {
  int* d;
  cudaMalloc(&d, 4 * sizeof(int));
  cudaMemset(d, 0, 2 * sizeof(int));
  int x = atoi(argv[1]), y = 7;
  cudaMemcpy(d + 1, &x, sizeof x, cudaMemcpyHostToDevice);
  cudaMemcpy(d + 3, &y, sizeof y, cudaMemcpyHostToDevice);
  k<<<1, 32>>>(d); //= a: 0 ? 0 7
}`);
  });

  it('is that of tables of numbers which are larger than a program', () => {
    const list = (length: number, of: (i: number) => string) => Array.from({ length }, (_, i) => of(i)).join(',');
    check(
      `__global__ void k(const unsigned* a, const float* f, const long* l) {}
__device__ unsigned int powers[2][30000] = {{${list(30000, (i) => `${i}U`)}}, {${list(30000, (i) => `${i * 7}U`)}}};
static unsigned copies[3][30000] = {{${list(300, (i) => `${i * 5}`)}}};
static const float halves[] = {${list(5000, (i) => `-${i}.5f`)}};
long few[3][300] = {{-1, 2}, {7}};
int main() {
  unsigned* a; float* f; long* l;
  cudaMalloc(&a, sizeof(copies)); cudaMalloc(&f, sizeof(halves)); cudaMalloc(&l, sizeof(few));
  few[1][1] = copies[0][299];
  cudaMemcpyFromSymbol(copies[1], powers, sizeof(powers));
  cudaMemcpy(a, copies[2], 4 * 30000, cudaMemcpyHostToDevice);
  cudaMemcpy(f, halves + 4998, 8, cudaMemcpyHostToDevice);
  cudaMemcpy(l, few, sizeof(few), cudaMemcpyHostToDevice);
  k<<<1, 32>>>(a, f, l); //= a: 0 7 14, f: -4998.5 -4999.5, l: -1 2 0
  k<<<1, 32>>>(a, f, l + 300); //= l: 7 1495 0
}`,
    );
  });

  it('rests on no options where the program is started without', () => {
    check(`
__global__ void k(const int* a, int n, int given) {}
int main(int argc, char** argv) {
  int n = 3, given = atoi(argv[3]);
  for (int i = 0; i < argc; i++)
    if (strcmp(argv[i], "-n") == 0) n = atoi(argv[i + 1]);
  std::vector<int> a(n, 7);
  int* d;
  cudaMalloc(&d, n * sizeof(int));
  cudaMemcpy(d, a.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  k<<<1, 32>>>(d, n, given); //= a: 7 7 7, n: 3, given: ?
}`);
  });

  it('is counted by numbers that texts say', () => {
    check(`
__global__ void k(const int* a, int n, long m, double x, int same) {}
using namespace std;
int main() {
  char* words[] = {(char*)"prog", (char*)"3", (char*)" -0x1F", (char*)"-2.5e2", (char*)"-v"};
  char** w = words;
  int n = atoi(w[1]);
  vector<int> a(n, 7);
  int* d;
  cudaMalloc(&d, n * sizeof(int));
  cudaMemcpy(d, a.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  k<<<1, 32>>>(d, n, strtol(w[2], NULL, 0), stod(w[3]), strcmp(w[4], "-v")); //= a: 7 7 7, n: 3, m: -31, x: -250, same: 0
}`);
  });

  it('is counted by numbers that functions of the C library in namespace std read', () => {
    check(`
__global__ void k(const int* a, int n) {}
int main() {
  const char* w[] = {"3", "1.5"};
  int n = std::atoi(w[0]);
  int h[3];
  for (int i = 0; i < n; ++i) h[i] = (int)(std::atof(w[1]) * 2) + (int)std::strlen(w[1]);
  int* d;
  cudaMalloc(&d, n * sizeof(int));
  cudaMemcpy(d, h, n * sizeof(int), cudaMemcpyHostToDevice);
  k<<<1, 32>>>(d, n); //= a: 6 6 6, n: 3
}`);
  });

  it('is not known of blocks that are too large to be kept, but of the others', () => {
    check(`
__global__ void k(const int* a, int x) {}
int main() {
  size_t many = 1 << 28;
  int* large = (int*)malloc(many * sizeof(int));
  int* small = (int*)malloc(2 * sizeof(int));
  for (int i = 0; i < 2; i++) { large[i] = i; small[i] = i + 5; }
  int *d, *e;
  cudaMalloc(&d, many * sizeof(int));
  cudaMalloc(&e, 2 * sizeof(int));
  cudaMemcpy(d, large, many * sizeof(int), cudaMemcpyHostToDevice);
  cudaMemcpy(e, small, 2 * sizeof(int), cudaMemcpyHostToDevice);
  int x = large[1];
  k<<<1, 32>>>(e, x); //= a: 5 6, x: ?
}`);
  });

  it('is known after more was given back than there is room for, whatever the order', () => {
    check(`
__global__ void k(const int* a, const int* b) {}
int main() {
  size_t many = 1 << 24;
  for (int n = 0; n < 3; n++) {
    int* h = (int*)malloc(8);
    int *d, *e;
    cudaMalloc(&d, many * sizeof(int));
    cudaMalloc(&e, many * sizeof(int));
    h[0] = n; h[1] = 9;
    cudaMemcpy(d, h, 8, cudaMemcpyHostToDevice);
    cudaMemcpy(e, h + 1, 4, cudaMemcpyHostToDevice);
    k<<<1, 32>>>(d, e); //= a: 0 9, b: 9; a: 1 9, b: 9; a: 2 9, b: 9
    free(h);
    cudaFree(d);
    cudaFree(e);
  }
}`);
  });

  it("of the program's own objects stays where it is, also when they are given back by mistake", () => {
    check(`
__global__ void k(const int* a, const int* b) {}
int main() {
  int own[2] = {1, 2};
  free(own);
  int* p = (int*)malloc(8);
  p[0] = 8; p[1] = 9;
  int *d, *e;
  cudaMalloc(&d, 8);
  cudaMalloc(&e, 8);
  cudaMemcpy(d, own, 8, cudaMemcpyHostToDevice);
  cudaMemcpy(e, p, 8, cudaMemcpyHostToDevice);
  k<<<1, 32>>>(d, e); //= a: 1 2, b: 8 9
}`);
  });

  it('is not known where a file or a function that is not there gives it', () => {
    check(`
__global__ void k(const int* a, const int* b) {}
${upload}
void load(int* p, int n);
int main() {
  std::vector<int> a(4, 1), b(4, 2);
  FILE* f = fopen("a.bin", "rb");
  fread(a.data(), 4, 4, f);
  load(b.data() + 1, 2);
  k<<<1, 32>>>(up(a), up(b)); //= a: ? ? ? ?, b: ? ? ? ?
}`);
  });

  it('is what kernels may write only until they do', () => {
    check(`
__global__ void k(const int* in, int* out) {}
${upload}
int main() {
  std::vector<int> a = {1, 2};
  int* in = up(a);
  int* out = up(a);
  k<<<1, 32>>>(in, out); //= in: 1 2, out: 1 2
  k<<<1, 32>>>(in, out); //= in: 1 2, out: ? ?
  cudaMemcpy(out, in, 8, cudaMemcpyDeviceToDevice);
  k<<<1, 32>>>(out, in); //= in: 1 2, out: 1 2
}`);
  });

  it('goes on behind conditions that are not known: what they decide is not known', () => {
    check(`
__global__ void k(const int* a, int n) {}
${upload}
int main() {
  std::vector<int> a = {1, 2, 3}, got(3);
  int* d = up(a);
  int n = 1, m = 2;
  cudaMemcpy(got.data(), unknownBuffer(), 12, cudaMemcpyDeviceToHost);
  for (int i = 0; i < 3; i++) if (got[i] > 3) { n++; a[1] = got[i]; }
  if (n > 1000) exit(1);
  k<<<1, 32>>>(up(a), n); //= a: ? ? ?, n: ?
  k<<<1, 32>>>(d, m); //= a: 1 2 3, n: 2
}`);
  });

  it('is that of each round of a loop', () => {
    check(`
__global__ void k(const int* a, int n) {}
${upload}
int main() {
  for (int n = 1; n <= 2; n++) {
    std::vector<int> a(2, n * 10);
    k<<<n, 32>>>(up(a), n); //= a: 10 10, n: 1; a: 20 20, n: 2
  }
}`);
  });

  it('outlives loops that take too long: they are left, and what they write is not known', () => {
    check(`
__global__ void k(const int* a, const int* b) {}
${upload}
int main() {
  std::vector<int> a(8, 3), b(1 << 12, 1);
  for (int i = 0; i < 1 << 12; i++)
    for (int j = 0; j < 1 << 12; j++) b[i] += b[j] * b[i ^ j];
  k<<<1, 32>>>(up(a), up(b)); //= a: 3 3, b: ? ?
}`);
  });

  it('reaches symbols and pointers to pointers', () => {
    check(`
__constant__ int table[3];
__global__ void k(int n, int** rows) {}
${upload}
int main() {
  int h[3] = {4, 5, 6};
  cudaMemcpyToSymbol(table, h, sizeof h);
  int* rows[2] = {up(std::vector<int>{1, 2}), up(std::vector<int>{3, 4})};
  int** d;
  cudaMalloc(&d, sizeof rows);
  cudaMemcpy(d, rows, sizeof rows, cudaMemcpyHostToDevice);
  k<<<1, 32>>>(1, d); //= rows[1]: 3 4
  int back[3];
  cudaMemcpyFromSymbol(back, table, sizeof back);
  k<<<1, 32>>>(back[1], d); //= n: 5, rows[0]: ? ?
}`);
  });

  it('follows one nest of loops for half of what there is: what is made of random numbers behind it is known', () => {
    check(`
__global__ void k(const float* a, int n) {}
int main() {
  srand(7);
  std::vector<float> a(160000);
  for (int i = 0; i < a.size(); i++) a[i] = (float)rand() / RAND_MAX;
  float* d;
  cudaMalloc(&d, 4 * a.size());
  cudaMemcpy(d, a.data(), 4 * a.size(), cudaMemcpyHostToDevice);
  int n = rand() % 1000;
  k<<<1, 32>>>(d, n); //= n: 552
}`);
  });

  it('leaves a nest of loops that makes much memory unknown again and again, with any patience', () => {
    check(
      `
__global__ void k(const char* a, int n) {}
int unknown();
int main() {
  const int size = 4 << 20;
  char* a = (char*)malloc(size);
  for (int i = 0; i < size; i++)
    if (unknown() == i) a[i] = 1;
  char* d;
  cudaMalloc(&d, size);
  cudaMemcpy(d, a, size, cudaMemcpyHostToDevice);
  k<<<1, 32>>>(d, size >> 10); //= a: ?, n: 4096
}`,
      64,
    );
  });

  it('keeps what a pointer cannot lead to that moves on where it is not known', () => {
    check(`
__global__ void k(const int* a, const int* b) {}
int unknown();
int main() {
  int a[2] = {1, 1};
  int* b = new int[900];
  int *da, *db;
  cudaMalloc(&da, sizeof a);
  cudaMalloc(&db, 3600);
  int* last = b;
  for (int* p = b; p != b + 900; p++)
    if (unknown()) *last++ = *p;
  cudaMemcpy(da, a, sizeof a, cudaMemcpyHostToDevice);
  cudaMemcpy(db, b, 3600, cudaMemcpyHostToDevice);
  k<<<1, 32>>>(da, db); //= a: 1 1, b: ?
}`);
  });

  it('is reached through classes that convert to the pointer they own', () => {
    const passed = (owner: string, given: string) =>
      check(`
__global__ void k(const int* a) {}
template <class T> struct Owner { T* p; long n; explicit Owner(long n) : n(n) { cudaMalloc(&p, n * sizeof(T)); } ${owner} };
struct Ints : Owner<int> { Ints() : Owner<int>(2) {} };
void launch(const int* a) { k<<<1, 32>>>(a); } //= a: 1 2
int main() {
  int h[2] = {1, 2};
  Ints a;
  cudaMemcpy(a.p, h, sizeof h, cudaMemcpyHostToDevice);
  ${given} //= a: 1 2
  launch(a);
}`);
    passed('operator T*() { return p; }', 'k<<<1, 32>>>(a);');
    passed('operator const T*() const { return p; }', 'Owner<int>& o = a; k<<<1, 32>>>(o);');
    passed('operator T*() const { return p; }', 'const int* q = a; k<<<1, 32>>>(q);');
  });
});
