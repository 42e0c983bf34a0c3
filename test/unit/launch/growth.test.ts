import assert from 'node:assert/strict';
import { check, checkMain, launchesOf, show, withKernel } from './support';

const pass = (list: string) => `k <<<(1,1,1),(1,1,1),0>>>(${list})`;

/** Loops that are too long to be run, and what can be said of them nevertheless. */
describe('what grows by the same in every round', () => {
  it('is known behind a long loop', () => {
    checkMain('int c = 5; for (int i = 0; i < 1000000; i++) c += 2; k<<<1, 1>>>(c);', pass('2000005'));
    checkMain(
      'std::vector<int> v; for (int i = 0; i < 5000; i += 2) v.push_back(i); k<<<1, 1>>>(v.size());',
      pass('2500'),
    );
  });
  it('is known behind nested loops and in helpers', () => {
    check(
      `void mesh(int n, std::vector<int3>& f) {
         for (int j = 0; j < n; ++j)
           for (int i = 0; i < n; ++i) { f.push_back(make_int3(i, j, 0)); f.push_back({i, j, 1}); }
       }
       int main() { std::vector<int3> f; mesh(256, f); k<<<1, 1>>>(f.size()); }`,
      pass('131072'),
    );
  });
  it('is known behind a loop over a long container', () => {
    checkMain(
      'std::vector<int> a(1000), b; for (int x : a) { b.push_back(x); b.emplace_back(x + 1); } k<<<1, 1>>>(b.size());',
      pass('2000'),
    );
  });
  it('is known in the last round of a loop that launches', () => {
    const text = 'int main() { int at = 0; for (int i = 0; i < 100000; i++) { k<<<1, 1>>>(at); at += 3; } }';
    assert.equal(launchesOf(withKernel(text)).map(show).at(-1), pass('299997'));
  });
  it('is not claimed where a condition on the round decides, or another number', () => {
    checkMain('int c = 0; for (int i = 0; i < 9999; i++) if (i % 3 == 0) c++; k<<<1, 1>>>(c);', pass('?c'));
    checkMain(
      'int c = 0, d = 1; for (int i = 0; i < 9999; i++) { c += d; d += 2; } k<<<1, 1>>>(c, d);',
      pass('?c, 19999'),
    );
    checkMain('int c = 1; for (int i = 0; i < 9999; i++) c = c * 3 % 7; k<<<1, 1>>>(c);', pass('?c'));
    checkMain(
      'int c = 0; for (int i = 0; i < 9999; i++) { c += 2; if (rand() == i) break; } k<<<1, 1>>>(c);',
      pass('?c'),
    );
  });
  it('is not claimed of what only rounds change that go another way', () => {
    checkMain(
      `int found = 0, level = 0;
       do { level++; if (level == 100000) { found++; level = -1; } } while (level >= 0);
       k<<<1, 1>>>(found);`,
      pass('?found'),
    );
  });
  it('is not claimed where it would wrap', () => {
    checkMain('unsigned char c = 0; for (int i = 0; i < 9999; i++) c += 2; k<<<1, 1>>>(c);', pass('?c'));
  });
});

describe('elements of containers', () => {
  it('are built in place', () => {
    check(
      `struct Band { int x, w; }; int main() { std::vector<Band> bands; bands.push_back({1, 40}); bands.emplace_back(2, 80);
       for (const auto& b : bands) k<<<b.w / 8, 1>>>(b.x); }`,
      'k <<<(5,1,1),(1,1,1),0>>>(1)',
      'k <<<(10,1,1),(1,1,1),0>>>(2)',
    );
  });
  it('that a long loop appended are not known, whatever one round of it appended', () => {
    checkMain(
      'std::vector<int> v; for (int i = 0; i < 9999; i++) v.push_back(7 * i); k<<<1, 1>>>(v[1], v[5000]);',
      pass('?, ?'),
    );
  });
  it('go with pop_back, and an insert leaves the size open', () => {
    checkMain('std::vector<int> v(3); v.pop_back(); k<<<1, 1>>>(v.size());', pass('2'));
    checkMain('std::vector<int> v(3), w(5); v.insert(v.end(), w.begin(), w.end()); k<<<1, 1>>>(v.size());', pass('?'));
  });
});

describe('a call from which no launch is reached', () => {
  it('may take as long as it wants: what it writes is not known, what follows is', () => {
    check(
      `void build(std::vector<int>& tree, int lo, int hi, int node) {
         if (lo >= hi) return;
         tree[node] = lo;
         build(tree, lo, (lo + hi) / 2, 2 * node);
         build(tree, (lo + hi) / 2 + 1, hi, 2 * node + 1);
       }
       int main() { int n = 1 << 15; std::vector<int> tree(2 * n); build(tree, 0, n, 1); int last = n - 1; k<<<n / 256, 256>>>(tree[0], last); }`,
      'k <<<(128,1,1),(256,1,1),0>>>(?tree[0], 32767)',
    );
  });
});
