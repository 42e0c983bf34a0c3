/** Objects that own things: handles, pools, buffers of bytes, observers; errors that carry data. */
#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <functional>
#include <iterator>
#include <list>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>
struct Log { std::vector<int> events; void add(int e) { events.push_back(e); } long code() const { long c = 0; for (int e : events) c = (c * 10 + e) % 1000000007; return c; } };
static Log g_log;
class Handle {
  int id_ = 0;
 public:
  Handle() = default;
  explicit Handle(int id) : id_(id) { g_log.add(1); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  Handle(Handle&& o) noexcept : id_(std::exchange(o.id_, 0)) { g_log.add(2); }
  Handle& operator=(Handle&& o) noexcept { std::swap(id_, o.id_); g_log.add(3); return *this; }
  ~Handle() { if (id_) g_log.add(4); }
  explicit operator bool() const { return id_ != 0; }
  int id() const { return id_; }
};
class ByteBuffer {
  std::vector<std::byte> bytes_;
  std::size_t at_ = 0;
 public:
  template <class T> ByteBuffer& put(const T& x) {
    static_assert(std::is_trivially_copyable_v<T>);
    const auto n = bytes_.size();
    bytes_.resize(n + sizeof(T));
    std::memcpy(bytes_.data() + n, &x, sizeof(T));
    return *this;
  }
  template <class T> T get() {
    if (at_ + sizeof(T) > bytes_.size()) throw std::out_of_range("buffer");
    T x;
    std::memcpy(&x, bytes_.data() + at_, sizeof(T));
    at_ += sizeof(T);
    return x;
  }
  std::size_t size() const { return bytes_.size(); }
};
template <class... Args> class Signal {
  std::map<int, std::function<void(Args...)>> slots_;
  int next_ = 0;
 public:
  int connect(std::function<void(Args...)> f) { slots_[next_] = std::move(f); return next_++; }
  void disconnect(int id) { slots_.erase(id); }
  void emit(Args... args) const { for (const auto& [id, f] : slots_) f(args...); }
};
struct BadSize : std::invalid_argument { std::size_t wanted; explicit BadSize(std::size_t n) : std::invalid_argument("size"), wanted(n) {} };
template <class T, std::size_t N> class Ring {
  T held_[N];
  std::size_t head_ = 0, size_ = 0;
 public:
  bool push(T x) { if (size_ == N) return false; held_[(head_ + size_++) % N] = std::move(x); return true; }
  std::optional<T> pop() { if (size_ == 0) return {}; T x = std::move(held_[head_]); head_ = (head_ + 1) % N; --size_; return x; }
  std::size_t size() const { return size_; }
};
template <class F> struct Finally { F f; ~Finally() { f(); } };
template <class F> Finally(F) -> Finally<F>;
int checked(int n) { if (n > 3) throw BadSize(n * 10); return n; }
int main() {
  {
    Handle a(5);
    Handle b = std::move(a);
    show(a.id() * 10 + b.id()); //= 5
    Handle c(7);
    c = std::move(b);
    show(b.id() * 10 + c.id()); //= 75
    std::vector<std::unique_ptr<Handle>> owned;
    owned.push_back(std::make_unique<Handle>(9));
    owned.emplace_back(new Handle(8));
    owned.erase(owned.begin());
    show(owned.size() * 10 + owned[0]->id()); //= 18
  }
  ByteBuffer buffer;
  buffer.put(3).put(2.5).put<std::uint16_t>(0xbeef).put('x');
  show(buffer.size()); //= 15
  const int i = buffer.get<int>();
  const double d = buffer.get<double>();
  show(i * 1000 + d * 10); //= 3025
  show(buffer.get<std::uint16_t>()); //= 48879
  int thrown = 0;
  try { buffer.get<long>(); } catch (const std::out_of_range& e) { thrown = e.what()[0]; }
  show(thrown); //~ 98
  Signal<int, const std::string&> signal;
  int sum = 0;
  std::string all;
  const int first = signal.connect([&](int x, const std::string&) { sum += x; });
  signal.connect([&all](int, const std::string& s) { all += s; });
  signal.emit(4, "ab");
  signal.disconnect(first);
  signal.emit(5, "cd");
  show(sum * 10 + all.size()); //= 44
  Ring<std::string, 3> ring;
  for (auto w : {"one", "two", "three", "four"}) ring.push(w);
  ring.pop();
  ring.push("five");
  show(ring.size() * 100 + ring.pop()->size() * 10 + ring.pop().value().size()); //= 335
  std::size_t wanted = 0;
  int reached = 0;
  try {
    Finally guard{[&] { reached += 100; }};
    for (int n = 0;; ++n) reached += checked(n);
  } catch (const BadSize& e) { wanted = e.wanted; }
  show(wanted * 1000 + reached); //= 40106
  int nested = 0;
  try {
    try { checked(9); } catch (const std::logic_error&) { nested = 1; throw; }
  } catch (const std::exception&) { nested += 2; }
  show(nested); //= 3
  auto t = std::make_tuple(1, 2.5, std::string("xyz"));
  show(std::get<0>(t) + std::get<double>(t) * 10 + std::get<2>(t).size() * 100); //= 326
  std::apply([&](int a, double b, const std::string& s) { sum = a + (int)b + (int)s.size(); }, t);
  show(sum); //= 6
  std::list<std::pair<int, std::string>> people{{30, "ann"}, {25, "bob"}, {30, "cid"}};
  people.sort([](const auto& a, const auto& b) { return a.first < b.first; });
  show(people.front().second[0] * 1000 + people.back().second[0]); //= 98099
  people.remove_if([](const auto& p) { return p.first < 30; });
  show(people.size()); //= 2
  return 0;
}
