/** A buffer of the device that can only be moved. */
#include <utility>
#include <vector>
static int freed = 0;
class Buffer {
  float* p_ = nullptr;
  size_t n_ = 0;
 public:
  Buffer() = default;
  explicit Buffer(size_t n) : n_(n) { cudaMalloc(&p_, n * sizeof(float)); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  Buffer(Buffer&& o) noexcept : p_(std::exchange(o.p_, nullptr)), n_(std::exchange(o.n_, 0)) {}
  Buffer& operator=(Buffer&& o) noexcept {
    if (this != &o) {
      if (p_) { cudaFree(p_); freed++; }
      p_ = o.p_; n_ = o.n_;
      o.p_ = nullptr; o.n_ = 0;
    }
    return *this;
  }
  ~Buffer() { if (p_) { cudaFree(p_); freed++; } }
  size_t size() const { return n_; }
  bool empty() const { return p_ == nullptr; }
};
Buffer make(size_t n) { Buffer b(n); return b; }
int main() {
  {
    Buffer a(100);
    Buffer b = std::move(a);
    show(a.size()); //= 0
    show(a.empty()); //= 1
    show(b.size()); //= 100
    Buffer c;
    c = std::move(b);
    show(b.size()); //= 0
    show(c.size()); //= 100
    c = make(7);
    show(c.size()); //= 7
    show(freed); //= 1
  }
  show(freed); //= 2
  std::vector<Buffer> all;
  for (int i = 1; i <= 3; i++) all.push_back(Buffer(i * 10));
  all.emplace_back(5);
  size_t total = 0;
  for (auto& b : all) total += b.size();
  show(total); //= 65
  Buffer taken = std::move(all[1]);
  show(all[1].size() + taken.size() * 100); //= 2000
  return 0;
}
