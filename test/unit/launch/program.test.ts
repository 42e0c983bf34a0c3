import { check, checkAssuming, checkMain } from './support';

describe('command line', () => {
  it('takes the default of an argument', () => {
    checkMain('int n = argc > 1 ? atoi(argv[1]) : 1024; k<<<n / 256, 256>>>(n);', 'k <<<(4,1,1),(256,1,1),0>>>(1024)');
    checkMain(
      'size_t at = 0; int n = std::stoi("123abc", &at); k<<<1, 32>>>(n, at, (int)strtol("0x1f", nullptr, 0), std::stoi("ff", nullptr, 16));',
      'k <<<(1,1,1),(32,1,1),0>>>(123, ?at, 31, 255)',
    );
    checkMain('using namespace std::literals; if ("-n"sv == "-n") k<<<1, 32>>>();', 'k <<<(1,1,1),(32,1,1),0>>>()');
    checkMain('int n = 64; if (argc > 1) n = atoi(argv[1]); k<<<1, n>>>();', 'k <<<(1,1,1),(64,1,1),0>>>()');
    checkMain(
      'int n = 64; if (argc == 2) { n = atoi(argv[1]); } else if (argc > 2) { exit(1); } k<<<1, n>>>();',
      'k <<<(1,1,1),(64,1,1),0>>>()',
    );
    checkMain(
      'int n = 64; if (checkCmdLineFlag(argc, (const char**)argv, "n")) n = getCmdLineArgumentInt(argc, (const char**)argv, "n"); k<<<1, n>>>();',
      'k <<<(1,1,1),(64,1,1),0>>>()',
    );
    checkMain(
      'int n = 64, c; while ((c = getopt(argc, argv, "n:")) != -1) { switch (c) { case \'n\': n = atoi(optarg); } } k<<<1, n>>>();',
      'k <<<(1,1,1),(64,1,1),0>>>()',
    );
    check(
      'extern int optind; int main(int argc, char** argv) { while (getopt(argc, argv, "n:") != -1); k<<<1, 32>>>(optind, optind < argc); }',
      'k <<<(1,1,1),(32,1,1),0>>>(1, 0)',
    );
    checkMain(
      'extern int optind; char* words[] = {(char*)"p", (char*)"-b"}; getopt(2, words, "b"); k<<<1, 32>>>(optind, words[1][0]);',
      'k <<<(1,1,1),(32,1,1),0>>>(?optind, ?words[1][0])',
    );
    for (const from of [0, 1])
      checkMain(
        `int n = 64; for (int i = ${from}; i < argc; i++) { if (strcmp(argv[i], "-n") == 0) n = atoi(argv[i + 1]); } k<<<1, n>>>(atoi(argv[1]));`,
        'k <<<(1,1,1),(64,1,1),0>>>(?)',
      );
    checkMain(
      'int n = 64; for (int i = 1; i < argc; i++) { if (!strcmp(argv[i], "-n")) n = atoi(argv[++i]); } k<<<1, n>>>();',
      'k <<<(1,1,1),(64,1,1),0>>>()',
    );
  });
  it('means variables of the namespace where a function says extern', () => {
    check(
      'int n = 5; void set() { extern int n; n = 64; } int main() { set(); k<<<1, n>>>(); }',
      'k <<<(1,1,1),(64,1,1),0>>>()',
    );
  });
  it('looks at the characters of words that the text tells', () => {
    const words = 'char* words[] = {(char*)"p", (char*)"-b", (char*)"96", (char*)"--grid=5"}; char** w = words;';
    checkMain(
      `${words} int b = 32; for (int i = 1; i < 4; i++) if (w[i][0] == '-') { switch (w[i][1]) { case 'b': b = atoi(w[++i]); break; case 'x': return 1; } } k<<<1, b>>>();`,
      'k <<<(1,1,1),(96,1,1),0>>>()',
    );
    checkMain(
      `${words} int g = 1; if (!strncmp(w[3], "--grid", 6) && w[3][8] == 0) g = atoi(w[3] + 7); k<<<g, 32>>>();`,
      'k <<<(5,1,1),(32,1,1),0>>>()',
    );
  });
  it('what a round that is left may have written', () => {
    const rounds = (way: string) =>
      `int n = 64; for (int i = 0; i < 3; i++) { if (found(i)) { n = 32; ${way}; } } k<<<1, n>>>();`;
    for (const way of ['continue', 'break']) checkMain(rounds(way), 'k <<<(1,1,1),(?n,1,1),0>>>()');
    checkMain(
      'int n = 64; switch (2) { case 2: if (found(0)) { n = 32; break; } } k<<<1, n>>>();',
      'k <<<(1,1,1),(?n,1,1),0>>>()',
    );
  });
  it('goes on behind a usage message', () => {
    checkMain(
      'if (argc < 2) { printf("usage"); return 1; } int n = atoi(argv[1]); k<<<1, 64>>>(n);',
      'k <<<(1,1,1),(64,1,1),0>>>(?n)',
    );
    checkMain(
      'if (argc != 3) { printf("usage"); exit(1); } k<<<1, 64>>>(atoi(argv[2]));',
      'k <<<(1,1,1),(64,1,1),0>>>(?)',
    );
    check(
      'void usage() { exit(1); } int main(int argc, char** argv) { int n; if (argc == 2) n = atoi(argv[1]); else usage(); k<<<1, 64>>>(n); }',
      'k <<<(1,1,1),(64,1,1),0>>>(?n)',
    );
    check(
      'void usage() { exit(1); } int main(int argc, char** argv) { int n = 3; switch (argc) { case 2: n = 4; break; default: usage(); } k<<<1, 64>>>(n); }',
      'k <<<(1,1,1),(64,1,1),0>>>(4)',
    );
  });
  it('takes values the user assumes', () => {
    checkAssuming({ n: 512 }, 'void f(int n) { k<<<n / 256, 256>>>(n); }', 'k <<<(2,1,1),(256,1,1),0>>>(512)');
    checkAssuming(
      { 't->ne[1]': 6 },
      'struct Tensor; void f(Tensor* t) { k<<<t->ne[1], 32>>>(t->ne[0]); }',
      'k <<<(6,1,1),(32,1,1),0>>>(?t->ne[0])',
    );
    checkAssuming(
      { n: 512 },
      'int main(int c, char** v) { int n = atoi(v[1]); k<<<n / 256, 256>>>(n); }',
      'k <<<(2,1,1),(256,1,1),0>>>(512)',
    );
  });
});

