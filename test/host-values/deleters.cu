/** Owning pointers with deleters that count, vectors with an allocator. */
#include <memory>
#include <vector>
#include <cstdlib>
#include <functional>
static int freed = 0; static long bytes = 0;
struct CountDelete { int* counter; void operator()(float* p) const { ++*counter; std::free(p); } };
struct FreeDel { void operator()(void* p) const { ++freed; free(p); } };
template <class T> using host_ptr = std::unique_ptr<T[], FreeDel>;
template <class T> struct PinnedAllocator {
  using value_type = T;
  PinnedAllocator() = default;
  template <class U> PinnedAllocator(const PinnedAllocator<U>&) {}
  T* allocate(std::size_t n) { T* p; bytes += n * sizeof(T); p = (T*)malloc(n * sizeof(T)); return p; }
  void deallocate(T* p, std::size_t n) { bytes -= n * sizeof(T); free(p); }
  bool operator==(const PinnedAllocator&) const { return true; }
  bool operator!=(const PinnedAllocator&) const { return false; }
};
template <class T> host_ptr<T> make_host(size_t n) { return host_ptr<T>((T*)malloc(n * sizeof(T))); }
int main() {
  int counter = 0;
  { std::unique_ptr<float, CountDelete> p((float*)malloc(16), CountDelete{&counter}); *p = 3;
  show(*p); } //= 3
  show(counter); //= 1
  { auto h = make_host<int>(10); h[3] = 5;
  show(h[3]); auto g = std::move(h); //= 5
  show(h == nullptr); //= 1
  show(freed); } //= 0
  show(freed); //= 1
  { std::unique_ptr<int, std::function<void(int*)>> q(new int(4), [&](int* p) { counter += *p * 10; delete p; });
  show(*q); } //= 4
  show(counter); //= 41
  { auto del = [&counter](int* p) { counter += 100; delete p; }; std::unique_ptr<int, decltype(del)> q(new int(4), del); q.reset();
  show(counter); q.reset(new int(5)); } //= 141
  show(counter); //= 241
  { std::unique_ptr<int, void (*)(int*)> q(new int(4), [](int* p) { freed += 10; delete p; }); }
  show(freed); //= 11
  { std::shared_ptr<int> s(new int(7), [&](int* p) { counter += 1000; delete p; }); auto t = s; s.reset();
  show(counter); //= 241
  show(t.use_count()); } //= 1
  show(counter); //= 1241
  { std::vector<float, PinnedAllocator<float>> v(100, 2.0f);
  show(bytes); //= 400
  show(v[99]); v.push_back(1); //= 2
  show(bytes); //= 800
  show(v.size()); //= 101
  show(v.capacity()); } //= 200
  show(bytes); //= 0
  { std::vector<int, PinnedAllocator<int>> v; for (int i = 0; i < 5; ++i) v.push_back(i);
  show(bytes); //= 32
  show(v.back()); } //= 4
  show(bytes); //= 0
  { std::unique_ptr<float, CountDelete> a((float*)malloc(16), CountDelete{&counter}), b((float*)malloc(16), CountDelete{&counter}); a = std::move(b);
  show(counter); float* raw = a.release(); //= 1242
  show(counter); free(raw); } //= 1242
  show(counter); //= 1242
  { std::vector<std::unique_ptr<int, void (*)(int*)>> many; for (int i = 0; i < 3; ++i) many.emplace_back(new int(i), [](int* p) { freed += 100; delete p; });
  show(freed); many.pop_back(); //= 11
  show(freed); } //= 111
  show(freed); //= 311
  return 0;
}
