/** Data of the charts and of the witness pictures. */
import assert from 'node:assert/strict';
import { analyzeFile } from '../../../server/src/analysis/analyze';
import { capability } from '../../../server/src/hardware/capabilities';
import { curveCharts } from '../../../server/src/report/curve-chart';
import type { AccessReport, LaunchReport } from '../../../server/src/report/report';
import { type WitnessPicture, witnessPicture } from '../../../server/src/report/witness-picture';

function launchOf(text: string, computeCapability = '9.0'): LaunchReport {
  const options = {
    computeCapability,
    withCurves: true,
    registersPerThread: 40,
    defines: new Map<string, string>(),
    assume: new Map<string, number>(),
  };
  const { kernels } = analyzeFile({ path: 'test.cu', text, options, include: () => undefined });
  return kernels[0].launches[0];
}

const shared = (index: string) =>
  launchOf(`
__global__ void k(float* o) {
  __shared__ float s[4096];
  o[threadIdx.x * 2] = s[${index}];
}
int main() { k<<<4, 64>>>(0); }`);

function picture(launch: LaunchReport, space: AccessReport['space']): WitnessPicture {
  const access = launch.accesses.find((each) => each.space === space);
  const row = capability('9.0');
  assert.ok(access && row);
  const found = witnessPicture(access, row);
  assert.ok(found);
  return found;
}

describe('occupancy charts', () => {
  const charts = curveCharts(shared('threadIdx.x'));

  it('one for each resource, the launch marked on its curve', () => {
    // 13 blocks of 17 KB fill 228 KB
    assert.deepEqual(
      charts.map(({ title, marker }) => `${title} ${marker.text}`),
      ['Block size 64: 26 of 64 warps', 'Registers 40: 26 of 64 warps', 'Shared memory 16,384: 26 of 64 warps'],
    );
  });

  it('points run from left to right within the plot, as stairs', () => {
    for (const { points, plot, marker } of charts) {
      const list = points.split(' ').map((point) => point.split(',').map(Number));
      list.forEach(([x, y], index) => {
        assert.ok(x >= plot.left && x <= plot.right && y >= plot.top && y <= plot.bottom);
        const [before, level] = index > 0 ? list[index - 1] : [x, y];
        assert.ok(before <= x && (before === x || level === y), points);
      });
      assert.ok(
        list.some(([, y]) => y === marker.y),
        'the marker stands at a level of the curve',
      );
    }
  });

  it('there are none without curves', () => {
    const launch = shared('threadIdx.x');
    assert.deepEqual(curveCharts({ ...launch, occupancy: null }), []);
  });
});

describe('witness pictures', () => {
  it('a column for each bank, a cell for each word, with its lanes', () => {
    const found = picture(shared('threadIdx.x * 2'), 'shared');
    assert.ok(found.kind === 'banks');
    assert.equal(found.columns.length, 32);
    assert.deepEqual(found.columns[0].words, [[0], [16]]);
    assert.deepEqual(found.columns[1].words, []);
  });

  it('lanes of one word share a cell', () => {
    const found = picture(shared('threadIdx.x / 32 * 7'), 'shared');
    assert.ok(found.kind === 'banks');
    assert.deepEqual(
      found.columns.flatMap(({ words }) => words.map((lanes) => lanes.length)),
      [32],
    );
  });

  it('a row for each piece of memory, the bytes asked for marked', () => {
    const found = picture(shared('threadIdx.x'), 'global');
    assert.ok(found.kind === 'sectors');
    assert.equal(found.rows.length, 8);
    assert.deepEqual(found.rows[1], {
      address: 32,
      bytes: 32,
      lanes: [4, 5, 6, 7],
      used: [0, 8, 16, 24].map((from) => ({ from, to: from + 4 })),
    });
  });
});
