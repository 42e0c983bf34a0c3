/** The parts of VS Code's workbench that a person uses, each with the one wait that is enough. */
import * as path from 'node:path';
import type { FrameLocator, Locator, Page } from 'playwright-core';
import type { RunningServer } from '../host/code-server';

const quickInput = '.quick-input-widget .quick-input-box input';

export class Workbench {
  constructor(
    readonly page: Page,
    private readonly server: RunningServer,
    private readonly screenshots: string,
  ) {}

  /** Loads the workbench with one file of the folder open, and puts the cursor into it. */
  async open(folder: string, file: string): Promise<void> {
    const uri = `vscode-remote://${this.server.authority}${path.posix.join(folder, file)}`;
    const query = new URLSearchParams({ folder, payload: JSON.stringify([['openFile', uri]]) });
    await this.page.goto(`${this.server.url}/?${query}`, { waitUntil: 'domcontentloaded' });
    await this.page.locator('.monaco-workbench .part.statusbar .statusbar-item').first().waitFor();
    await this.page.locator(`.monaco-editor[data-uri$="/${file}"] .view-line`).first().waitFor();
    await this.takeFocus();
  }

  /**
   * Puts the focus into the open editor by a command. A click would do, but its scrolling into view moves the whole
   * workbench when it comes before the editor is laid out, and nothing moves it back.
   */
  private async takeFocus(): Promise<void> {
    await this.command('View: Focus Active Editor Group');
    await this.statusItem('Ln 1, Col 1').waitFor();
  }

  shot(name: string): Promise<Buffer> {
    return this.page.screenshot({ path: path.join(this.screenshots, `${name}.png`) });
  }

  /**
   * Opens a quick input by a key, fills it and takes it; all of it again where the workbench was not ready, its focus
   * just moved (out of a webview, say) or the key was lost. A quick input that was taken is gone, so nothing runs twice.
   */
  private async quickInput(key: string, text: string, take: () => Promise<void>, staysOpen = false): Promise<void> {
    const widget = this.page.locator('.quick-input-widget');
    const input = this.page.locator(quickInput);
    for (let attempt = 0; ; attempt++) {
      try {
        await this.page.keyboard.press(key);
        await input.waitFor({ state: 'visible', timeout: 3_000 });
        await input.fill(text, { timeout: 3_000 });
        await take();
        if (!staysOpen) await widget.waitFor({ state: 'hidden', timeout: 5_000 });
        return;
      } catch (error) {
        if (attempt >= 5) throw error;
        await this.page.keyboard.press('Escape');
      }
    }
  }

  /** Runs a command of the palette. @param opensPick the command goes on in a quick pick */
  async command(label: string, opensPick = false): Promise<void> {
    await this.quickInput('F1', `>${label}`, () => this.picks(label).first().click({ timeout: 5_000 }), opensPick);
  }

  picks(text: string): Locator {
    return this.page.locator('.quick-input-list .monaco-list-row', { hasText: text });
  }

  async type(text: string): Promise<void> {
    await this.page.locator(quickInput).fill(text);
  }

  /** Puts the cursor at a place of the active editor. */
  async goTo(line: number, column: number): Promise<void> {
    // The pick shows the line before Enter can take it: a quicker Enter is lost.
    await this.quickInput('Control+G', `:${line}:${column}`, async () => {
      await this.picks(`${line}`).first().waitFor({ timeout: 3_000 });
      await this.page.keyboard.press('Enter');
    });
    await this.statusItem(`Ln ${line}, Col ${column}`).waitFor();
  }

  statusItem(text: string): Locator {
    return this.page.locator('.part.statusbar .statusbar-item', { hasText: text });
  }

  /** The hover at the cursor, by keyboard: no mouse position to miss; again where the command was lost to a moving focus. */
  async hover(text: string): Promise<Locator> {
    const hover = this.page
      .locator('.monaco-resizable-hover:visible, .monaco-hover:visible', { hasText: text })
      .first();
    for (let attempt = 0; ; attempt++) {
      await this.command('Show or Focus Hover');
      try {
        await hover.waitFor({ timeout: 10_000 });
        return hover;
      } catch (error) {
        if (attempt >= 3) throw error;
        await this.page.keyboard.press('Escape');
      }
    }
  }

  /** Opens the quick fixes at the cursor, with this one among them; again where the key was lost to a moving focus. */
  async quickFixes(text: string): Promise<void> {
    const action = this.page.locator('.action-widget .monaco-list-row', { hasText: text }).first();
    for (let attempt = 0; ; attempt++) {
      await this.page.keyboard.press('Control+.');
      try {
        await action.waitFor({ timeout: 5_000 });
        return;
      } catch (error) {
        if (attempt >= 5) throw error;
        await this.page.keyboard.press('Escape');
      }
    }
  }

  lens(text: string): Locator {
    return this.page.locator('.codelens-decoration a', { hasText: text });
  }

  line(text: string): Locator {
    return this.page.locator('.view-line', { hasText: text });
  }

  problems(text: string): Locator {
    return this.page.locator('.markers-panel .monaco-list-row', { hasText: text });
  }

  squiggles(): Locator {
    return this.page.locator('.squiggly-warning');
  }

  panel(): FrameLocator {
    return this.page.frameLocator('iframe.webview.ready').frameLocator('iframe#active-frame');
  }

  async closeHover(): Promise<void> {
    await this.page.keyboard.press('Escape');
    await this.page.keyboard.press('Escape');
  }
}
