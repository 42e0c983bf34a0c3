/** What runs without being called, and what is thrown: the text knows no number that rests on it. */
import { check, checkMain } from './support';

const shown = (value: string): string => `k <<<(1,1,1),(32,1,1),0>>>(${value})`;

describe('what the text does not see', () => {
  it('variables that destructors and copying constructors write', () => {
    check(
      'static int ended = 0; struct Note { Note() {} ~Note() { ended++; } }; int main() { { Note a; } k<<<1, 32>>>(ended); }',
      shown('?ended'),
    );
    check(
      'static int n = 0; struct Copy { Copy() {} Copy(const Copy& o) { n++; } }; int main() { Copy a; Copy b = a; k<<<1, 32>>>(n); }',
      shown('?n'),
    );
  });

  it('what a guard was given to change', () => {
    check(
      `template <class F> struct Finally { F f; ~Finally() { f(); } };
      int main() { int n = 1; { Finally end{[&] { n = 2; }}; } k<<<1, 32>>>(n); }`,
      shown('?n'),
    );
    check(
      `struct Timer { int& total; Timer(int& t) : total(t) {} ~Timer() { total += 5; } };
      int main() { int n = 1; { Timer t(n); } k<<<1, 32>>>(n); }`,
      shown('?n'),
    );
  });

  it('what a method of another file may write, though C has a function of its name', () => {
    check(
      `struct Config { static bool read(const char* file, std::function<void(int)> add); };
      int main() { std::vector<int> a; Config::read("a.txt", [&a](int x) { a.push_back(x); }); k<<<1, 32>>>(a.size()); }`,
      shown('?a.size()'),
    );
  });

  it('what was moved from', () => {
    check(
      'int main() { std::vector<int> a{1, 2}, b = std::move(a); k<<<1, 32>>>(a.size()); k<<<1, 32>>>(b.size()); }',
      shown('?'),
      shown('2'),
    );
  });

  it('what is written where something is thrown', () => {
    check(
      `int checked(int n) { if (n > 3) throw n; return n; }
      int main() { int n = 1; try { n = 2; checked(5); n = 3; } catch (int e) { n += e; } k<<<1, 32>>>(n); }`,
      shown('?n'),
    );
  });

  it('what counts behind a return that may have been taken', () => {
    check(
      `struct Sets { int count = 4; bool join(int a, int b) { if (a == b) return false; count--; return true; } };
      int main(int argc, char** argv) { Sets s; s.join(atoi(argv[1]), 2); k<<<1, 32>>>(s.count); }`,
      shown('?s.count'),
    );
  });

  it('bytes of another type, and what goes into a container by its iterators', () => {
    check(
      'int main() { float f = -2.0f; unsigned bits = 0; memcpy(&bits, &f, 4); k<<<1, 32>>>(bits); }',
      shown('?bits'),
    );
    check(
      'int main() { std::vector<int> v; copied(std::back_inserter(v)); k<<<1, 32>>>(v.size()); }',
      shown('?v.size()'),
    );
  });
});

describe('values of the text', () => {
  it('braces for a parameter of a class, methods called one behind the other, references to one of two', () => {
    check(
      `struct Extent { int x = 1, y = 1, z = 1; }; int depth(Extent e) { return e.z; }
      int main() { k<<<1, 32>>>(depth({4, 5, 6})); }`,
      shown('6'),
    );
    check(
      `struct Line { int n = 0; Line& add(int x) { n += x; return *this; } };
      int main() { Line l; l.add(1).add(2).add(4); k<<<1, 32>>>(l.n); }`,
      shown('7'),
    );
    check(
      'int main() { int a = 1, b = 2; int& least = a < b ? a : b; least = 5; k<<<1, 32>>>(a * 10 + b); }',
      shown('52'),
    );
  });

  it('static variables of templates, bit-fields, bytes of texts', () => {
    check(
      `static int next() { static int n = 0; return ++n; }
      template <class T> struct Id { static int of() { static const int id = next(); return id; } };
      int main() { int a = Id<int>::of(), b = Id<float>::of(); k<<<1, 32>>>(a * 100 + b * 10 + Id<int>::of()); }`,
      shown('121'),
    );
    check(
      'struct Packed { unsigned kind : 3; int delta : 4; }; int main() { Packed p{}; p.kind = 9; p.delta = 9; k<<<1, 32>>>(p.kind * 100 + p.delta); }',
      shown('93'),
    );
    check('int main() { const char word[] = "kernel"; k<<<1, 32>>>(sizeof(word)); }', shown('7'));
  });

  it('is which of two variables a condition that is not known assigns', () => {
    checkMain('int a = 1, b = 2; (argc > 1 ? a : b) = 7; k<<<1, 32>>>(a, b);', 'k <<<(1,1,1),(32,1,1),0>>>(1, 7)');
    check(
      'int ask(); int main() { int a = 1, b = 2; (ask() ? a : b) = 7; int c = 3, d = 4; ++(ask() ? c : d); k<<<1, 32>>>(a, b, c, d); }',
      'k <<<(1,1,1),(32,1,1),0>>>(?a, ?b, ?c, ?d)',
    );
    check(
      'void add(int &x) { x += 3; } int main() { int a = 1, b = 2; add(a > b ? a : b); k<<<1, 32>>>(a, b); }',
      'k <<<(1,1,1),(32,1,1),0>>>(1, 5)',
    );
  });

  it('deleters and allocators run where nobody sees it', () => {
    check(
      'int freed = 0; struct Free { void operator()(void* p) const { ++freed; free(p); } }; int main() { { std::unique_ptr<float, Free> p((float*)malloc(8)); } k<<<1, 32>>>(freed); }',
      shown('?freed'),
    );
    check(
      'struct Count { int* n; void operator()(float* p) const { ++*n; } }; int main() { int n = 0; { std::unique_ptr<float, Count> p((float*)malloc(8), Count{&n}); } k<<<1, 32>>>(n); }',
      shown('?n'),
    );
    checkMain(
      'int n = 0; { std::shared_ptr<int> s(new int(7), [&](int* p) { n += 5; }); } k<<<1, 32>>>(n);',
      shown('?n'),
    );
    checkMain(
      'int n = 0; { std::shared_ptr<int> s; s.reset(new int(7), [&](int* p) { n += 5; }); } k<<<1, 32>>>(n);',
      shown('?n'),
    );
    check(
      'int bytes = 0; template <class T> struct A { using value_type = T; T* allocate(size_t n) { bytes += n; return nullptr; } void deallocate(T*, size_t) {} }; int main() { std::vector<int, A<int>> v(9); k<<<1, 32>>>(bytes); }',
      shown('?bytes'),
    );
  });

  it('what methods that are not followed leave of a length', () => {
    checkMain(
      'std::string_view s = "abcdef"; s.remove_suffix(2); k<<<1, 32>>>(s.find("c"), (int)s.size());',
      shown('?s.find("c"), ?s.size()'),
    );
  });
});
