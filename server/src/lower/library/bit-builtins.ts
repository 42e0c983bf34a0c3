/** What the host's compiler has for the bits of a number: of int, long and long long. */
const sizes = [
  ['', 'unsigned int', 32, ''],
  ['l', 'unsigned long', 64, 'll'],
  ['ll', 'unsigned long long', 64, 'll'],
] as const;

const ofSize = ([suffix, type, bits, device]: (typeof sizes)[number]): string => `
int __builtin_popcount${suffix}(${type} x) { return __popc${device}(x); }
int __builtin_parity${suffix}(${type} x) { return __popc${device}(x) & 1; }
int __builtin_clz${suffix}(${type} x) { return __clz${device}(x); }
int __builtin_ctz${suffix}(${type} x) { return x == 0 ? ${bits} : __ffs${device}(x) - 1; }
int __builtin_ffs${suffix}(${type} x) { return __ffs${device}(x); }`;

export const bitBuiltins = `${sizes.map(ofSize).join('')}
unsigned short __builtin_bswap16(unsigned short x) { return (unsigned short)(x << 8 | x >> 8); }
unsigned int __builtin_bswap32(unsigned int x) { return x << 24 | (x << 8 & 0xff0000) | (x >> 8 & 0xff00) | x >> 24; }
unsigned long long __builtin_bswap64(unsigned long long x) {
  return (unsigned long long)__builtin_bswap32((unsigned int)x) << 32 | __builtin_bswap32((unsigned int)(x >> 32));
}
`;
