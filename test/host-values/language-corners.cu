/** Corners of the language: hidden and brought overloads, default arguments, copies and moves, evaluation, conversions of numbers, captures. */
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>
struct B1 { int f(double) { return 1; } int f(int) { return 2; } int g(int a = 5) { return a; } virtual int h(int a = 1) { return a; } virtual ~B1() {} };
struct D1 : B1 { int f(char) { return 3; } int g(int a = 7) { return a * 2; } int h(int a = 2) override { return a * 10; } };
struct D2 : B1 { using B1::f; int f(char) { return 3; } };
struct Top { int n = 1; Top() {} Top(int n) : n(n) {} virtual int id() { return n; } };
struct L : virtual Top { int l = 2; L() : Top(5) {} };
struct R : virtual Top { int r = 3; R() : Top(6) {} int id() override { return n * 10; } };
struct Join : L, R { Join() : Top(9) {} };
struct InCtor { int seen; InCtor() { seen = what(); } virtual int what() { return 1; } };
struct InCtor2 : InCtor { int v = 5; int what() override { return 2; } };
struct Shape { virtual Shape* clone() const { return new Shape(*this); } virtual int k() const { return 1; } int tag = 4; virtual ~Shape() = default; };
struct Circle : Shape { Circle* clone() const override { return new Circle(*this); } int k() const override { return 2; } };
struct Q { std::string s; std::string& get() & { s += "l"; return s; } std::string get() && { return s + "r"; } int c() const { return 1; } int c() { return 2; } };
struct IL { int k; IL(int, int) : k(1) {} IL(std::initializer_list<int> l) : k(10 + l.size()) {} };
struct Cnt { static inline int made = 0, copied = 0, moved = 0; int v; Cnt(int v) : v(v) { made++; } Cnt(const Cnt& o) : v(o.v) { copied++; } Cnt(Cnt&& o) noexcept : v(o.v) { o.v = -1; moved++; } Cnt& operator=(const Cnt&) = default; };
Cnt make(int x) { Cnt c(x); return c; }
Cnt pass(Cnt c) { return c; }
template <class T> int counter() { static int n = 0; return ++n; }
template <class T, class U = int> struct Pair { T a; U b; Pair(T a, U b = 3) : a(a), b(b) {} };
template <class T> Pair(T) -> Pair<T, int>;
template <auto N> struct Val { static constexpr auto value = N; };
template <class... T> auto sumAll(T... t) { return (0 + ... + t); }
template <class... T> int count(T&&...) { return sizeof...(T); }
enum class Color : uint8_t { red = 3, green, blue = 250, next };
struct Bits { unsigned a : 3; int b : 4; unsigned c : 25; };
struct Custom { int x = 4; double y = 2.5; template <size_t I> auto get() const { if constexpr (I == 0) return x; else return y; } };
template <> struct std::tuple_size<Custom> : std::integral_constant<size_t, 2> {};
template <> struct std::tuple_element<0, Custom> { using type = int; };
template <> struct std::tuple_element<1, Custom> { using type = double; };
struct Matrix { int d[2][3] = {{1, 2, 3}, {4, 5, 6}}; int& operator()(int r, int c) { return d[r][c]; } int* operator[](int r) { return d[r]; } };
struct Acc { int t = 0; Acc& operator<<(int x) { t = t * 10 + x; return *this; } Acc operator++(int) { Acc o = *this; t++; return o; } Acc& operator++() { t += 100; return *this; } explicit operator bool() const { return t > 50; } };
int main() {
  {
    D1 d; D2 e; B1& b = d;
    show(d.f(3) * 100 + d.f(2.5) * 10 + e.f(3)); //= 332
    show(e.f(2.5) * 10 + e.f('c')); //= 13
    show(b.f(1) * 1000 + d.g() * 10 + b.g()); //= 2145
    show(b.h() + d.h() * 100); //= 2010
  }
  {
    Join j;
    show(j.n * 100 + j.id()); Top& t = j; //~ 990
    show(t.id()); L& l = j; l.n = 4; //~ 90
    show(j.R::n * 10 + static_cast<R&>(j).r); R r; //~ 43
    show(r.n); //~ 6
    show(l.id()); //~ 40
  }
  {
    InCtor2 x;
    show(x.seen * 10 + x.what()); //= 12
    std::unique_ptr<Shape> s(new Circle); s->tag = 7; std::unique_ptr<Shape> c(s->clone());
    show(c->k() * 10 + c->tag); //= 27
  }
  {
    Q q{"a"}; q.get();
    show(q.s.size()); //= 2
    show(Q{"abc"}.get().size() * 10 + std::as_const(q).c()); //= 41
    show(q.c()); //= 2
    show(std::move(q).get().size()); //= 3
    IL i1(1, 2), i2{1, 2};
    show(i1.k * 100 + i2.k); //= 112
  }
  {
    Cnt a(1); Cnt b = a; Cnt c = std::move(b); Cnt d = make(4); Cnt e = pass(a); Cnt f = pass(Cnt(3));
    show(Cnt::made * 100 + Cnt::copied * 10 + Cnt::moved); //= 323
    show(b.v * 10 + c.v + d.v + e.v + f.v); //= -1
    std::vector<Cnt> v; v.reserve(4); v.push_back(a); v.push_back(Cnt(2)); v.emplace_back(3);
    show(Cnt::made * 100 + Cnt::copied * 10 + Cnt::moved); //= 534
    auto w = v; auto z = std::move(w);
    z.insert(z.begin(), Cnt(9));
    show(z[0].v * 10 + z[3].v); //= 93
  }
  {
    counter<int>(); counter<int>(); counter<float>();
    show(counter<int>() * 10 + counter<float>()); //= 32
    Pair p(2.5); Pair q(1, 2.5f);
    show(p.b * 10 + q.b * 2); //= 35
    show(Val<7>::value + Val<'a'>::value); //= 104
    show(sumAll(1, 2.5, 3) * 10 + count(1, "a", 'c')); //= 68
    show((int)Color::green + (int)Color::next + sizeof(Color)); Bits k{9, 9, 1u << 24}; //= 256
    show(k.a * 1000 + k.b + (int)(k.c >> 20)); k.a += 9; k.b--; //= 1009
    show(k.a * 10 + k.b); //= 12
    auto [x, y] = Custom{};
    show(x + y * 2); //= 9
  }
  {
    Matrix m; m(1, 2) = 9; m[0][1] = 8;
    show(m.d[1][2] * 10 + m.d[0][1]); int (*row)[3] = m.d; row++; //= 98
    show((*row)[0] + row[-1][2]); int* flat = &m.d[0][0]; //= 7
    show(flat[4] + *(flat + 5)); //= 14
    Acc a; a << 1 << 2 << 3; Acc o = a++; ++a;
    show(a.t * 1000 + o.t); //= 224123
    show(a ? 1 : 2); Acc z; //= 1
    show(!z); //= 1
  }
  {
    int i = 3; unsigned u = 5;
    show((i - u) > 0 ? 1 : 0); //= 1
    show(-7 / 2 * 100 + -7 % 3); //= -301
    show((char)200 + (unsigned char)200); //= 144
    show((short)70000 + (int)3.99 + (int)-3.99); //= 4464
    show((1 << 31) >> 31); //= -1
    show(0xffffffffu + 2); //= 1
    show(~0u >> 28); //= 15
    show(5u - 6u > 0); //= 1
    show((int8_t)(100 + 100)); //= -56
    show(1.0f / 3 * 3 == 1.0f); //= 1
    show((int)(0.1f + 0.2f == 0.3f) + 2 * (0.1 + 0.2 == 0.3)); //= 1
    show((uint64_t)-1 >> 60); //= 15
    show(sizeof('a') + sizeof(1L) + sizeof(1.f) + sizeof(+'a')); //= 17
    show((long long)1e18 % 1000007); //= 999664
    show('a' + 1); //= 98
    show(true + true); //= 2
    show(10 >> 1 << 2 & 5 | 8 ^ 3); //= 15
  }
  {
    int s = 0; for (int i = 0; i < 6; i++) { switch (i) { case 1: s += 1; case 2: s += 10; break; case 4: { if (s > 10) continue; } default: s += 100; } s *= 2; } show(s); //= 4056
    int n = 0; again: n++; if (n < 5) goto again;
    show(n); int k = 10; do { k -= 3; if (k == 4) continue; s++; } while (k > 0); //= 5
    show(k + s); int a = 1, b = 2; (a < b ? a : b) = 50; //= 4057
    show(a + b); a = (b++, b * 2); //= 52
    show(a); int arr[4] = {1, 2, 3, 4}; int* p = arr; *p++ += 5; //= 6
    show(*p * 10 + arr[0]); //= 26
    show(p[1] + *(p + 2) + (&arr[3] - p)); int idx = 1; arr[idx] = idx++; //= 9
    show(arr[1] * 10 + arr[2] + idx); //= 23
    bool t = false; if (t && (idx = 100)) {} show(idx); if (int q = idx * 2; q > 3) show(q); //= 2 4
  }
  {
    int base = 3; auto add = [base](int x) mutable { base += x; return base; };
    show(add(1) + add(2) + base); auto copy = add; //= 13
    show(copy(1) * 10 + add(1)); auto fact = [](auto self, int n) -> int { return n < 2 ? 1 : n * self(self, n - 1); }; //= 77
    show(fact(fact, 5)); std::function<int(int)> f = add; f(5); //= 120
    show(f(0)); int tot = 0; auto each = [&tot, k = std::vector<int>{1, 2, 3}](auto fn) { for (int x : k) tot += fn(x); }; each([](int x) { return x * x; }); //= 12
    show(tot); std::vector<std::function<int()>> fs; for (int i = 0; i < 3; i++) fs.push_back([i, &tot] { return tot += i; }); int r = 0; for (auto& g : fs) r = r * 100 + g(); //= 14
    show(r); //= 141517
    auto curry = [](int a) { return [a](int b) { return [a, b](int c) { return a * 100 + b * 10 + c; }; }; };
    show(curry(1)(2)(3)); int (*fp)(int) = [](int x) { return x + 7; }; //= 123
    show(fp(1)); auto bound = std::bind([](int a, int b) { return a - b; }, std::placeholders::_2, 10); //= 8
    show(bound(0, 15)); //= 5
  }
  {
    int c = 0; try { try { throw 5; } catch (int x) { c += x; throw; } } catch (...) { c *= 2; } show(c); auto safe = [](int a, int b) -> std::optional<int> { if (!b) return {}; return a / b; }; //= 10
    show(safe(8, 2).value_or(1) + safe(1, 0).value_or(100)); try { std::vector<int> v(2); v.at(5) = 1; } catch (const std::out_of_range&) { show(77); } try { show(std::stoi("12x") + std::stoi("0x1f", nullptr, 16)); std::stoi("zz"); } catch (const std::exception& e) { show(88); } //= 104 77 43 88
    float x = 1.5f; uint32_t bits; std::memcpy(&bits, &x, 4);
    show(bits >> 20); //= 1020
    show(std::bit_cast<int>(2.0f) >> 20); union U { float f; uint32_t u; } un; un.f = -0.0f; //= 1024
    show(un.u >> 31); uint8_t raw[4] = {1, 2, 3, 4}; uint32_t w; std::memcpy(&w, raw, 4); //= 1
    show(w % 1000); //= 985
    show(std::popcount(w) + std::countl_zero(w) * 100 + std::bit_width(w) * 10000 + std::rotl(w, 8) % 7); //= 270506
    std::string str = "kernel<float, 4>";
    show(str.find('<') * 10 + str.substr(7, 5).size()); str.replace(0, 6, "k"); //= 65
    show(str.size()); //= 11
    show(std::to_string(3.14159).size() * 100 + std::to_string(-42).size()); //= 803
    show(str.rfind(44) * 2 + (str.find("zz") == std::string::npos)); std::string num = "n" + std::to_string(17) + 'x'; num.insert(1, "--"); num.erase(2, 1); //= 15
    show(num.size() * 100 + num[2]); //= 549
    show(num < "n-2" ? 1 : 0); //= 1
    show(std::string(3, 'z').compare("zzy")); //= 1
    show(num.starts_with("n-") + 2 * num.ends_with("x")); //= 3
  }
  return 0;
}
