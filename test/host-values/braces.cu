/** Lists that leave inner braces out, of arrays, records and both. */
#include <vector>
#include <array>
struct Dims { int d[3]; int s; };
struct Box { Dims a; Dims b; float w; };
struct P { int x, y; };
struct Cfg { std::array<int, 3> tile; P at; int stages = 3; };
static const Box boxes[] = {{1, 2, 3, 4, 5, 6, 7, 8, 0.5f}, {{{1, 2}, 9}, {}, 2}};
int sum(Dims d) { return d.d[0] + d.d[1] * 10 + d.d[2] * 100 + d.s * 1000; }
int main() {
  Dims d = {256, 4096, 1, 7};
  show(sum(d)); //= 48316
  show(sum({256, 4096, 1, 7})); //= 48316
  show(sum(Dims{1, 2, 3, 4})); //= 4321
  show(sum({{1, 2, 3}, 4})); //= 4321
  show(sum({1, 2})); //= 21
  std::vector<Dims> v{{256, 4000, 2, 10}, {{1, 2, 3}, 4}};
  show(v.size()); //= 2
  show(sum(v[0])); //= 50456
  show(sum(v[1])); //= 4321
  v.push_back({9, 8, 7, 6});
  show(sum(v[2])); //= 6789
  std::vector<Dims> w = {{256, 4000, 2, 10}};
  show(w.size()); //= 1
  show(sum(w[0])); //= 50456
  show(boxes[0].b.s + boxes[0].w * 100); //= 58
  show(boxes[1].a.s + boxes[1].b.s + boxes[1].w); //= 11
  show(boxes[1].a.d[1]); //= 2
  P pts[] = {1, 2, 3, 4, 5, 6};
  show(sizeof(pts) / sizeof(P)); //= 3
  show(pts[2].x); //= 5
  int m[2][3] = {1, 2, 3, 4};
  show(m[1][0] + m[1][1]); //= 4
  Cfg c{1, 2, 3, 4, 5};
  show(c.tile[2] + c.at.y * 10 + c.stages * 100); //= 353
  Cfg e{{1, 2, 3}, {4, 5}, 6};
  show(e.tile[2] + e.at.y * 10 + e.stages * 100); //= 653
  std::array<P, 3> ar{1, 2, 3, 4, 5, 6};
  show(ar[2].x); //= 5
  std::array<P, 2> as{{{1, 2}, {3, 4}}};
  show(as[1].y); //= 4
  std::array<std::array<int, 2>, 2> aa{1, 2, 3, 4};
  show(aa[1][0]); //= 3
  std::array<P, 2> ad{{{.x = 7, .y = 8}, {.y = 9}}};
  show(ad[0].x + ad[1].y * 10 + ad[1].x); //= 97
  Cfg f{.tile = {7, 8, 9}, .at = {.y = 3}};
  show(f.tile[1] + f.at.y * 10 + f.stages * 100 + f.at.x); //= 338
  Dims* pd = new Dims{5, 6, 7, 8};
  show(sum(*pd)); //= 8765
  Dims da[2] = {1, 2, 3, 4, 5, 6, 7, 8};
  show(sum(da[1])); //= 8765
  struct Local { int n; const char* name; float f; } locals[] = {{1, "one", 1.5f}, {2, "two", 2.5f}};
  for (auto& l : locals) show(l.n * 10 + l.f); //= 11 22
  auto make = [](int n) -> Dims { return {n, n + 1, n + 2, n + 3}; };
  show(sum(make(3))); //= 6543
  std::vector<std::array<int, 2>> va{{1, 2}, {3, 4}};
  show(va[1][0] + va.size() * 10); //= 23
  std::vector<std::pair<int, Dims>> vp{{1, {1, 2, 3, 4}}};
  show(sum(vp[0].second)); //= 4321
  return 0;
}
