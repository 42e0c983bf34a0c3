import * as assert from 'node:assert/strict';
import { DiagnosticSeverity, type PublishDiagnosticsParams } from 'vscode-languageserver';
import { DiagnosticsPublisher, diagnosticsOf } from '../../../server/src/lsp/diagnostics';
import { covers, overlaps, pathOfUri, toProtocolRange, uriOfPath } from '../../../server/src/lsp/positions';
import type { FileReport } from '../../../server/src/report/report';
import { conflicting, path, positionOf, reportOf, uri } from './reports';

describe('diagnostics', () => {
  it('carry rule, severity, place and what is related', () => {
    const [diagnostic] = diagnosticsOf(reportOf(conflicting), uriOfPath).get(uri) ?? [];
    assert.equal(diagnostic.source, 'Warplens');
    assert.equal(diagnostic.code, 'shared-bank-conflict');
    assert.equal(diagnostic.severity, DiagnosticSeverity.Warning);
    assert.deepEqual(diagnostic.range.start, positionOf(conflicting, 'tile[threadIdx.x]'));
    const lines = (diagnostic.relatedInformation ?? []).map(({ location }) => location.range.start.line);
    assert.ok(lines.includes(positionOf(conflicting, 'tile[32]').line), 'the declaration');
    assert.ok(lines.includes(positionOf(conflicting, 'columns<<<').line), 'the launch');
  });

  it('in a header are published once, and taken back when no unit has them any more', () => {
    const seen = new Map<string, number>();
    const publisher = new DiagnosticsPublisher(
      ({ uri: where, diagnostics }: PublishDiagnosticsParams) => void seen.set(where, diagnostics.length),
    );
    const [finding] = reportOf(conflicting).diagnostics;
    const unit = (name: string, isClean = false): FileReport => ({
      path: name,
      kernels: [],
      diagnostics: isClean ? [] : [{ ...finding, file: '/project/common.cuh', related: [] }],
      notes: [],
    });
    const update = (name: string, report: FileReport) =>
      publisher.update(uriOfPath(name), 1, diagnosticsOf(report, uriOfPath));
    update('/project/a.cu', unit('/project/a.cu'));
    update('/project/b.cu', unit('/project/b.cu'));
    assert.deepEqual(Object.fromEntries(seen), {
      'file:///project/a.cu': 0,
      'file:///project/b.cu': 0,
      'file:///project/common.cuh': 1,
    });
    update('/project/a.cu', unit('/project/a.cu', true));
    assert.equal(seen.get('file:///project/common.cuh'), 1);
    publisher.remove(uriOfPath('/project/b.cu'));
    assert.equal(seen.get('file:///project/common.cuh'), 0);
  });
});

describe('positions', () => {
  const range = { line: 2, column: 3, endLine: 2, endColumn: 6 };
  it('count from 0 in the protocol', () => {
    assert.deepEqual(toProtocolRange(range), { start: { line: 1, character: 2 }, end: { line: 1, character: 5 } });
  });
  it('lie in a range up to behind its last character', () => {
    const at = (line: number, character: number) => covers(range, { line, character });
    assert.deepEqual(
      [at(1, 1), at(1, 2), at(1, 5), at(1, 6), at(0, 3), at(2, 3)],
      [false, true, true, false, false, false],
    );
  });
  it('overlap where they touch', () => {
    const over = (from: number, to: number) =>
      overlaps(range, { start: { line: 1, character: from }, end: { line: 1, character: to } });
    assert.deepEqual([over(0, 1), over(0, 2), over(3, 4), over(5, 9), over(6, 9)], [false, true, true, true, false]);
  });
  it('turn URIs to paths and back', () => {
    assert.equal(pathOfUri(uri), path);
    assert.equal(uriOfPath(path), uri);
    assert.equal(pathOfUri('file:///a%20b/c.cu'), '/a b/c.cu');
    assert.equal(pathOfUri('untitled:Untitled-1'), 'untitled:Untitled-1');
    assert.equal(uriOfPath('untitled:Untitled-1'), 'untitled:Untitled-1');
  });
});
