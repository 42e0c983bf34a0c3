/** `simulate --format html`: a page that stands alone. */
import assert from 'node:assert/strict';
import { analyzeFile } from '../../../server/src/analysis/analyze';
import { simulationPage } from '../../../server/src/cli/html/page';
import type { CheckReport } from '../../../server/src/report/report';
import { conflicting } from '../lsp/reports';

function pageOf(text: string, computeCapability = '9.0'): string {
  const options = { computeCapability, defines: new Map<string, string>(), assume: new Map<string, number>() };
  const file = analyzeFile({
    path: 'a<b>.cu',
    text,
    options: { ...options, withCurves: true },
    include: () => undefined,
  });
  const report: CheckReport = {
    schemaVersion: 1,
    tool: { name: 'warplens', version: '1.2.3' },
    computeCapability,
    files: [file],
  };
  return simulationPage([report], 'columns', { linesOf: () => text.split('\n') });
}

describe('the page of a simulation', () => {
  const page = pageOf(conflicting);

  it('needs nothing else: no scripts, no other files', () => {
    assert.match(page, /^<!DOCTYPE html>/);
    assert.doesNotMatch(page, /<script|<link|\bsrc=|https?:|@import|url\(/);
  });

  it('closes what it opens', () => {
    const open: string[] = [];
    for (const [, slash, name] of page.replace(/<style>[\s\S]*?<\/style>/, '').matchAll(/<(\/?)([a-z]\w*)[^>]*>/g)) {
      if (name === 'meta') continue;
      if (slash) assert.equal(open.pop(), name);
      else open.push(name);
    }
    assert.deepEqual(open, []);
  });

  it('shows launch, occupancy with three curves, accesses and the finding', () => {
    assert.match(page, /<dt>Grid<\/dt><dd>1<\/dd>/);
    assert.match(page, /<dt>Block<\/dt><dd>32 × 32<\/dd>/);
    assert.equal(page.match(/<polyline/g)?.length, 3);
    assert.match(page, /1,024: 64 of 64 warps/);
    assert.match(page, /1,024 wavefronts/);
    assert.match(page, /32-way bank conflict: lanes 0–31 read column 0/);
  });

  it('says which front end the figures come from', () => {
    assert.match(page, /<p class="dim">From the source\.<\/p>/);
  });

  it('marks the access in its lines of source', () => {
    assert.match(
      page,
      / 6 {6}out\[threadIdx\.y \* 32 \+ threadIdx\.x\] = <mark>tile\[threadIdx\.x\]\[threadIdx\.y\]<\/mark>;/,
    );
  });

  it('pictures the banks of the witness: 32 words on one bank', () => {
    const details = page.split('<details').find((part) => part.startsWith(' id="a6-43-load"')) ?? '';
    assert.equal(details.match(/class="cell waits"/g)?.length, 31);
    assert.match(details, /at most 32\./);
    assert.match(details, /<title>lane 31<\/title>/);
  });

  it('is text where it shows text', () => {
    assert.match(page, /a&lt;b&gt;\.cu:1/);
    assert.match(
      pageOf(`// </pre><b>\n${conflicting.replace('tile[threadIdx.x]', 'tile[threadIdx.x & 31]')}`),
      /threadIdx\.x &amp; 31/,
    );
  });
});
