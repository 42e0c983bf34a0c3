/** What the text makes of `goto`. */
import { check, checkMain } from './support';

const pass = (list: string) => `k <<<(1,1,1),(1,1,1),0>>>(${list})`;

describe('goto', () => {
  it('leads past what stands in front of its label', () => {
    check(
      `#define CHECK(x) do { int e = (x); if (e != 0) { result = -e; goto cleanup; } } while (0)
int work(int n) {
  int result = 0;
  int* p = (int*)malloc(n);
  CHECK(n > 100 ? 5 : 0);
  result = n;
cleanup:
  free(p);
  return result;
}
int main() { k<<<1, 1>>>(work(10), work(200)); }`,
      pass('10, -5'),
    );
  });
  it('leads out of loops and back to labels', () => {
    checkMain(
      `int n = 0, at = 0;
for (int i = 0; i < 8; ++i) for (int j = 0; j < 8; ++j) { at = i * 8 + j; if (i * j == 12) goto found; }
found:
again: n += 10; if (n < 40) goto again;
k<<<1, 1>>>(n, at);`,
      pass('40, 22'),
    );
  });
  it('hides no launch that it leads past', () => {
    checkMain('if (argc < 2) goto end; k<<<1, 1>>>(1); end: return 0;', pass('1'));
  });
  it('leaves open what was written where it may be taken', () => {
    checkMain('int n = 1, m = 3; if (cond()) { n = 2; goto end; } m = 4; end: k<<<1, 1>>>(n);', pass('?n'));
    checkMain('int n = 0; again: n += 10; if (cond()) goto again; k<<<1, 1>>>(n);', pass('?n'));
  });
});
