/** Raw pointers: lists, rings, skip lists, arenas, intrusive nodes. */
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>
#include <vector>
struct Node { int value; Node* next; };
Node* pushed(Node* head, int v) { return new Node{v, head}; }
Node* reversed(Node* n) { Node* r = nullptr; while (n) { Node* next = n->next; n->next = r; r = n; n = next; } return r; }
Node* merged(Node* a, Node* b) { Node head{0, nullptr}; Node* t = &head; while (a && b) { Node*& m = a->value <= b->value ? a : b; t->next = m; t = m; m = m->next; } t->next = a ? a : b; return head.next; }
int length(const Node* n) { int k = 0; for (; n; n = n->next) k++; return k; }
class Arena {
  char* memory_; size_t used_ = 0, room_;
 public:
  explicit Arena(size_t n) : memory_((char*)std::malloc(n)), room_(n) {}
  ~Arena() { std::free(memory_); }
  template <class T> T* get(size_t n = 1) { size_t at = (used_ + alignof(T) - 1) / alignof(T) * alignof(T); if (at + n * sizeof(T) > room_) return nullptr; used_ = at + n * sizeof(T); return new (memory_ + at) T[n]{}; }
  size_t used() const { return used_; }
};
template <class T> class Ring {
  T* data_; int head_ = 0, count_ = 0, room_;
 public:
  explicit Ring(int n) : data_(new T[n]), room_(n) {}
  ~Ring() { delete[] data_; }
  void push(T x) { data_[(head_ + count_) % room_] = x; if (count_ < room_) count_++; else head_ = (head_ + 1) % room_; }
  T pop() { T x = data_[head_]; head_ = (head_ + 1) % room_; count_--; return x; }
  int count() const { return count_; }
};
struct Header { int magic; short kind; char tag; double scale; };
int main() {
  Node* a = nullptr;
  for (int i = 9; i > 0; i -= 2) a = pushed(a, i);
  Node* b = nullptr;
  for (int v : {10, 6, 2}) b = pushed(b, v);
  Node* m = merged(a, b);
  show(length(m)); //= 8
  show(m->next->value * 10 + m->next->next->value); //= 23
  m = reversed(m);
  show(m->value); //= 10
  Arena arena(100);
  char* c = arena.get<char>(3);
  double* d = arena.get<double>(4);
  d[3] = 2.5; c[0] = 7;
  show(arena.used()); //= 40
  show(arena.get<double>(20) == nullptr); //= 1
  show((char*)d - c); //= 8
  Ring<int> ring(4);
  for (int i = 0; i < 6; i++) ring.push(i * i);
  show(ring.pop() * 10 + ring.count()); //= 43
  show(sizeof(Header) * 100 + offsetof(Header, tag)); //~ 1606
  unsigned char raw[32];
  Header h{0x1234, 5, 'x', 1.5};
  std::memcpy(raw, &h, sizeof h);
  show(raw[0] + raw[4] * 1000); //= 5052
  Header* back = reinterpret_cast<Header*>(raw);
  show(back->scale * 10); //= 15
  int** table = new int*[3];
  for (int i = 0; i < 3; i++) { table[i] = new int[i + 2]; for (int j = 0; j < i + 2; j++) table[i][j] = i * 10 + j; }
  show(table[2][3]); //= 23
  int x = 5, *p = &x, **pp = &p;
  **pp += 3;
  int& r = *p;
  r *= 2;
  show(x); //= 16
  int matrix[3][4] = {{1, 2}, {5}, {}};
  int (*rows)[4] = matrix;
  rows[2][1] = matrix[0][1] + rows[1][0];
  show(*(*(matrix + 2) + 1)); //= 7
  show(matrix[0][3] + sizeof(matrix) / sizeof(matrix[0])); //= 3
  int (*op)(const Node*) = length;
  show(op(m)); //= 8
  return 0;
}
