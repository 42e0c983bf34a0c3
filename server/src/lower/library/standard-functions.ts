/** Functions and function objects of the standard library. */
const operators: Readonly<Record<string, string>> = {
  plus: '+',
  minus: '-',
  multiplies: '*',
  divides: '/',
  modulus: '%',
  bit_and: '&',
  bit_or: '|',
  bit_xor: '^',
};
const comparisons: Readonly<Record<string, string>> = {
  equal_to: '==',
  not_equal_to: '!=',
  less: '<',
  greater: '>',
  less_equal: '<=',
  greater_equal: '>=',
  logical_and: '&&',
  logical_or: '||',
};

const functor = (name: string, result: string, expression: string): string => `
template <class T = void> struct ${name} { constexpr ${result} operator()(const T& a, const T& b) const { return ${expression}; } };
template <> struct ${name}<void> { template <class A, class B> constexpr auto operator()(const A& a, const B& b) const { return ${expression}; } };`;

const unaryFunctor = (name: string, result: string, expression: string): string => `
template <class T = void> struct ${name} { constexpr ${result} operator()(const T& a) const { return ${expression}; } };
template <> struct ${name}<void> { template <class A> constexpr auto operator()(const A& a) const { return ${expression}; } };`;

export const functors = `
${Object.entries(operators)
  .map(([name, op]) => functor(name, 'T', `a ${op} b`))
  .join('')}
${Object.entries(comparisons)
  .map(([name, op]) => functor(name, 'bool', `a ${op} b`))
  .join('')}
${unaryFunctor('negate', 'T', '-a')}
${unaryFunctor('bit_not', 'T', '~a')}
${unaryFunctor('logical_not', 'bool', '!a')}
struct identity { template <class T> constexpr T&& operator()(T&& x) const { return x; } };
template <class F, class... A> constexpr auto invoke(F&& f, A&&... a) { return f(a...); }
`;

/** Of libcu++ and Thrust. */
export const extrema = `
${functor('maximum', 'T', 'a < b ? b : a')}
${functor('minimum', 'T', 'b < a ? b : a')}
`;

/** Over pointers; by index, so that those into registers stay known. */
export const indexAlgorithms = `template <class I, class N, class T> constexpr I fill_n(I first, N n, const T& x) { for (N i = 0; i < n; ++i) first[i] = x; return first + n; }
template <class I, class T> constexpr void fill(I first, I last, const T& x) { fill_n(first, last - first, x); }
template <class I, class N, class O> constexpr O copy_n(I first, N n, O to) { for (N i = 0; i < n; ++i) to[i] = first[i]; return to + n; }
template <class I, class O> constexpr O copy(I first, I last, O to) { return copy_n(first, last - first, to); }
template <class I, class F> constexpr F for_each(I first, I last, F f) { for (ptrdiff_t i = 0; i < last - first; ++i) f(first[i]); return f; }
template <class I, class O, class F> constexpr O transform(I first, I last, O to, F f) { for (ptrdiff_t i = 0; i < last - first; ++i) to[i] = f(first[i]); return to + (last - first); }
template <class I, class J, class O, class F> constexpr O transform(I first, I last, J other, O to, F f) { for (ptrdiff_t i = 0; i < last - first; ++i) to[i] = f(first[i], other[i]); return to + (last - first); }
template <class I, class T> constexpr T accumulate(I first, I last, T sum) { for (ptrdiff_t i = 0; i < last - first; ++i) sum = sum + first[i]; return sum; }
template <class I, class T, class F> constexpr T accumulate(I first, I last, T sum, F f) { for (ptrdiff_t i = 0; i < last - first; ++i) sum = f(sum, first[i]); return sum; }
template <class I, class J, class T> constexpr T inner_product(I first, I last, J other, T sum) { for (ptrdiff_t i = 0; i < last - first; ++i) sum = sum + first[i] * other[i]; return sum; }
template <class I, class T> constexpr void iota(I first, I last, T x) { for (ptrdiff_t i = 0; i < last - first; ++i) first[i] = x + i; }
`;

