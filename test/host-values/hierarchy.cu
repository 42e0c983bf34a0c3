/** Virtual functions, bases, factories. */
#include <map>
#include <memory>
#include <string>
#include <vector>
struct Layer {
  virtual ~Layer() = default;
  virtual int outputs(int in) const = 0;
  virtual int weights(int in) const { return 0; }
  virtual std::string name() const { return "layer"; }
};
struct Dense : Layer {
  int width;
  explicit Dense(int w) : width(w) {}
  int outputs(int) const override { return width; }
  int weights(int in) const override { return in * width + width; }
  std::string name() const override { return "dense"; }
};
struct Pool : Layer {
  int by = 2;
  int outputs(int in) const override { return in / by; }
};
struct WidePool final : Pool {
  WidePool() { by = 4; }
  std::string name() const override { return "wide " + Pool::name(); }
};
class Net {
  std::vector<std::unique_ptr<Layer>> layers_;
 public:
  template <class L, class... A> Net& add(A&&... a) { layers_.push_back(std::make_unique<L>(std::forward<A>(a)...)); return *this; }
  int parameters(int in) const { int n = 0; for (auto& l : layers_) { n += l->weights(in); in = l->outputs(in); } return n; }
  const Layer& operator[](size_t i) const { return *layers_.at(i); }
  size_t size() const { return layers_.size(); }
};
std::unique_ptr<Layer> made(const std::string& kind, int n) {
  if (kind == "dense") return std::make_unique<Dense>(n);
  if (kind == "pool") return std::make_unique<Pool>();
  return nullptr;
}
struct Counter { static int live; Counter() { ++live; } virtual ~Counter() { --live; } };
int Counter::live = 0;
struct Special : Counter { int* at; Special(int* p) : at(p) {} ~Special() override { ++*at; } };
int main() {
  Net net;
  net.add<Dense>(64).add<Pool>().add<Dense>(10).add<WidePool>();
  show(net.parameters(100)); //= 6794
  show(net.size()); //= 4
  show(net[3].outputs(10)); //= 2
  show(net[3].name().size() * 100 + net[0].name().size()); //= 1005
  show(dynamic_cast<const Dense*>(&net[2])->width); //= 10
  show(dynamic_cast<const Dense*>(&net[1]) == nullptr); //= 1
  show(made("dense", 5)->outputs(1) + made("pool", 0)->outputs(8)); //= 9
  show(made("none", 1) == nullptr); //= 1
  int ended = 0;
  {
    std::vector<std::unique_ptr<Counter>> all;
    all.push_back(std::make_unique<Special>(&ended));
    all.emplace_back(new Counter);
    all.emplace_back(new Special(&ended));
    show(Counter::live); //= 3
    all.erase(all.begin());
    show(Counter::live * 10 + ended); //= 21
  }
  show(Counter::live * 10 + ended); //= 2
  return 0;
}
