/** What kernels find in memory, in programs written as people write them: classes, containers in arrays, pointers to pointers. */
import { check, upload } from './check-contents';

describe('data of the host, as programs are written', () => {
  it('buffers allocated through a table of pointers to them', () => {
    check(`
__global__ void k(const int* a, const int* b, int n) {}
int main() {
  int *a, *b;
  int h[2] = {3, 4};
  int** buffers[2] = {&a, &b};
  for (int i = 0; i < 2; ++i) {
    cudaMalloc(buffers[i], sizeof h);
    cudaMemcpy(*buffers[i], h, (i + 1) * sizeof(int), cudaMemcpyHostToDevice);
  }
  k<<<1, 32>>>(a, b, 2); //= a: 3 0, b: 3 4
}`);
  });

  it('variables that are declared extern, before and behind what defines them', () => {
    check(`
__global__ void k(int a, int b, int c) {}
extern int first;
int first = 3, second = 4;
extern int second;
namespace part { int third = 5; int all() { extern int third; return third * 10; } }
void set() { extern int second; second = 7; }
int main() {
  int second = 1;
  set();
  { extern int second; k<<<1, 32>>>(first, second, part::all()); } //= a: 3, b: 7, c: 50
  k<<<1, 32>>>(first, second, ::second); //= a: 3, b: 1, c: 7
}`);
  });

  it('containers in an array of a class, filled by its constructor', () => {
    check(`
__global__ void k(const float* a) {}
${upload}
struct Fields {
  std::vector<float> v[3];
  Fields() { for (auto& a : v) a.assign(4, 1.5f); }
};
int main() {
  Fields h;
  h.v[1][2] = 7;
  k<<<1, 32>>>(up(h.v[1])); //= a: 1.5 1.5 7 1.5
  k<<<1, 32>>>(up(h.v[2])); //= a: 1.5 1.5 1.5 1.5
}`);
  });

  it('containers that keep an order, from braces', () => {
    check(`
__global__ void k(int first, int size, int found) {}
int main() {
  std::set<int> s{3, 1, 3, 2};
  k<<<1, 32>>>(*s.begin(), (int)s.size(), (int)s.count(3)); //= first: 1, size: 3, found: 1
  std::map<int, int> m{{5, 50}, {4, 40}};
  m[6] = 60;
  k<<<1, 32>>>(m.begin()->second, (int)m.size(), m.at(5)); //= first: 40, size: 3, found: 50
}`);
  });

  it('objects behind smart pointers, with arguments for their constructors', () => {
    check(`
__global__ void k(const int* a, int n) {}
struct Field {
  std::vector<int> h;
  int* d = nullptr;
  Field(int n, int v) : h(n, v) { cudaMalloc(&d, n * sizeof(int)); cudaMemcpy(d, h.data(), n * sizeof(int), cudaMemcpyHostToDevice); }
};
int main() {
  auto a = std::make_unique<Field>(2, 3);
  k<<<1, 32>>>(a->d, (int)a->h.size()); //= a: 3 3, n: 2
  std::vector<std::shared_ptr<Field>> all;
  all.push_back(std::make_shared<Field>(1, 5));
  all.push_back(std::shared_ptr<Field>(new Field(3, 7)));
  k<<<1, 32>>>(all[0]->d, (int)all[0]->h.size()); //= a: 5, n: 1
  k<<<1, 32>>>(all[1]->d, (int)(*all[1]).h.size()); //= a: 7 7 7, n: 3
}`);
  });

  it('a class that builds its parts by private functions', () => {
    check(`
struct Particle { float3 pos; float w; };
struct Edge { int a, b; float rest; };
__global__ void k(const Particle* p, const Edge* e, int n) {}
${upload}
class Cloth {
 public:
  Cloth(int w, int h, float spacing) : m_w(w), m_h(h), m_spacing(spacing) {
    m_particles.resize(w * h);
    for (int y = 0; y < h; ++y)
      for (int x = 0; x < w; ++x) {
        Particle& p = m_particles[y * w + x];
        p.pos = make_float3(x * spacing, 0.0f, y * spacing);
        p.w = 1.0f;
      }
    m_particles[0].w = m_particles[w - 1].w = 0.0f;
    build();
  }
  int count() const { return m_w * m_h; }
  std::vector<Particle> m_particles;
  std::vector<Edge> m_edges;
  int m_start[3];
  int m_w, m_h;

 private:
  void build() {
    for (int colour = 0; colour < 2; ++colour) {
      m_start[colour] = (int)m_edges.size();
      for (int x = colour; x + 1 < m_w; x += 2) m_edges.push_back({x, x + 1, m_spacing});
    }
    m_start[2] = (int)m_edges.size();
  }
  float m_spacing;
};
int main() {
  Cloth cloth(4, 2, 0.5f);
  auto groups = [&](int items) { return (items + 31) / 32; };
  k<<<groups(cloth.count()), 32>>>(up(cloth.m_particles), up(cloth.m_edges), cloth.m_start[2]); //= n: 3
  int* e = (int*)up(cloth.m_edges);
  k<<<1, 32>>>(nullptr, (Edge*)e, cloth.m_start[1]); //= n: 2
}`);
  });

  it('vectors that a lambda makes', () => {
    check(`
__global__ void k(const int* a, const int* b, const int* c) {}
${upload}
int main() {
  int next = 0;
  auto numbers = [&](size_t n) { std::vector<int> v(n); for (auto& x : v) x = next++; return v; };
  auto a = numbers(3), b = numbers(a.size());
  std::vector<int> c(4);
  std::iota(c.begin(), c.end(), b[2]);
  std::reverse(c.begin(), c.end());
  k<<<1, 32>>>(up(a), up(b), up(c)); //= a: 0 1 2, b: 3 4 5, c: 8 7 6 5
}`);
  });

  it('bytes made of random numbers', () => {
    check(`
typedef unsigned char u8;
__global__ void k(const u8* a, const unsigned* b, int n) {}
${upload}
int main() {
  std::vector<u8> data(8);
  std::mt19937 rng(42);
  std::uniform_real_distribution<double> U(1e-9, 1.0);
  for (auto& b : data) b = (u8)std::min(255, (int)(-14.0 * std::log(U(rng))));
  std::vector<unsigned> histogram(256, 0);
  for (u8 b : data) histogram[b]++;
  int most = 0;
  for (int i = 0; i < 256; i++) most = std::max<int>(most, histogram[i]);
  k<<<1, 32>>>(up(data), up(histogram), most); //= n: 2
}`);
  });

  it('sorted from behind, and compared', () => {
    check(`
__global__ void k(const int* a, const unsigned long long* b) {}
${upload}
int main() {
  std::vector<int> a = {2, 9, 4};
  std::sort(a.rbegin(), a.rend());
  std::vector<unsigned long long> pool, seg = {5, 1, 3};
  pool.insert(pool.end(), seg.begin(), seg.begin() + 2);
  pool.insert(pool.end(), seg.begin(), seg.end());
  if (a == std::vector<int>{9, 4, 2}) pool[0] = 8;
  k<<<1, 32>>>(up(a), up(pool)); //= a: 9 4 2
}`);
  });

  it('of equal numbers put in behind, which a tuple hands on', () => {
    check(`
__global__ void k(const int* a, int n, int m) {}
${upload}
auto segments(int count) {
  std::vector<int> owner = {9};
  for (int s = 0; s < count; ++s) {
    int len = s + 1;
    owner.insert(owner.end(), len, s);
  }
  owner.insert(owner.begin() + 1, 2u, 7);
  std::vector<float> values(owner.size());
  return std::make_tuple(owner, values);
}
int main() {
  const auto [owner, values] = segments(2);
  const int n = static_cast<int>(values.size());
  k<<<1, 32>>>(up(owner), n, 1); //= a: 9 7 7 0 1 1, n: 6
}`);
  });

  it('beside blocks that are larger than the memory of the run', () => {
    check(`
__global__ void k(const int* a, float* b) {}
${upload}
int main() {
  for (int round = 0; round < 6; ++round) {
    float *b;
    cudaMalloc(&b, 2000000000);
    cudaMemset(b, 0, 2000000000);
    std::vector<int> a = {round, 2};
    k<<<1, 32>>>(up(a), b);
    cudaFree(b);
  }
  std::vector<int> a = {7, 2};
  k<<<1, 32>>>(up(a), nullptr); //= a: 7 2
}`);
  });

  it('in order: heaps, maps and sets', () => {
    check(`
__global__ void k(const int* a, const unsigned* b, int n) {}
${upload}
int main() {
  typedef std::pair<unsigned, int> Item;
  std::priority_queue<Item, std::vector<Item>, std::greater<Item>> heap;
  const unsigned weights[5] = {7, 2, 9, 2, 4};
  for (int i = 0; i < 5; i++) heap.push({weights[i], i});
  std::vector<int> order;
  while (heap.size() > 1) {
    Item least = heap.top();
    heap.pop();
    order.push_back(least.second);
  }
  std::map<int, unsigned> count;
  for (int i = 0; i < 5; i++) count[(int)weights[i]]++;
  std::vector<unsigned> counts;
  for (const auto& entry : count) counts.push_back(entry.second);
  std::set<int> seen;
  for (unsigned w : weights) seen.insert((int)w % 3);
  k<<<1, 32>>>(up(order), up(counts), (int)seen.size()); //= a: 1 3 4 0, b: 2 1 1 1, n: 3
}`);
  });

  it('texts of C: copied, searched, compared, read by a pattern', () => {
    check(`
__global__ void k(int n) {}
int main() {
  char a[32], b[32];
  strcpy(a, "rows");
  strcat(a, "=12x7");
  k<<<1, 32>>>(strlen(a)); //= n: 9
  strncpy(b, a, 4);
  b[4] = 0;
  k<<<1, 32>>>(strcmp(b, "rows") == 0); //= n: 1
  int n = 0, m = 0;
  int got = sscanf(strchr(a, '='), "=%dx%d", &n, &m);
  k<<<1, 32>>>(100 * got + n + m); //= n: 219
  float f = 0;
  sscanf("2.5 rest", "%f", &f);
  k<<<1, 32>>>(f * 2); //= n: 5
  int x[2] = {1, 2}, y[2] = {1, 3};
  k<<<1, 32>>>(memcmp(x, y, 4) == 0 && memcmp(x, y, 8) < 0); //= n: 1
  k<<<1, 32>>>(toupper(b[0]) + isdigit(a[5])); //= n: 83
}`);
  });

  it('sequences that are asked about and rewritten, and containers that few use', () => {
    check(`
__global__ void k(int n) {}
int main() {
  std::vector<int> v = {4, 7, 7, 1};
  auto ends = std::minmax_element(v.begin(), v.end());
  k<<<1, 32>>>(10 * *ends.first + *ends.second); //= n: 17
  k<<<1, 32>>>(std::adjacent_find(v.begin(), v.end()) - v.begin()); //= n: 1
  k<<<1, 32>>>(std::any_of(v.begin(), v.end(), [](int x) { return x > 6; })); //= n: 1
  v.erase(std::remove(v.begin(), v.end(), 7), v.end());
  k<<<1, 32>>>(10 * v[0] + v[1]); //= n: 41
  std::deque<int> d;
  d.push_back(2);
  d.push_front(5);
  k<<<1, 32>>>(10 * d[0] + d.size()); //= n: 52
  std::bitset<70> bits;
  bits.set(3).set(69);
  k<<<1, 32>>>(bits.count() + bits[69]); //= n: 3
  k<<<1, 32>>>(std::gcd(12, 18)); //= n: 6
}`);
  });

  it('what streams that nobody follows put into variables', () => {
    check(`
__global__ void k(int n, int m) {}
int main() {
  int n = 1, m = 2;
  std::ifstream file("sizes.txt");
  file >> n;
  k<<<1, 32>>>(n, m); //= n: ?, m: 2
  std::cin >> m >> n;
  k<<<1, 32>>>(n >> 1, m); //= n: ?, m: ?
  std::string line = "ab";
  std::getline(file, line);
  k<<<1, 32>>>(line.size(), 256 >> 2); //= n: ?, m: 64
}`);
  });

  it('what is read of a file that nobody has, and nothing else', () => {
    check(`
__global__ void k(int n, int m) {}
struct Sizes { int rows, cols; };
int main() {
  Sizes* sizes = (Sizes*)malloc(sizeof(Sizes));
  sizes->rows = 7;
  int n = 1, count = 2;
  FILE* f = fopen("sizes.bin", "rb");
  if (f == nullptr) exit(1);
  if (fread(&n, sizeof(int), 1, f) != 1) exit(1);
  k<<<1, 32>>>(n, sizes->rows); //= n: ?, m: 7
  fread(&sizes->rows, sizeof(int), n, f);
  k<<<1, 32>>>(count, sizes->rows); //= n: 2, m: ?
  int* cached = new int[1];
  cached[0] = 3;
  if (FILE* g = fopen("cache.bin", "rb")) { fread(cached, sizeof(int), 1, g); fclose(g); }
  k<<<1, 32>>>(count, cached[0]); //= n: 2, m: ?
  FILE* out = fopen("out.bin", "wb");
  fwrite(cached, sizeof(int), 1, out);
  fseek(out, 0, SEEK_SET);
  k<<<1, 32>>>(count, ftell(out)); //= n: 2, m: ?
}`);
  });

  it('evaluates what stands in braces once, whatever is made of it', () => {
    check(`
__global__ void k(int n) {}
struct P { long a; int b; };
struct Row { std::vector<P> held; void add(const P& p) { held.push_back(p); } };
long sum(const P& p) { return p.a + p.b; }
int main() {
  int n = 0;
  k<<<1, 32>>>(sum({3, n++})); //= n: 3
  Row row;
  row.add({1, n++});
  row.held.push_back({2, n++});
  k<<<1, 32>>>(row.held[1].b); //= n: 2
  auto add = [&](const P& p, int more) { return p.a + p.b + more; };
  k<<<1, 32>>>(add({4, n++}, 5)); //= n: 12
  std::vector<std::vector<int>> lists;
  lists.push_back({n++, n++, 7});
  k<<<1, 32>>>(lists[0][1] + lists[0].size()); //= n: 8
  k<<<1, 32>>>(n); //= n: 6
}`);
  });

  it('arguments of calls, evaluated from the last to the first; lists from the first', () => {
    check(`
__global__ void k(int n, int m) {}
struct Pair {
  int a, b;
  Pair(int a, int b) : a(a), b(b) {}
  int with(int x, int y) const { return 100 * a + 10 * x + y; }
};
int both(int a, int b, int c) { return 100 * a + 10 * b + c; }
int main() {
  int drawn = 0;
  auto draw = [&] { return drawn++; };
  k<<<1, 32>>>(both(draw(), draw(), draw()), drawn); //= n: 210, m: 3
  Pair p(draw(), draw());
  k<<<1, 32>>>(p.a, p.b); //= n: 4, m: 3
  Pair list{draw(), draw()};
  k<<<1, 32>>>(list.a, list.b); //= n: 5, m: 6
  k<<<1, 32>>>(Pair{1, 0}.with(draw() - 4, draw() - 4), 0); //= n: 143
  auto sum = [](int a, int b) { return 10 * a + b; };
  k<<<1, 32>>>(sum(draw(), draw()), 0); //= n: 109
}`);
  });

  it('sets and maps of many elements, which are made in place', () => {
    check(`
__global__ void k(int n, int m, int isNew) {}
int main() {
  std::set<std::pair<int, int>> edges;
  unsigned s = 7;
  for (int i = 0; i < 1000; ++i) {
    s = s * 1103515245u + 12345u;
    edges.emplace(int(s >> 8) % 3000, i);
  }
  bool isNew = edges.insert({1, 2}).second;
  k<<<1, 32>>>((int)edges.size(), edges.begin()->second, isNew); //= n: 1001, isNew: 1
  isNew = edges.emplace(1, 2).second;
  int rising = 1;
  int last = -1;
  for (auto& [a, b] : edges) { rising = rising && a >= last; last = a; }
  k<<<1, 32>>>((int)edges.count({1, 2}), rising, isNew); //= n: 1, m: 1, isNew: 0
  std::map<int, int> m;
  isNew = m.try_emplace(4, 40).second;
  m.insert_or_assign(4, 41);
  m.emplace(3, 30);
  m.erase(3);
  k<<<1, 32>>>(m.at(4), (int)m.size(), m.emplace(4, 1).second); //= n: 41, m: 1, isNew: 0
}`);
  });

  it('an object that a constructor of another file makes holds nothing that is known', () => {
    check(`
__global__ void k(const int* a, int n) {}
struct Rows { int first, last, count; Rows(const char* path, int most); };
int main() {
  Rows rows("x", 3);
  int h[2] = {rows.last, 4};
  int* a;
  cudaMalloc(&a, sizeof h);
  cudaMemcpy(a, h, sizeof h, cudaMemcpyHostToDevice);
  k<<<1, 32>>>(a, 2); //= a: ? 4
}`);
  });

  it('bits counted by what the compiler has for them', () => {
    check(`
__global__ void k(int n, int m) {}
int main() {
  unsigned x = 0xf00;
  unsigned long long w = 1ull << 40;
  k<<<1, 32>>>(__builtin_popcount(x) + __builtin_popcountll(w | 3), __builtin_parity(7)); //= n: 7, m: 1
  k<<<1, 32>>>(__builtin_clz(x), __builtin_ctz(x)); //= n: 20, m: 8
  k<<<1, 32>>>(__builtin_clzll(w), __builtin_ctzl(w)); //= n: 23, m: 40
  k<<<1, 32>>>((int)__builtin_bswap32(x), __builtin_ffs(0)); //= n: 983040, m: 0
  k<<<1, 32>>>(std::countr_zero(x), (int)std::rotl(x, 28)); //= n: 8, m: 240
}`);
  });

  it('suffixes of a text, sorted by what follows', () => {
    check(`
__global__ void k(const int* order, const int* at) {}
${upload}
int main() {
  std::vector<unsigned char> text{2, 1, 2, 1, 1};
  std::vector<int> order(6);
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int a, int b) {
    return std::lexicographical_compare(text.begin() + a, text.end(), text.begin() + b, text.end());
  });
  auto from = std::partition_point(order.begin(), order.end(), [&](int a) { return a == 5 || text[a] < 2; });
  std::vector<int> at{(int)(from - order.begin())};
  k<<<1, 32>>>(up(order), up(at)); //= order: 5 4 3 1 2 0, at: 4
}`);
  });

  it('a function that is defined elsewhere changes what it is given to change', () => {
    check(`
__global__ void k(int n) {}
struct Size { int n; };
void show(const Size& s);
void log(Size s);
void grow(Size& s);
int main() {
  Size s{3};
  show(s);
  log(s);
  k<<<1, 32>>>(s.n); //= n: 3
  grow(s);
  k<<<1, 32>>>(s.n); //= n: ?
}`);
  });

  it('what is thrown ends it, and where that is not known nothing is thrown', () => {
    check(`
__global__ void k(int n) {}
int checked(int n) {
  if (n > 2) throw std::runtime_error("too many");
  return n;
}
int main() {
  int status = system("ls");
  if (status != 0) throw std::runtime_error("no shell");
  for (int i = 1; i < 5; i++) k<<<1, 32>>>(checked(i)); //= n: 1; n: 2
  k<<<1, 64>>>(4); //= not reached
}`);
  });

  it('large arrays of which a list gives the first numbers, or none', () => {
    check(`
__global__ void k(const float* a, int n) {}
float field[40][72][40] = { 0 };
double other[3000] = { 1, 2, 0, 4 };
bool wall[40][40] = { { false }, { false, true } };
int main() {
  float rows[300][20] = { { 0, 5 }, {} };
  float *d;
  cudaMalloc(&d, sizeof field);
  cudaMemcpy(d, field, sizeof field, cudaMemcpyHostToDevice);
  k<<<1, 32>>>(d, (int)other[3] + wall[1][1]); //= a: 0 0 0, n: 5
  field[0][0][2] = 7;
  cudaMemcpy(d, field, sizeof field, cudaMemcpyHostToDevice);
  k<<<1, 32>>>(d, (int)other[2999] + wall[1][0] + (int)rows[0][1]); //= a: 0 0 7, n: 5
}`);
  });

  it('arrays whose length is told at run time', () => {
    check(`
__global__ void k(const int* a, int n) {}
int total(int n) {
  int squares[n + 1];
  for (int i = 0; i <= n; i++) squares[i] = i * i;
  int sum = 0;
  for (size_t i = 0; i < sizeof(squares) / sizeof(squares[0]); i++) sum += squares[i];
  return sum;
}
int main() {
  char line[total(2) + 3];
  strcpy(line, "seven");
  int* d;
  int h[total(3)];
  for (int i = 0; i < total(3); i++) h[i] = 3 * i;
  cudaMalloc(&d, sizeof h);
  cudaMemcpy(d, h, sizeof h, cudaMemcpyHostToDevice);
  k<<<1, 32>>>(d, (int)sizeof(line) * 100 + (int)strlen(line)); //= a: 0 3 6, n: 805
}`);
  });

  it('clocks of POSIX, and records of headers that are not there', () => {
    check(`
#include <time.h>
__global__ void k(int n) {}
double now() {
  struct timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec + t.tv_nsec * 1e-9;
}
int main() {
  const double start = now();
  k<<<1, 32>>>(1); //= n: 1
  struct timespec t{};
  t.tv_sec = 4;
  k<<<1, 32>>>((int)t.tv_sec); //= n: 4
  printf("%f", now() - start);
}`);
  });
});
