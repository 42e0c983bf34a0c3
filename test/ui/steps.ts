/** What a user sees and does with the tiled transpose, in this order. */
import * as assert from 'node:assert/strict';
import type { Workbench } from './workbench';

/** The column read of transposeTiled in examples/transpose.cu. */
const [line, column] = [51, 34];

export const steps: readonly (readonly [name: string, step: (workbench: Workbench) => Promise<void>])[] = [
  [
    'underlines the conflict and shows the lens',
    async (workbench) => {
      await workbench.statusItem('CUDA C++').waitFor();
      await workbench.command('View: Toggle Primary Side Bar Visibility');
      await workbench.goTo(line, 1);
      await workbench.squiggles().first().waitFor();
      await workbench.lens('32-way conflict').waitFor();
      await workbench.shot('squiggle-and-lens');
    },
  ],
  [
    'explains the access in a hover',
    async (workbench) => {
      await workbench.goTo(line, column);
      const hover = await workbench.hover('ideal 32,768');
      const text = (await hover.textContent()) ?? '';
      assert.match(text, /32-way bank conflict/);
      assert.match(text, /bank 0: 32 different words for lanes 0–31/);
      await workbench.shot('hover-access');
      await workbench.closeHover();
    },
  ],
  [
    'tells the occupancy on the kernel’s name',
    async (workbench) => {
      await workbench.goTo(37, 20);
      const hover = await workbench.hover('occupancy');
      assert.match((await hover.textContent()) ?? '', /limited by/);
      await workbench.shot('hover-kernel');
      await workbench.closeHover();
    },
  ],
  [
    'lists the finding among the problems',
    async (workbench) => {
      await workbench.command('Problems: Focus on Problems View');
      await workbench.problems('32-way bank conflict').waitFor();
      await workbench.shot('problems');
      await workbench.command('View: Toggle Panel Visibility');
    },
  ],
  [
    'opens the simulation from the lens, with every access',
    async (workbench) => {
      await workbench.goTo(line, 1);
      await workbench.lens('32-way conflict').click();
      const panel = workbench.panel();
      await panel.getByRole('heading', { name: 'transposeTiled' }).waitFor();
      await panel.getByRole('cell', { name: 'tile[threadIdx.x][threadIdx.y + j]' }).waitFor();
      assert.match((await panel.locator('tbody').textContent()) ?? '', /1,048,576 wavefronts/);
      await workbench.shot('panel');
      await panel.getByRole('button', { name: '51:32' }).click();
      await workbench.statusItem('Ln 51').waitFor();
    },
  ],
  [
    'mends the conflict with the quick fix, and the panel follows',
    async (workbench) => {
      await workbench.goTo(line, column);
      await workbench.quickFixes('Pad tile');
      await workbench.shot('quick-fix-before');
      await workbench.page.keyboard.press('Enter');
      await workbench.lens('32-way conflict').waitFor({ state: 'detached' });
      await workbench.goTo(39, 1);
      await workbench
        .panel()
        .getByRole('heading', { name: /no bank conflicts/ })
        .waitFor();
      await workbench.shot('quick-fix-after');
    },
  ],
  [
    'picks another capability from the status bar',
    async (workbench) => {
      await workbench.statusItem('CC 9.0').click();
      await workbench.picks('Hopper').waitFor();
      await workbench.shot('capability-picker');
      await workbench.type('8.6');
      await workbench.picks('Ampere').first().click();
      await workbench.statusItem('CC 8.6').waitFor();
      await workbench.panel().getByText('compute capability 8.6').waitFor();
    },
  ],
  [
    'shows its output channel',
    async (workbench) => {
      await workbench.command('Warplens: Show Output');
      await workbench.page.locator('.part.panel .output-view, [id="workbench.panel.output"]').first().waitFor();
    },
  ],
];
