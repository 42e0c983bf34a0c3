/**
 * Numbers of eight bits (cuda_fp8.h, CUDA 13.0): one, two and four in a word. Sizes and members are the real ones; what the conversions
 * give is not known, what they are made of is used.
 */
const formats: readonly string[] = ['e4m3', 'e5m2'];
const numbers = [
  'float',
  'double',
  '__half',
  '__nv_bfloat16',
  'int',
  'unsigned',
  'short',
  'unsigned short',
  'long',
  'unsigned long',
  'long long',
  'unsigned long long',
];

const construction = (type: string, storage: string, ...from: readonly string[]): string => {
  const names = from.map((_, i) => `a${i}`);
  const parameters = from.map((of, i) => `const ${of} ${names[i]}`).join(', ');
  return `__host__ __device__ ${type}(${parameters}) : __x(__warplens_unknown<${storage}>(${names.join(', ')})) {}`;
};

const conversion = (to: string, isExplicit = false): string =>
  `__host__ __device__ ${isExplicit ? 'explicit ' : ''}operator ${to}() const { return __warplens_unknown<${to}>(__x); }`;

const of = (format: string): string => `
struct __nv_fp8_${format} {
  __nv_fp8_storage_t __x;
  __nv_fp8_${format}() = default;
  ${numbers.map((from) => construction(`__nv_fp8_${format}`, '__nv_fp8_storage_t', from)).join('\n  ')}
  ${['float', '__half', '__nv_bfloat16'].map((to) => conversion(to)).join('\n  ')}
  ${['double', 'int', 'bool'].map((to) => conversion(to, true)).join('\n  ')}
};
struct __nv_fp8x2_${format} {
  __nv_fp8x2_storage_t __x;
  __nv_fp8x2_${format}() = default;
  ${['float2', 'double2', '__half2', '__nv_bfloat162'].map((from) => construction(`__nv_fp8x2_${format}`, '__nv_fp8x2_storage_t', from)).join('\n  ')}
  ${['float2', '__half2'].map((to) => conversion(to)).join('\n  ')}
};
struct __nv_fp8x4_${format} {
  __nv_fp8x4_storage_t __x;
  __nv_fp8x4_${format}() = default;
  ${[['float4'], ['double4'], ['__half2', '__half2'], ['__nv_bfloat162', '__nv_bfloat162']].map((from) => construction(`__nv_fp8x4_${format}`, '__nv_fp8x4_storage_t', ...from)).join('\n  ')}
  ${conversion('float4')}
};`;

/** __nv_cvt_float_to_fp8(x, saturation, format) and those beside it */
const toBits = (name: string, from: string, storage: string): string =>
  `__host__ __device__ ${storage} __nv_cvt_${name}(const ${from} x, __nv_saturation_t s, __nv_fp8_interpretation_t f) { return __warplens_unknown<${storage}>(x); }`;

export const fp8 = `
typedef unsigned char __nv_fp8_storage_t;
typedef unsigned short __nv_fp8x2_storage_t;
typedef unsigned __nv_fp8x4_storage_t;
enum __nv_saturation_t { __NV_NOSAT, __NV_SATFINITE };
enum __nv_fp8_interpretation_t { __NV_E4M3, __NV_E5M2 };
${formats.map(of).join('\n')}
${toBits('float_to_fp8', 'float', '__nv_fp8_storage_t')}
${toBits('double_to_fp8', 'double', '__nv_fp8_storage_t')}
${toBits('halfraw_to_fp8', '__half', '__nv_fp8_storage_t')}
${toBits('bfloat16raw_to_fp8', '__nv_bfloat16', '__nv_fp8_storage_t')}
${toBits('float2_to_fp8x2', 'float2', '__nv_fp8x2_storage_t')}
${toBits('double2_to_fp8x2', 'double2', '__nv_fp8x2_storage_t')}
${toBits('halfraw2_to_fp8x2', '__half2', '__nv_fp8x2_storage_t')}
${toBits('bfloat16raw2_to_fp8x2', '__nv_bfloat162', '__nv_fp8x2_storage_t')}
__host__ __device__ __half __nv_cvt_fp8_to_halfraw(const __nv_fp8_storage_t x, __nv_fp8_interpretation_t f) { return __warplens_unknown<__half>(x); }
__host__ __device__ __half2 __nv_cvt_fp8x2_to_halfraw2(const __nv_fp8x2_storage_t x, __nv_fp8_interpretation_t f) { return __warplens_unknown<__half2>(x); }
`;
