/** Guards that run something where a scope ends, and can be dismissed or moved. */
#include <functional>
#include <utility>
#include <vector>
static std::vector<int> events;
class Guard {
  std::function<void()> f_;
  bool active_ = true;
 public:
  explicit Guard(std::function<void()> f) : f_(std::move(f)) {}
  Guard(Guard&& o) : f_(std::move(o.f_)), active_(std::exchange(o.active_, false)) {}
  Guard(const Guard&) = delete;
  void dismiss() { active_ = false; }
  ~Guard() { if (active_) f_(); }
};
Guard made(int id) { return Guard([id] { events.push_back(id); }); }
template <class F> struct Finally { F f; ~Finally() { f(); } };
template <class F> Finally(F) -> Finally<F>;
int run(bool early) {
  int depth = 0;
  Finally end{[&] { events.push_back(100 + depth); }};
  depth = 1;
  if (early) return 1;
  depth = 2;
  return 2;
}
int main() {
  {
    Guard a = made(1);
    Guard b = made(2);
    Guard c = std::move(a);
    b.dismiss();
  }
  show(events.size()); //= 1
  show(events[0]); //= 1
  show(run(true) * 10 + run(false)); //= 12
  show(events[1]); //= 101
  show(events[2]); //= 102
  int count = 0;
  for (int i = 0; i < 4; i++) {
    Finally f{[&] { count += i; }};
    if (i == 2) continue;
    count += 100;
  }
  show(count); //= 306
  made(77);
  show(events.back()); //= 77
  return 0;
}
