/** What a program reads of files in the workspace. */
import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { createAnalyzer } from '../../../server/src/analysis/analyze';
import { DataFiles } from '../../../server/src/workspace/data-files';
import { UnitReader } from '../../../server/src/workspace/units';
import { temporaryFolder } from '../../host/bundle';

const options = { computeCapability: '9.0', defines: new Map(), assume: new Map() };

const program = (read: string) => `#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
namespace fs = std::filesystem;
__global__ void gather(const int* at, const float* in, float* out) { int i = threadIdx.x; out[i] = in[at[i]]; }
int main(int argc, char** argv) {
  int at[32], *d_at;
  float *in, *out;
  ${read}
  cudaMalloc(&d_at, sizeof(at)); cudaMalloc(&in, 4096 * 4); cudaMalloc(&out, 128);
  cudaMemcpy(d_at, at, sizeof(at), cudaMemcpyHostToDevice);
  gather<<<1, 32>>>(d_at, in, out);
}`;

/** Sectors of `in[at[i]]` after each of the texts of the data file, by one analyzer; `?` where they are not known. */
function check(read: string, texts: readonly string[], expected: string, file = 'at.txt'): void {
  const { folder, remove } = temporaryFolder({
    'app/src/main.cu': program(read),
    ...(file === '' ? {} : { [file]: '' }),
  });
  try {
    const units = new UnitReader(new Map(), assert.fail);
    const analyzer = createAnalyzer();
    const used = new Set<string>();
    const reasons: string[] = [];
    const told = texts.map((text, i) => {
      const data = path.join(folder, file);
      fs.writeFileSync(data, text);
      fs.utimesSync(data, i, i);
      const source = path.join(folder, 'app/src/main.cu');
      const workspace = { folders: [folder], includePaths: [] };
      const request = units.request(source, program(read), options, workspace, (each) => used.add(each));
      const accesses = analyzer.analyze(request).kernels[0].launches[0].accesses;
      reasons.push(...accesses.flatMap((a) => (a.expression.includes('in[') ? [a.reason ?? ''] : [])));
      return accesses.flatMap((a) =>
        a.expression.includes('in[') ? [a.certainty === 'unknown' ? '?' : a.sectors] : [],
      );
    });
    assert.equal(told.join(' '), expected);
    if (!expected.includes('?'))
      assert.match(reasons.at(-1) ?? '', /main fills in before this launch \(\S*at\.txt read\)/);
    assert.equal(used.has(path.join(folder, file)), !expected.includes('?'));
  } finally {
    remove();
  }
}

const numbers = (of: (i: number) => number) => Array.from({ length: 32 }, (_, i) => of(i)).join('\n');
const each = (scan: string) => `for (int i = 0; i < 32; i++) ${scan};`;

