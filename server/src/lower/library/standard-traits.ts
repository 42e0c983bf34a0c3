/** Type traits and sequences of the standard library. What the language cannot say comes from functions in `builtins/type-questions.ts`. */

/** Questions about one type that are answered by a function of the compiler's. */
const questions: readonly string[] = [
  'integral',
  'floating_point',
  'signed',
  'unsigned',
  'enum',
  'class',
  'union',
  'empty',
  'trivially_copyable',
];

const question = (name: string): string => `
template <class T> struct is_${name} : bool_constant<__is_${name}(T)> {};
template <class T> inline constexpr bool is_${name}_v = __is_${name}(T);`;

/** Questions that specialisations answer: what the type looks like. */
const shapes: Readonly<Record<string, string>> = {
  void: '<void>',
  pointer: '<T*>',
  reference: '<T&>',
  lvalue_reference: '<T&>',
  const: '<const T>',
  volatile: '<volatile T>',
};

const shape = ([name, pattern]: readonly [string, string]): string => `
template <class T> struct is_${name} : false_type {};
template <${pattern.includes('T') ? 'class T' : ''}> struct is_${name}${pattern} : true_type {};
template <class T> inline constexpr bool is_${name}_v = is_${name}<T>::value;`;

/** A change of a type: the struct's members and its alias. */
const changes: Readonly<Record<string, string>> = {
  remove_const: `template <class T> struct remove_const { using type = T; }; template <class T> struct remove_const<const T> { using type = T; };`,
  remove_volatile: `template <class T> struct remove_volatile { using type = T; }; template <class T> struct remove_volatile<volatile T> { using type = T; };`,
  remove_cv: `template <class T> struct remove_cv { using type = typename remove_const<typename remove_volatile<T>::type>::type; };`,
  remove_reference: `template <class T> struct remove_reference { using type = T; }; template <class T> struct remove_reference<T&> { using type = T; };`,
  remove_cvref: `template <class T> struct remove_cvref { using type = typename remove_cv<typename remove_reference<T>::type>::type; };`,
  remove_pointer: `template <class T> struct remove_pointer { using type = T; }; template <class T> struct remove_pointer<T*> { using type = T; };`,
  remove_extent: `template <class T> struct remove_extent { using type = T; }; template <class T, size_t N> struct remove_extent<T[N]> { using type = T; };`,
  add_const: `template <class T> struct add_const { using type = const T; };`,
  add_pointer: `template <class T> struct add_pointer { using type = T*; };`,
  add_lvalue_reference: `template <class T> struct add_lvalue_reference { using type = T&; };`,
  type_identity: `template <class T> struct type_identity { using type = T; };`,
  make_signed: `template <class T> struct make_signed { using type = decltype(__make_signed(T)); };`,
  make_unsigned: `template <class T> struct make_unsigned { using type = decltype(__make_unsigned(T)); };`,
  underlying_type: `template <class T> struct underlying_type { using type = decltype(__underlying_type(T)); };`,
  decay: `
template <class T> struct __decayed { using type = typename remove_cv<T>::type; };
template <class T, size_t N> struct __decayed<T[N]> { using type = T*; };
template <class T> struct decay { using type = typename __decayed<typename remove_reference<T>::type>::type; };`,
};

const change = ([name, text]: readonly [string, string]): string =>
  `${text}\ntemplate <class T> using ${name}_t = typename ${name}<T>::type;`;

export const traits = `
template <class T, T V> struct integral_constant {
  static constexpr T value = V;
  using value_type = T;
  using type = integral_constant;
  constexpr operator T() const { return V; }
  constexpr T operator()() const { return V; }
};
template <bool B> using bool_constant = integral_constant<bool, B>;
using true_type = integral_constant<bool, true>;
using false_type = integral_constant<bool, false>;

template <class T, T... I> struct integer_sequence {
  using value_type = T;
  static constexpr size_t size() { return sizeof...(I); }
};
template <size_t... I> using index_sequence = integer_sequence<size_t, I...>;
template <class T, T N> using make_integer_sequence = integer_sequence<T, __integer_pack(N)...>;
template <size_t N> using make_index_sequence = integer_sequence<size_t, __integer_pack(N)...>;
template <class... T> using index_sequence_for = make_index_sequence<sizeof...(T)>;

template <bool C, class A, class B> struct conditional { using type = A; };
template <class A, class B> struct conditional<false, A, B> { using type = B; };
template <bool C, class A, class B> using conditional_t = typename conditional<C, A, B>::type;
template <bool C, class T = void> struct enable_if {};
template <class T> struct enable_if<true, T> { using type = T; };
template <bool C, class T = void> using enable_if_t = typename enable_if<C, T>::type;
template <class...> using void_t = void;

template <size_t N, size_t A = 16> struct aligned_storage { struct alignas(A) type { unsigned char data[N]; }; };
template <size_t N, size_t A = 16> using aligned_storage_t = typename aligned_storage<N, A>::type;

template <class A, class B> struct is_same : false_type {};
template <class A> struct is_same<A, A> : true_type {};
template <class A, class B> inline constexpr bool is_same_v = is_same<A, B>::value;
${questions.map(question).join('')}
${Object.entries(shapes).map(shape).join('')}
${Object.entries(changes).map(change).join('\n')}
template <class T> struct is_arithmetic : bool_constant<is_integral_v<T> || is_floating_point_v<T>> {};
template <class T> inline constexpr bool is_arithmetic_v = is_arithmetic<T>::value;
template <class T> struct is_array : false_type {};
template <class T, size_t N> struct is_array<T[N]> : true_type {};
template <class T> inline constexpr bool is_array_v = is_array<T>::value;
template <class A, class B> struct is_base_of : bool_constant<__is_base_of(A, B)> {};
template <class A, class B> inline constexpr bool is_base_of_v = __is_base_of(A, B);
template <class A, class B> struct is_convertible : bool_constant<__is_convertible(A, B)> {};
template <class A, class B> inline constexpr bool is_convertible_v = __is_convertible(A, B);
template <class T> struct extent : integral_constant<size_t, 0> {};
template <class T, size_t N> struct extent<T[N]> : integral_constant<size_t, N> {};
template <class T> inline constexpr size_t extent_v = extent<T>::value;
template <class T> struct alignment_of : integral_constant<size_t, alignof(T)> {};
template <class T> inline constexpr size_t alignment_of_v = alignof(T);

template <class... B> struct conjunction : bool_constant<(bool(B::value) && ...)> {};
template <class... B> inline constexpr bool conjunction_v = conjunction<B...>::value;
template <class... B> struct disjunction : bool_constant<(bool(B::value) || ...)> {};
template <class... B> inline constexpr bool disjunction_v = disjunction<B...>::value;
template <class B> struct negation : bool_constant<!bool(B::value)> {};
template <class B> inline constexpr bool negation_v = negation<B>::value;

template <class... T> struct common_type;
template <class A> struct common_type<A> { using type = typename decay<A>::type; };
template <class A, class B> struct common_type<A, B> { using type = decltype(__common_type(A, B)); };
template <class A, class B, class C, class... R> struct common_type<A, B, C, R...> {
  using type = typename common_type<typename common_type<A, B>::type, C, R...>::type;
};
template <class... T> using common_type_t = typename common_type<T...>::type;
template <class F, class... A> struct invoke_result { using type = decltype(declval<F>()(declval<A>()...)); };
template <class F, class... A> using invoke_result_t = typename invoke_result<F, A...>::type;
`;
