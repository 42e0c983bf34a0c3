/**
 * Macros that are there before the first line is read: those of nvcc 13.0 and its host compiler g++ 12 (compared with
 * `nvcc -dryrun`, `nvcc -E -Xcompiler -dM` and `g++ -dM -E`), and constants of system headers, which are not read here. A user's own `#define` replaces any of them.
 */
import { targetMacros } from './target-macros';

/** nvcc of CUDA 13.0 in its device pass (NVCC guide, "Predefined macros"; CUDA guide, "__CUDA_ARCH__"). */
const nvcc = `
__CUDACC__ 1
__NVCC__ 1
__CUDACC_VER_MAJOR__ 13
__CUDACC_VER_MINOR__ 0
__CUDACC_VER_BUILD__ 88
__CUDACC_DEVICE_ATOMIC_BUILTINS__ 1
__CUDA_API_VER_MAJOR__ 13
__CUDA_API_VER_MINOR__ 0
__NVCC_DIAG_PRAGMA_SUPPORT__ 1
CUDART_VERSION 13000
CUDA_VERSION 13000
`;

/** What nvcc includes before the first line marks itself by these: helpers ask for them before they name an error, say. */
const toolkitHeaders = [
  ...[
    'CUDA_RUNTIME',
    'CUDA_RUNTIME_API',
    'CUDA_DEVICE_RUNTIME_API',
    'DRIVER_TYPES',
    'DRIVER_FUNCTIONS',
    'LIBRARY_TYPES',
  ],
  ...['VECTOR_TYPES', 'VECTOR_FUNCTIONS', 'DEVICE_TYPES', 'DEVICE_FUNCTIONS', 'DEVICE_ATOMIC_FUNCTIONS'],
  ...['DEVICE_DOUBLE_FUNCTIONS', 'DEVICE_LAUNCH_PARAMETERS', 'CHANNEL_DESCRIPTOR', 'TEXTURE_TYPES', 'SURFACE_TYPES'],
  ...['TEXTURE_INDIRECT_FUNCTIONS', 'SURFACE_INDIRECT_FUNCTIONS', 'COMMON_FUNCTIONS', 'MATH_FUNCTIONS'],
  ...['HOST_CONFIG', 'HOST_DEFINES'],
].map((name) => `__${name}_H__`);

/** GCC 12 on x86-64 Linux, C++17. The unreserved names \`linux\` and \`unix\` are left out: here they are more often the user's. */
const hostCompiler = `
__cplusplus 201703L
__GNUC__ 12
__GNUC_MINOR__ 2
__GNUC_PATCHLEVEL__ 0
__GNUG__ 12
__VERSION__ "12.2.0"
__STDC__ 1
__STDC_HOSTED__ 1
_GNU_SOURCE 1
__EXCEPTIONS 1
__GXX_RTTI 1
__x86_64__ 1
__x86_64 1
__amd64__ 1
__amd64 1
__linux__ 1
__linux 1
__gnu_linux__ 1
__unix__ 1
__unix 1
__ELF__ 1
_LP64 1
__LP64__ 1
__CHAR_BIT__ 8
__SCHAR_MAX__ 127
__SHRT_MAX__ 32767
__INT_MAX__ 2147483647
__LONG_MAX__ 9223372036854775807L
__LONG_LONG_MAX__ 9223372036854775807LL
__SIZE_MAX__ 18446744073709551615UL
__SIZE_TYPE__ unsigned long
__PTRDIFF_TYPE__ long
__SIZEOF_SHORT__ 2
__SIZEOF_INT__ 4
__SIZEOF_LONG__ 8
__SIZEOF_LONG_LONG__ 8
__SIZEOF_FLOAT__ 4
__SIZEOF_DOUBLE__ 8
__SIZEOF_POINTER__ 8
__SIZEOF_SIZE_T__ 8
__SIZEOF_INT128__ 16
__ORDER_LITTLE_ENDIAN__ 1234
__ORDER_BIG_ENDIAN__ 4321
__BYTE_ORDER__ __ORDER_LITTLE_ENDIAN__
__FLT_MAX__ 3.40282346638528859811704183484516925e+38F
__FLT_MIN__ 1.17549435082228750796873653722224568e-38F
__FLT_EPSILON__ 1.19209289550781250000000000000000000e-7F
__DBL_MAX__ 1.79769313486231570814527423731704357e+308
__DBL_MIN__ 2.22507385850720138309023271733240406e-308
__DBL_EPSILON__ 2.22044604925031308084726333618164062e-16
__cpp_constexpr 201603L
__cpp_if_constexpr 201606L
__cpp_inline_variables 201606L
__cpp_structured_bindings 201606L
__cpp_fold_expressions 201603L
__cpp_lambdas 200907L
__cpp_exceptions 199711L
__cpp_rtti 199711L
__SSE__ 1
__SSE2__ 1
`;