describe('data files', () => {
  it('are read with the functions of C and as streams', () => {
    check(`FILE* f = fopen("at.txt", "r"); ${each('fscanf(f, "%d", &at[i])')}`, [numbers((i) => 8 * i)], '32');
    const named = `std::FILE* f = std::fopen("at.txt", "r"); ${each('std::fscanf(f, "%d", &at[i])')} std::fclose(f);`;
    check(named, [numbers((i) => 8 * i)], '32');
    check(`std::ifstream f("at.txt"); ${each('f >> at[i]')}`, [numbers((i) => 8 * i)], '32');
  });

  it('are opened in modes that the class of a stream names', () => {
    const modes = [
      'std::ifstream::in',
      'std::ifstream::in | std::ifstream::binary',
      'std::fstream::in',
      'std::ios::in',
    ];
    for (const mode of modes)
      check(`std::ifstream f; f.open("at.txt", ${mode}); ${each('f >> at[i]')}`, [numbers((i) => 8 * i)], '32');
    const written = 'std::ofstream g("at.txt", std::ofstream::app); g << argc;';
    check(`${written} std::ifstream f("at.txt"); ${each('f >> at[i]')}`, ['1'], '?');
  });

  it('are named by paths', () => {
    check(`fs::path p("at.txt"); std::ifstream f(p); ${each('f >> at[i]')}`, [numbers((i) => 8 * i)], '32');
    const found =
      'fs::path folder = "src"; std::ifstream f; if (fs::exists(folder / "at.txt")) f.open(folder / "at.txt");';
    check(`${found} ${each('f >> at[i]')}`, [numbers((i) => 8 * i)], '32', 'app/src/at.txt');
    check(`fs::path p = "at.txt"; ${each('at[i] = fs::file_size(p) * i')}`, ['12345678', '1'], '32 4');
    check(`std::ofstream(fs::path("at.txt")) << argc; std::ifstream f("at.txt"); ${each('f >> at[i]')}`, ['1'], '?');
  });

  it('tell whether they are there, and how large', () =>
    check(
      `struct stat about; ${each('at[i] = stat("at.txt", &about) == 0 ? (int)about.st_size * i : 0')}`,
      ['12345678', '1'],
      '32 4',
    ));

  it('are read anew when they have changed', () => {
    const read = `std::ifstream f("at.txt"); ${each('f >> at[i]')}`;
    check(read, [numbers((i) => i), numbers((i) => 8 * i), numbers((i) => i)], '4 32 4');
  });

  it('lie beside the source, in the folder around it or at the top', () => {
    const read = (name: string) => `std::ifstream f(std::string("${name}")); ${each('f >> at[i]')}`;
    check(read('at.txt'), [numbers((i) => 8 * i)], '32', 'app/src/at.txt');
    check(read('data/at.txt'), [numbers((i) => 8 * i)], '32', 'app/data/at.txt');
    check(read('data/at.txt'), [numbers((i) => 8 * i)], '32', 'data/at.txt');
    check(read('../../at.txt'), [numbers((i) => 8 * i)], '32');
  });

  it('are found in the folder of the data that a program looks into, or is started in', () => {
    const values = [numbers((i) => 8 * i)];
    const search = `FILE* f = 0;
      const char* places[] = {"./", "./data/", "../../data/"};
      for (int p = 0; p < 3 && f == 0; p++) { std::string name(places[p]); name.append("at.txt"); f = fopen(name.c_str(), "r"); }`;
    check(`${search} ${each('fscanf(f, "%d", &at[i])')}`, values, '32', 'app/src/data/at.txt');
    const plain = `std::ifstream f("at.txt"); ${each('f >> at[i]')}`;
    check(plain, values, '32', 'app/src/images/at.txt');
    check(plain, values, '32', 'app/data/at.txt');
    check(plain, values, '?', 'app/src/data/deep/at.txt');
  });

  it('in folders inside of others are the only ones of their name', () => {
    const { folder, remove } = temporaryFolder({
      'one/a.txt': 'a',
      'two/a.txt': 'bb',
      'two/b.txt': 'ccc',
      'b/c.txt': '',
    });
    try {
      const files = new DataFiles();
      const read = (name: string) => files.read(name, [folder], [folder], () => {})?.length;
      assert.deepEqual(['a.txt', './b.txt', '../b.txt', 'c.txt'].map(read), [undefined, 3, undefined, 0]);
    } finally {
      remove();
    }
  });

  it('are not known where there is none, where the name is not, and where the program writes them', () => {
    check(`FILE* f = fopen("other.txt", "r"); ${each('fscanf(f, "%d", &at[i])')}`, [numbers((i) => i)], '?');
    check(`FILE* f = fopen(getenv("DATA"), "r"); ${each('fscanf(f, "%d", &at[i])')}`, [numbers((i) => i)], '?');
    const written = 'FILE* g = fopen("at.txt", "w"); fprintf(g, "%d", argc); fclose(g);';
    check(`${written} FILE* f = fopen("at.txt", "r"); ${each('fscanf(f, "%d", &at[i])')}`, [numbers((i) => i)], '?');
  });

  it('outside of the workspace are not read', () => {
    const { folder, remove } = temporaryFolder({ 'inside/a.txt': 'a', 'b.txt': 'b' });
    try {
      fs.symlinkSync(path.join(folder, 'b.txt'), path.join(folder, 'inside', 'link.txt'));
      fs.symlinkSync(path.join(folder, 'inside', 'a.txt'), path.join(folder, 'inside', 'own.txt'));
      const files = new DataFiles();
      const inside = path.join(folder, 'inside');
      const read = (name: string) => files.read(name, [inside], [inside], () => {})?.length;
      assert.deepEqual(
        [
          'a.txt',
          '../inside/a.txt',
          '../b.txt',
          path.join(folder, 'b.txt'),
          '.',
          '/dev/zero',
          'link.txt',
          'own.txt',
        ].map(read),
        [1, 1, undefined, undefined, undefined, undefined, undefined, 1],
      );
    } finally {
      remove();
    }
  });
});
