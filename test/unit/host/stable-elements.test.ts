/** Elements of maps, sets and lists stay where they are: what refers to them, and what is not known of them behind a way that is not taken. */
import { check } from './check-contents';

const k = '__global__ void k(const int* a, int n) { if (a[0]) __nanosleep(n); }';

function checkMain(body: string): void {
  check(`${k}\nint main() {\n  int* d;\n  cudaMalloc(&d, 16);\n${body}\n}`);
}

describe('elements that stay where they are', () => {
  it('are referred to while others are inserted and erased', () => {
    checkMain(`
  std::map<int, int> m;
  std::unordered_map<int, int> u;
  int& inMap = m[50];
  int& inTable = u[50];
  auto place = m.find(50);
  std::set<int> s = {4};
  const int& inSet = *s.begin();
  for (int i = 0; i < 200; i++) { m[i * 7 % 100] += 1; u[i] = i; s.insert(i); }
  for (int i = 0; i < 100; i += 2) if (i != 50) m.erase(i);
  inMap += 1000;
  inTable += 2000;
  k<<<1, 32>>>(d, m[50] * 10 + m.size()); //= n: 10071
  k<<<1, 32>>>(d, u[50]); //= n: 2050
  k<<<1, 32>>>(d, std::next(place)->first * 100 + std::prev(place)->first + inSet); //= n: 5153`);
  });

  it('are not known behind ways of which nobody knows whether they are taken', () => {
    checkMain(`
  const int unknown = time(nullptr) % 2;
  std::map<int, int> m;
  std::unordered_map<int, int> u;
  std::list<int> l;
  std::map<int, std::vector<int>> rows;
  std::vector<int> other(20, 3);
  for (int i = 0; i < 20; i++) { m[i] = u[i] = i; l.push_back(i); rows[i].push_back(i); }
  int& inMap = m[5];
  int& inTable = u[5];
  int& inList = *std::next(l.begin(), 7);
  int& inRow = rows[6][0];
  if (unknown) { m[5] = 9; u[5] = 9; rows[6][0] = 9; for (int& x : l) x = 9; }
  k<<<1, 32>>>(d, inMap); //= n: ?
  k<<<1, 32>>>(d, inTable); //= n: ?
  k<<<1, 32>>>(d, inList); //= n: ?
  k<<<1, 32>>>(d, inRow); //= n: ?
  k<<<1, 32>>>(d, other[4] * 10 + (int)other.size()); //= n: 50`);
  });

  it('of containers that are static in functions', () => {
    check(`
${k}
struct Registry {
  std::map<std::string, int> ids;
  static Registry& instance() { static Registry one; return one; }
  int id(const std::string& name) { return ids.emplace(name, (int)ids.size()).first->second; }
};
int next(int n) { static std::list<int> seen; static std::unordered_set<int> some; seen.push_front(n); some.insert(n % 3); return seen.back() * 100 + (int)seen.size() * 10 + (int)some.size(); }
int main() {
  int* d;
  cudaMalloc(&d, 16);
  for (int i = 4; i < 9; i++) next(i);
  k<<<1, 32>>>(d, next(9)); //= n: 463
  Registry::instance().id("a");
  k<<<1, 32>>>(d, Registry::instance().id("b") * 10 + Registry::instance().id("a")); //= n: 10
}`);
  });

  it('of long lists in braces', () => {
    const entries = Array.from({ length: 150 }, (_, i) => `{"option${i * 7}", ${i}}`).join(', ');
    checkMain(`
  const std::map<std::string, int> m = {${entries}};
  const std::unordered_map<std::string, int> u = {${entries}};
  k<<<1, 32>>>(d, m.at("option70") * 1000 + u.at("option700") + m.size()); //= n: 10250
  k<<<1, 32>>>(d, m.begin()->second + u.count("option1")); //= n: 0`);
  });
});
