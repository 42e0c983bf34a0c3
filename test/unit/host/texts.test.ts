/** Texts of other owners, suffixes of literals, numbers in texts by a pattern (values of g++). */
import { check } from './check-contents';

const kernel = '__global__ void k(int a, int b, int c) {}';

describe('texts of the host', () => {
  it('are seen by views, which copy nothing', () => {
    check(`${kernel}
bool consume(std::string_view& s, std::string_view prefix) {
  if (!s.starts_with(prefix)) return false;
  s.remove_prefix(prefix.size());
  return true;
}
int number(std::string_view s) { int n = 0; std::from_chars(s.data(), s.data() + s.size(), n); return n; }
int main() {
  std::string s = "hello world";
  std::string_view v = s;
  s[0] = 'J';
  k<<<1, 32>>>(v[0], v.data() == s.data(), v.compare("Jello world")); //= a: 74, b: 1, c: 0
  v.remove_suffix(6);
  k<<<1, 32>>>((int)v.size(), (int)s.size(), s[5]); //= a: 5, b: 11, c: 32
  const char* args[] = {"prog", "--n=4096,17", "-v"};
  std::string_view a = args[1];
  const bool isSize = consume(a, "--n=");
  const auto comma = a.find(',');
  k<<<1, 32>>>(isSize, number(a.substr(0, comma)), number(a.substr(comma + 1))); //= a: 1, b: 4096, c: 17
  std::map<std::string_view, int> table{{"a", 1}, {"bb", 2}};
  k<<<1, 32>>>(table["bb"], (int)table.count("c"), args[2] == std::string_view("-v")); //= a: 2, b: 0, c: 1
  std::string copy(a.substr(0, comma));
  copy += a.substr(comma);
  k<<<1, 32>>>((int)copy.size(), copy == a, copy < a); //= a: 7, b: 1, c: 0
}`);
  });

  it('are objects by their suffix', () => {
    check(`${kernel}
using namespace std::literals;
int main() {
  auto name = "grid"s;
  name += "Dim";
  k<<<1, 32>>>((int)name.size(), (int)"ab"sv.size(), "x"sv < "y"sv); //= a: 7, b: 2, c: 1
}`);
  });

  it('hold numbers and words by a pattern', () => {
    check(`${kernel}
int main() {
  int a = 0, b = 0, n = 0;
  char word[16];
  const int dates = sscanf("2024-07-15", "%4d-%*d-%d%n", &a, &b, &n);
  k<<<1, 32>>>(dates * 10000 + a, b, n); //= a: 22024, b: 15, c: 10
  const int options = sscanf("block:ff", "%15[^:]:%x", word, &n);
  k<<<1, 32>>>(options, word[4], n); //= a: 2, b: 107, c: 255
  k<<<1, 32>>>(sscanf("", "%d", &a), sscanf("abc", "%d", &a), a); //= a: -1, b: 0, c: 2024
}`);
  });

  it('hold as many numbers as a pattern asks for', () => {
    check(`
__global__ void k(int n, float x, int last) {}
int main() {
  int n = 0, count = 0;
  float x[12];
  char unit[8];
  count = sscanf("run=7 a=0.5 b=1.5 c=2.5 d=3.5 e=4.5 f=5.5 g=6.5 h=7.5 i=8.5 9.5 10.5 mm 3", 
    "run=%d a=%f b=%f c=%f d=%f e=%f f=%f g=%f h=%f i=%f %f %f %7s %*d", &n, x, x + 1, x + 2, x + 3, x + 4, x + 5, x + 6, x + 7, x + 8, x + 9,
    x + 10, unit);
  k<<<1, 32>>>(n, x[10], count * 1000 + unit[1]); //= n: 7, x: 10.5, last: 13109
}`);
  });
});
