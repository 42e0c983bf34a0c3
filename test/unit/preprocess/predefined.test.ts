import assert from 'node:assert/strict';
import { predefinedMacros } from '../../../server/src/preprocess/predefined';
import { preprocessText, spelled } from './preprocess-text';

/** The text comes down to the tokens for compute capability `cc`, without a note. */
function check(text: string, expected: string, cc = '9.0'): void {
  const result = preprocessText(text, {}, { defines: predefinedMacros(cc) });
  assert.equal(spelled(result), expected);
  assert.deepEqual(result.notes, []);
}

describe('predefined macros', () => {
  it('give the architecture as the device pass of nvcc does', () => {
    for (const [cc, value] of [
      ['5.2', '520'],
      ['9.0', '900'],
      ['9.0a', '900'],
      ['10.3', '1030'],
      ['12.1', '1210'],
      ['sm_86', '860'],
    ]) {
      check('__CUDA_ARCH__', value, cc);
    }
    check('__CUDA_ARCH__', '__CUDA_ARCH__', '');
    check('#ifdef __CUDA_ARCH_FEAT_SM90_ALL\nyes\n#endif', 'yes', '9.0a');
  });

  it('answer the questions that real headers ask', () => {
    check('#if defined(__CUDACC__) && __CUDACC_VER_MAJOR__ >= 12 && !defined(__CUDACC_RTC__)\nyes\n#endif', 'yes');
    check('#if __cplusplus >= 201703L && defined __GNUC__ && !defined _MSC_VER && !defined NDEBUG\nyes\n#endif', 'yes');
    check('#if CHAR_BIT == 8 && INT_MAX == 0x7fffffff && ULLONG_MAX == ~0ull && INT64_MIN < 0\nyes\n#endif', 'yes');
  });

  it('stand for the constants of headers that are not read', () => {
    check('FLT_MAX UINT64_C(5) NULL', '3.402823466e+38F 5UL 0');
  });

  it('choose between device and host, and between architectures', () => {
    check('NV_IF_TARGET(NV_IS_DEVICE, (a(b, c);), (d();))', '{ a ( b , c ) ; }');
    check('NV_IF_ELSE_TARGET(NV_IS_HOST, a();, c<5>(d, e[0]);)', '{ c < 5 > ( d , e [ 0 ] ) ; }');
    check('NV_IF_TARGET(NV_IS_DEVICE, (int a, b;))', '{ int a , b ; }');
    check('NV_IF_TARGET(NV_IS_HOST, (a();))', '{ }');
    check('NV_IF_ELSE_TARGET(NV_PROVIDES_SM_80,\n a();\n,\n b();\n)', '{ a ( ) ; }');
    check('NV_IF_ELSE_TARGET(NV_PROVIDES_SM_90, (a();), (b();))', '{ b ( ) ; }', '8.6');
    check(
      'NV_IF_ELSE_TARGET(NV_IS_EXACTLY_SM_86, NV_IF_TARGET(NV_IS_DEVICE, (a();)), (b();))',
      '{ { a ( ) ; } }',
      '8.6',
    );
  });

  it('give way to the definitions of the user', () => {
    check(
      '#define M_PI 3\n#define INFINITY big\n#undef NULL\n#define NULL nullptr\nM_PI INFINITY NULL',
      '3 big nullptr',
    );
  });
});
