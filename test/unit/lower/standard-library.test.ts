/** The parts of the C++ standard library that device code uses; its headers are not read. */
import { check } from '../analysis/check-accesses';
import { equals, index } from './check-index';

describe('sequences of indices', () => {
  it('call a lambda once for each constant', () => {
    check(`
template <int I> struct Dir { static constexpr int id = I; };
template <class F, int... I> __device__ void eachOf(F&& f, std::integer_sequence<int, I...>) { (f(Dir<I>{}), ...); }
template <class F> __device__ void each(F&& f) { eachOf(f, std::make_integer_sequence<int, 4>{}); }
// warplens: block=32 grid=1
__global__ void k(const float* in, float* out) {
  float f[4];
  each([&](auto d) { f[d.id] = in[threadIdx.x * 4 + d.id]; });
//                             ^^^^^^^^^^^^^^^^^^^^^^^^^^ global load 16/4 sectors x4
  each([&](auto d) { out[d.id * 32 + threadIdx.x] = f[d.id]; });
//                   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^ global store 4/4 sectors x4
}`);
  });

  it('are deduced by templated lambdas and through aliases', () => {
    equals(
      'int s = 0; [&]<int... I>(std::integer_sequence<int, I...>) { ((s += I), ...); }(std::make_integer_sequence<int, 4>{});',
      's',
      6,
    );
    equals(
      '',
      'sum(std::make_index_sequence<4>{})',
      6,
      'template <size_t... I> __device__ int sum(std::index_sequence<I...>) { return (I + ...); }',
    );
    equals(
      '',
      'count<float, int, char>(std::index_sequence_for<float, int, char>{})',
      3,
      'template <class... T, size_t... I> __device__ int count(std::index_sequence<I...>) { return sizeof...(T) * sizeof...(I) / 3; }',
    );
    equals('', 'std::make_index_sequence<5>::size()', 5);
  });

  it('that cannot be deduced leave a reason, not nothing', () => {
    const report = check(`
template <class F, int... I> __device__ void each(F&& f, Unknown<I...>) { (f(I), ...); }
// warplens: block=32 grid=1
__global__ void k(int* out) {
  each([&](int i) { out[i] = 1; }, makeUnknown());
  out[threadIdx.x] = 1;
//^^^^^^^^^^^^^^^^ global store 4/4 sectors
}`);
    const reasons = report.kernels[0].skipped.map((s) => s.reason).join();
    if (!/pack/.test(reasons)) throw new Error(`reasons: ${reasons}`);
  });
});

