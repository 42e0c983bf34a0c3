/**
 * Loops over all but one element are two loops (lower/index-split.ts). 32 lanes, 64 records of 32 bytes, a sector each; lane i makes i passes of the first
 * loop and 63 - i of the second:
 * (The division keeps ptxas from writing the fours out further.)
 *
 * - first loop, fours: all lanes that are left are at the same record: 28 requests, 28 sectors; the rest of up to three passes behind them: the eight
 *   groups of four lanes are at a record each: 3 requests, 24 sectors;
 * - second loop, the rest of up to three passes before the fours: 24, 16 and 8 lanes are left, at a record each: 3 requests, 48 sectors;
 * - second loop, fours: four lanes each are at one record, the eight groups make 60, 56 … 32 passes: 60 requests, 368 sectors.
 */
import { check } from '../analysis/check-accesses';

/** @param carets what is expected of `p[j].x` */
function loop(text: string, expected: string): void {
  const at = text.indexOf('p[j].x');
  check(`
struct Particle { float x, y, z, mass, fx, fy, fz, pad; };
__global__ void k(const Particle* p, float* out, int n, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
${text.slice(0, text.lastIndexOf('\n', at) + 1)}${lineAt(text, at)}
//${' '.repeat(at - text.lastIndexOf('\n', at) - 3)}^^^^^^ ${expected}
${text.slice(text.indexOf('\n', at) + 1)}
  out[i] = s;
}
int main() { Particle* p; float* out; cudaMalloc(&p, 64 * 32); cudaMalloc(&out, 1 << 10); k<<<1, 32>>>(p, out, 64, 3); }`);
}

function lineAt(text: string, at: number): string {
  const end = text.indexOf('\n', at);
  return text.slice(text.lastIndexOf('\n', at) + 1, end);
}

const guarded = (head: string, body: string) => `
  if (i >= n) return;
  float s = 0;
  ${head} {
    ${body}
  }
`;

describe('a loop over all but one', () => {
  it('is two loops, up to that one and from the next one on', () => {
    for (const body of [
      'if (j == i) continue;\n    s += 1.0f / p[j].x;',
      'if (i != j) {\n      s += 1.0f / p[j].x;\n    }',
      'if (j != i && n > 3) {\n      s += 1.0f / p[j].x;\n    }',
      'int k = j * m;\n    if (j == i) continue;\n    s += 1.0f / p[j].x * k;',
      'if (j == i) s += 5; else\n      s += 1.0f / p[j].x;',
    ])
      loop(guarded('for (int j = 0; j < n; j++)', body), 'x94 4.9787/2.4681 sectors');
  });

  it('of which one is left where only the elements before it or behind it count', () => {
    loop(
      guarded('for (int j = 0; j < n; ++j)', 'if (j > i) {\n      s += 1.0f / p[j].x;\n    }'),
      'x63 6.6032/3.1429 sectors',
    );
    loop(
      guarded('for (int j = 0; j < n; ++j)', 'if (j >= i) continue;\n    s += 1.0f / p[j].x;'),
      'x31 1.6774/1.0968 sectors',
    );
  });

  it('behind any condition that gives that one an upper bound', () => {
    loop(
      `
  float s = 0;
  if (m > 0 && i < n) {
    for (int j = 0; j < m * 21 + 1; j++) {
      if (j == i) continue;
      s += 1.0f / p[j].x;
    }
  }
`,
      'x94 4.9787/2.4681 sectors',
    );
  });

  const stays = 'x64 1/1 sectors';
  it('stays one without an upper bound', () => {
    loop(
      guarded('for (int j = 0; j < n; j++)', 'if (j == i) continue;\n    s += 1.0f / p[j].x;').replace(
        'if (i >= n) return;',
        '',
      ),
      stays,
    );
    loop(
      guarded('for (int j = 0; j < n; j++)', 'if (j == i) continue;\n    s += 1.0f / p[j].x;').replace(
        'if (i >= n) return;',
        'if (i < n) out[i] = 0;',
      ),
      stays,
    );
  });

  it('stays one beside another loop, around one, and inside of one', () => {
    const one = guarded('for (int j = 0; j < n; j++)', 'if (j == i) continue;\n    s += 1.0f / p[j].x;');
    loop(`${one}  for (int c = 0; c < m; c++) out[c * 64 + i] = s;\n`, stays);
    loop(
      guarded(
        'for (int j = 0; j < n; j++)',
        'if (j == i) continue;\n    s += 1.0f / p[j].x;\n    for (int c = 0; c < 3; c++) s *= m + c;',
      ),
      stays,
    );
  });

  it('stays one where a branch meets its beginning or its end', () => {
    const one = guarded('for (int j = 0; j < n; j++)', 'if (j == i) continue;\n    s += 1.0f / p[j].x;');
    loop(`${one}  if (s > 2) out[i + 64] = s;\n`, stays);
    loop(`${one}  if (s > 2) s = s / m;\n`, stays);
    loop(`${one}  if (s > 2) return;\n`, stays);
    loop(one.replace('float s = 0;', 'float s = 0;\n  if (m > 2) out[i + 64] = 1;'), stays);
    const split = 'x94 4.9787/2.4681 sectors';
    loop(`${one}  if (s > 2) s = s * m;\n`, split);
    loop(one.replace('float s = 0;', 'float s = 0;\n  if (m > 200) return;'), split);
  });

  it('stays one that begins elsewhere, has a known length, leaves before its end or asks late', () => {
    loop(guarded('for (int j = 0; j < 64; j++)', 'if (j == i) continue;\n    s += 1.0f / p[j].x;'), stays);
    loop(guarded('for (int j = 0; j <= n - 1; j++)', 'if (j == i) continue;\n    s += 1.0f / p[j].x;'), stays);
    loop(guarded('for (int j = 0; j < n; j++)', 's += 1.0f / p[j].x;\n    if (j == i) continue;\n    s *= 2;'), stays);
    loop(
      guarded('for (int j = 0; j < n; j++)', 'if (j == i) continue;\n    s += 1.0f / p[j].x;\n    if (m > 70) break;'),
      stays,
    );
  });

  it('stays one with a barrier in it', () => {
    for (const barrier of ['__syncwarp();', 'cooperative_groups::coalesced_threads().sync();'])
      loop(
        guarded('for (int j = 0; j < n; j++)', `if (j == i) continue;\n    s += 1.0f / p[j].x;\n    ${barrier}`),
        stays,
      );
  });

  it('is asked of each instance of a template by itself', () => {
    const kernel = (name: string, from: number) =>
      `__global__ void ${name}(const P* p, float* out, int n) { run<${from}>(p, out, n); }`;
    check(`
struct P { float x, y, z, mass, fx, fy, fz, pad; };
template <int FROM> __device__ void run(const P* p, float* out, int n) {
  int i = threadIdx.x;
  if (i >= n) return;
  float s = 0;
  for (int j = FROM; j < n; j++) {
    if (j == i) continue;
    s += 1.0f / p[j].x;
    //          ^^^^^^ x63 1/1 sectors
    //          ^^^^^^ x94 4.9787/2.4681 sectors
  }
  out[i] = s;
}
${kernel('later', 1)}
${kernel('first', 0)}
int main() {
  P* p; float* out; cudaMalloc(&p, 64 * 32); cudaMalloc(&out, 1 << 10);
  later<<<1, 32>>>(p, out, 64);
  first<<<1, 32>>>(p, out, 64);
}`);
  });
});