export const algorithms = `
template <class T> constexpr void swap(T& a, T& b) { T t = move(a); a = move(b); b = move(t); }
template <class T, class U = T> constexpr T exchange(T& x, U&& y) { T old = move(x); x = forward<U>(y); return old; }
template <class To, class From> constexpr To bit_cast(const From& x) { From bits = x; return *reinterpret_cast<To*>(&bits); }
template <class T> constexpr T clamp(const T& x, const T& low, const T& high) { return x < low ? low : high < x ? high : x; }
${indexAlgorithms}template <class T> constexpr int popcount(T x) { if constexpr (sizeof(T) == 8) return __popcll(x); else return __popc(x); }
template <class T> constexpr int countl_zero(T x) { if constexpr (sizeof(T) == 8) return __clzll(x); else return __clz(x) - (32 - 8 * (int)sizeof(T)); }
template <class T> constexpr int countr_zero(T x) { return x == 0 ? 8 * (int)sizeof(T) : sizeof(T) == 8 ? __ffsll(x) - 1 : __ffs(x) - 1; }
template <class T> constexpr T rotl(T x, int n) { return (n & (8 * sizeof(T) - 1)) == 0 ? x : T(x << (n & (8 * sizeof(T) - 1))) | T(x >> (-n & (8 * sizeof(T) - 1))); }
template <class T> constexpr T rotr(T x, int n) { return rotl(x, -n); }
template <class T> constexpr int bit_width(T x) { return 8 * sizeof(T) - countl_zero(x); }
template <class T> constexpr bool has_single_bit(T x) { return x != 0 && (x & (x - 1)) == 0; }
template <class T> constexpr T bit_ceil(T x) { return x <= 1 ? T(1) : T(T(1) << bit_width(T(x - 1))); }
template <class T> constexpr T bit_floor(T x) { return x == 0 ? T(0) : T(T(1) << (bit_width(x) - 1)); }
enum class endian { little, big, native = little };
`;

/** The same in programs of the host, over iterators of any kind. */
export const iteratorAlgorithms = `
template <class I, class O> O copy(I a, I b, O to) { for (; a != b; ++a, ++to) *to = *a; return to; }
template <class I, class N, class O> O copy_n(I a, N n, O to) { for (N i = 0; i < n; ++i, ++a, ++to) *to = *a; return to; }
template <class I, class N, class T> I fill_n(I a, N n, const T& x) { for (N i = 0; i < n; ++i, ++a) *a = x; return a; }
template <class I, class T> void fill(I a, I b, const T& x) { for (; a != b; ++a) *a = x; }
template <class I, class F> F for_each(I a, I b, F f) { for (; a != b; ++a) f(*a); return f; }
template <class I, class O, class F> O transform(I a, I b, O to, F f) { for (; a != b; ++a, ++to) *to = f(*a); return to; }
template <class I, class J, class O, class F> O transform(I a, I b, J other, O to, F f) { for (; a != b; ++a, ++other, ++to) *to = f(*a, *other); return to; }
template <class I, class T> T accumulate(I a, I b, T sum) { for (; a != b; ++a) sum = sum + *a; return sum; }
template <class I, class T, class F> T accumulate(I a, I b, T sum, F f) { for (; a != b; ++a) sum = f(sum, *a); return sum; }
template <class I, class J, class T> T inner_product(I a, I b, J other, T sum) { for (; a != b; ++a, ++other) sum = sum + *a * *other; return sum; }
template <class I, class J, class T, class F, class G> T inner_product(I a, I b, J other, T sum, F join, G of) { for (; a != b; ++a, ++other) sum = join(sum, of(*a, *other)); return sum; }
template <class I, class T> void iota(I a, I b, T x) { for (; a != b; ++a) { *a = x; ++x; } }
template <class F> F mem_fn(F f) { return f; }
template <class T> const T& as_const(T& x) { return x; }
`;
