/** A pool of blocks that handles give back, with free lists by size. */
#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>
class Pool {
  std::multimap<size_t, int> free_;
  std::unordered_map<int, size_t> used_;
  int next_ = 0;
  size_t peak_ = 0, now_ = 0;
  static size_t rounded(size_t n) { return (n + 255) & ~size_t(255); }
 public:
  struct Block {
    Pool* pool = nullptr;
    int id = -1;
    Block() = default;
    Block(Pool* p, int i) : pool(p), id(i) {}
    Block(const Block&) = delete;
    Block(Block&& o) noexcept { swap(o); }
    Block& operator=(Block&& o) noexcept { Block(std::move(o)).swap(*this); return *this; }
    ~Block() { if (pool) pool->give(id); }
    void swap(Block& o) noexcept { std::swap(pool, o.pool); std::swap(id, o.id); }
  };
  Block take(size_t n) {
    n = rounded(n);
    int id;
    auto it = free_.lower_bound(n);
    if (it != free_.end()) { id = it->second; n = it->first; free_.erase(it); }
    else id = next_++;
    used_[id] = n;
    now_ += n;
    peak_ = std::max(peak_, now_);
    return Block(this, id);
  }
  void give(int id) { auto n = used_.at(id); used_.erase(id); now_ -= n; free_.emplace(n, id); }
  size_t peak() const { return peak_; }
  size_t live() const { return used_.size(); }
  int made() const { return next_; }
  size_t kept() const { return free_.size(); }
};
int main() {
  Pool pool;
  {
    auto a = pool.take(1000);
    auto b = pool.take(100);
    show(pool.live()); //= 2
    a = pool.take(3000);
    show(pool.live() * 10 + pool.kept()); //= 21
    show(a.id); //= 2
    auto c = std::move(b);
    show(b.id); //= -1
    show(c.id); //= 1
  }
  show(pool.live() * 10 + pool.kept()); //= 3
  show(pool.peak()); //= 4352
  auto again = pool.take(900);
  show(again.id); //= 0
  std::vector<Pool::Block> blocks;
  for (int i = 0; i < 4; i++) blocks.push_back(pool.take(200 * (i + 1)));
  show(pool.made()); //~ 5
  blocks.erase(blocks.begin() + 1);
  show(pool.live()); //~ 4
  blocks.clear();
  show(pool.live() * 10 + pool.kept()); //~ 14
  return 0;
}
