/** Recursions of the host: followed as far as there is room for it, and what is known behind the others. */
import { check, upload } from './check-contents';

describe('data of the host', () => {
  it('goes on behind a recursion that is too deep to follow without what it may have changed', () => {
    check(`
__global__ void k(const int* a, int n) {}
${upload}
int calls = 0;
int depth(int n) { calls++; return n == 0 ? 0 : 1 + depth(n - 1); }
void count(int n, int& total) { if (n > 0) { total++; count(n - 1, total); } }
int main() {
  std::vector<int> a(1, 1);
  k<<<1, 32>>>(up(a), calls); //= a: 1, n: 0
  a[0] = depth(100);
  k<<<1, 32>>>(up(a), calls); //= a: ?, n: ?
  a[0] = 3;
  int total = 5;
  k<<<1, 32>>>(up(a), total); //= a: 3, n: 5
  count(100, total);
  k<<<1, 32>>>(up(a), total); //= a: 3, n: ?
}`);
  });

  it('keeps behind such a recursion what it was given to read', () => {
    check(`
__global__ void k(const int* a, const int* b, const int* c) {}
${upload}
struct Item { float x; int id; };
struct View { const int* at; };
int halve(const std::vector<Item>& items, const int* keys, std::vector<int>& order, int b, int e) {
  if (e - b < 2) return order[b] = keys[b] + items[b].id;
  return halve(items, keys, order, b, (b + e) / 2) + halve(items, keys, order, (b + e) / 2, e);
}
int main() {
  std::vector<Item> items(4000);
  std::vector<int> keys(4000), order(4000, 9), ids(1);
  for (int i = 0; i < 4000; i++) { items[i].id = 2 * i; keys[i] = i + 5; }
  halve(items, keys.data(), order, 0, 4000);
  ids[0] = items[3].id;
  k<<<1, 32>>>(up(ids), up(keys), up(order)); //= a: 6, b: 5 6, c: ? ?
}`);
  });

  it('a container that such a recursion may have made larger leads to no other memory', () => {
    check(`
__global__ void k(const int* a, int n) {}
${upload}
int grow(std::vector<int>& nodes, int b, int e) {
  int me = nodes.size();
  nodes.push_back(0);
  if (e - b > 1) { grow(nodes, b, (b + e) / 2); grow(nodes, (b + e) / 2, e); }
  nodes[me] = e;
  return me;
}
int main() {
  std::vector<int> a(2, 7), nodes;
  grow(nodes, 0, 4000);
  nodes[0] = 4;
  k<<<1, 32>>>(up(a), a[1]); //= a: 7 7, n: 7
}`);
  });

  it('behind a recursion that gives a pointer keeps nothing that it may lead to', () => {
    check(`
__global__ void k(const int* a, const int* b) {}
\${upload}
int* last(int* from, int* to) { return to - from < 2 ? from : last(from + 1, to); }
int main() {
  int a[2] = {1, 1}, b[900];
  int *da, *db;
  cudaMalloc(&da, sizeof a);
  cudaMalloc(&db, sizeof b);
  *last(b, b + 900) = 5;
  cudaMemcpy(da, a, sizeof a, cudaMemcpyHostToDevice);
  cudaMemcpy(db, b, sizeof b, cudaMemcpyHostToDevice);
  k<<<1, 32>>>(da, db); //= a: ?, b: ?
}`);
  });

  it('follows calls of a function in itself as far as they leave room for the rest', () => {
    const body = Array.from({ length: 60 }, (_, i) => `if (v[(i + ${i}) % n] < v[j]) v[j] += v[(i + ${i}) % n];`).join(
      '\n',
    );
    check(`
__global__ void k(const int* a, const int* b) {}
${upload}
void arrange(int* v, int n, int i, int j) {
  ${body}
  if (j - i > 1) { arrange(v, n, i, (i + j) / 2); arrange(v, n, (i + j) / 2, j); }
}
int main() {
  std::vector<int> a(64, 1), b(64, 2);
  arrange(b.data(), 64, 0, 64);
  k<<<1, 32>>>(up(a), up(b)); //= a: 1 1, b: ?
}`);
  });
});
