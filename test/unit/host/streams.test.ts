/** Texts that a program of the host changes in place, puts together and takes apart; every value is what g++'s program prints. */
import { check } from './check-contents';

const program = (body: string) =>
  check(`
#include <sstream>
#include <iomanip>
#include <string>
#include <vector>
__global__ void k(int n) {}
int is(const std::string& a, const char* b) { return a == b; }
int main() {
${body}
}`);

describe('texts', () => {
  it('are changed in place', () =>
    program(`
  std::string s = "abcdefgh";
  s.replace(2, 3, "XY");
  s.insert(1, 2, '-');
  k<<<1, 32>>>(is(s, "a--bXYfgh")); //= n: 1
  s.erase(3, 1);
  s.erase(s.begin() + 1);
  s.insert(2, "long and longer than before");
  k<<<1, 32>>>(is(s, "a-long and longer than beforeXYfgh")); //= n: 1
  s.assign("path/to/file.cu");
  std::string u(2, 'k');
  u.swap(s);
  k<<<1, 32>>>(s.size() * 100 + u.rfind('/')); //= n: 207
  k<<<1, 32>>>(u.find_first_of("/.") * 100 + u.find_last_of("/.")); //= n: 412
  k<<<1, 32>>>(u.find_first_not_of("htap") * 100 + u.rfind("to")); //= n: 405
  char held[8] = {};
  k<<<1, 32>>>(u.copy(held, 3) * 1000 + held[2]); //= n: 3116
`));

  it('are put together by streams', () =>
    program(`
  std::ostringstream os;
  os << "a" << 12 << ' ' << -5L << std::string("zz") << 3u << std::endl;
  k<<<1, 32>>>(is(os.str(), "a12 -5zz3\\n")); //= n: 1
  std::ostringstream shown;
  shown << std::setw(5) << std::setfill('0') << 42 << std::hex << 255 << std::dec << '|' << std::left << std::setw(3) << 7;
  k<<<1, 32>>>(is(shown.str(), "00042ff|700")); //= n: 1
  std::ostringstream fixed;
  fixed << 100.0 << ' ' << 0.1 << ' ' << std::fixed << std::setprecision(2) << 3.14159 << ',' << std::setw(8) << -1.256 << std::boolalpha << true;
  k<<<1, 32>>>(is(fixed.str(), "100 0.1 3.14,   -1.26true")); //= n: 1
`));

  it('are not known behind what a stream writes in its own way', () =>
    program(`
  std::ostringstream os;
  os << "x=" << 1e-7;
  k<<<1, 32>>>((int)os.str().size()); //= n: ?
`));

  it('are taken apart by streams, until these fail', () =>
    program(`
  std::istringstream in("12 abc 3.5 x -7 last");
  int a, b; std::string w; double d; char c;
  in >> a >> w >> d >> c >> b;
  k<<<1, 32>>>(a + b + (int)(d * 10) + w.size()); //= n: 43
  int words = 0;
  while (in >> w) ++words;
  k<<<1, 32>>>(words * 100 + in.eof() * 10 + in.fail()); //= n: 111
  std::stringstream csv("1,22,,333");
  std::string item;
  std::vector<int> sizes;
  while (std::getline(csv, item, ',')) sizes.push_back((int)item.size());
  k<<<1, 32>>>(sizes.size() * 100 + sizes[2] * 10 + sizes[3]); //= n: 403
`));

  it('may be changed by what is not followed, wherever they are kept', () =>
    program(`
  struct Needle { char text[4]; int length; } needle{};
  char plain[4] = {};
  std::string s = "az";
  needle.length = (int)s.not_a_method(needle.text, 2);
  k<<<1, 32>>>(needle.text[0]); //= n: ?
  not_a_function(plain);
  k<<<1, 32>>>(plain[1]); //= n: ?
`));
});

describe('objects that operators change', () => {
  it('are others in each pass of a loop', () =>
    check(`
__global__ void k(int n) {}
struct Source { int n; bool ended = false; operator bool() const { return !ended; } };
Source& operator>>(Source& s, int& x) { if (s.n >= 4) { s.ended = true; return s; } s.n = s.n + 1; x = s.n; return s; }
int main() {
  Source s{0};
  int count = 0, x = 0;
  while (s >> x) ++count;
  k<<<1, 32>>>(count * 100 + s.n * 10 + x); //= n: 444
}`));
});

describe('what a program writes', () => {
  it('changes nothing, be it to the screen or to a file', () =>
    check(`
#include <fstream>
#include <iomanip>
#include <iostream>
#include <sstream>
__global__ void k(int n) {}
struct Size { unsigned n; };
template <class T> void written(std::ofstream& file, const T& value) {
  file.write(reinterpret_cast<const char*>(&value), sizeof(T));
  if (!file) throw std::runtime_error("not written");
}
void shown(std::ostream& out, const Size& size) { out << size.n << std::endl; }
int main() {
  std::vector<Size> sizes{{7}};
  std::string name = "sizes";
  std::ostringstream text;
  text << name << 1;
  std::cout << "of " << name << " " << std::setw(4) << sizes[0].n << std::fixed << std::setprecision(2) << 0.5 << std::endl;
  std::ofstream file(name, std::ios::binary);
  file << name << std::setw(3) << sizes.size() << "\\n";
  written(file, sizes[0].n);
  shown(std::cout, sizes[0]);
  shown(file, sizes[0]);
  file.close();
  k<<<1, 32>>>(sizes[0].n * 10 + text.str().size()); //= n: 76
}`));

  it('pass over the rest of a line, and read lines into arrays', () => {
    check(`
__global__ void k(int a, int b) {}
int main() {
  std::istringstream s("% made by hand\\n12 7\\nab cd\\nx");
  char line[16], c;
  int a, b;
  while (s.peek() == '%') s.ignore(std::numeric_limits<std::streamsize>::max(), '\\n');
  s >> a >> b;
  k<<<1, 32>>>(a, b); //= a: 12, b: 7
  s.ignore(256, '\\n');
  s.get(c);
  s.unget();
  s.getline(line, 4, ' ');
  k<<<1, 32>>>((int)strlen(line), c); //= a: 2, b: 97
  s.getline(line, 2);
  k<<<1, 32>>>(line[0], s.fail()); //= a: 99, b: 1
  s.clear();
  s >> c >> std::ws;
  s.getline(line, 16);
  k<<<1, 32>>>(line[0] * 1000 + c, s.eof()); //= a: 120100, b: 1
}`);
  });

  it('are read byte by byte, from wherever the stream stands', () =>
    check(`
#include <sstream>
__global__ void k(int a, int b, int c) {}
int first(std::istream& in) {
  if (unsigned char c; in.read(reinterpret_cast<char*>(&c), 1)) return c;
  return -1;
}
int main() {
  std::istringstream in("abcdef");
  int a = first(in), b = first(in);
  k<<<1, 32>>>(a, b, (int)in.tellg()); //= a: 97, b: 98, c: 2
  in.seekg(-1, std::ios::end);
  a = first(in), b = first(in);
  k<<<1, 32>>>(a, b, (int)in.gcount()); //= a: 102, b: -1, c: 0
}`));
});
