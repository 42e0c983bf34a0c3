/** A sparse matrix from triples. */
#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>
#include <vector>
struct Triple { int row, column; float value; };
struct Csr {
  std::vector<int> offsets, columns;
  std::vector<float> values;
  int rows() const { return (int)offsets.size() - 1; }
  int widest() const { int w = 0; for (int r = 0; r < rows(); r++) w = std::max(w, offsets[r + 1] - offsets[r]); return w; }
};
Csr assembled(std::vector<Triple> t, int rows) {
  std::sort(t.begin(), t.end(), [](const Triple& a, const Triple& b) { return std::tie(a.row, a.column) < std::tie(b.row, b.column); });
  Csr m;
  m.offsets.assign(rows + 1, 0);
  for (size_t i = 0; i < t.size(); i++) {
    if (i > 0 && t[i].row == t[i - 1].row && t[i].column == t[i - 1].column) { m.values.back() += t[i].value; continue; }
    m.offsets[t[i].row + 1]++;
    m.columns.push_back(t[i].column);
    m.values.push_back(t[i].value);
  }
  std::partial_sum(m.offsets.begin(), m.offsets.end(), m.offsets.begin());
  return m;
}
Csr transposed(const Csr& m, int columns) {
  Csr t;
  t.offsets.resize(columns + 1);
  for (int c : m.columns) t.offsets[c + 1]++;
  std::inclusive_scan(t.offsets.begin(), t.offsets.end(), t.offsets.begin());
  t.columns.resize(m.columns.size());
  t.values.resize(m.columns.size());
  auto at = t.offsets;
  for (int r = 0; r < m.rows(); r++)
    for (int k = m.offsets[r]; k < m.offsets[r + 1]; k++) {
      int to = at[m.columns[k]]++;
      t.columns[to] = r;
      t.values[to] = m.values[k];
    }
  return t;
}
int main() {
  std::vector<Triple> triples;
  for (int i = 0; i < 20; i++) {
    triples.push_back({i, i, 2});
    if (i > 0) triples.push_back({i, i - 1, -1});
    triples.push_back({i, (i * 7 + 3) % 20, 0.5f});
  }
  triples.push_back({4, 4, 1});
  Csr m = assembled(triples, 20);
  show(m.columns.size()); //= 57
  show(m.widest()); //= 3
  show(m.offsets[10]); //= 28
  Csr t = transposed(m, 20);
  show(t.offsets[10]); //= 29
  show(t.widest()); //= 3
  show(t.columns[t.offsets[3]]); //= 0
  float sum = std::accumulate(m.values.begin(), m.values.end(), 0.0f);
  show(sum * 2); //= 64
  long check = 0;
  for (size_t i = 0; i < t.columns.size(); i++) check = (check * 31 + t.columns[i]) % 1000003;
  show(check); //= 390920
  return 0;
}