/** <climits>, <cstdint>, <cinttypes>, <cstddef>, <cstdlib>. */
const integerConstants = `
CHAR_BIT 8
SCHAR_MIN (-128)
SCHAR_MAX 127
UCHAR_MAX 255
CHAR_MIN (-128)
CHAR_MAX 127
SHRT_MIN (-32768)
SHRT_MAX 32767
USHRT_MAX 65535
INT_MIN (-2147483647 - 1)
INT_MAX 2147483647
UINT_MAX 4294967295U
LONG_MIN (-9223372036854775807L - 1L)
LONG_MAX 9223372036854775807L
ULONG_MAX 18446744073709551615UL
LLONG_MIN (-9223372036854775807LL - 1LL)
LLONG_MAX 9223372036854775807LL
ULLONG_MAX 18446744073709551615ULL
INT8_MIN (-128)
INT8_MAX 127
UINT8_MAX 255
INT16_MIN (-32768)
INT16_MAX 32767
UINT16_MAX 65535
INT32_MIN (-2147483647 - 1)
INT32_MAX 2147483647
UINT32_MAX 4294967295U
INT64_MIN (-9223372036854775807L - 1L)
INT64_MAX 9223372036854775807L
UINT64_MAX 18446744073709551615UL
INTPTR_MAX 9223372036854775807L
UINTPTR_MAX 18446744073709551615UL
PTRDIFF_MIN (-9223372036854775807L - 1L)
PTRDIFF_MAX 9223372036854775807L
SIZE_MAX 18446744073709551615UL
SSIZE_MAX 9223372036854775807L
INT8_C(c) c
UINT8_C(c) c
INT16_C(c) c
UINT16_C(c) c
INT32_C(c) c
UINT32_C(c) c ## U
INT64_C(c) c ## L
UINT64_C(c) c ## UL
INTMAX_C(c) c ## L
UINTMAX_C(c) c ## UL
PRId32 "d"
PRIu32 "u"
PRIx32 "x"
PRId64 "ld"
PRIu64 "lu"
PRIx64 "lx"
NULL 0
RAND_MAX 2147483647
EXIT_SUCCESS 0
EXIT_FAILURE 1
CLOCKS_PER_SEC 1000000L
`;

/** <cfloat>, <cmath>. The literals of the infinities are beyond every type. */
const floatingConstants = `
FLT_RADIX 2
FLT_DIG 6
FLT_MANT_DIG 24
FLT_MIN_EXP (-125)
FLT_MAX_EXP 128
FLT_MAX 3.402823466e+38F
FLT_MIN 1.175494351e-38F
FLT_EPSILON 1.192092896e-07F
DBL_DIG 15
DBL_MANT_DIG 53
DBL_MAX 1.7976931348623158e+308
DBL_MIN 2.2250738585072014e-308
DBL_EPSILON 2.2204460492503131e-16
INFINITY 1e5000f
HUGE_VALF 1e5000f
HUGE_VAL 1e5000
NAN (0.0f / 0.0f)
M_E 2.7182818284590452354
M_LOG2E 1.4426950408889634074
M_LOG10E 0.43429448190325182765
M_LN2 0.69314718055994530942
M_LN10 2.30258509299404568402
M_PI 3.14159265358979323846
M_PI_2 1.57079632679489661923
M_PI_4 0.78539816339744830962
M_1_PI 0.31830988618379067154
M_2_PI 0.63661977236758134308
M_2_SQRTPI 1.12837916709551257390
M_SQRT2 1.41421356237309504880
M_SQRT1_2 0.70710678118654752440
`;