describe('control flow', () => {
  it('keeps what both sides of an unknown condition agree on', () => {
    check(
      'void f(bool c) { int b = 128, n = 1; if (c) { n = 2; b = 128; } else n = 3; k<<<1, b>>>(n); }',
      'k <<<(1,1,1),(128,1,1),0>>>(?n)',
    );
    check('void f(int n) { int b; if (n > 10) b = 64; else b = 64; k<<<1, b>>>(); }', 'k <<<(1,1,1),(64,1,1),0>>>()');
    check('void f(int n) { k<<<1, n > 10 ? 64 : 64>>>(); }', 'k <<<(1,1,1),(64,1,1),0>>>()');
  });
  it('falls through error checks', () => {
    checkMain(
      'cudaError_t e = cudaSetDevice(0); if (e != cudaSuccess) exit(1); if (open() < 0) return 1; k<<<1, 32>>>();',
      'k <<<(1,1,1),(32,1,1),0>>>()',
    );
    check(
      'int f(float* p) { if (!p) return -1; int b = 32; if (other()) { return -1; } k<<<1, b>>>(); return 0; }',
      'k <<<(1,1,1),(32,1,1),0>>>()',
    );
    checkMain('try { k<<<1, 32>>>(); } catch (...) { return 1; }', 'k <<<(1,1,1),(32,1,1),0>>>()');
  });
  it('reports each case of a dispatch', () => {
    check(
      'void f(int t) { switch (t) { case 1: k<<<1, 1>>>(); break; case 2: k<<<1, 2>>>(); break; default: k<<<1, 4>>>(t); } }',
      'k <<<(1,1,1),(1,1,1),0>>>()',
      'k <<<(1,1,1),(2,1,1),0>>>()',
      'k <<<(1,1,1),(4,1,1),0>>>(?t)',
    );
    check(
      'void f(int t) { if (t == 1) k<<<1, 1>>>(); else if (t == 2) k<<<1, 2>>>(); }',
      'k <<<(1,1,1),(1,1,1),0>>>()',
      'k <<<(1,1,1),(2,1,1),0>>>()',
    );
    checkMain(
      'int t = 2, b; switch (t) { case 1: b = 32; break; case 2: b = 64; break; } k<<<1, b>>>();',
      'k <<<(1,1,1),(64,1,1),0>>>()',
    );
    check(
      'int b(int t) { switch (t) { case 1: return 32; case 2: return 64; } return 1; } int main() { k<<<b(2), b(3)>>>(); }',
      'k <<<(64,1,1),(1,1,1),0>>>()',
    );
  });
  it('looks into ways that are not taken', () => {
    checkMain(
      'int version = 1; if (version == 0) k<<<1, 1>>>(); else k<<<1, 2>>>();',
      'k <<<(1,1,1),(1,1,1),0>>>()',
      'k <<<(1,1,1),(2,1,1),0>>>()',
    );
    checkMain(
      'int version = 1; switch (version) { case 0: k<<<1, 1>>>(); break; case 1: k<<<1, 2>>>(); }',
      'k <<<(1,1,1),(1,1,1),0>>>()',
      'k <<<(1,1,1),(2,1,1),0>>>()',
    );
    check(
      'void g(int b) { k<<<1, b>>>(); } int main(int argc, char**) { if (argc > 5) g(96); }',
      'k <<<(1,1,1),(96,1,1),0>>>()',
    );
  });
});

