/**
 * Runs the program of the host and compares what launches find in memory with comments behind them:
 *
 *     k<<<1, 32>>>(d, n); //= a: 1 2 ? 4, n: 4
 *
 * names a parameter of the kernel, then the first elements behind it if it is a pointer, or its value; `rows[1]` means what the
 * second of several pointers leads to. `?` is not known; `not reached`
 * says that the run did not come by. The element's type is that of the parameter.
 */
import assert from 'node:assert/strict';
import { deviceCode } from '../../../server/src/analysis/device-code';
import { parseUnit } from '../../../server/src/analysis/parsed-unit';
import { deviceProperties } from '../../../server/src/hardware/device-properties';
import type { HostRound } from '../../../server/src/host/run-host';
import { runMain } from '../../../server/src/host/run-main';
import { LexCache } from '../../../server/src/preprocess/lex-cache';

const readers: Readonly<Record<string, readonly [bytes: number, read: (view: DataView, at: number) => number]>> = {
  char: [1, (v, at) => v.getInt8(at)],
  bool: [1, (v, at) => v.getUint8(at)],
  int: [4, (v, at) => v.getInt32(at, true)],
  unsigned: [4, (v, at) => v.getUint32(at, true)],
  long: [8, (v, at) => Number(v.getBigInt64(at, true))],
  float: [4, (v, at) => v.getFloat32(at, true)],
  double: [8, (v, at) => v.getFloat64(at, true)],
};

/** What programs of the tests bring a vector to the device with. */
export const upload = `
template <class T> T* up(const std::vector<T>& v) {
  T* d;
  if (cudaMalloc(&d, v.size() * sizeof(T)) != cudaSuccess) exit(1);
  cudaMemcpy(d, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice);
  return d;
}`;

export function check(source: string, patience = 1): void {
  const options = { computeCapability: '9.0', defines: new Map(), assume: new Map() };
  const parsed = parseUnit({ path: 'test.cu', text: source, options, include: () => undefined }, new LexCache());
  const run = runMain(parsed.tree, parsed.source.tokens, {
    patience,
    device: deviceCode(parsed, []),
    properties: deviceProperties('9.0'),
  });
  const { tokens } = parsed.source;
  const lineOf = (token: number) => source.slice(0, tokens.start[token]).split('\n').length;
  const seen = new Map<number, number>();
  let checked = 0;
  source.split('\n').forEach((text, index) => {
    for (const expected of /\/\/= (.*)$/.exec(text)?.[1].split('; ') ?? []) {
      const rounds = (run?.rounds ?? []).filter((r) => lineOf(r.launch.place.first) === index + 1);
      const nth = seen.get(index) ?? 0;
      seen.set(index, nth + 1);
      checked++;
      if (expected === 'not reached') {
        assert.equal(rounds.length, 0, `line ${index + 1} was reached`);
        continue;
      }
      assert.ok(rounds.length > nth, `line ${index + 1} was not reached for the ${nth + 1}. time (${run?.stopped})`);
      for (const part of expected.split(', ')) {
        const [name, wanted] = part.split(': ');
        const count = wanted.split(' ').length;
        assert.equal(shown(rounds[nth], name, count, source), wanted, `line ${index + 1}, ${name}`);
      }
    }
  });
  assert.ok(checked > 0, 'the source has no expectation');
}

/** The value of a parameter, or as many elements behind it, as text. */
function shown(round: HostRound, wanted: string, count: number, source: string): string {
  const [name, element] = wanted.split(/[[\]]/);
  const index = round.launch.values.findIndex((v) => v.kind === 'parameter' && v.path.join('.') === name);
  const leaf = round.launch.values[index];
  const value = round.values[index];
  if (leaf?.kind !== 'parameter') return `no parameter ${name}`;
  if (value === undefined) return '?';
  if (!leaf.isPointer) return String(+value.toPrecision(7));
  const declared = new RegExp(`(\\w+)[\\s*]*\\*\\s*${name.split('.').at(-1)}\\b`).exec(source)?.[1] ?? 'int';
  const first = element === undefined ? value : Number(elements(round, value, 'long', Number(element) + 1).at(-1));
  return elements(round, first, declared, count).join(' ');
}

/** As many elements of a type from an address on. */
function elements(round: HostRound, address: number, type: string, count: number): string[] {
  const [bytes, read] = readers[type];
  const block = round.contents.find((c) => address >= c.address && address < c.address + Math.max(1, c.size));
  return Array.from({ length: count }, (_, i) => {
    const at = address - (block?.address ?? 0) + i * bytes;
    if (block?.isZero && at + bytes <= block.size) return '0';
    if (!block?.bytes || at + bytes > block.bytes.length) return '?';
    for (let k = 0; k < bytes; k++) if (block.shadows?.[at + k] === 0) return '?';
    const value = read(new DataView(block.bytes.buffer, block.bytes.byteOffset), at);
    return type === 'long' ? String(value) : String(+value.toPrecision(7));
  });
}