/** CUDA's math_constants.h; what it writes as a bit pattern stands here as a value. */
const cudaConstants = `
CUDART_INF_F 1e5000f
CUDART_NAN_F (0.0f / 0.0f)
CUDART_MIN_DENORM_F 1.401298464e-45f
CUDART_MAX_NORMAL_F 3.402823466e38f
CUDART_NEG_ZERO_F (-0.0f)
CUDART_ZERO_F 0.0F
CUDART_ONE_F 1.0F
CUDART_SQRT_HALF_F 0.707106781F
CUDART_SQRT_TWO_F 1.414213562F
CUDART_PIO4_F 0.785398163F
CUDART_PIO2_F 1.570796327F
CUDART_PI_F 3.141592654F
CUDART_2_OVER_PI_F 0.636619772F
CUDART_L2E_F 1.442695041F
CUDART_LN2_F 0.693147181F
CUDART_INF 1e5000
CUDART_NAN (0.0 / 0.0)
CUDART_ZERO 0.0
CUDART_ONE 1.0
CUDART_PI 3.1415926535897931e+0
CUDART_PIO2 1.5707963267948966e+0
CUDART_SQRT_TWO 1.4142135623730951e+0
CUDART_L2E 1.4426950408889634e+0
CUDART_LN2 6.9314718055994529e-1
`;

const tables = [nvcc, hostCompiler, integerConstants, floatingConstants, cudaConstants];
const fixedMacros: readonly (readonly [string, string])[] = [
  ...tables.flatMap((table) =>
    table
      .trim()
      .split('\n')
      .map((line): [string, string] => {
        const space = line.indexOf(' ');
        return [line.slice(0, space), line.slice(space + 1)];
      }),
  ),
  ...toolkitHeaders.map((name): [string, string] => [name, '']),
];

/**
 * The macros predefined for the device pass of nvcc.
 * @param cc compute capability: '9.0', '12.1', '9.0a'; also 'sm_90' and '90'
 * @returns name (with the parameter list of a function-like macro) to replacement text; a new map at each call.
 *   Without `__CUDA_ARCH__` (the host pass) where `cc` is none.
 */
export function predefinedMacros(cc: string): Map<string, string> {
  const match = /^(?:sm_|compute_)?(\d+)\.?(\d)([af]?)$/.exec(cc.trim());
  // CUDA guide, "__CUDA_ARCH__": 100 times the major number and 10 times the minor
  const number = match ? Number(match[1]) * 100 + Number(match[2]) * 10 : undefined;
  const macros = new Map([...fixedMacros, ...targetMacros(number)]);
  if (match) {
    const [, major, minor, suffix] = match;
    const architecture = String(number);
    macros.set('__CUDA_ARCH__', architecture);
    macros.set('__CUDA_ARCH_LIST__', architecture);
    // as `nvcc -dryrun -arch=sm_90a` and `-arch=sm_103f` give them
    if (suffix !== '') macros.set('__CUDA_ARCH_FAMILY_SPECIFIC__', architecture);
    if (suffix === 'a') {
      macros.set('__CUDA_ARCH_SPECIFIC__', architecture);
      macros.set(`__CUDA_ARCH_FEAT_SM${major}${minor}_ALL`, '1');
    }
  }
  return macros;
}
