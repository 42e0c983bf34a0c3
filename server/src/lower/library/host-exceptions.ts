/** Exceptions of the standard library. Their texts are not followed: nobody computes with them. */
const derived: readonly (readonly [name: string, base: string])[] = [
  ['logic_error', 'exception'],
  ['invalid_argument', 'logic_error'],
  ['domain_error', 'logic_error'],
  ['length_error', 'logic_error'],
  ['out_of_range', 'logic_error'],
  ['runtime_error', 'exception'],
  ['range_error', 'runtime_error'],
  ['overflow_error', 'runtime_error'],
  ['underflow_error', 'runtime_error'],
  ['system_error', 'runtime_error'],
  ['bad_alloc', 'exception'],
  ['bad_cast', 'exception'],
  ['bad_function_call', 'exception'],
  ['bad_optional_access', 'exception'],
  ['bad_variant_access', 'exception'],
];

const classOf = ([name, base]: readonly [string, string]): string => `
struct ${name} : ${base} {
  ${name}() {}
  template <class... A> ${name}(const A&... a) {}
};`;

export const hostExceptions = `
struct exception {
  exception() {}
  const char* what() const { return __warplens_unknown<const char*>(); }
};
${derived.map(classOf).join('')}
`;
