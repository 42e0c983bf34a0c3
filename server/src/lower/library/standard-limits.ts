/** std::numeric_limits. */
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

function limitsOf([type, lowest, max, min]: (typeof limits)[number]): string {
  const isInteger = min === undefined;
  const isSigned = !/unsigned|bool/.test(type);
  const epsilon = type === 'float' ? '1.19209290e-7f' : '2.2204460492503131e-16';
  const digits = isInteger ? `sizeof(${type}) * 8 - ${isSigned ? 1 : 0}` : type === 'float' ? '24' : '53';
  return `
template <> struct numeric_limits<${type}> {
  static constexpr bool is_specialized = true;
  static constexpr bool is_signed = ${isSigned};
  static constexpr bool is_integer = ${isInteger};
  static constexpr bool is_exact = ${isInteger};
  static constexpr bool has_infinity = ${!isInteger};
  static constexpr int digits = ${type === 'bool' ? '1' : digits};
  static constexpr ${type} max() { return ${max}; }
  static constexpr ${type} min() { return ${min ?? lowest}; }
  static constexpr ${type} lowest() { return ${lowest}; }
  static constexpr ${type} infinity() { return ${isInteger ? '0' : type === 'float' ? '(float)1e39' : '1e308 * 10'}; }
  static constexpr ${type} quiet_NaN() { return ${isInteger ? '0' : `__warplens_unknown<${type}>()`}; }
  static constexpr ${type} epsilon() { return ${isInteger ? '0' : epsilon}; }
};`;
}

export const numericLimits = `
template <class T> struct numeric_limits { static constexpr bool is_specialized = false; };
template <class T> struct numeric_limits<const T> : numeric_limits<T> {};
${limits.map(limitsOf).join('')}
template <> struct numeric_limits<__half> {
  static constexpr bool is_specialized = true;
  static constexpr bool is_signed = true;
  static constexpr bool is_integer = false;
  static constexpr __half max() { return (__half)65504.0f; }
  static constexpr __half lowest() { return (__half)-65504.0f; }
  static constexpr __half infinity() { return (__half)1e6f; }
};
`;
