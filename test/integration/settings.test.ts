/** Settings and commands: the capability, the switch, the panel, a restart. */
import * as assert from 'node:assert/strict';
import * as vscode from 'vscode';
import { create, findings, hoverText, open, placeOf, until } from './editor';

const set = (name: string, value: unknown) =>
  vscode.workspace.getConfiguration('warplens').update(name, value, vscode.ConfigurationTarget.Workspace);

/** 8-way with the 32 banks of today; 16-way with the 16 banks of 1.x, where a half-warp reads a column. */
const columns = `__global__ void columns(float *out)
{
    __shared__ float tile[16][16];
    tile[threadIdx.y][threadIdx.x] = 1.0f;
    __syncthreads();
    out[threadIdx.y * 16 + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}

void run(float *out) { columns<<<1, dim3(16, 16)>>>(out); }
`;

describe('settings and commands', () => {
  afterEach(async () => {
    for (const name of ['computeCapability', 'enable']) await set(name, undefined);
  });

  it('has its commands', async () => {
    const all = await vscode.commands.getCommands(true);
    for (const name of ['selectComputeCapability', 'simulateKernel', 'restartServer', 'showOutput']) {
      assert.ok(all.includes(`warplens.${name}`), name);
    }
  });

  it('analyses anew when the capability changes', async () => {
    const { document } = await create('columns.cu', columns);
    const at = placeOf(document, 'tile[threadIdx.x][threadIdx.y]').start.translate(0, 1);
    await until(
      'hover',
      () => hoverText(document, at),
      (text) => text.includes('capability 9.0'),
    );
    await set('computeCapability', '1.3');
    const text = await until(
      'hover',
      () => hoverText(document, at),
      (answer) => answer.includes('capability 1.3'),
    );
    assert.match(text, /16-way bank conflict/);
  });

  it('is silent when switched off', async () => {
    const { document } = await open('transpose.cu');
    await until(
      'findings',
      () => findings(document),
      (list) => list.length > 0,
    );
    await set('enable', false);
    await until(
      'findings',
      () => findings(document),
      (list) => list.length === 0,
    );
    await set('enable', undefined);
    await until(
      'findings',
      () => findings(document),
      (list) => list.length > 0,
    );
  });

  it('opens the panel for the kernel at the cursor', async () => {
    const editor = await open('transpose.cu');
    const inside = placeOf(editor.document, 'tile[threadIdx.x]').start;
    editor.selection = new vscode.Selection(inside, inside);
    await until(
      'findings',
      () => findings(editor.document),
      (list) => list.length > 0,
    );
    await vscode.commands.executeCommand('warplens.simulateKernel');
    const panelTitles = () => vscode.window.tabGroups.all.flatMap(({ tabs }) => tabs.map(({ label }) => label));
    await until('the panel', panelTitles, (labels) => labels.some((label) => label.startsWith('transposeTiled')));
  });

  it('says the same after a restart of the server', async () => {
    const { document } = await open('transpose.cu');
    const before = await until(
      'findings',
      () => findings(document).map(({ message }) => message),
      (list) => list.length > 0,
    );
    await vscode.commands.executeCommand('warplens.restartServer');
    const after = await until(
      'findings after the restart',
      () => findings(document).map(({ message }) => message),
      (list) => list.length === before.length,
    );
    assert.deepEqual(after.sort(), before.sort());
  });
});