describe('type traits', () => {
  it('choose types', () => {
    equals('', 'sizeof(std::conditional_t<true, short, double>)', 2);
    equals('', 'sizeof(typename std::conditional<false, short, double>::type)', 8);
    equals('', 'sizeof(std::remove_reference_t<short&>)', 2);
    equals('', 'sizeof(std::decay_t<const short&>)', 2);
    equals('', 'sizeof(std::remove_pointer_t<std::decay_t<short[4]>>)', 2);
    equals('', 'sizeof(std::make_unsigned_t<short>) + (std::make_unsigned_t<int>(-1) > 0)', 3);
    equals('', 'sizeof(std::common_type_t<short, double>)', 8);
    equals('', 'sizeof(std::underlying_type_t<E>)', 2, 'enum class E : short { a };');
    equals('', '(int)E::c + (int)E::b', 7, 'enum class E { a = 3, b, c = a };');
    equals('', 'sizeof(cuda::std::conditional_t<true, short, double>)', 2);
    equals('', 'sizeof(std::tuple_element_t<1, std::tuple<int, short>>)', 2);
  });

  it('answer questions', () => {
    const yes = (question: string, outside = '') => equals('', `${question} ? 3 : 1`, 3, outside);
    yes('std::is_same_v<std::remove_cv_t<const volatile int>, int>');
    yes('std::is_same<int, int>::value');
    yes('!std::is_same<int, const int>::value');
    yes('!std::is_same_v<int*, const int*>');
    yes('std::is_integral_v<unsigned char>');
    yes('!std::is_integral<float>::value');
    yes('std::is_floating_point_v<double>');
    yes('std::is_arithmetic_v<const int>');
    yes('std::is_pointer_v<float*>');
    yes('std::is_signed_v<int> && std::is_unsigned_v<unsigned>');
    yes('std::is_enum_v<E> && !std::is_class_v<E>', 'enum E { a };');
    yes('std::is_base_of_v<A, B> && !std::is_base_of_v<B, A>', 'struct A {}; struct B : A {};');
    yes('std::is_reference_v<int&> && std::is_const_v<const int>');
    yes('std::is_trivially_copyable_v<float4>');
    yes('std::conjunction_v<std::true_type, std::is_void<void>>');
    yes('std::negation_v<std::false_type>');
    yes('std::is_same_v<decltype(std::declval<float>() * 2), float>');
    const squares = 'struct Squares { __device__ unsigned long long operator()(int x) const { return x * x; } };';
    yes('std::is_same_v<decltype(std::declval<Squares>()(std::declval<int>())), unsigned long long>', squares);
    yes('std::is_same_v<decltype(std::declval<const Squares&>()(1)), unsigned long long>', squares);
    yes('cuda::std::is_same_v<int, int>');
    yes('std::bool_constant<4 == 4>{}');
    yes('std::integral_constant<int, 4>::value == 4');
  });

  it('rule functions out', () => {
    const overloads = `
template <class T, std::enable_if_t<std::is_integral_v<T>, int> = 0> __device__ int kind(T) { return 1; }
template <class T, std::enable_if_t<!std::is_integral_v<T>, int> = 0> __device__ int kind(T) { return 2; }
template <class T> __device__ std::enable_if_t<sizeof(T) == 4, int> size(T) { return 4; }
template <class T> __device__ std::enable_if_t<sizeof(T) == 8, int> size(T) { return 8; }
template <class T, class = std::enable_if_t<std::is_pointer<T>::value>> __device__ int form(T) { return 3; }
template <class T> __device__ typename std::enable_if<!std::is_pointer<T>::value, int>::type form(T) { return 5; }`;
    equals('', 'kind(1)', 1, overloads);
    equals('', 'kind(1.f)', 2, overloads);
    equals('', 'size(1.f)', 4, overloads);
    equals('', 'size(1.0)', 8, overloads);
    equals('', 'form(out)', 3, overloads);
    equals('', 'form(1)', 5, overloads);
  });

  it('choose between implementations', () => {
    const tags = `
__device__ int of(std::true_type) { return 2; }
__device__ int of(std::false_type) { return 5; }
template <class T> __device__ int tagged() { return of(std::is_integral<T>{}); }`;
    equals('', 'tagged<int>()', 2, tags);
    equals('', 'tagged<float>()', 5, tags);
    equals(
      '',
      'pick<int>() + pick<float>()',
      5,
      'template <class T> __device__ int pick() { if constexpr (std::is_same_v<T, int>) return 1; else return 4; }',
    );
  });
});

describe('containers of fixed size', () => {
  it('arrays', () => {
    equals('std::array<int, 3> a{1, 2, 3};', 'a[0] + a[2] + a.size()', 7);
    equals('cuda::std::array<int, 2> a = {1, 2};', 'a.front() + a.back()', 3);
    equals('std::array<int, 4> a; a.fill(2); int s = 0; for (int x : a) s += x;', 's', 8);
    equals('std::array<int, 3> a{1, 2, 3}; int s = 0; for (auto& x : a) x *= 2; for (auto x : a) s += x;', 's / 2', 6);
    equals('std::array a{1, 2, 3};', 'std::get<1>(a) + a.size()', 5);
    equals('std::array<std::array<int, 2>, 2> a{{{1, 2}, {3, 4}}};', 'a[1][1]', 4);
    equals('auto [x, y] = std::array<int, 2>{3, 1};', 'x * 2 + y', 7);
  });

  it('arrays of constants are known', () => {
    check(`
__constant__ std::array<int, 4> strides{1, 4, 2, 8};
// warplens: block=32 grid=1
__global__ void k(int* out) {
  out[threadIdx.x * strides[2]] = 1;
//^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ global store 8/4 sectors
}`);
  });

  it('pairs', () => {
    equals('std::pair<int, short> p{3, 2};', 'p.first + p.second', 5);
    equals('auto p = std::make_pair(3, 2);', 'std::get<0>(p) * std::get<1>(p)', 6);
    equals('auto [a, b] = std::make_pair(3, 2);', 'a + b', 5);
    equals('std::pair p(1, 2.0f);', 'p.first + (sizeof(p) == 8)', 2);
    equals('auto p = std::make_pair(3, 2); auto& [a, b] = p; a = 1;', 'p.first + b', 3);
  });

  it('tuples', () => {
    equals('std::tuple<int, float, short> t(1, 2.f, 4);', 'std::get<0>(t) + std::get<2>(t)', 5);
    equals('auto t = std::make_tuple(1, 2, 4);', 'std::get<1>(t) + std::get<2>(t)', 6);
    equals('auto t = std::make_tuple(1, 2, 4); std::get<1>(t) = 3;', 'std::get<1>(t)', 3);
    equals('auto [a, b, c] = std::make_tuple(1, 2, 4);', 'a + b + c', 7);
    equals('auto t = std::make_tuple(1, 2.f);', 'std::tuple_size_v<decltype(t)>', 2);
    equals('auto t = cuda::std::make_tuple(1, 4);', 'cuda::std::get<1>(t)', 4);
    equals('', 'sizeof(std::tuple<char, int>)', 8);
    equals('int a, b; std::tie(a, b) = std::make_pair(2, 3);', 'a + b', 5);
    equals('', 'std::apply([](int a, int b) { return a * b; }, std::make_tuple(2, 3))', 6);
    equals('auto f = [](auto... x) { return (x + ...); };', 'std::apply(f, std::tuple(1, 2, 3))', 6);
  });

  it('in memory have their layout', () => {
    check(`
// warplens: block=32 grid=1
__global__ void k(const std::array<float, 4>* in, std::pair<int, float>* out, cuda::std::tuple<char, int>* t) {
  float x = in[threadIdx.x][1];
//          ^^^^^^^^^^^^^^^^^^ global load 16/4 sectors 4 bytes
  out[threadIdx.x].second = x;
//^^^^^^^^^^^^^^^^^^^^^^^ global store 8/4 sectors 4 bytes
  cuda::std::get<1>(t[threadIdx.x]) = x;
//^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ global store 8/4 sectors 4 bytes
}`);
  });
});

