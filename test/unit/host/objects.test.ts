/** Pointers, casts, static variables and functors of host code (values of g++). */
import { check } from './check-contents';

describe('objects of the host', () => {
  it('pointers to pointers and references that turn from one object to the next', () => {
    check(`
__global__ void k(int n, int m) {}
struct Node { int key; Node* next; std::unique_ptr<Node> left, right; };
Node* merged(Node* a, Node* b) {
  Node* head = nullptr;
  Node** tail = &head;
  while (a && b) {
    Node*& least = a->key <= b->key ? a : b;
    *tail = least;
    tail = &least->next;
    least = least->next;
  }
  *tail = a ? a : b;
  return head;
}
int inserted(std::unique_ptr<Node>& root, int key) {
  std::unique_ptr<Node>* at = &root;
  int depth = 0;
  for (; *at; depth++) at = key < (*at)->key ? &(*at)->left : &(*at)->right;
  *at = std::make_unique<Node>();
  (*at)->key = key;
  return depth;
}
int main() {
  Node* a = new Node{1, new Node{5, nullptr}};
  Node* b = new Node{3, nullptr};
  int order = 0;
  for (Node* n = merged(a, b); n; n = n->next) order = order * 10 + n->key;
  std::unique_ptr<Node> root;
  int depths = 0;
  for (int key : {4, 2, 6, 5}) depths = depths * 10 + inserted(root, key);
  k<<<1, 32>>>(order, depths); //= n: 135, m: 112
}`);
  });

  it('functions that call each other keep their variables', () => {
    check(`
__global__ void k(int n) {}
struct Parser {
  const char* s;
  int at = 0;
  int product() { int v = factor(); while (s[at] == '*') { at++; v *= factor(); } return v; }
  int factor() {
    if (s[at] == '(') { at++; int v = product(); at++; return v; }
    int v = 0;
    while (s[at] >= '0' && s[at] <= '9') v = v * 10 + (s[at++] - '0');
    return v;
  }
};
int main() {
  Parser p{"2*(3*14)*5"};
  k<<<1, 32>>>(p.product()); //= n: 420
}`);
  });

  it('what a cast asks an object, and objects made in a place that is given', () => {
    check(`
__global__ void k(int n, int m) {}
struct Layer { virtual ~Layer() {} };
struct Dense : Layer { int width = 7; };
struct Pool : Layer { int by = 2; };
int main() {
  Dense dense;
  Pool pool;
  Layer* layers[] = {&dense, &pool};
  int n = 0;
  for (Layer* each : layers)
    if (auto* d = dynamic_cast<Dense*>(each)) n += d->width;
  char* memory = (char*)malloc(64);
  double* values = new (memory + 8) double[2];
  values[1] = 2.5;
  k<<<1, 32>>>(n, ((char*)values - memory) * 10 + (int)values[1]); //= n: 7, m: 82
}`);
  });

  it('static variables are one in each instance of a template', () => {
    check(`
__global__ void k(int n) {}
static int next() { static int last = 0; return ++last; }
template <class T> struct Id { static int of() { static const int id = next(); return id; } };
int main() {
  const int a = Id<int>::of(), b = Id<float>::of();
  k<<<1, 32>>>(a * 100 + b * 10 + Id<int>::of()); //= n: 121
}`);
  });

  it('objects that can be called are kept as functions are', () => {
    check(`
__global__ void k(int n) {}
struct Times { int by; int operator()(int x) const { return x * by; } };
int main() {
  std::map<std::string, std::function<int(int)>> all;
  all["add"] = [](int x) { return x + 1; };
  all["times"] = Times{5};
  k<<<1, 32>>>(all["add"](2) * 100 + all["times"](2)); //= n: 310
}`);
  });

  it('lists whose places stay where they are, texts in arrays', () => {
    check(`
__global__ void k(int n, int m) {}
int main() {
  std::list<int> l{1, 2, 3};
  auto two = std::next(l.begin());
  l.insert(two, 9);
  l.push_front(7);
  l.splice(l.end(), l, l.begin());
  int digits = 0;
  for (int x : l) digits = digits * 10 + x;
  const char word[] = "kernel";
  k<<<1, 32>>>(digits * 10 + *two, sizeof(word) * 1000 + word[2]); //= n: 192372, m: 7114
}`);
  });

  it('a number is a dim3 where one is asked for', () => {
    check(`
__global__ void k(int n) {}
void run(dim3 grid, const dim3& block, int n) { k<<<grid, block>>>(1000 * n + 100 * grid.x + 10 * grid.y + block.x); } //= n: 3714; n: 5239
int main() {
  size_t blocks = 7;
  run(blocks, 4u, 3);
  run(dim3(2, 3), 9, 5);
}`);
  });
});
