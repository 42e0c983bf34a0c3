/** Shortest way through a grid of a static table. */
#include <array>
#include <queue>
#include <vector>
static const char* rows[] = {"..#.....", ".##.###.", "....#...", ".##...#.", ".#..#.#."};
static const int steps[4][2] = {{1, 0}, {-1, 0}, {0, 1}, {0, -1}};
constexpr int H = 5, W = 8;
struct Cell { int y, x; };
static bool open(const Cell& c) { return c.y >= 0 && c.y < H && c.x >= 0 && c.x < W && rows[c.y][c.x] != '#'; }
template <class F> void around(const Cell& c, F fn) {
  for (const auto& s : steps)
    if (Cell n{c.y + s[0], c.x + s[1]}; open(n)) fn(n);
}
int main() {
  std::array<std::array<int, W>, H> distance;
  for (auto& row : distance) row.fill(-1);
  std::queue<Cell> next;
  next.push({0, 0});
  distance[0][0] = 0;
  int reached = 1;
  while (!next.empty()) {
    Cell c = next.front();
    next.pop();
    around(c, [&](const Cell& n) {
      if (distance[n.y][n.x] >= 0) return;
      distance[n.y][n.x] = distance[c.y][c.x] + 1;
      reached++;
      next.push(n);
    });
  }
  show(distance[4][7]); //= 13
  show(distance[0][3]); //= 7
  show(reached); //= 27
  int farthest = 0, walls = 0;
  for (int y = 0; y < H; y++)
    for (int x = 0; x < W; x++) {
      if (distance[y][x] > farthest) farthest = distance[y][x];
      walls += rows[y][x] == '#';
    }
  show(farthest); //= 13
  show(walls); //= 13
  int degree = 0;
  around(Cell{2, 3}, [&](const Cell&) { degree++; });
  show(degree); //= 3
  return 0;
}