describe('functions', () => {
  it('of utility and algorithm', () => {
    equals('int a = 1, b = 4; std::swap(a, b);', 'a * 2 - b', 7);
    equals('', 'std::max(2, 3) + std::min(4, 1)', 4);
    equals('', 'std::max({2, 7, 3}) - std::min({4, 3})', 4);
    equals('', 'std::clamp(9, 1, 4)', 4);
    equals('', 'std::abs(-3)', 3);
    equals('int a = 5; int b = std::exchange(a, 2);', 'a + b', 7);
    equals('', 'std::move(3) + std::forward<int>(2)', 5);
    equals('int a = 3;', 'std::as_const(a)', 3);
    equals('int a[3] = {1, 2, 3}; std::fill(a, a + 3, 2);', 'a[0] + a[2]', 4);
    equals('int a[3] = {1, 2, 3}; int s = 0; std::for_each(a, a + 3, [&](int x) { s += x; });', 's', 6);
    equals('int s = 0; for (int i : {1, 2, 4}) s += i;', 's', 7);
    equals('float x = 1.f;', '(std::bit_cast<int>(x) >> 23) - 124', 3);
    equals('', 'std::endian::native == std::endian::little ? 3 : 4', 3);
  });

  it('of functional', () => {
    equals('', 'std::plus<int>{}(1, 2) + std::multiplies<>{}(2, 2)', 7);
    equals(
      '',
      'fold(std::plus<>(), 1, 2, 4)',
      7,
      'template <class F> __device__ int fold(F f, int a, int b, int c) { return f(f(a, b), c); }',
    );
    equals('', 'std::less<int>{}(1, 2) + std::greater_equal<>{}(2, 2)', 2);
    equals('', 'std::invoke([](int x) { return 2 * x; }, 3)', 6);
    equals('', 'std::negate<int>{}(-4) + std::bit_and<>{}(7, 2)', 6);
    equals('', 'thrust::maximum<int>{}(3, 4)', 4);
  });

  it('of limits', () => {
    equals('', 'std::numeric_limits<unsigned char>::max() / 51', 5);
    equals('', 'std::numeric_limits<int>::digits / 8', 3);
    equals('int best = std::numeric_limits<int>::max(); best = min(best, 3);', 'best', 3);
    equals('float low = -cuda::std::numeric_limits<float>::infinity();', 'low < 0 ? 4 : 1', 4);
    equals(
      '',
      'std::numeric_limits<float>::is_signed + std::numeric_limits<T>::is_integer',
      2,
      'using T = unsigned long long;',
    );
  });

  it('swapping elements of memory happens at the elements', () => {
    check(`
// warplens: block=32 grid=1
__global__ void k(int* a) {
  __shared__ int s[64];
  std::swap(s[threadIdx.x * 2], s[threadIdx.x]);
//          ^^^^^^^^^^^^^^^^^^ shared load 2-way
//                              ^^^^^^^^^^^^^^ shared store 1-way
  a[threadIdx.x] = s[threadIdx.x];
}`);
  });
});

