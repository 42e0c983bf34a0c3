import assert from 'node:assert/strict';
import { builtCapability, keptFlags } from '../../../server/src/workspace/build-flags';

/** What of a command, run in /project, is handed to nvcc. */
const check = (command: string, expected: string) => () =>
  assert.equal(keptFlags(command.split(' '), '/project').join(' '), expected);

describe('Flags of a build for nvcc', () => {
  it(
    'what decides the meaning and the code',
    check(
      'nvcc -std=c++17 -O3 --use_fast_math -rdc=true --expt-relaxed-constexpr -c a.cu -o a.o',
      '-std=c++17 -O3 --use_fast_math -rdc=true --expt-relaxed-constexpr',
    ),
  );
  it('a value in the next word', check('nvcc -std c++17 -Xptxas -dlcm=cg a.cu', '-std c++17 -Xptxas -dlcm=cg'));
  it(
    'paths from the folder of the build',
    check('nvcc -include pre/fix.h -ccbin=../bin/g++', '-include /project/pre/fix.h -ccbin /bin/g++'),
  );
  it('a compiler’s bare name stays', check('nvcc -ccbin g++-12', '-ccbin g++-12'));
  it(
    'features of an architecture',
    check('nvcc -gencode arch=compute_90a,code=sm_90a', '-gencode arch=compute_90a,code=sm_90a'),
  );
  it(
    'flags of other compilers and of the host go',
    check('clang++ -x cuda --cuda-gpu-arch=sm_80 -fPIC -Wall -Xcompiler -fopenmp', ''),
  );
  it('a flag at the end without its value', check('nvcc -std', ''));
});

describe('The capability of a build', () => {
  const capability = (command: string, expected: string | undefined) => () =>
    assert.equal(builtCapability(command.split(' ')), expected);
  it('is that of -arch', capability('nvcc -arch=sm_86 -c a.cu', '8.6'));
  it('with features too', capability('nvcc -arch sm_90a a.cu', '9.0'));
  it(
    'is the highest of several',
    capability('nvcc -gencode arch=compute_75,code=sm_75 --generate-code=arch=compute_120,code=[sm_120] a.cu', '12.0'),
  );
  it('is told by clang as well', capability('clang++ --cuda-gpu-arch=sm_80 a.cu', '8.0'));
  it(
    'is not told by names of files, of unknown architectures, or not at all',
    capability('nvcc -arch=native -arch=sm_77 sm_90.cu', undefined),
  );
});
