/** Stores of two arms to which conditions of several parts lead (PTX of nvcc 13.0, sm_90: sixty kernels of ten contexts and ten conditions, eight kinds of arms). */
import { checkLines } from './check-lines';

const APART = { first: '1 x 4 bytes, global store 1 x 4 bytes', second: '1 x 4 bytes, global store 1 x 4 bytes' };
const LAST = { first: '1 x 4 bytes', second: '1 x 4 bytes, global store 1 x 4 bytes' };

/** Of whose lanes some may take each arm, by what `d` says. */
const straight = (condition: string, { first, second }: typeof LAST) =>
  checkLines(`k(const int *a, const int *b, int *c, const int *d, int n)
{
    int i = threadIdx.x, j = i + n;
    if (${condition})
      c[i] = a[i]; //= global load ${first}
    else
      c[i] = b[j] + 1; //= global load ${second}
}`);

const FIRST = { first: LAST.second, second: LAST.first };

const inLoop = (condition: string, { first, second }: typeof LAST) =>
  checkLines(
    `k(const int *a, const int *b, int *c, const int *d, int n)
{
    int i = threadIdx.x, j = i + n;
    for (int k = 0; k < n; ++k) {
      if (${condition})
        c[i + k] = a[i + k]; //= global load ${first.replaceAll('1 x', '10 x')}
      else
        c[i + k] = b[j + k] + 1; //= global load ${second.replaceAll('1 x', '10 x')}
    }
}`,
    '',
    '(int *)buffer, (int *)buffer + 4096, (int *)buffer + 8192, (int *)buffer + 12288, 10',
  );

describe('stores of arms that several conditions lead to', () => {
  it('are one behind alternatives, at the last arm', () => straight('d[i] > 7 || d[j] < 3', LAST));
  it('stay apart where all have to hold', () => straight('d[i] > 7 && d[j] < 3', APART));
  it('and where both are mixed', () => straight('d[i] > 7 && (d[j] < 3 || d[j + 1] > 2)', APART));
  it('in front of the step of a loop it is the other way round', () => {
    inLoop('d[i + k] > 7 && d[j + k] < 3', FIRST);
    inLoop('d[i + k] > 7 || d[j + k] < 3', APART);
  });
});
