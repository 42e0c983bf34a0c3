/** Dynamic programming over drawn numbers. */
#include <algorithm>
#include <cstdlib>
#include <vector>
int main() {
  std::srand(7);
  const int n = 12, room = 50;
  std::vector<int> weight(n), worth(n);
  for (int i = 0, w = 3; i < n; ++i, w = (w * 5 + 1) % 17) { weight[i] = w + 1; worth[i] = std::rand() % 100; }
  show(worth[0]); //= 77
  show(worth[n - 1]); //= 21
  std::vector<std::vector<int>> best(n + 1, std::vector<int>(room + 1, 0));
  for (int i = 1; i <= n; i++)
    for (int j = 0; j <= room; j++) {
      best[i][j] = best[i - 1][j];
      if (j >= weight[i - 1]) best[i][j] = std::max(best[i][j], best[i - 1][j - weight[i - 1]] + worth[i - 1]);
    }
  show(best[n][room]); //= 458
  int taken = 0;
  for (int i = n, j = room; i > 0; --i)
    if (best[i][j] != best[i - 1][j]) { taken |= 1 << (i - 1); j -= weight[i - 1]; }
  show(taken); //= 199
  std::vector<long long> ways(room + 1);
  ways[0] = 1;
  for (int w : weight) for (int j = w; j <= room; j++) ways[j] += ways[j - w];
  show(ways[room]); //= 1353
  const char a[] = "kernel launch", b[] = "channel lunch";
  int la = sizeof(a) - 1, lb = sizeof(b) - 1;
  std::vector<int> row(lb + 1);
  for (int j = 0; j <= lb; j++) row[j] = j;
  for (int i = 1; i <= la; i++) {
    int diagonal = row[0];
    row[0] = i;
    for (int j = 1; j <= lb; j++) {
      int up = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1])});
      diagonal = up;
    }
  }
  show(row[lb]); //= 5
  for (auto [i, j] = std::pair{0, 10}; i < j; i += 3, j--) show(i * 100 + j); //= 10 309 608
  return 0;
}
