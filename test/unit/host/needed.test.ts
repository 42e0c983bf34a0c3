/** What no launch needs is not computed: references of the processor take nothing of what the data of later launches take. */
import { check, upload } from './check-contents';

/** Ten million passes of a loop that nobody looks at. */
const reference = (name: string): string => `
  std::vector<float> ${name}(1000, 0.f);
  for (int r = 0; r < 10000; r++)
    for (int i = 0; i < 1000; i++) ${name}[i] = ${name}[i] * 0.5f + h[i];`;

describe('what no launch needs', () => {
  it('takes nothing of what the data of later launches take', () => {
    check(`
__global__ void k(const int* a) {}
${upload}
int main() {
  std::vector<int> h(1000, 1);
  k<<<1, 32>>>(up(h)); //= a: 1 1
  ${reference('first')}
  ${reference('second')}
  ${reference('third')}
  ${reference('fourth')}
  std::printf("%f", first[0] + second[0] + third[0] + fourth[0]);
  std::vector<int> b(200000);
  unsigned s = 1;
  for (int& x : b) { s = s * 1664525u + 1013904223u; x = s >> 28; }
  k<<<1, 32>>>(up(b)); //= a: 3 5 8 11
}`);
  });

  it('is seen block by block and in time: what is compared with results is not what is copied to the device', () => {
    check(`
__global__ void k(const int* a) {}
${upload}
struct Problem { std::vector<int> in, want; };
int main() {
  Problem p;
  for (int i = 0; i < 100; i++) { p.in.push_back(i); p.want.push_back(0); }
  int* d = up(p.in);
  k<<<1, 32>>>(d); //= a: 0 1 2
  for (int r = 0; r < 1000000; r++) for (int i = 0; i < 100; i++) p.want[i] += p.in[i];
  std::vector<int> got(100);
  cudaMemcpy(got.data(), d, 400, cudaMemcpyDeviceToHost);
  int bad = 0;
  for (int i = 0; i < 100; i++) if (got[i] != p.want[i]) bad++;
  if (bad) { printf("differs\\n"); exit(1); }
  for (int i = 0; i < 100; i++) p.in[i] += 5;
  k<<<1, 32>>>(up(p.in)); //= a: 5 6 7
}`);
  });

  it('is not what decides how often a kernel is launched, nor what that is computed from', () => {
    check(`
__global__ void step(const int* a, int n) {}
__global__ void k(const int* a) {}
${upload}
int main() {
  std::vector<int> h(4, 3);
  std::vector<int> sizes;
  for (int i = 0; i < 3; i++) sizes.push_back(10 >> i);
  int* d = up(h);
  std::vector<int>* which = &sizes;
  size_t i = 0;
  while ((*which)[i] > 2) {
    step<<<1, 32>>>(d, (*which)[i]); //= n: 10; n: 5
    i++;
  }
  int* cursor = h.data();
  for (int j = 0; j < 4; j++) *cursor++ = j * j;
  cudaMemcpy(d, h.data(), 16, cudaMemcpyHostToDevice);
  k<<<1, 32>>>(d); //= a: 0 1 4 9
}`);
  });

  it('is not what pointers in memory lead to', () => {
    check(`
struct Matrix { int rows; int* data; };
__global__ void k(const Matrix* m) {}
__global__ void look(const int* a) {}
int main() {
  Matrix* m;
  cudaMallocManaged(&m, 2 * sizeof(Matrix));
  for (int i = 0; i < 2; i++) {
    m[i].rows = 2 + i;
    cudaMallocManaged(&m[i].data, 4 * sizeof(int));
    for (int j = 0; j < 4; j++) m[i].data[j] = 10 * i + j;
  }
  look<<<1, 32>>>(m[1].data); //= a: 10 11 12 13
  m[1].data[2] = 7;
  look<<<1, 32>>>(m[1].data); //= a: 10 11 7 13
}`);
  });

  it('is not what a recursion that cannot be followed would change', () => {
    check(`
__global__ void k(const int* a) {}
${upload}
template <class... T> void fill(std::vector<int>& v, int depth, T... t) {
  if (depth == 0) return;
  v.push_back(depth);
  fill(v, depth - 1, t...);
}
int main() {
  std::vector<int> few, many;
  fill(few, 3);
  k<<<1, 32>>>(up(few)); //= a: 3 2 1
  fill(many, 100);
  k<<<1, 32>>>(up(many)); //= a: ?
  k<<<1, 32>>>(up(few)); //= a: 3 2 1
}`);
  });
});
