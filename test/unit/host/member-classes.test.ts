/** Classes inside of classes that are defined elsewhere, and virtual methods that give references (values of g++). */
import { check } from './check-contents';

describe('classes inside of classes', () => {
  it('may be defined outside, and so may their methods', () => {
    check(`
__global__ void k(int n) {}
class Model {
 public:
  explicit Model(int n);
  void run();
  int twice() const;
 private:
  struct Impl;
  struct Step { int n = 4; int next() const; void grow(); };
  Step step_;
  std::unique_ptr<Impl> impl_;
};
struct Model::Impl {
  struct Layer { int width = 0; };
  std::vector<Layer> layers;
  explicit Impl(int n) { layers.push_back(Layer{n}); }
  void run() { k<<<1, 32>>>(layers[0].width); } //= n: 7
  int twice() const;
};
int Model::Impl::twice() const { return 2 * layers[0].width; }
int Model::Step::next() const { return n + 1; }
void Model::Step::grow() { n = n * 10; }
Model::Model(int n) : impl_(std::make_unique<Impl>(n)) { step_.grow(); }
void Model::run() { impl_->run(); k<<<1, 32>>>(step_.next()); } //= n: 41
int Model::twice() const { return impl_->twice(); }
int main() {
  Model model(7);
  model.run();
  k<<<1, 32>>>(model.twice()); //= n: 14
}`);
  });

  it('are not another class of that name', () => {
    check(`
__global__ void k(int n) {}
struct Impl { int n = 1; int get() const; };
namespace tools { class Model { public: struct Impl { int n = 2; int get() const; }; Impl impl; }; }
int Impl::get() const { return n; }
int tools::Model::Impl::get() const { return 10 * n; }
int main() {
  Impl own;
  tools::Model model;
  k<<<1, 32>>>(own.get() * 100 + model.impl.get()); //= n: 120
}`);
  });

  it('a virtual method gives a reference to the object itself', () => {
    check(`
__global__ void k(int n, int m) {}
struct Matrix { int rows; std::vector<float> values; explicit Matrix(int n) : rows(n), values(n) {} };
struct Layer {
  Matrix own{2};
  virtual ~Layer() {}
  virtual Matrix& weights() { return own; }
};
struct Dense : Layer { Matrix inner; explicit Dense(int n) : inner(n) {} Matrix& weights() override { return inner; } };
int main() {
  std::vector<Layer*> layers{new Layer(), new Dense(5)};
  for (auto* layer : layers) { layer->weights().rows += 1; layer->weights().values[1] = layer->weights().rows; }
  Matrix& last = layers[1]->weights();
  k<<<1, 32>>>(layers[0]->weights().rows, last.rows); //= n: 3, m: 6
  k<<<1, 32>>>((int)layers[0]->own.values[1], (int)last.values[1]); //= n: 3, m: 6
}`);
  });

  it('a parameter of a function type is a pointer to a function', () => {
    check(`
__global__ void k(int n) {}
template <class T> struct Matrix { T x; void apply(T f(T)); };
template <class T> void Matrix<T>::apply(T f(T)) { x = f(x); }
struct Activation { int (*f)(int); explicit Activation(bool isLarge) { if (isLarge) f = [](int x) { return x * 100; }; else f = [](int x) { return x + 1; }; } };
int main() {
  Matrix<int> m{3};
  m.apply(Activation(false).f);
  m.apply(Activation(true).f);
  k<<<1, 32>>>(m.x); //= n: 400
}`);
  });

  it('what new makes is made where it is', () => {
    check(`
__global__ void k(int n) {}
struct Node { int n; Node* self; explicit Node(int n) : n(n), self(this) {} };
struct Large { std::mt19937 a, b, c; int n; explicit Large(int n) : a(1), b(2), c(3), n(n) {} };
int main() {
  Node* node = new Node(4);
  node->n = 9;
  auto large = std::make_unique<Large>(5);
  k<<<1, 32>>>(node->self->n * 10 + large->n); //= n: 95
}`);
  });
});
