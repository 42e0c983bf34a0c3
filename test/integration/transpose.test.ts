/** The tiled transpose of the examples, as a user meets it: warning, reason, mend. */
import * as assert from 'node:assert/strict';
import * as vscode from 'vscode';
import { findings, hoverText, lensTitles, open, placeOf, quickFixes, replace, until } from './editor';

const conflict = /^32-way bank conflict: lanes 0–31 read column 0.*Pad to \[TILE_DIM\]\[TILE_DIM \+ 1\]/s;
const columnRead = 'tile[threadIdx.x][threadIdx.y + j]';

const conflicts = (document: vscode.TextDocument) =>
  findings(document).filter(({ code }) => (typeof code === 'object' ? code.value : code) === 'shared-bank-conflict');

describe('the tiled transpose', () => {
  let editor: vscode.TextEditor;
  let document: vscode.TextDocument;

  before(async () => {
    editor = await open('transpose.cu');
    document = editor.document;
  });
  afterEach(async () => {
    if (document.isDirty) await vscode.commands.executeCommand('workbench.action.files.revert');
  });

  it('opens as VS Code’s own CUDA language', () => {
    assert.equal(document.languageId, 'cuda-cpp');
  });

  it('warns of the column read, at the access, once', async () => {
    const [only, ...more] = await until(
      'conflicts',
      () => conflicts(document),
      (list) => list.length > 0,
    );
    assert.deepEqual(more, []);
    assert.match(only.message, conflict);
    assert.equal(only.severity, vscode.DiagnosticSeverity.Warning);
    assert.ok(only.range.intersection(placeOf(document, columnRead)), 'the range is that of the access');
    const related = only.relatedInformation ?? [];
    const declaration = placeOf(document, 'tile[TILE_DIM][TILE_DIM];').start.line;
    assert.ok(
      related.some(({ location }) => location.range.start.line === declaration),
      'points at the declaration',
    );
  });

  it('explains the access in a hover', async () => {
    const at = placeOf(document, columnRead).start.translate(0, 2);
    const text = await until(
      'hover',
      () => hoverText(document, at),
      (answer) => answer.includes('bank'),
    );
    assert.match(text, /32-way bank conflict/);
    assert.match(text, /1,048,576 wavefronts, ideal 32,768/);
    assert.match(text, /lane {3,}0 +1 +2/);
    assert.match(text, /block 32 × 8/);
  });

  it('tells occupancy and limiter on the kernel’s name and on its launch', async () => {
    for (const nth of [1, 2]) {
      // the name stands in the opening comment, the definition, and the launch
      const at = placeOf(document, 'transposeTiled', nth).start.translate(0, 2);
      const text = await until(
        'hover',
        () => hoverText(document, at),
        (answer) => answer.includes('occupancy'),
      );
      assert.match(text, /grid 32 × 32, block 32 × 8 \(256 threads, 8 warps\)/);
      assert.match(text, /limited by/);
      assert.match(text, /registers a thread \(estimated/);
    }
  });

  it('has a lens over each kernel', async () => {
    const titles = await until(
      'lenses',
      () => lensTitles(document),
      (list) => list.length === 3,
    );
    for (const title of titles) assert.match(title, /% occupancy.*Simulate$/);
    assert.match(titles[1], /32-way conflict/);
    assert.match(titles[2], /no bank conflicts/);
  });

  it('mends it with the quick fix, and the warning goes', async () => {
    await until(
      'conflicts',
      () => conflicts(document),
      (list) => list.length === 1,
    );
    const actions = await until(
      'quick fixes',
      () => quickFixes(document, placeOf(document, columnRead)),
      (list) => list.some(({ title }) => title.startsWith('Pad tile')),
    );
    const fix = actions.find(({ title }) => title.startsWith('Pad tile'));
    assert.ok(fix?.edit);
    assert.match(fix.title, /1,048,576 → 32,768 wavefronts/);
    assert.ok(await vscode.workspace.applyEdit(fix.edit));
    await until(
      'conflicts after the fix',
      () => conflicts(document),
      (list) => list.length === 0,
    );
  });

  it('keeps the warning of a kernel while another one is half-typed', async () => {
    await until(
      'conflicts',
      () => conflicts(document),
      (list) => list.length === 1,
    );
    const end = placeOf(document, '__global__ void transposeNaive').start;
    await replace(editor, new vscode.Range(end, end), '__global__ void half(float *v)\n{\n    for (int i = 0; i <\n\n');
    // long enough for several analyses: nothing may vanish and nothing new be said
    for (let count = 0; count < 20; count++) {
      await new Promise((resolve) => setTimeout(resolve, 50));
      assert.equal(conflicts(document).length, 1);
      assert.equal(findings(document).filter(({ severity }) => severity === vscode.DiagnosticSeverity.Error).length, 0);
    }
  });
});
