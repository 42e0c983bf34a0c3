/** Neighbours of 16 bits that make words are read from shared memory at once. The machine code of nvcc 13.0 for sm_90 says the same of every kernel here. */
import { checkLines } from './check-lines';

const word = '__device__ unsigned word(unsigned short a, unsigned short b) { return a | ((unsigned)b << 16); }';

const filled = `__shared__ unsigned short s[512];
  int i = threadIdx.x;
  for (int k = 0; k < 16; k++) s[32 * k + i] = p[32 * k + i];
  __syncthreads();`;

const k = (body: string) => `k(const unsigned short *p, unsigned *d) {
  ${filled}
  ${body}
}`;

describe('neighbours of 16 bits in shared memory', () => {
  it('are one load where they make a word, whichever is its upper half', () => {
    checkLines(
      k('d[i] = s[2 * i] | ((unsigned)s[2 * i + 1] << 16); //= shared load 1 x 4 bytes, global store 1 x 4 bytes'),
    );
    checkLines(
      k('d[i] = s[2 * i + 1] | ((unsigned)s[2 * i] << 16); //= shared load 1 x 4 bytes, global store 1 x 4 bytes'),
    );
    checkLines(
      k('d[i] = ((unsigned)s[2 * i + 1] << 16) + s[2 * i]; //= shared load 1 x 4 bytes, global store 1 x 4 bytes'),
    );
    checkLines(
      k(
        'd[i] = word(s[2 * i], s[2 * i + 64]) ^ word(s[2 * i + 1], s[2 * i + 65]); //= shared load 2 x 4 bytes, global store 1 x 4 bytes',
      ),
      word,
    );
  });

  it('are loads of 8 bytes at most', () => {
    checkLines(
      k(
        'd[i] = word(s[4 * i], s[4 * i + 1]) ^ word(s[4 * i + 2], s[4 * i + 3]); //= shared load 1 x 8 bytes, global store 1 x 4 bytes',
      ),
      word,
    );
    checkLines(
      k(
        'd[i] = word(s[8 * i], s[8 * i + 1]) ^ word(s[8 * i + 2], s[8 * i + 3]) ^ word(s[8 * i + 4], s[8 * i + 5]) ^ word(s[8 * i + 6], s[8 * i + 7]); //= shared load 2 x 8 bytes, global store 1 x 4 bytes',
      ),
      word,
    );
  });

  it('are two where one of them is used as it is too, where they do not begin a word, and where they make none', () => {
    checkLines(
      k(
        'd[i] = word(s[2 * i], s[2 * i + 1]); d[i + 32] = s[2 * i]; //= shared load 2 x 2 bytes, global store 2 x 4 bytes',
      ),
      word,
    );
    checkLines(
      k('d[i] = word(s[2 * i + 1], s[2 * i + 2]); //= shared load 2 x 2 bytes, global store 1 x 4 bytes'),
      word,
    );
    checkLines(k('d[i] = s[2 * i] + s[2 * i + 1]; //= shared load 2 x 2 bytes, global store 1 x 4 bytes'));
  });
});
