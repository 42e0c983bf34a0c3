/** Constraints choose among overloads: concepts, requires-clauses, constrained parameters, detection by substitution. */
#include <array>
#include <concepts>
#include <map>
#include <string>
#include <type_traits>
#include <vector>
template <class T> requires std::is_floating_point_v<T> int kind(T) { return 1; }
template <class T> requires std::is_integral_v<T> int kind(T) { return 2; }
template <std::integral T> int named(T) { return 1; }
template <std::floating_point T> int named(T) { return 2; }
int sign(std::integral auto) { return 1; }
int sign(std::floating_point auto) { return 2; }
template <class T> int trailing(T) requires (sizeof(T) == 8) { return 8; }
template <class T> int trailing(T) requires (sizeof(T) < 8) { return 4; }
template <class T> concept Sized = requires(const T& t) { t.size(); };
template <class T> concept Keyed = Sized<T> && requires { typename T::mapped_type; };
template <Sized T> int shape(const T&) { return 1; }
template <Keyed T> int shape(const T&) { return 2; }
template <class T> int shape(const T&) { return 3; }
template <class T> int general(T) { return 1; }
template <class T> requires std::is_arithmetic_v<T> int general(T) { return 2; }
struct Circle { double radius; double area() const { return 3 * radius * radius; } };
struct Square { double side; int corners() const { return 4; } };
struct Ring { Circle inner, outer; float area() const { return outer.area() - inner.area(); } };
template <class T> concept HasArea = requires(T t) { { t.area() } -> std::convertible_to<double>; };
template <class T> concept HasExactArea = requires(T t) { { t.area() } -> std::same_as<double>; };
template <class T> concept HasCorners = requires(T t) { t.corners(); requires sizeof(T) == 8; };
template <class T> double measure(const T& t) { if constexpr (HasArea<T>) return t.area(); else if constexpr (HasCorners<T>) return t.corners(); else return -1; }
template <class T> concept Addable = requires(T a, T b) { a + b; };
template <class T> concept Hashable = requires(T a) { { a.hash() } -> std::integral; } || std::integral<T>;
struct Key { int v; unsigned hash() const { return v * 31u; } };
template <Hashable T> unsigned hashOf(const T& t) { if constexpr (std::integral<T>) return unsigned(t); else return t.hash(); }
template <class T> unsigned hashOf(const T&) { return 7; }
template <class T, class = void> struct HasSize : std::false_type {};
template <class T> struct HasSize<T, std::void_t<decltype(std::declval<const T&>().size())>> : std::true_type {};
template <class T> auto count(const T& t, int) -> decltype(t.size(), 0) { return 10; }
template <class T> int count(const T&, long) { return 20; }
template <class T, std::enable_if_t<std::is_integral_v<T>, int> = 0> int family(T) { return 1; }
template <class T, std::enable_if_t<!std::is_integral_v<T>, int> = 0> int family(T) { return 2; }
template <class T> struct Store { int of() const { return 0; } };
template <std::integral T> struct Store<T> { int of() const { return 1; } };
template <class T> requires std::is_pointer_v<T> struct Store<T> { int of() const { return 2; } };
template <class T> struct Box { T value; int width() const requires std::integral<T> { return 4; } int width() const { return 9; } };
template <class A, class B> concept Same = std::is_same_v<A, B> && std::is_same_v<B, A>;
template <class T> int two(T, Same<int> auto) { return 1; }
template <class T> int two(T, auto) { return 2; }
template <int N> requires (N > 4) int size() { return N * 10; }
template <int N> requires (N <= 4) int size() { return N; }
template <class I> concept Stepping = requires(I i) { ++i; { *i }; i == i; };
template <class I> concept Jumping = Stepping<I> && requires(I i, int n) { i + n; i - i; };
template <Stepping I> int reach(I) { return 1; }
template <Jumping I> int reach(I) { return 2; }
struct Chain { int at; Chain& operator++() { at++; return *this; } int operator*() const { return at; } bool operator==(const Chain&) const = default; };
template <class T, class F> requires std::invocable<F, T> int apply(T x, F f) { return f(x); }
template <class T, class F> int apply(T x, F) { return -x; }
template <std::semiregular T> int open(T) { return 1; }
template <class T> int open(T) { return 2; }
template <class T> int only(T) requires std::copyable<T> { return 3; }
int main() {
  show(kind(1.0f) * 10 + kind(3)); //= 12
  show(named(7u) * 10 + named(1.5)); //= 12
  show(sign(2) * 10 + sign(2.0)); //= 12
  show(trailing(1.0) * 10 + trailing('c')); //= 84
  std::vector<int> v(3);
  std::map<int, int> m;
  show(shape(v) * 100 + shape(m) * 10 + shape(5)); //= 123
  show(general(5) * 10 + general(v)); //= 21
  show(measure(Circle{2}) * 100 + measure(Square{1}) * 10 + measure(3)); //= 1239
  show(HasArea<Ring> * 100 + HasExactArea<Ring> * 10 + HasExactArea<Circle>); //= 101
  show(Addable<int> * 100 + Addable<Circle> * 10 + Addable<std::string>); //= 101
  show(hashOf(Key{3}) + hashOf(5) + hashOf(2.5)); //= 105
  show(HasSize<std::vector<int>>::value * 100 + HasSize<int>::value * 10 + HasSize<Circle>::value); //= 100
  show(count(v, 0) + count(3, 0)); //= 30
  show(family(3) * 10 + family(2.f)); //= 12
  show(Store<double>{}.of() * 100 + Store<char>{}.of() * 10 + Store<int*>{}.of()); //= 12
  show(Box<int>{1}.width() * 10 + Box<float>{2}.width()); //= 49
  show(two(1, 2) * 10 + two(1, 2.0)); //= 12
  show(size<8>() + size<3>()); //= 83
  show(reach(Chain{1}) * 100 + reach(v.begin()) * 10 + reach(&v[0])); //= 122
  show(apply(4, [](int x) { return x * x; }) + apply(4, Circle{1})); //= 12
  auto twice = []<class T>(T x) requires std::integral<T> { return x * 2; };
  show(twice(21)); //= 42
  auto pick = [](auto x) { if constexpr (requires { x.size(); }) return (int)x.size(); else return -1; };
  show(pick(v) * 10 + pick(3)); //= 29
  // a concept that is not followed
  show(open(1)); //~ 1
  show(only(1)); //= 3
  return 0;
}
