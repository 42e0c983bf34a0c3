/** What kernels use of the C++ standard library, in namespaces std and cuda::std. */
const limits: readonly (readonly [type: string, lowest: string, max: string, min?: string])[] = [
  ['bool', '0', '1'],
  ['char', '-128', '127'],
  ['signed char', '-128', '127'],
  ['unsigned char', '0', '255'],
  ['short', '-32768', '32767'],
  ['unsigned short', '0', '65535'],
  ['int', '-2147483647 - 1', '2147483647'],
  ['unsigned int', '0', '4294967295u'],
  ['long', '__warplens_unknown<long>()', '__warplens_unknown<long>()'],
  ['unsigned long', '0', '__warplens_unknown<unsigned long>()'],
  ['long long', '__warplens_unknown<long long>()', '__warplens_unknown<long long>()'],
  ['unsigned long long', '0', '__warplens_unknown<unsigned long long>()'],
  ['float', '-3.402823466e+38f', '3.402823466e+38f', '1.175494351e-38f'],
  ['double', '-1.7976931348623158e+308', '1.7976931348623158e+308', '2.2250738585072014e-308'],
];

const limitsOf = ([type, lowest, max, min]: (typeof limits)[number]): string => `
template <> struct numeric_limits<${type}> {
  static constexpr bool is_specialized = true;
  static constexpr bool is_signed = ${!/unsigned|bool/.test(type)};
  static constexpr bool is_integer = ${min === undefined};
  static constexpr int digits = sizeof(${type}) * 8 - ${/unsigned/.test(type) ? 0 : 1};
  static constexpr ${type} max() { return ${max}; }
  static constexpr ${type} min() { return ${min ?? lowest}; }
  static constexpr ${type} lowest() { return ${lowest}; }
  static constexpr ${type} infinity() { return ${min === undefined ? '0' : `(${type})1e39`}; }
  static constexpr ${type} quiet_NaN() { return ${min === undefined ? '0' : `__warplens_unknown<${type}>()`}; }
  static constexpr ${type} epsilon() { return ${min === undefined ? '0' : type === 'float' ? '1.19209290e-7f' : '2.2204460492503131e-16'}; }
};`;

const functors: Readonly<Record<string, string>> = {
  plus: '+',
  minus: '-',
  multiplies: '*',
  divides: '/',
  modulus: '%',
  bit_and: '&',
  bit_or: '|',
  bit_xor: '^',
  equal_to: '==',
  not_equal_to: '!=',
  less: '<',
  greater: '>',
  less_equal: '<=',
  greater_equal: '>=',
  logical_and: '&&',
  logical_or: '||',
};
export const standard = `
namespace __warplens_std {
template <class T> struct numeric_limits {};
${limits.map(limitsOf).join('')}
template <> struct numeric_limits<__half> { static constexpr __half max() { return (__half)65504.0f; } static constexpr __half lowest() { return (__half)-65504.0f; } static constexpr __half infinity() { return (__half)1e6f; } };
template <class T, size_t N> struct array {
  using value_type = T;
  T elements[N];
  __host__ __device__ T& operator[](size_t i) { return elements[i]; }
  __host__ __device__ const T& operator[](size_t i) const { return elements[i]; }
  __host__ __device__ T& at(size_t i) { return elements[i]; }
  __host__ __device__ T& front() { return elements[0]; }
  __host__ __device__ T& back() { return elements[N - 1]; }
  __host__ __device__ T* data() { return elements; }
  __host__ __device__ T* begin() { return elements; }
  __host__ __device__ T* end() { return elements + N; }
  __host__ __device__ constexpr size_t size() const { return N; }
  __host__ __device__ constexpr bool empty() const { return N == 0; }
  __host__ __device__ void fill(const T& x) { for (size_t i = 0; i < N; i++) elements[i] = x; }
};
template <class A, class B> struct pair {
  A first;
  B second;
};
template <class A, class B> __host__ __device__ pair<A, B> make_pair(A a, B b) { pair<A, B> p; p.first = a; p.second = b; return p; }
${Object.entries(functors)
  .map(
    ([name, op]) =>
      `template <class T = void> struct ${name} { template <class A, class B> __host__ __device__ constexpr auto operator()(const A& a, const B& b) const { return a ${op} b; } };`,
  )
  .join('\n')}
template <class T, T V> struct integral_constant {
  static constexpr T value = V;
  using value_type = T;
  using type = integral_constant;
  __host__ __device__ constexpr operator T() const { return V; }
  __host__ __device__ constexpr T operator()() const { return V; }
};
template <bool B> using bool_constant = integral_constant<bool, B>;
using true_type = integral_constant<bool, true>;
using false_type = integral_constant<bool, false>;
template <class T, T... I> struct integer_sequence { static constexpr size_t size() { return sizeof...(I); } };
template <size_t... I> using index_sequence = integer_sequence<size_t, I...>;
template <bool C, class A, class B> struct conditional { using type = A; };
template <class A, class B> struct conditional<false, A, B> { using type = B; };
template <bool C, class T = void> struct enable_if { using type = T; };
template <bool C, class T = void> using enable_if_t = T;
template <class T> struct remove_const { using type = T; };
template <class T> struct remove_const<const T> { using type = T; };
template <class T> struct remove_cv { using type = T; };
template <class T> struct remove_cv<const T> { using type = T; };
template <class T> struct remove_reference { using type = T; };
template <class T> struct remove_reference<T&> { using type = T; };
template <class T> struct remove_pointer { using type = T; };
template <class T> struct remove_pointer<T*> { using type = T; };
template <class T> struct is_pointer : false_type {};
template <class T> struct is_pointer<T*> : true_type {};
template <class T> inline constexpr bool is_pointer_v = is_pointer<T>::value;
template <class T> struct type_identity { using type = T; };
template <class T> struct make_unsigned { using type = T; };
template <> struct make_unsigned<int> { using type = unsigned int; };
template <> struct make_unsigned<short> { using type = unsigned short; };
template <> struct make_unsigned<char> { using type = unsigned char; };
template <> struct make_unsigned<signed char> { using type = unsigned char; };
template <> struct make_unsigned<long> { using type = unsigned long; };
template <> struct make_unsigned<long long> { using type = unsigned long long; };
template <class T> using make_unsigned_t = typename make_unsigned<T>::type;
template <class T> using underlying_type_t = int;
}
namespace std { using namespace __warplens_std; }
namespace cuda { namespace std { using namespace __warplens_std; } }
`;
