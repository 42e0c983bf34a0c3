/** Local variables whose bits are read or written as another type: the values are the machine's (little endian). */
import { equals } from './check-index';

const check =
  (before: string, expression: string, expected: number, outside = '') =>
  () =>
    equals(before, `(${expression}) == ${expected} ? 3 : 1`, 3, outside);
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
  it('bytes by a pointer that is moved', check(`${n} int w = n * 256 + 3;`, '*((unsigned char *)&w + 1)', 7));
  it(
    'words by a pointer into bytes',
    check(`${n} unsigned char b[8] = {9, 9, 0, 0, 5, 0, 0, 0};`, '*((int *)b + 1)', 5),
  );
  it(
    'bytes that a function is handed by a pointer',
    check(
      `${n} int w = 0x01000002; w += n << 8; int sum = sumOf((const char *)&w);`,
      'sum',
      10,
      '__device__ int sumOf(const char* s) { return *(s + 0) + *(s + 1) + *(s + 2) + *(s + 3); }',
    ),
  );
  it(
    'bytes by a pointer that steps over them',
    check(
      `${n} int w[2] = {0x01000002, 3}; w[0] += n << 8; int sum = 0; const unsigned char *p = (const unsigned char *)w;
       for (int i = 0; i < 8; i++) sum = sum * 2 + *p++;`,
      'sum & 1023',
      (2 * 128 + 7 * 64 + 16 + 3 * 8) & 1023,
    ),
  );
  it(
    'back from bytes to the words around them',
    check(`${n} int w[2] = {1, n}; char* p = (char *)w + 6; p -= 2;`, '*(int *)p', 7),
  );
  it('the address of a byte, moved on', check(`${n} int w = n << 24;`, '(&((unsigned char *)&w)[1])[2]', 7));
  it('between two bytes', check(`${n} int w[2]; char* p = (char *)w + 7;`, '(p - (char *)w) + (n - 7)', 7));
  it(
    'bytes copied into a word behind its beginning',
    check(
      `${n} unsigned w = 0x01020304; unsigned char b[2] = {9, 0}; b[1] = n; memcpy((char *)&w + 1, b, 2);`,
      'w',
      0x01070904,
    ),
  );
  it(
    'bytes copied out of a word behind its beginning',
    check(`${n} unsigned w = 0x01020304 + (n << 20); unsigned short s; memcpy(&s, (char *)&w + 1, 2);`, 's', 0x7203),
  );
});