describe('host loops', () => {
  it('report first, typical and last launch', () => {
    checkMain(
      'for (int i = 0; i < 5; i++) k<<<1, 32>>>(i);',
      'k <<<(1,1,1),(32,1,1),0>>>(0)',
      'k <<<(1,1,1),(32,1,1),0>>>(2)',
      'k <<<(1,1,1),(32,1,1),0>>>(4)',
    );
    checkMain(
      'for (int s = 1; s <= 512; s *= 2) k<<<512 / s, 32>>>(s);',
      'k <<<(512,1,1),(32,1,1),0>>>(1)',
      'k <<<(32,1,1),(32,1,1),0>>>(16)',
      'k <<<(1,1,1),(32,1,1),0>>>(512)',
    );
  });
  it('report first, typical and last launch of each instance of a template', () => {
    const launches = [0, 2, 4].map((i) => `<<<(1,1,1),(32,1,1),0>>>(${i})`);
    check(
      'template <class T> __global__ void k(T n) {} template <class T> void run(int i) { k<T><<<1, 32>>>(i); } int main() { for (int i = 0; i < 5; i++) { run<int>(i); run<long>(i); } }',
      ...['int', 'long'].flatMap((type) => launches.map((launch) => `k<${type}> ${launch}`)),
    );
  });
  it('report identical launches once', () => {
    checkMain('for (int i = 0; i < 100000000; i++) k<<<1, 32>>>();', 'k <<<(1,1,1),(32,1,1),0>>>()');
    checkMain(
      'float *a, *b; cudaMalloc(&a, 4); cudaMalloc(&b, 4); for (int i = 0; i < 1000; i++) { k<<<1, 32>>>(a, b); float* t = a; a = b; b = t; }',
      'k <<<(1,1,1),(32,1,1),0>>>(a, b)',
      'k <<<(1,1,1),(32,1,1),0>>>(b, a)',
    );
  });
  it('know the variable behind the loop', () => {
    checkMain('int p = 1; while (p < 100) p *= 2; k<<<1, p>>>();', 'k <<<(1,1,1),(128,1,1),0>>>()');
    checkMain(
      'int i; float* h = new float[1 << 24]; for (i = 0; i < 1 << 24; i++) h[i] = rand(); k<<<1, 32>>>(i);',
      'k <<<(1,1,1),(32,1,1),0>>>(16777216)',
    );
    checkMain(
      'int c = 0; for (int i = 0; i < 1 << 24; i++) c += 3; k<<<1, 32>>>(c);',
      'k <<<(1,1,1),(32,1,1),0>>>(50331648)',
    );
  });
  it('run a loop of unknown length once', () => {
    check(
      'void f(int n) { int c = 5, d = 7; for (int i = 0; i < n; i++) { k<<<1, 32>>>(i); c++; d = 7; } k<<<1, 64>>>(c, d); }',
      'k <<<(1,1,1),(32,1,1),0>>>(0)',
      'k <<<(1,1,1),(64,1,1),0>>>(?c, 7)',
    );
    checkMain(
      'bool stop; do { stop = true; k<<<1, 32>>>(); cudaMemcpy(&stop, d, 1, cudaMemcpyDeviceToHost); } while (!stop);',
      'k <<<(1,1,1),(32,1,1),0>>>()',
    );
    checkMain('for (int i = 0; ; i++) { if (done(i)) break; k<<<1, 32>>>(); }', 'k <<<(1,1,1),(32,1,1),0>>>()');
  });
  it('run over containers', () => {
    checkMain(
      'std::vector<int> sizes = {64, 128}; for (int b : sizes) k<<<1, b>>>();',
      'k <<<(1,1,1),(64,1,1),0>>>()',
      'k <<<(1,1,1),(128,1,1),0>>>()',
    );
    checkMain(
      'int sizes[] = {64, 128}; for (auto& b : sizes) k<<<1, b>>>();',
      'k <<<(1,1,1),(64,1,1),0>>>()',
      'k <<<(1,1,1),(128,1,1),0>>>()',
    );
  });
});

describe('ways out of a function', () => {
  it('that write count, error checks do not', () => {
    check(
      'int pick(int n, dim3& b) { for (int i = 0; i < 3; i++) { if (fits(i)) { b.x = 64; return n; } } exit(1); } void f(int n) { dim3 b; pick(n, b); k<<<1, b>>>(); }',
      'k <<<(1,1,1),(64,1,1),0>>>()',
    );
    check(
      'void pick(int n, int& b) { if (n > 100) { b = 256; return; } b = 32; } void f(int n) { int b; pick(n, b); k<<<1, b>>>(); }',
      'k <<<(1,1,1),(?b,1,1),0>>>()',
    );
    check(
      'int size(int n, int* b) { if (n < 0) return -1; *b = 32; return 0; } void f(int n) { int b; if (size(n, &b) != 0) return; k<<<1, b>>>(); }',
      'k <<<(1,1,1),(32,1,1),0>>>()',
    );
  });
});
