/** Members and elements of one of two objects: which one is changed is known at run time only. */
#include <map>
#include <vector>
struct Tally { int n = 0; int seen[4] = {}; void add(int by) { n += by; } };
static int few(const std::vector<int>& v) { return (int)v.size(); }
int main() {
  std::vector<std::map<int, float>> near(60);
  for (int v = 0; v < 60; v++) for (int q = 0; q < v % 11; q++) near[v][q] = 1.0f;
  std::vector<int> light, heavy, rows(40, 0), columns(40, 0);
  for (int v = 0; v < 60; v++) (near[v].size() <= 4 ? light : heavy).push_back(v);
  show(few(light)); //= 30
  show(few(heavy)); //= 30
  show((few(light) < few(heavy) ? light : heavy).back()); //= 54
  Tally odd, even;
  for (int i = 0; i < 40; i++) {
    (i % 2 ? odd : even).add(i);
    (i % 3 ? odd : even).seen[i % 4]++;
    (i % 5 ? rows : columns)[i] += i;
  }
  show(odd.n * 1000 + even.n); //= 400380
  show(odd.seen[3] * 100 + even.seen[0]); //= 604
  show(rows[7] * 1000 + columns[35] * 10 + columns[7]); //= 7350
  for (int& x : odd.n > even.n ? rows : columns) x++;
  show(rows[7] * 10 + columns[7]); //= 80
  std::vector<int> buckets[2];
  for (int i = 0; i < 9; i++) (i < 6 ? buckets[0] : buckets[1]).insert(buckets[i < 6 ? 0 : 1].begin(), i);
  show(buckets[0].front() * 100 + (int)buckets[1].size()); //= 503
}
