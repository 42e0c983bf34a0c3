/**
 * Integer intrinsics that CUDA's headers define: funnel shifts, byte permutation, dot products and packed arithmetic on two or four
 * lanes of a word. What they mean is the CUDA math API's; the compiler makes one or a few instructions of each, none of which
 * touches memory.
 */
interface Packed {
  /** `__v<name><lanes>` */
  readonly name: string;
  /** Of one lane's operands `a` and `b`, both `int`, extended by their sign or with zeros. */
  readonly expression: string;
  readonly isSigned?: boolean;
}

const comparisons: readonly (readonly [suffix: string, operator: string, isSigned?: boolean])[] = [
  ['eq', '=='],
  ['ne', '!='],
  ['gts', '>', true],
  ['gtu', '>'],
  ['ges', '>=', true],
  ['geu', '>='],
  ['lts', '<', true],
  ['ltu', '<'],
  ['les', '<=', true],
  ['leu', '<='],
];

/** `lowest` and `highest` are those of a signed lane, `most` of an unsigned one. */
const packed: readonly Packed[] = [
  { name: 'add', expression: 'a + b' },
  { name: 'sub', expression: 'a - b' },
  { name: 'addss', expression: '__warplens::clamp(a + b, lowest, highest)', isSigned: true },
  { name: 'subss', expression: '__warplens::clamp(a - b, lowest, highest)', isSigned: true },
  { name: 'addus', expression: '__warplens::clamp(a + b, 0, most)' },
  { name: 'subus', expression: '__warplens::clamp(a - b, 0, most)' },
  { name: 'avgu', expression: '(a + b + 1) >> 1' },
  { name: 'avgs', expression: '(a + b + (a + b >= 0 ? 1 : 0)) >> 1', isSigned: true },
  { name: 'haddu', expression: '(a + b) >> 1' },
  { name: 'absdiffu', expression: 'a > b ? a - b : b - a' },
  { name: 'absdiffs', expression: 'a > b ? a - b : b - a', isSigned: true },
  { name: 'maxu', expression: 'a > b ? a : b' },
  { name: 'maxs', expression: 'a > b ? a : b', isSigned: true },
  { name: 'minu', expression: 'a < b ? a : b' },
  { name: 'mins', expression: 'a < b ? a : b', isSigned: true },
  ...comparisons.flatMap(([suffix, operator, isSigned]) => [
    { name: `cmp${suffix}`, expression: `a ${operator} b ? most : 0`, isSigned },
    { name: `set${suffix}`, expression: `a ${operator} b ? 1 : 0`, isSigned },
  ]),
];

function packedFunction({ name, expression, isSigned }: Packed, lanes: 2 | 4): string {
  const bits = 32 / lanes;
  const extended = (word: string) =>
    isSigned ? `(int)(${word} << (${32 - bits} - at)) >> ${32 - bits}` : `(int)(${word} >> at & most)`;
  return `
__device__ inline unsigned int __v${name}${lanes}(unsigned int x, unsigned int y) {
  const int most = ${2 ** bits - 1}, highest = most / 2, lowest = -highest - 1;
  unsigned int all = 0;
  #pragma unroll
  for (int at = 0; at < 32; at += ${bits}) {
    const int a = ${extended('x')}, b = ${extended('y')};
    all |= ((unsigned int)(${expression}) & most) << at;
  }
  return all;
}`;
}

const dot = (type: string): string => `
__device__ inline ${type} __dp4a(${type} x, ${type} y, ${type} c) {
  asm volatile("");
  #pragma unroll
  for (int at = 24; at >= 0; at -= 8) c += ((${type})(x << at) >> 24) * ((${type})(y << at) >> 24);
  return c;
}
__device__ inline ${type} __dp2a_lo(${type} x, ${type} y, ${type} c) {
  return c + ((${type})(x << 16) >> 16) * ((${type})(y << 24) >> 24) + (x >> 16) * ((${type})(y << 16) >> 24);
}
__device__ inline ${type} __dp2a_hi(${type} x, ${type} y, ${type} c) {
  return c + ((${type})(x << 16) >> 16) * ((${type})(y << 8) >> 24) + (x >> 16) * (y >> 24);
}`;

/** Sums of the lanes' absolute differences. */
const sum = (lanes: 2 | 4, sign: 's' | 'u'): string => `
__device__ inline unsigned int __vsad${sign}${lanes}(unsigned int x, unsigned int y) {
  const unsigned int d = __vabsdiff${sign}${lanes}(x, y);
  return ${lanes === 2 ? '(d & 65535) + (d >> 16)' : '(d & 255) + (d >> 8 & 255) + (d >> 16 & 255) + (d >> 24)'};
}`;

export const integerIntrinsics = `
namespace __warplens {
__device__ inline int clamp(int v, int low, int high) { return v < low ? low : v > high ? high : v; }
}
__device__ inline unsigned int __funnelshift_l(unsigned int lo, unsigned int hi, unsigned int shift) {
  const unsigned int n = shift & 31;
  return n == 0 ? hi : hi << n | lo >> (32 - n);
}
__device__ inline unsigned int __funnelshift_r(unsigned int lo, unsigned int hi, unsigned int shift) {
  const unsigned int n = shift & 31;
  return n == 0 ? lo : lo >> n | hi << (32 - n);
}
__device__ inline unsigned int __funnelshift_lc(unsigned int lo, unsigned int hi, unsigned int shift) {
  return shift >= 32 ? lo : __funnelshift_l(lo, hi, shift);
}
__device__ inline unsigned int __funnelshift_rc(unsigned int lo, unsigned int hi, unsigned int shift) {
  return shift >= 32 ? hi : __funnelshift_r(lo, hi, shift);
}
__device__ inline unsigned int __byte_perm(unsigned int x, unsigned int y, unsigned int s) {
  unsigned int all = 0;
  #pragma unroll
  for (int at = 0; at < 4; at++) {
    const unsigned int from = s >> at * 4 & 7;
    all |= ((from < 4 ? x : y) >> (from & 3) * 8 & 255) << at * 8;
  }
  return all;
}
__device__ inline unsigned int __sad(int x, int y, unsigned int z) { return z + (x > y ? (unsigned int)x - y : (unsigned int)y - x); }
__device__ inline unsigned int __usad(unsigned int x, unsigned int y, unsigned int z) { return z + (x > y ? x - y : y - x); }
__device__ inline unsigned int __uhadd(unsigned int x, unsigned int y) { return (x & y) + ((x ^ y) >> 1); }
__device__ inline unsigned int __urhadd(unsigned int x, unsigned int y) { return (x | y) - ((x ^ y) >> 1); }
__device__ inline int __rhadd(int x, int y) { return (x | y) - ((x ^ y) >> 1); }
${dot('int')}
${dot('unsigned int')}
${packed.flatMap((entry) => [packedFunction(entry, 2), packedFunction(entry, 4)]).join('')}
${([2, 4] as const).flatMap((lanes) => (['s', 'u'] as const).map((sign) => sum(lanes, sign))).join('')}
`;
