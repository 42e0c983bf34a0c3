import { check, checkMain } from './support';

const macros = `
#define at_most(x, y) ({ __typeof__(x) _a = (x); __typeof__(y) _b = (y); _a < _b ? _a : _b; })
`;

describe('blocks as expressions in host code', () => {
  it('give sizes of grids and blocks', () => {
    check(
      `${macros}__global__ void k(int); void f() { k<<<at_most(40, 4), at_most(256, at_most(512, 128))>>>(7); }`,
      'k <<<(4,1,1),(128,1,1),0>>>(7)',
    );
    checkMain('int n = ({ int s = 1; while (s < 50) s *= 2; s; }); k<<<1, n>>>();', 'k <<<(1,1,1),(64,1,1),0>>>()');
  });

  it('may hold a launch', () => {
    checkMain('int e = ({ k<<<2, 32>>>(5); 0; });', 'k <<<(2,1,1),(32,1,1),0>>>(5)');
  });

  it('may leave the function or the loop', () => {
    check(
      'int g(int n) { int m = ({ if (n > 3) return 64; n; }); return m * 8; } void f() { k<<<g(2), g(9)>>>(); }',
      'k <<<(16,1,1),(64,1,1),0>>>()',
    );
    checkMain(
      'int n = 0; for (;;) { n += ({ if (n >= 96) break; 32; }); } k<<<1, n>>>();',
      'k <<<(1,1,1),(96,1,1),0>>>()',
    );
  });
});
