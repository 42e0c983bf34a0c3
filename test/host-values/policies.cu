/** Templates with policies, traits, tags, recursion at compile time. */
#include <array>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>
template <int Threads, int Items> struct Policy { static constexpr int threads = Threads, items = Items, tile = Threads * Items; };
template <class T> struct DefaultPolicy : Policy<256, (sizeof(T) >= 8 ? 4 : 8)> {};
template <> struct DefaultPolicy<char> : Policy<128, 16> { static constexpr bool vector = true; };
struct Sum { template <class T> static T identity() { return T(0); } template <class T> T operator()(T a, T b) const { return a + b; } };
struct Max { template <class T> static T identity() { return T(-1000); } template <class T> T operator()(T a, T b) const { return a < b ? b : a; } };
template <class T, class Op = Sum, class P = DefaultPolicy<T>> struct Reducer {
  Op op;
  T reduce(const std::vector<T>& v) const { T r = Op::template identity<T>(); for (auto& x : v) r = op(r, x); return r; }
  static int blocks(int n) { return (n + P::tile - 1) / P::tile; }
};
template <int N> struct Factorial { enum { value = N * Factorial<N - 1>::value }; };
template <> struct Factorial<0> { enum { value = 1 }; };
template <class... T> constexpr size_t bytes() { return (sizeof(T) + ... + 0); }
template <class T, class... R> int count(T first, R... rest) { if constexpr (sizeof...(rest) == 0) return first; else return first * 10 + count(rest...); }
template <class T> std::enable_if_t<std::is_floating_point_v<T>, int> kind(T) { return 1; }
template <class T> std::enable_if_t<std::is_integral_v<T>, int> kind(T) { return 2; }
template <class T> concept Sized = requires(T t) { t.size(); };
template <Sized T> int length(const T& t) { return t.size(); }
template <class T> int length(const T&) { return -1; }
constexpr std::array<int, 10> squares() { std::array<int, 10> a{}; for (int i = 0; i < 10; i++) a[i] = i * i; return a; }
constexpr auto table = squares();
template <size_t... I> constexpr int sumOf(std::index_sequence<I...>) { return (table[I] + ...); }
template <class D> struct Base { int twice() { return static_cast<D*>(this)->once() * 2; } };
struct Derived : Base<Derived> { int once() { return 21; } };
template <template <class...> class C, class T> C<T> filled(T x, int n) { return C<T>(n, x); }
int main() {
  show(DefaultPolicy<double>::tile); //= 1024
  show(Reducer<float>::blocks(10000)); //= 5
  show((Reducer<char, Max>::blocks(10000))); //= 5
  show(Reducer<int>{}.reduce({1, 2, 3})); //= 6
  show((Reducer<int, Max>().reduce({4, 9, 2}))); //= 9
  show(Factorial<7>::value); //= 5040
  show((bytes<int, double, char>())); //= 13
  show(count(1, 2, 3, 4)); //= 64
  show(kind(1.0f) * 10 + kind('a')); //= 12
  show(length(std::vector<int>(6)) * 10 + length(5)); //= 59
  show(sumOf(std::make_index_sequence<5>{})); //= 30
  show(Derived().twice()); //= 42
  show(filled<std::vector>(3, 4).size()); //= 4
  auto t = std::make_tuple(1, 2.5, 'c');
  show(std::get<0>(t) + std::get<double>(t) * 2 + std::tuple_size_v<decltype(t)>); //= 9
  std::apply([](auto... x) { show(sizeof...(x) + sizeof(std::common_type_t<decltype(x)...>)); }, t); //= 11
  static_assert(table[3] == 9);
  show((std::is_same_v<std::decay_t<const int&>, int>) + 2 * std::is_pointer<int*>::value); //= 3
  return 0;
}
