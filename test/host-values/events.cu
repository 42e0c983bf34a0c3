/** Observers, a queue of events by time, subscriptions that end. */
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <queue>
#include <string>
#include <vector>
class Signal {
  std::map<int, std::function<void(int)>> slots_;
  int next_ = 1;
 public:
  class Connection {
    Signal* from_; int id_;
   public:
    Connection(Signal* s, int id) : from_(s), id_(id) {}
    Connection(Connection&& o) : from_(std::exchange(o.from_, nullptr)), id_(o.id_) {}
    Connection(const Connection&) = delete;
    ~Connection() { if (from_) from_->slots_.erase(id_); }
  };
  Connection connect(std::function<void(int)> f) { slots_[next_] = std::move(f); return Connection(this, next_++); }
  void fire(int x) { for (auto& [id, f] : slots_) f(x); }
  size_t count() const { return slots_.size(); }
};
struct Event { int at; int order; std::string what; bool operator>(const Event& o) const { return at != o.at ? at > o.at : order > o.order; } };
int main() {
  Signal s;
  int sum = 0, calls = 0;
  {
    auto a = s.connect([&](int x) { sum += x; });
    auto b = s.connect([&sum, factor = 10](int x) { sum += factor * x; });
    s.fire(2);
    show(sum); //= 22
    show(s.count()); //= 2
    auto c = std::move(b);
    show(s.count()); //= 2
  }
  show(s.count()); //= 0
  s.fire(100);
  show(sum); //= 22
  std::priority_queue<Event, std::vector<Event>, std::greater<Event>> queue;
  int order = 0;
  for (int t : {30, 10, 20, 10}) queue.push({t, order++, "e" + std::to_string(t)});
  int last = 0, sequence = 0;
  while (!queue.empty()) {
    Event e = queue.top();
    queue.pop();
    last = e.at;
    sequence = sequence * 10 + e.order;
    if (e.at == 10 && calls++ == 0) queue.push({25, order++, "late"});
  }
  show(last); //= 30
  show(sequence); //= 13240
  show(calls); //= 2
  return 0;
}
