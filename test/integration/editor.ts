/** What the tests do in the editor: open a file, wait until a provider answers as wished. */
import * as assert from 'node:assert/strict';
import * as path from 'node:path';
import * as vscode from 'vscode';

/** Asks again until the answer passes, for providers answer when they are ready and not before. */
export async function until<T>(
  what: string,
  ask: () => T | Thenable<T>,
  passes: (answer: T) => boolean,
  limitMs = 20_000,
): Promise<T> {
  const deadline = Date.now() + limitMs;
  for (;;) {
    const answer = await ask();
    if (passes(answer)) return answer;
    if (Date.now() > deadline) assert.fail(`${what}: last answer ${JSON.stringify(answer)?.slice(0, 2_000)}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

function workspaceFile(name: string): vscode.Uri {
  const [folder] = vscode.workspace.workspaceFolders ?? [];
  return vscode.Uri.joinPath(folder.uri, name);
}

export async function open(name: string): Promise<vscode.TextEditor> {
  const document = await vscode.workspace.openTextDocument(workspaceFile(name));
  return vscode.window.showTextDocument(document, { preview: false });
}

/** A new file with this text, opened. */
export async function create(name: string, text: string): Promise<vscode.TextEditor> {
  await vscode.workspace.fs.writeFile(workspaceFile(name), Buffer.from(text));
  return open(path.basename(name));
}

/** Where a text stands (its `nth` occurrence, from 0). */
export function placeOf(document: vscode.TextDocument, text: string, nth = 0): vscode.Range {
  let index = -1;
  for (let count = 0; count <= nth; count++) index = document.getText().indexOf(text, index + 1);
  assert.notEqual(index, -1, `${text} is not in ${document.uri}`);
  return new vscode.Range(document.positionAt(index), document.positionAt(index + text.length));
}

export const findings = ({ uri }: vscode.TextDocument): vscode.Diagnostic[] =>
  vscode.languages.getDiagnostics(uri).filter(({ source }) => source === 'Warplens');

export async function hoverText({ uri }: vscode.TextDocument, at: vscode.Position): Promise<string> {
  const hovers = await vscode.commands.executeCommand<vscode.Hover[]>('vscode.executeHoverProvider', uri, at);
  return hovers
    .flatMap(({ contents }) => contents)
    .map((content) => (typeof content === 'string' ? content : content.value))
    .join('\n');
}

export async function lensTitles({ uri }: vscode.TextDocument): Promise<string[]> {
  const lenses = await vscode.commands.executeCommand<vscode.CodeLens[]>('vscode.executeCodeLensProvider', uri, 100);
  return lenses.flatMap(({ command }) => command?.title ?? []);
}

export function quickFixes({ uri }: vscode.TextDocument, range: vscode.Range): Thenable<vscode.CodeAction[]> {
  return vscode.commands.executeCommand('vscode.executeCodeActionProvider', uri, range, 'quickfix');
}

export async function replace(editor: vscode.TextEditor, range: vscode.Range, text: string): Promise<void> {
  assert.ok(await editor.edit((edit) => edit.replace(range, text)));
}
