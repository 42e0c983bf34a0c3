/** Owning pointers with deleters, containers with allocators of the user's, in the run of main (values of g++). */
import { check } from './check-contents';

const common = '__global__ void k(int a, int b) {}';

describe('what owning pointers give back with', () => {
  it('is called where they end, are reset or given another', () => {
    check(`${common}
struct Counting { int* counter; void operator()(float* p) const { ++*counter; free(p); } };
float* raw() { return (float*)malloc(16); }
int main() {
  int n = 0;
  {
    std::unique_ptr<float, Counting> p(raw(), Counting{&n});
    *p = 3;
    k<<<1, 32>>>(n, (int)*p); //= a: 0, b: 3
  }
  k<<<1, 32>>>(n, 0); //= a: 1
  {
    std::unique_ptr<float, Counting> a(raw(), Counting{&n}), b(raw(), Counting{&n});
    a = std::move(b);
    k<<<1, 32>>>(n, b == nullptr); //= a: 2, b: 1
    free(a.release());
  }
  k<<<1, 32>>>(n, 0); //= a: 2
  {
    auto add = [&n](int* p) { n += *p; delete p; };
    std::unique_ptr<int, decltype(add)> q(new int(100), add);
    q.reset(new int(1000));
    k<<<1, 32>>>(n, *q); //= a: 102, b: 1000
  }
  k<<<1, 32>>>(n, 0); //= a: 1102
}`);
  });

  it('may be any function, of arrays and of elements too', () => {
    check(`${common}
int freed = 0;
void give(int* p) { freed += *p; delete p; }
struct Free { void operator()(void* p) const { ++freed; free(p); } };
template <class T> using Owned = std::unique_ptr<T[], Free>;
int main() {
  {
    std::vector<std::unique_ptr<int, void (*)(int*)>> v;
    for (int i = 1; i < 4; ++i) v.emplace_back(new int(10 * i), give);
    v.pop_back();
    k<<<1, 32>>>(freed, (int)v.size()); //= a: 30, b: 2
  }
  k<<<1, 32>>>(freed, 0); //= a: 60
  { std::unique_ptr<int, std::function<void(int*)>> p(new int(7), give); }
  { Owned<int> h((int*)malloc(40)); h[3] = 5; }
  k<<<1, 32>>>(freed, 0); //= a: 68
  {
    std::shared_ptr<int> s(new int(9), [](int* p) { freed += 1000; delete p; });
    auto t = s;
    s.reset();
    k<<<1, 32>>>(freed, *t); //= a: 68, b: 9
  }
  k<<<1, 32>>>(freed, 0); //= a: 1068
}`);
  });

  it('containers have their memory from an allocator', () => {
    check(`${common}
static long bytes = 0;
template <class T> struct Pinned {
  using value_type = T;
  Pinned() = default;
  template <class U> Pinned(const Pinned<U>&) {}
  T* allocate(size_t n) { bytes += n * sizeof(T); T* p; cudaMallocHost(&p, n * sizeof(T)); return p; }
  void deallocate(T* p, size_t n) { bytes -= n * sizeof(T); cudaFreeHost(p); }
};
template <class T> using HostVector = std::vector<T, Pinned<T>>;
int main() {
  {
    HostVector<float> v(100, 2.0f);
    k<<<1, 32>>>((int)bytes, (int)v[99]); //= a: 400, b: 2
    v.push_back(1);
    k<<<1, 32>>>((int)bytes, (int)v.capacity()); //= a: 800, b: 200
  }
  k<<<1, 32>>>((int)bytes, 0); //= a: 0
  std::vector<int, other::Allocator<int>> w{1, 2, 3};
  k<<<1, 32>>>((int)w.size(), w[2]); //= a: 3, b: 3
  std::vector<int> x{1, 2, 3, 4};
  x.pop_back();
  x.reserve(5);
  k<<<1, 32>>>((int)x.capacity(), 0); //= a: 5
}`);
  });
});
