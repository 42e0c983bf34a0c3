/** Arms as those that merge sorted lists have them (machine code of nvcc 13.0, sm_90). */
import { checkLines } from './check-lines';

/** Six passes over two lists that nobody knows. */
const inLoop = (body: string) =>
  checkLines(
    `k(const int *a, int na, const int *b, int nb, int *c, const int *d, int n)
{
    int i = threadIdx.x * 3, j = threadIdx.x * 5, t = threadIdx.x;
    for (int k = 0; k < n; ++k) {
      ${body}
    }
    c[t + 100] = i + j;
}`,
    '',
    '(int *)buffer, 1000, (int *)buffer + 4096, 1000, (int *)buffer + 8192, (int *)buffer + 12288, 6',
  );

describe('arms that merge', () => {
  it('of four, two of which a condition has loaded for, make one load and one store', () => {
    inLoop(`if (i >= na) c[t + k] = b[j++]; //= global store 6 x 4 bytes
      else if (j >= nb) c[t + k] = a[i++]; //= none
      else if (a[i] < b[j]) //= global load 12 x 4 bytes
        c[t + k] = a[i++]; //= none
      else
        c[t + k] = b[j++]; //= global load 6 x 4 bytes`);
    inLoop(`if (i >= na) c[t + k] = b[j++]; //= global store 6 x 4 bytes
      else if (j >= nb) c[t + k] = a[i++]; //= none
      else if (a[i] <= b[j]) //= global load 12 x 4 bytes
        c[t + k] = a[i++]; //= global load 6 x 4 bytes
      else
        c[t + k] = b[j++]; //= none`);
  });

  it('stay apart where they compute different things behind their stores', () => {
    inLoop(`if (d[t + k] > 3) {
        c[t + k] = a[i]; //= global load 6 x 4 bytes, global store 6 x 4 bytes
        i++;
      } else {
        c[t + k] = b[j]; //= global load 6 x 4 bytes, global store 6 x 4 bytes
        j += 2;
      }`);
    inLoop(`if (a[i] <= b[j]) {
        c[t + k] = a[i]; //= global store 6 x 4 bytes
        i++;
      } else {
        c[t + k] = b[j]; //= global store 6 x 4 bytes
        j++;
      }`);
  });

  it('store once where it is the same variable, or the step comes before', () => {
    inLoop(`if (d[t + k] > 3) {
        c[t + k] = a[i]; //= global load 6 x 4 bytes, global store 6 x 4 bytes
        i++;
      } else {
        c[t + k] = b[i]; //= none
        i += 2;
      }`);
    inLoop(`if (a[i] <= b[j])
        c[t + k] = a[i++]; //= global store 6 x 4 bytes
      else
        c[t + k] = b[j++]; //= none`);
  });
});
