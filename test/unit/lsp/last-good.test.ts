import * as assert from 'node:assert/strict';
import { withLastGood } from '../../../server/src/lsp/last-good';
import type { FileReport } from '../../../server/src/report/report';
import { conflicting, reportOf } from './reports';

const good = { text: conflicting, report: reportOf(conflicting) };
const messages = (report: FileReport) =>
  report.diagnostics.map(({ line, message }) => `${line}: ${message.slice(0, 11)}`);

/** The report of a text typed after `good`, filled up from it. */
const typed = (text: string) => withLastGood(good, { text, report: reportOf(text) });

/** As if the kernel did not parse. */
function broken(text: string): FileReport {
  const report = reportOf(text);
  const kernels = report.kernels.map((kernel) => ({ ...kernel, launches: [], problem: 'half-typed' }));
  return withLastGood(good, { text, report: { ...report, kernels, diagnostics: [] } });
}

describe('the last good findings', () => {
  it('are not needed when all parses', () => {
    assert.deepEqual(messages(typed(conflicting)), ['6: 32-way bank']);
    assert.deepEqual(messages(typed(conflicting.replace('[32][32]', '[32][33]'))), []);
  });
  it('stay where their text is unchanged, and move with it', () => {
    const text = conflicting.replace('    tile[threadIdx.y]', '    for (int i = 0; i <\n\n    tile[threadIdx.y]');
    assert.deepEqual(messages(broken(text)), ['8: 32-way bank']);
  });
  it('go when the line they stand on is edited', () => {
    assert.deepEqual(messages(broken(conflicting.replace('[threadIdx.y];', '[threadIdx.y +'))), []);
  });
  it('offer no fix, for the text it was tried on is gone', () => {
    for (const { fixes } of broken(`int x\n${conflicting}`).diagnostics) assert.deepEqual(fixes, []);
  });
  it('keep a vanished kernel only when something could not be read', () => {
    const text = `int half(\n${conflicting}`;
    const empty: FileReport = { path: good.report.path, kernels: [], diagnostics: [], notes: [] };
    assert.deepEqual(messages(withLastGood(good, { text, report: empty })), []);
    const note = { file: empty.path, line: 1, column: 1, endLine: 1, endColumn: 2, message: 'not understood' };
    assert.deepEqual(messages(withLastGood(good, { text, report: { ...empty, notes: [note] } })), ['7: 32-way bank']);
  });
  it('do not come back for a kernel that was deleted', () => {
    const note = { file: good.report.path, line: 1, column: 1, endLine: 1, endColumn: 2, message: 'not understood' };
    const report: FileReport = { path: good.report.path, kernels: [], diagnostics: [], notes: [note] };
    assert.deepEqual(messages(withLastGood(good, { text: 'int half(\n', report })), []);
  });
});
