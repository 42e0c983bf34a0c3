/**
 * Runs the whole way on one kernel, launched as one warp, and compares the machine accesses charged to each line with a comment at
 * its end: `//= shared load 2 x 16 bytes, global store 1 x 4 bytes`, `//= none`. The number counts instructions executed.
 */
import assert from 'node:assert/strict';
import { analyse } from '../analysis/check-accesses';

const wanted = /\/\/= (.*)$/;

/** The buffer holds what is not known. @param body the kernel from its name on: `k(float *p) { … }` @param given arguments of the launch, which has `buffer`; default one buffer for every `*` */
export function checkLines(body: string, before = '', given?: string): void {
  const parameters = /k\(([^)]*)\)/.exec(body)?.[1].split(',') ?? [];
  const args = parameters.map((p) => (p.includes('*') ? 'buffer' : '10'));
  const each = args.map((a, i) =>
    a === 'buffer' ? `(${parameters[i].replace(/\w+\s*$/, '').replace('__restrict__', '')})buffer` : a,
  );
  const source = `${before}\n__global__ void ${body}\nint main() { void *buffer; cudaMalloc(&buffer, 1 << 20); cudaMemcpy(buffer, malloc(1 << 20), 1 << 20, cudaMemcpyHostToDevice); k<<<1, 32>>>(${given ?? each.join(', ')}); }\n`;
  const accesses = analyse(source).kernels.flatMap((k) => k.launches.flatMap((l) => l.accesses));
  let checked = 0;
  source.split('\n').forEach((text, index) => {
    const expected = wanted.exec(text)?.[1];
    if (expected === undefined) return;
    checked++;
    const counts = new Map<string, number>();
    for (const a of accesses) {
      const kind = `${a.space} ${a.operation}|${a.bytesPerLane}`;
      for (const { line, requests } of a.charged ?? [a])
        if (line === index + 1) counts.set(kind, (counts.get(kind) ?? 0) + requests);
    }
    const found = [...counts]
      .filter(([, n]) => n > 0)
      .map(([kind, n]) => kind.replace('|', ` ${n} x `).concat(' bytes'));
    assert.deepEqual(found.sort(), expected === 'none' ? [] : expected.split(', ').sort(), text.trim());
  });
  assert.ok(checked > 0, 'nothing is expected');
}
