/** nvcc in the background, by a program that stands for it: the hover says which of the two answers it shows. */
import * as assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import * as vscode from 'vscode';
import { fakeNvcc, runsOf } from '../host/fake-nvcc';
import { create, findings, hoverText, placeOf, replace, until } from './editor';

const set = (name: string, value: unknown) =>
  vscode.workspace.getConfiguration('warplens').update(name, value, vscode.ConfigurationTarget.Workspace);

const compiled = path.resolve(__dirname, '..', '..', '..', 'test', 'unit', 'analysis', 'compiled');

describe('with a compiler', () => {
  const access = 's[threadIdx.x * 8 + j]';
  const fromSource = 'From the source.';
  const fromCompiler = 'From the PTX that the compiler made of it.';
  let folder: string;
  let document: vscode.TextDocument;
  let editor: vscode.TextEditor;

  before(async function () {
    if (process.platform === 'win32') this.skip();
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'warplens-nvcc-'));
    editor = await create('several.cu', fs.readFileSync(path.join(compiled, 'several.cu'), 'utf8'));
    document = editor.document;
  });
  after(async () => {
    await set('compiler', undefined);
    fs.rmSync(folder, { recursive: true, force: true });
  });

  /** The last line of the hover on the access. */
  const lastLine = async () => {
    const at = placeOf(document, access).start.translate(0, 1);
    return (await hoverText(document, at)).trim().split('\n').at(-1) ?? '';
  };
  const says = (line: string) => until('hover', lastLine, (answer) => answer.startsWith(line));

  it('the source answers without one', async () => {
    await says(fromSource);
  });

  it('the compiler’s answer comes when one is set', async () => {
    const script = `cp "${path.join(compiled, 'several.ptx')}" "$keep/several.ptx"`;
    await set('compiler', fakeNvcc(folder, script));
    await says(fromCompiler);
  });

  it('an edit goes back to the source, a save asks the compiler again', async () => {
    const before = runsOf(folder).length;
    await replace(editor, placeOf(document, 'sum * in[threadIdx.x + 32]'), 'sum * in[2 * threadIdx.x]');
    await says('From the source, not from the compiler: it has changed since it was compiled.');
    assert.equal(runsOf(folder).length, before, 'nothing is compiled before the save');
    assert.ok(await document.save());
    await says(fromCompiler);
  });

  it('a PTX file has its findings at its own lines', async () => {
    await set('block', [32, 32]);
    const ptx = (await create('alone.ptx', fs.readFileSync(path.join(compiled, 'several.ptx'), 'utf8'))).document;
    const [conflict] = await until(
      'conflicts',
      () => findings(ptx).filter(({ message }) => message.startsWith('32-way')),
      (list) => list.length > 0,
    );
    assert.match(ptx.lineAt(conflict.range.start.line).text, /(?:ld|st)\.shared/);
    await set('block', undefined);
    editor = await vscode.window.showTextDocument(document);
  });

  it('one that fails leaves the source’s answer', async () => {
    await set('compiler', fakeNvcc(folder, 'echo "several.cu(1): error: no" >&2; exit 2', 'broken'));
    await replace(editor, placeOf(document, 'sum + in[threadIdx.x + 32]'), 'sum + in[3 * threadIdx.x]');
    assert.ok(await document.save());
    await says('From the source, not from the compiler');
  });
});
