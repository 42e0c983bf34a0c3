import { check } from './support';

const shown = (n: string | number) => `show <<<(1,1,1),(1,1,1),0>>>(${n})`;
const show = '__global__ void show(int);\n';

/** What the host knows of `*m` behind a kernel that is handed `m`: the body of the kernel, and the expected value. */
function checkManaged(body: string, expected: string | number, parameters = 'int* m, int n'): void {
  const main =
    'int* m; cudaMallocManaged(&m, 8); m[0] = 5; w<<<1, 1>>>(m, 1); cudaDeviceSynchronize(); show<<<1, 1>>>(m[0]);';
  check(
    `${show}__global__ void w(${parameters}) { ${body} }\nint main() { ${main} }`,
    'w <<<(1,1,1),(1,1,1),0>>>(m, 1)',
    shown(expected),
  );
}

describe('managed memory behind a launch', () => {
  it('is not known where the kernel may write it', () => {
    checkManaged('*m = n;', '?');
    checkManaged('m[n] += 2;', '?');
    checkManaged('if (n) (*m)++;', '?');
    checkManaged('atomicAdd(m, n);', '?');
    checkManaged('atomicAdd(&m[n], n);', '?');
    checkManaged('int* p = m + n; *p = 1;', '?');
    checkManaged('auto& first = m[0]; first = 1;', '?');
    checkManaged('auto f = [&] { m[n] = 2; }; f();', '?');
    checkManaged('for (int i = 0; i < n; i++) if (i > 3) while (n) { m[i] = n; }', '?');
  });
  it('is not known where the kernel hands it on in other ways than calls', () => {
    checkManaged('asm volatile("st.global.u32 [%0], %1;" :: "l"(m), "r"(n) : "memory");', '?');
    checkManaged('for (int& x : View(m, n)) x = 1;', '?');
    const main = 'int* m; cudaMallocManaged(&m, 8); m[0] = 5; w<<<1, 1>>>(1, m); show<<<1, 1>>>(m[0]);';
    const packs = (body: string) =>
      check(
        `${show}template <class... T> __global__ void w(int n, T... all) { ${body} }\nint main() { ${main} }`,
        'w<int*> <<<(1,1,1),(1,1,1),0>>>(1, m)',
        shown('?'),
      );
    packs('put(n, all...);');
    packs('(put(all), ...);');
    check(
      `${show}__global__ void w(int n, int* m) { w<<<1, 1>>>(0, m); }\nint main() { ${main} }`,
      'w <<<(1,1,1),(1,1,1),0>>>(0, m)',
      'w <<<(1,1,1),(1,1,1),0>>>(1, m)',
      shown('?'),
    );
  });
  it('stays what it was where the kernel reads it, or its parameter points to const', () => {
    checkManaged('int x = m[n]; if (m[0] < x) n = *m;', 5);
    checkManaged('helper(m, n);', 5, 'const int* m, int n');
    checkManaged('n = m ? m[1] + 2 : 0;', 5);
  });
  it('is not known behind a kernel that is only declared', () => {
    const main = 'int* m; cudaMallocManaged(&m, 8); m[0] = 5; w<<<1, 1>>>(m); show<<<1, 1>>>(m[0]);';
    check(`${show}__global__ void w(int* m);\nint main() { ${main} }`, 'w <<<(1,1,1),(1,1,1),0>>>(m)', shown('?'));
  });
  it('loses the fields of a record that are written', () => {
    const record = 'struct P { int n; int* found; int* sizes; };\n';
    const main = `P p; p.n = 3; cudaMallocManaged(&p.found, 4); cudaMallocManaged(&p.sizes, 4); *p.found = 0; p.sizes[0] = 7;
      w<<<1, 1>>>(p); show<<<1, 1>>>(*p.found); show<<<1, 1>>>(p.sizes[0]);`;
    check(
      `${show}${record}__global__ void w(P p) { if (p.sizes[0] > p.n) *p.found = 1; }\nint main() { ${main} }`,
      'w <<<(1,1,1),(1,1,1),0>>>({n: 3, found: p.found, sizes: p.sizes})',
      shown('?'),
      shown(7),
    );
  });
  it('keeps what a record in it says besides', () => {
    const record = 'struct P { int n; int found; int* cells; };\n';
    const main = `P* p; cudaMallocManaged(&p, sizeof(P)); p->n = 1000; w<<<1, 1>>>(p); show<<<1, 1>>>(p->n);`;
    const kernel = (body: string) => `${show}${record}__global__ void w(P* p) { ${body} }\nint main() { ${main} }`;
    check(kernel('p->cells[p->n] = 1;'), 'w <<<(1,1,1),(1,1,1),0>>>(p)', shown(1000));
    check(kernel('p->found = 1;'), 'w <<<(1,1,1),(1,1,1),0>>>(p)', shown('?p.n'));
  });
});
