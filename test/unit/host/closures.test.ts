/** Functions that the host keeps in memory: tables of operations, lists of jobs, pointers to functions in arrays. */
import { check } from './check-contents';

describe('functions that the host keeps in memory', () => {
  it('a table of operations by name, each with several functions', () => {
    check(`
__global__ void half(int n) {}
__global__ void grow(int n) {}
struct Size { int rows, columns; };
struct Layer { std::string kind; int width = 0; };
using Run = std::function<void(const Layer&, int)>;
struct Operation { std::function<Size(const Layer&, Size)> shape; Run device; Run host; };
static Size same(const Layer&, Size s) { return s; }
std::map<std::string, Operation> operations() {
  std::map<std::string, Operation> all;
  auto wide = [](const Layer& l, Size s) { return Size{s.rows, l.width}; };
  all["grow"] = {wide, [](const Layer& l, int n) { grow<<<1, 32>>>(n + l.width); }, [](const Layer&, int) {}}; //= n: 16; n: 5
  all["half"] = {same, [](const Layer&, int n) { half<<<1, 32>>>(n / 2); }, [](const Layer&, int) {}}; //= n: 4
  return all;
}
int main() {
  auto all = operations();
  std::vector<Layer> net = {{"grow", 8}, {"half"}, {"grow", 2}};
  Size s = {3, 1};
  for (Layer& layer : net) {
    const Operation& op = all.at(layer.kind);
    s = op.shape(layer, s);
    op.host(layer, s.columns);
    op.device(layer, s.columns == 2 ? 3 : 8);
  }
}`);
  });

  it('jobs with copies of what they captured, and with what they refer to', () => {
    check(`
__global__ void k(int n) {}
int main() {
  std::vector<std::function<void()>> jobs;
  for (int i = 1; i < 4; i++) jobs.push_back([=] { k<<<1, 32>>>(i); }); //= n: 1; n: 2; n: 3
  for (auto& job : jobs) job();
  int total = 0;
  std::vector<std::function<void(int)>> adders = {[&](int x) { total += x; }, [&, ten = 10](int x) { total += ten * x; }};
  for (int i = 0; i < 4; ++i) adders[i % 2](i);
  k<<<1, 32>>>(total); //= n: 42
}`);
  });

  it('pointers to functions in an array of records', () => {
    check(`
__global__ void k(int n) {}
int twice(int x) { return 2 * x; }
int square(int x) { return x * x; }
int main() {
  struct Way { const char* name; int (*run)(int); };
  Way ways[] = {{"twice", twice}, {"square", square}, {"none", nullptr}};
  for (const Way& way : ways)
    if (way.run) k<<<1, 32>>>(way.run(7)); //= n: 14; n: 49
}`);
  });

  it('what a lambda or a function becomes where a parameter is a pointer', () => {
    check(`
__global__ void k(int n) {}
int square(int x) { return x * x; }
template <typename T, int B> int made(int n, T (*of)(int), int (*back)(T)) { return B * back(of(n)); }
int main() {
  auto half = +[](int x) { return x * 0.5f; };
  auto whole = +[](float x) { return int(x * 4); };
  auto plain = square;
  k<<<1, 32>>>(made<float, 10>(3, half, whole)); //= n: 60
  k<<<1, 32>>>(made<int, 1>(3, [](int x) { return x + 1; }, plain)); //= n: 16
}`);
  });

  it('which of them a variable holds is known from pass to pass', () => {
    check(`
__global__ void k(int n) {}
int main() {
  std::vector<std::function<int(int)>> steps = {[](int x) { return x + 1; }, [](int x) { return x * 10; }};
  int n = 1;
  for (int i = 0; i < 3; ++i) {
    std::function<int(int)> step = steps[i & 1];
    n = step(n);
  }
  k<<<1, 32>>>(n); //= n: 21
}`);
  });

  it('which of several is called may not be known', () => {
    check(`
__global__ void k(int n) {}
int main(int argc, char** argv) {
  std::vector<std::function<int(int)>> steps = {[](int x) { return x + 1; }, [](int x) { return x + 2; }};
  int n = steps[atoi(argv[1])](1);
  k<<<1, 32>>>(n); //= not reached
}`);
  });
});
