/** What people wrap the runtime in: streams of checks, arrays of the host and the device, timers, spans of both. */
#include <cassert>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>
#define CHECK(call) do { cudaError_t e = (call); if (e != cudaSuccess) throw std::runtime_error(std::string(#call) + cudaGetErrorString(e)); } while (0)
struct Deleter { void operator()(void* p) const { cudaFree(p); } };
template <class T> using device_ptr = std::unique_ptr<T[], Deleter>;
template <class T> device_ptr<T> allocated(size_t n) { T* p = nullptr; CHECK(cudaMalloc(&p, n * sizeof(T))); return device_ptr<T>(p); }
template <class T> class DeviceVector {
  T* data_ = nullptr;
  size_t size_ = 0, room_ = 0;
 public:
  static inline int reallocations = 0;
  DeviceVector() = default;
  explicit DeviceVector(const std::vector<T>& v) { resize(v.size()); CHECK(cudaMemcpy(data_, v.data(), bytes(), cudaMemcpyHostToDevice)); }
  DeviceVector(DeviceVector&& o) noexcept { *this = std::move(o); }
  DeviceVector& operator=(DeviceVector&& o) noexcept { std::swap(data_, o.data_); std::swap(size_, o.size_); std::swap(room_, o.room_); return *this; }
  DeviceVector(const DeviceVector& o) { resize(o.size_); cudaMemcpy(data_, o.data_, bytes(), cudaMemcpyDeviceToDevice); }
  ~DeviceVector() { if (data_) cudaFree(data_); }
  void resize(size_t n) { if (n > room_) { if (data_) cudaFree(data_); CHECK(cudaMalloc(&data_, n * sizeof(T))); room_ = n; ++reallocations; } size_ = n; }
  size_t size() const { return size_; }
  size_t bytes() const { return size_ * sizeof(T); }
  std::vector<T> host() const { std::vector<T> v(size_); CHECK(cudaMemcpy(v.data(), data_, bytes(), cudaMemcpyDeviceToHost)); return v; }
  T* get() { return data_; }
};
class Context { static std::weak_ptr<Context> current_; int id_; public: explicit Context(int i) : id_(i) {} static std::shared_ptr<Context> get() { auto c = current_.lock(); if (!c) { static int made = 0; c = std::make_shared<Context>(++made); current_ = c; } return c; } int id() const { return id_; } };
std::weak_ptr<Context> Context::current_;
int main() {
  {
    auto p = allocated<float>(10);
    auto q = std::move(p);
    show(p == nullptr); //= 1
  }
  std::vector<int> h{5, 6, 7};
  DeviceVector<int> d(h), e = d, f = std::move(d);
  show(d.size() * 100 + e.size() * 10 + f.size()); //= 33
  show(f.host()[2] + e.host()[0]); //= 12
  f.resize(2);
  f.resize(8);
  show(DeviceVector<int>::reallocations); //= 3
  show(f.bytes()); //= 32
  int first;
  { auto c = Context::get(), b = Context::get(); first = c->id() * 10 + b->id(); }
  show(first); //= 11
  show(Context::get()->id()); //= 2
  bool caught = false;
  try { if (h.size() != 4) throw std::length_error("four wanted"); } catch (const std::logic_error&) { caught = true; }
  show(caught); //= 1
  return 0;
}
