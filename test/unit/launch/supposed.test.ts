/** What a way says of the variable that chose it holds for the blocks that were made of it before. */
import { check } from './support';

const kernels = '__global__ void k(...); __global__ void h(...); __global__ void p(...);\n';
const checkBoth = (text: string, ...expected: string[]): void => check(kernels + text, ...expected);

describe('ways that suppose a value', () => {
  it('are run with it from the start of the function, where the variable has another', () => {
    const cases = 'switch (t) { case 64: k<<<n, b>>>(); break; case 32: h<<<n, b, t * 4>>>(); break; }';
    checkBoth(
      `void f(int t, int n) { dim3 b(t); ${cases} } int main() { f(64, 5); }`,
      'k <<<(5,1,1),(64,1,1),0>>>()',
      'h <<<(5,1,1),(32,1,1),128>>>()',
    );
    checkBoth(
      `void f(int w, int n) { const int t = 2 * w; dim3 b(t); ${cases} } int main() { f(32, 5); }`,
      'k <<<(5,1,1),(64,1,1),0>>>()',
      'h <<<(5,1,1),(32,1,1),128>>>()',
    );
  });
  it('are run with it where the variable is not known', () => {
    checkBoth(
      'void f(int t) { dim3 b(t, 2); switch (t) { case 64: k<<<1, b>>>(); break; case 32: h<<<1, b>>>(); } }',
      'k <<<(1,1,1),(64,2,1),0>>>()',
      'h <<<(1,1,1),(32,2,1),0>>>()',
    );
    checkBoth(
      'void f(int t) { dim3 b(t, 2); if (t == 64) k<<<1, b>>>(); else if (32 == t) h<<<1, b>>>(); else p<<<1, b>>>(); }',
      'k <<<(1,1,1),(64,2,1),0>>>()',
      'h <<<(1,1,1),(32,2,1),0>>>()',
      'p <<<(1,1,1),(?t,2,1),0>>>()',
    );
  });
  it('hold for functions that are called within them, and within each other', () => {
    checkBoth(
      `void run(dim3 b, int m) { if (m == 1) k<<<1, b>>>(m); else h<<<1, b>>>(m); }
       void f(int m, int t) { dim3 b(t); switch (m) { case 1: run(b, m); break; case 2: switch (t) { case 8: run(b, m); break; case 16: p<<<m, b>>>(); } } }
       int main() { f(1, 4); }`,
      'k <<<(1,1,1),(4,1,1),0>>>(1)',
      'h <<<(1,1,1),(8,1,1),0>>>(2)',
      'p <<<(2,1,1),(16,1,1),0>>>()',
    );
  });
  it('leave what is launched elsewhere in the function as it is', () => {
    checkBoth(
      'void f(int t) { p<<<1, t>>>(); switch (t) { case 64: k<<<1, t>>>(); break; case 32: h<<<1, t>>>(); } } int main() { f(64); }',
      'p <<<(1,1,1),(64,1,1),0>>>()',
      'k <<<(1,1,1),(64,1,1),0>>>()',
      'h <<<(1,1,1),(32,1,1),0>>>()',
    );
  });
  it('compare what is computed once', () => {
    checkBoth(
      'int g = 0; int next() { return ++g; } void f(int t) { if (t == next()) k<<<1, t>>>(); h<<<1, g>>>(); } int main() { f(1); }',
      'k <<<(1,1,1),(1,1,1),0>>>()',
      'h <<<(1,1,1),(1,1,1),0>>>()',
    );
  });
  it('are as before where the function never comes there with that value', () => {
    checkBoth(
      'void f(int t) { t = t < 64 ? 64 : t; dim3 b(t); switch (t) { case 64: k<<<1, b>>>(); break; case 32: h<<<1, b>>>(); } } int main() { f(64); }',
      'k <<<(1,1,1),(64,1,1),0>>>()',
      'h <<<(1,1,1),(64,1,1),0>>>()',
    );
  });
});
