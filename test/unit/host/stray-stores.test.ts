/** What kernels store behind the blocks that they were given. */
import { check, upload } from './check-contents';

const around = (kernels: string, main: string): string => `${upload}
__global__ void look(const int* a, int* out) { out[a[threadIdx.x] & 1023] = 1; }
${kernels}
int main() {
  std::vector<int> h;
  for (int i = 0; i < 65; i++) h.push_back(i);
  int *out, *a, *b;
  cudaMalloc(&out, 4096);
  ${main}
}`;

const raise = '__global__ void raise(int* a) { a[blockIdx.x * blockDim.x + threadIdx.x] += 1; }';
const scatter = '__global__ void scatter(const int* to, int* a) { a[to[threadIdx.x]] = 7; }';

describe('stores behind blocks of the device', () => {
  it('change nothing up to the next multiple of what blocks are aligned to', () => {
    check(
      around(
        raise,
        `a = up(h); b = up(h);
  raise<<<1, 128>>>(a);
  look<<<1, 32>>>(a, out); //= a: 1 2 3
  look<<<1, 32>>>(b, out); //= a: 0 1 2`,
      ),
    );
  });

  it('change nothing behind the last block, within its page', () => {
    check(
      around(
        raise,
        `a = up(h); b = up(h);
  raise<<<4, 128>>>(b);
  look<<<1, 32>>>(a, out); //= a: 0 1 2
  look<<<1, 32>>>(b, out); //= a: 1 2 3`,
      ),
    );
  });

  it('change nothing a little behind a large block, whatever else there is', () => {
    check(
      around(
        raise,
        `cudaMalloc(&a, 2600000); b = up(h);
  raise<<<2560, 256>>>(a); // 21440 bytes too many
  look<<<1, 32>>>(b, out); //= a: 0 1 2
  look<<<1, 32>>>(a, out); //= a: 1 1 1`,
      ),
    );
  });

  it('change nothing where they are atomic, or come from where nothing is known', () => {
    check(
      around(
        `__global__ void count(int* a, int* b) { atomicAdd(a + threadIdx.x, 1); b[threadIdx.x + 128] = a[threadIdx.x]; }`,
        `a = up(h); b = up(h);
  count<<<1, 128>>>(a, b);
  look<<<1, 32>>>(a, out); //= a: 1 2 3
  look<<<1, 32>>>(b, out); //= a: 0 1 2`,
      ),
    );
  });

  it('say that some value is wrong farther on, and in any other page', () => {
    check(
      around(
        raise,
        `a = up(h);
  raise<<<8192, 128>>>(a);
  look<<<1, 32>>>(a, out); //= not reached`,
      ),
    );
  });

  it('say so where what was loaded leads there', () => {
    check(
      around(
        scatter,
        `b = up(h); h[3] = 1000; a = up(h);
  int* last = up(h);
  scatter<<<1, 32>>>(a, last);
  look<<<1, 32>>>(last, out); //= not reached`,
      ),
    );
  });
});
