/** Local variables whose bits are read or written as another type: the values are the machine's (little endian). */
import { equals } from './check-index';

const check = (before: string, expression: string, expected: number) => () =>
  equals(before, `(${expression}) == ${expected} ? 3 : 1`, 3);
const n = 'int n = blockDim.x / 32 + 6;';

describe('bits of local variables', () => {
  it('bytes as a word', check(`${n} unsigned char b[4] = {1, (unsigned char)n, 0, 0};`, '*(int *)b', 1 + 256 * 7));
  it('the second word', check(`${n} unsigned char b[8] = {0, 0, 0, 0, 5, 0, 0, 0}; b[0] = n;`, '((int *)b)[1]', 5));
  it(
    'negative bytes keep to their bits',
    check(`${n} signed char b[2] = {-1, (signed char)(n - 7)};`, '*(short *)b', 255),
  );
  it('a byte of a word', check(`${n} int w = n * 256 + 3;`, '((unsigned char *)&w)[1]', 7));
  it('a half of a word', check(`${n} int w = n << 16;`, '((short *)&w)[1]', 7));
  it('the high half of a float', check(`${n} float f = 1.0f * n;`, '((unsigned short *)&f)[1] & 255', 0xe0));
  it(
    'a word written over bytes',
    check(`${n} unsigned char b[4] = {9, 9, 9, 9}; *(int *)b = n * 256 + 2;`, 'b[1] * 10 + b[0]', 72),
  );
  it(
    'bytes written into a word',
    check(`${n} unsigned w = 0x01020304; ((unsigned char *)&w)[1] = n; ((unsigned char *)&w)[3] = 0;`, 'w', 0x020704),
  );
  it(
    'words that a number of 64 bits is put together of',
    check(
      `${n} unsigned long long x; unsigned *half = (unsigned *)&x; half[0] = n; half[1] = 2;`,
      '(x >> 32) * 10 + (x & 255)',
      27,
    ),
  );
  it(
    'a float of which a half is written',
    check(`${n} float f = 1.0f; ((unsigned short *)&f)[1] = 0x4000 + (n - 7);`, 'int(f)', 2),
  );
});
