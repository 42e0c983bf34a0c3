/** Generators and distributions of the C and C++ libraries: the numbers that g++ 13 with libstdc++ and glibc gives. */
import { check } from './check-contents';

/** By name: type and count of the numbers, how they are made (into `x`), what g++ printed. */
const cases: readonly (readonly [name: string, type: string, before: string, make: string, numbers: string])[] = [
  ['rand', 'int', '', 'rand()', '1804289000 846930900 1681693000 1714637000 1957748000 424238300'],
  ['srand42', 'int', 'srand(42);', 'rand() % 1000', '166 740 881 241 12 758'],
  ['std::srand42', 'int', 'std::srand(42);', 'std::rand() % 1000', '166 740 881 241 12 758'],
  ['mt', 'long', 'std::mt19937 g(7);', 'g()', '327741615 976413892 3349725721 1369975286 1882953283 4201435347'],
  ['minstd', 'long', 'std::minstd_rand g(3);', 'g()', '144813 547817382 1726701011 1449194617 1941039829 1222067049'],
  [
    'default/int',
    'int',
    'std::default_random_engine g; std::uniform_int_distribution<int> d(0, 99);',
    'd(g)',
    '0 13 75 45 53 21',
  ],
  ['uint', 'int', 'std::mt19937 g(5); std::uniform_int_distribution<int> d(-10, 10);', 'd(g)', '-6 -9 8 7 -6 -3'],
  ['uint6', 'int', 'std::mt19937 g(5); std::uniform_int_distribution<> d(0, 6);', 'd(g)', '1 0 6 5 1 2'],
  [
    'realf',
    'float',
    'std::mt19937 g(5); std::uniform_real_distribution<float> d(0, 1);',
    'd(g)',
    '0.2219932 0.05518012 0.8707323 0.8313279 0.2067192 0.3637369',
  ],
  [
    'reald',
    'double',
    'std::mt19937 g(5); std::uniform_real_distribution<double> d(2, 3);',
    'd(g)',
    '2.05518 2.831328 2.363737 2.979445 2.089821 2.396737',
  ],
  [
    'normalf',
    'float',
    'std::mt19937 g(5); std::normal_distribution<float> d(0, 1);',
    'd(g)',
    '0.09964364 0.1114941 -0.5562872 -1.197304 -0.8887249 -0.0251092',
  ],
  [
    'normald',
    'double',
    'std::mt19937 g(5); std::normal_distribution<double> d(1, 2);',
    'd(g)',
    '1.215589 0.9387275 0.600587 -0.5865335 0.5956726 -3.413709',
  ],
  ['bern', 'int', 'std::mt19937 g(5); std::bernoulli_distribution d(0.3);', 'd(g)', '1 0 0 0 1 0'],
  [
    'expo',
    'double',
    'std::mt19937 g(5); std::exponential_distribution<double> d(2);',
    'd(g)',
    '0.02838049 0.8898992 0.2260716 1.942325 0.04705702 0.2527007',
  ],
  ['drand48', 'double', 'srand48(3);', 'drand48()', '0.783235 0.8636734 0.3117083 0.2670276 0.5418612 0.4337022'],
  [
    'rand_r',
    'int',
    'unsigned s = 12;',
    'rand_r(&s)',
    '1421733000 1798628000 1390286000 1659377000 1779967000 1754595000',
  ],
];

describe('random numbers of the host', () => {
  for (const [name, type, before, make, numbers] of cases) {
    it(`${name} are those of the library`, () => {
      check(`
__global__ void k(const ${type}* a) {}
int main() {
  ${before}
  ${type} h[6];
  for (auto& x : h) x = ${make};
  ${type}* d;
  cudaMalloc(&d, sizeof h);
  cudaMemcpy(d, h, sizeof h, cudaMemcpyHostToDevice);
  k<<<1, 32>>>(d); //= a: ${numbers}
}`);
    });
  }

  it('std::shuffle draws two places at a time', () => {
    check(`
__global__ void k(const int* a) {}
int main() {
  int h[12];
  std::iota(h, h + 12, 3);
  std::mt19937 g(9);
  std::shuffle(h, h + 12, g);
  int* d;
  cudaMalloc(&d, sizeof h);
  cudaMemcpy(d, h, sizeof h, cudaMemcpyHostToDevice);
  k<<<1, 32>>>(d); //= a: 14 5 7 10 12 4 8 9 3 11 6 13
}`);
  });

  it('hundreds of thousands of numbers are drawn within the budget of an editor', () => {
    check(`
__global__ void k(const int* last) {}
int main() {
  int n = 300000;
  srand(7);
  float* field = (float*)malloc(n * sizeof(float));
  for (int i = 0; i < n; i++) field[i] = (float)rand() / RAND_MAX;
  int h[2] = {rand() % 1000, rand() % 1000};
  int* d;
  cudaMalloc(&d, sizeof h);
  cudaMemcpy(d, h, sizeof h, cudaMemcpyHostToDevice);
  k<<<1, 32>>>(d); //= last: 238 289
}`);
  });

  it('a seed from the clock or the machine is assumed', () => {
    check(`
__global__ void k(const int* a, const int* b) {}
int main() {
  srand(time(0));
  std::mt19937 g(std::random_device{}());
  int a[2] = {rand(), rand()}, b[2] = {(int)g(), (int)time(0)};
  int *da, *db;
  cudaMalloc(&da, 8);
  cudaMalloc(&db, 8);
  cudaMemcpy(da, a, 8, cudaMemcpyHostToDevice);
  cudaMemcpy(db, b, 8, cudaMemcpyHostToDevice);
  k<<<1, 32>>>(da, db); //= a: 248033100 667826600, b: 1076562000 ?
}`);
  });
});