describe('constants as types', () => {
  it('are indices, operands and template arguments', () => {
    const four = 'std::integral_constant<int, 4> four;';
    equals(`${four} int a[5] = {0, 0, 0, 0, 3};`, 'a[four]', 3);
    equals(four, 'four - 1', 3);
    equals(four, 'Times<four>::two', 8, 'template <int N> struct Times { static constexpr int two = 2 * N; };');
  });

  it('number the calls of a lambda', () => {
    check(`
template <int N, class F> __device__ void unrolled(F&& f) {
  [&]<size_t... I>(std::index_sequence<I...>) { (f(std::integral_constant<int, I>{}), ...); }(std::make_index_sequence<N>{});
}
// warplens: block=32 grid=1
__global__ void k(const float* in, float* out) {
  float r[4];
  unrolled<4>([&](auto k) { r[k] = in[threadIdx.x * 4 + k]; });
//                                 ^^^^^^^^^^^^^^^^^^^^^^^ global load 16/4 sectors x4
  unrolled<4>([&](auto k) { out[k * 32 + threadIdx.x] = r[k]; });
//                          ^^^^^^^^^^^^^^^^^^^^^^^^^ global store 4/4 sectors x4
}`);
  });
});

describe('arguments of kernels', () => {
  it('an array of the host has its values', () => {
    check(`
template <int N> struct View { float* p; std::array<int, N> stride; };
__global__ void k(View<2> v) {
  v.p[threadIdx.x * v.stride[0]] = 1;
//^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ global store 8/4 sectors exact
}
void run(float* p) { k<<<1, 32>>>(View<2>{p, {2, 3}}); }`);
  });
});

describe('numbers and choices', () => {
  it('complex numbers', () => {
    equals('cuda::std::complex<int> a(1, 2), b(3, 1); auto c = a * b + 1;', 'c.real() + c.imag() - 2', 7);
    equals('', 'sizeof(std::complex<float>) - alignof(cuda::std::complex<float>) + alignof(std::complex<float>)', 4);
  });
  it('optional and variant', () => {
    equals('cuda::std::optional<int> a = 3, b; if (a) b = *a;', 'b.value() + a.value_or(1) - b.has_value()', 5);
    equals('std::variant<int, float> v = 3;', 'std::get<int>(v) + v.index()', 3);
    equals('std::variant<float, int> v = 3;', 'std::get<1>(v) + v.index()', 4);
  });
  it('mdspan', () => {
    check(`
namespace cs = cuda::std;
// warplens: block=32 grid=1
__global__ void k(float* a, int n) {
  cs::mdspan<float, cs::extents<int, 64, 4>> rows(a);
  rows(threadIdx.x, 1) = 1;
//^^^^^^^^^^^^^^^^^^^^ global store 16/4 sectors exact
  cs::mdspan<float, cs::dextents<int, 2>, cs::layout_left> columns(a, 64, 8);
  columns(threadIdx.x, 2) = 1;
//^^^^^^^^^^^^^^^^^^^^^^^ global store 4/4 sectors exact
}`);
  });
});

describe('spans and views', () => {
  it('span', () => {
    check(`
// warplens: block=32 grid=1
__global__ void k(cuda::std::span<float> a) {
  a[threadIdx.x * 2] = 1;
//^^^^^^^^^^^^^^^^^^ global store 8/4 sectors
}`);
  });
});

describe('names around the library', () => {
  it('using-directives and aliases lead to it', () => {
    equals('using namespace std; array<int, 2> a{1, 2};', 'a[1]', 2);
    equals('namespace c = cuda::std; c::array<int, 2> a{1, 2};', 'a[1]', 2);
    index('std::uint32_t i = threadIdx.x; std::size_t j = i;', 'j * 2', 2);
  });

  it('a namespace std of the user adds to it', () => {
    equals('', 'std::mine + std::is_same_v<int, int>', 3, 'namespace std { constexpr int mine = 2; }');
  });
});

describe('aligned storage', () => {
  it('is copied at once, as wide as it is aligned', () =>
    check(`
template <typename T, int N> using Packed = typename std::aligned_storage<N * sizeof(T), N * sizeof(T)>::type;
template <typename T, int N> union Pack { __device__ Pack() {} Packed<T, N> storage; T elements[N]; };
__global__ void scale(const float* in, float* out, float f) {
  Pack<float, 4> pack;
  pack.storage = *(reinterpret_cast<const Packed<float, 4>*>(in) + threadIdx.x);
//               ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ global load 16/16 sectors 16 bytes
  for (int i = 0; i < 4; ++i) pack.elements[i] *= f;
  *(reinterpret_cast<Packed<float, 4>*>(out) + threadIdx.x) = pack.storage;
//^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ global store 16/16 sectors 16 bytes
}
int main() { float *i, *o; scale<<<1, 32>>>(i, o, 2); }`));
});
