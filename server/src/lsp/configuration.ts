/** What the editor can do and how it is set: capabilities, workspace folders, the `warplens` settings of each document. */
import {
  type Connection,
  DidChangeConfigurationNotification,
  type InitializeParams,
  type WorkspaceFoldersChangeEvent,
} from 'vscode-languageserver';
import { UnitReader } from '../workspace/units';
import { pathOfUri } from './positions';
import type { InitializationOptions } from './protocol';
import { readSettings, type Settings, workspaceOf } from './settings';

const isFile = (uri: string): boolean => uri.startsWith('file:');

export class Configuration {
  /** Absolute paths of the workspace folders. */
  folders: readonly string[] = [];
  canRefreshLenses = false;
  /** Programs may be started. */
  isTrusted = false;
  private canAsk = false;
  private canRegister = false;
  private canChangeFolders = false;
  /** The section as it was pushed to us, for clients that cannot be asked. */
  private pushed: unknown;
  private readonly settings = new Map<string, Promise<Settings>>();
  private readonly units: UnitReader;

  constructor(
    private readonly connection: Connection,
    private readonly log: (line: string) => void,
  ) {
    this.units = new UnitReader(new Map(), log);
  }

  initialize({ capabilities, initializationOptions, workspaceFolders, rootUri }: InitializeParams): void {
    const { workspace } = capabilities;
    this.canAsk = workspace?.configuration === true;
    this.canRegister = workspace?.didChangeConfiguration?.dynamicRegistration === true;
    this.canRefreshLenses = workspace?.codeLens?.refreshSupport === true;
    this.canChangeFolders = workspace?.workspaceFolders === true;
    const given = initializationOptions as InitializationOptions | undefined;
    this.pushed = given?.settings;
    this.isTrusted = given?.isTrusted === true;
    const roots = workspaceFolders?.map(({ uri }) => uri) ?? (rootUri ? [rootUri] : []);
    this.folders = roots.filter(isFile).map(pathOfUri);
  }

  /** Listens for changes; `changed` is called when every document is to be analysed anew. */
  listen(changed: () => void): void {
    const { connection } = this;
    if (this.canRegister) {
      void connection.client.register(DidChangeConfigurationNotification.type, { section: 'warplens' });
    }
    if (!this.canChangeFolders) return;
    connection.workspace.onDidChangeWorkspaceFolders((event) => {
      this.changeFolders(event);
      changed();
    });
  }

  /** The settings have changed; clients that cannot be asked send them along. */
  update(all: unknown): void {
    const section = (all as { warplens?: unknown } | null | undefined)?.warplens;
    if (section !== undefined) this.pushed = section;
    this.settings.clear();
  }

  async settingsFor(uri: string): Promise<Settings> {
    const known = this.settings.get(uri) ?? this.fetch(uri);
    this.settings.set(uri, known);
    const settings = await known;
    return settings.followsBuild && isFile(uri) ? this.withBuild(settings, pathOfUri(uri)) : settings;
  }

  forget(uri: string): void {
    this.settings.delete(uri);
  }

  /** The build's capability in place of the default: asked anew each time, since the build may change. */
  private withBuild(settings: Settings, file: string): Settings {
    const computeCapability = this.units.builtCapability(file, workspaceOf(settings, file, this.folders));
    return computeCapability === undefined
      ? settings
      : { ...settings, options: { ...settings.options, computeCapability } };
  }

  private changeFolders({ added, removed }: WorkspaceFoldersChangeEvent): void {
    const gone = new Set(removed.map(({ uri }) => pathOfUri(uri)));
    const more = added.filter(({ uri }) => isFile(uri)).map(({ uri }) => pathOfUri(uri));
    this.folders = [...this.folders.filter((folder) => !gone.has(folder)), ...more];
    this.settings.clear();
  }

  private async fetch(uri: string): Promise<Settings> {
    const item = { scopeUri: uri, section: 'warplens' };
    const section = this.canAsk
      ? await this.connection.workspace.getConfiguration(item).catch(() => this.pushed)
      : this.pushed;
    const settings = readSettings(section);
    for (const problem of settings.problems) this.log(problem);
    return settings;
  }
}
