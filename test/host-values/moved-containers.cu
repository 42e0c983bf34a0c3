/** What is left of containers that were moved from. */
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>
struct Batch { std::vector<int> ids; std::string name; int weight = 1; };
std::vector<int> grown(std::vector<int> v, int x) { v.push_back(x); return v; }
int main() {
  std::vector<int> a{1, 2, 3};
  std::vector<int> b = std::move(a);
  show(a.size()); //= 0
  show(b.size()); //= 3
  std::vector<int> c;
  c = std::move(b);
  show(b.size() * 10 + c.size()); //= 3
  c = grown(std::move(c), 9);
  show(c.size() * 10 + c.back()); //= 49
  std::string s = "a rather long text that lies on the heap";
  std::string t = std::move(s);
  show(s.size() + 100 * t.size()); //= 4000
  std::unique_ptr<int> p = std::make_unique<int>(5), q = std::move(p);
  show(p == nullptr); //= 1
  show(*q); //= 5
  p = std::move(q);
  show((q ? 1 : 0) + 2 * (p ? 1 : 0)); //= 2
  Batch x{{1, 2}, "first of the batches, a long name", 3};
  Batch y = std::move(x);
  show(x.ids.size() + 10 * x.weight); //= 30
  show(y.ids.size() + y.name.size()); //= 35
  std::vector<Batch> batches;
  batches.push_back(std::move(y));
  batches.push_back({{4}, "b", 2});
  show(y.ids.size()); //= 0
  std::swap(batches[0], batches[1]);
  show(batches[0].ids[0] * 10 + batches[1].ids.size()); //= 42
  std::map<int, std::vector<int>> m;
  m[3] = std::move(c);
  show(c.empty()); //= 1
  show(m[3].size()); //= 4
  auto old = std::exchange(m[3], {7});
  show(old.size() * 10 + m[3].size()); //= 41
  return 0;
}
