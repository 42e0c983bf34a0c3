/** Texts seen by views, options by hand, numbers in texts: from_chars, stoi, strtol and sscanf. */
#include <string_view>
#include <string>
#include <cstdlib>
#include <charconv>
#include <vector>
#include <map>
using namespace std::literals;
static int parse_int(std::string_view s) { int v = 0; std::from_chars(s.data(), s.data() + s.size(), v); return v; }
struct Options { int n = 128; int block = 64; float alpha = 1.0f; bool verbose = false; std::string mode = "fast"; };
static bool consume(std::string_view& s, std::string_view prefix) {
  if (!s.starts_with(prefix)) return false;
  s.remove_prefix(prefix.size());
  return true;
}
Options parse(int argc, const char** argv) {
  Options o;
  for (int i = 1; i < argc; ++i) {
    std::string_view a = argv[i];
    if (consume(a, "--n=")) o.n = parse_int(a);
    else if (a.substr(0, 8) == "--block=") o.block = std::atoi(a.substr(8).data());
    else if (auto p = a.find('='); p != std::string_view::npos && a.substr(0, p) == "--alpha"sv) o.alpha = std::stof(std::string(a.substr(p + 1)));
    else if (a == "-v"sv || a == "--verbose") o.verbose = true;
    else if (a.size() > 2 && a[0] == '-' && a[1] == 'm') o.mode = std::string{a.substr(2)};
  }
  return o;
}
std::vector<std::string_view> split(std::string_view s, char by) {
  std::vector<std::string_view> out;
  while (true) {
    auto p = s.find(by);
    out.push_back(s.substr(0, p));
    if (p == std::string_view::npos) break;
    s = s.substr(p + 1);
  }
  return out;
}
static std::string_view trim(std::string_view s) {
  while (!s.empty() && (s.front() == ' ' || s.front() == '\t')) s.remove_prefix(1);
  while (!s.empty() && (s.back() == ' ' || s.back() == '\t')) s.remove_suffix(1);
  return s;
}
constexpr std::string_view kNames[] = {"naive", "tiled", "vector"};
constexpr int indexOf(std::string_view s) { for (int i = 0; i < 3; ++i) if (kNames[i] == s) return i; return -1; }
int more();
int main() {
  more();
  const char* args[] = {"prog", "--n=4096", "--block=128", "--alpha=2.5", "-v", "-mslow"};
  Options o = parse(6, args);
  show(o.n); //= 4096
  show(o.block); //= 128
  show(o.alpha * 10); //= 25
  show(o.verbose); //= 1
  show(o.mode.size()); //= 4
  show(o.mode == "slow"); //= 1
  auto parts = split("16,32,,64", ',');
  show(parts.size()); //= 4
  show(parse_int(parts[1]) + parse_int(parts[3])); //= 96
  show(parts[2].empty()); //= 1
  show(parse_int(trim("   77  "))); //= 77
  std::string line = "  key = 12 ; rest";
  std::string_view v = line;
  v = v.substr(0, v.find(';'));
  auto eq = v.find('=');
  show(trim(v.substr(0, eq)) == "key"); //= 1
  show(parse_int(trim(v.substr(eq + 1)))); //= 12
  show(line.size()); //= 17
  show(line[10]); //= 32
  { std::string_view w = line; w.remove_suffix(7);
  show(line.find("rest")); //= 13
  show(w.size()); //= 10
  show(std::string(w).length()); } //= 10
  show(indexOf("tiled")); //= 1
  show(indexOf("other")); //= -1
  constexpr int at = indexOf("vector");
  show(at); //= 2
  show("abc"sv < "abd"sv); //= 1
  show("abc"s.size() + "de"sv.size()); //= 5
  std::map<std::string_view, int> table{{"a", 1}, {"bb", 2}};
  show(table["bb"] * 10 + table.count("c")); //= 20
  show(v.rfind('k') + v.find_first_of("=;") + v.find_last_not_of(" ")); //= 17
  size_t pos = 0; int x = std::stoi("123abc", &pos);
  show(x * 10 + pos); //= 1233
  show(std::stoi("ff", nullptr, 16)); //= 255
  show(std::strtol("0x1f", nullptr, 0)); //= 31
  char* end; double d = std::strtod("3.25e2xyz", &end);
  show(d); //= 325
  show(*end); //= 120
  int a, b; float f;
  show(std::sscanf("12x34 5.5", "%dx%d %f", &a, &b, &f)); //= 3
  show(a * 100 + b); //= 1234
  show(f * 10); //= 55
  char name[16]; unsigned hx;
  show(sscanf("block:ff", "%15[^:]:%x", name, &hx)); //= 2
  show(hx); //= 255
  show(name[2]); //= 111
  auto [ptr, ec] = std::from_chars("77zz", "77zz" + 0 + 4, a);
  show(a); //= 77
  show(ec == std::errc()); //= 1
  std::string s2 = "hello";
  std::string_view view2 = s2;
  s2[0] = 'J';
  show(view2[0]); //= 74
  show(view2.compare("Jello")); //= 0
  std::hash<std::string_view> h;
  show(h("a") == h("a")); //= 1
  return 0;
}
int more() {
  int a = 0, b = 0, n = 0; char w[16], v[16];
  show(sscanf("2024-07-15", "%4d-%*d-%d%n", &a, &b, &n)); //= 2
  show(a); //= 2024
  show(b); //= 15
  show(n); //= 10
  show(sscanf("", "%d", &a)); //= -1
  show(sscanf("abc", "%d", &a)); //= 0
  show(sscanf("key = val # c", "%15[a-z] = %15[^#\n]", w, v)); //= 2
  show(w[2]); //= 121
  show(v[3]); //= 32
  show(sscanf("100%", "%d%%%n", &a, &n)); //= 1
  show(n); //= 4
  show(sscanf("12345", "%2d%3d", &a, &b)); //= 2
  show(b); //= 345
  long l; unsigned char uc;
  show(sscanf("-5 0x1F 7", "%ld %i %hhu", &l, &a, &uc)); //= 3
  show(l + a + uc); char c3[4] = {}; //= 33
  show(sscanf("xyz", "%2c", c3)); //= 1
  show(c3[1] + c3[2]); //= 121
  return 0;
}
