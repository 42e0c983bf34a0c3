import { checkLines } from './check-lines';

const loading = (body: string) =>
  checkLines(`k(const int *a, const int *b, const float *s, int *out, float *o, int n)
{
    int t = threadIdx.x;
    ${body}
}`);

describe('what is loaded again on one side of a branch', () => {
  it('is loaded once, shown behind it', () =>
    loading(`int k = a[t]; //= none
    if (s[t] > 2.5f)
      k = a[t + 64]; //= none
    out[t] = k; //= global load 1 x 4 bytes, global store 1 x 4 bytes`));
  it('several in a row are one', () =>
    loading(`float best = s[t]; //= global load 1 x 4 bytes
    int k = a[t]; //= none
    if (s[t + n] > best) {
      best = s[t + n];
      k = a[t + n]; //= none
    }
    if (s[t + 2 * n] > best) {
      best = s[t + 2 * n];
      k = a[t + 2 * n]; //= none
    }
    o[t] = best; //= global load 1 x 4 bytes, global store 1 x 4 bytes
    out[t] = k; //= global store 1 x 4 bytes`));
  it('in a loop that is written out at its step', () =>
    loading(`float best = s[t];
    int k = a[t]; //= none
    for (int y = 1; y < 4; y++) //= global load 1 x 4 bytes
      if (s[y * n + t] > best) { //= global load 3 x 4 bytes
        best = s[y * n + t];
        k = a[y * n + t]; //= none
      }
    o[t] = best;
    out[t] = k;`));
  it('not in a loop that stays one', () =>
    loading(`float best = s[t];
    int k = a[t]; //= global load 1 x 4 bytes
    #pragma unroll 1
    for (int y = 1; y < n; y++)
      if (s[y * n + t] > best) {
        best = s[y * n + t];
        k = a[y * n + t]; //= global load 9 x 4 bytes
      }
    o[t] = best;
    out[t] = k;`));
  it('not where something else reads it, or writes memory behind it', () => {
    loading(`int k = a[t]; //= global load 1 x 4 bytes
    if (k > n)
      k = a[t + 64]; //= global load 1 x 4 bytes
    out[t] = k;`);
    loading(`int k = a[t]; //= global load 1 x 4 bytes
    o[t] = 3;
    if (s[t] > 2.5f)
      k = a[t + 64]; //= global load 1 x 4 bytes
    out[t] = k;`);
    loading(`int k = a[t]; //= global load 1 x 4 bytes
    if (s[t] > 2.5f)
      k = a[t + 64] + k; //= global load 1 x 4 bytes
    out[t] = k;`);
  });
  it('not where others come behind the branch', () =>
    loading(`int k = 5;
    if (t < n) {
      k = a[t]; //= global load 1 x 4 bytes
      if (s[t] > 2.5f)
        k = a[t + 64]; //= global load 1 x 4 bytes
    }
    out[t] = k;`));
});
