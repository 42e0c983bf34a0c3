/** *Select Compute Capability*: all capabilities with the GPUs people know them by. */
import * as vscode from 'vscode';
import type { LanguageClient } from 'vscode-languageclient/node';
import { type CapabilityChoice, capabilitiesRequest } from '../../server/src/lsp/protocol';

const setting = 'computeCapability';

/** Where the choice is kept: beside a value that is set already, else in the workspace, else for the user. */
function targetOf(configuration: vscode.WorkspaceConfiguration): vscode.ConfigurationTarget {
  if (configuration.inspect(setting)?.workspaceFolderValue !== undefined)
    return vscode.ConfigurationTarget.WorkspaceFolder;
  return vscode.workspace.workspaceFolders === undefined
    ? vscode.ConfigurationTarget.Global
    : vscode.ConfigurationTarget.Workspace;
}

export async function selectComputeCapability(client: LanguageClient): Promise<void> {
  const choices = await client.sendRequest<CapabilityChoice[]>(capabilitiesRequest);
  const configuration = vscode.workspace.getConfiguration('warplens', vscode.window.activeTextEditor?.document.uri);
  const current = configuration.get<string>(setting);
  const known = choices.map(({ computeCapability, architecture, devices }) => ({
    label: computeCapability,
    description: computeCapability === current ? `${architecture} (current)` : architecture,
    detail: devices.join(', '),
  }));
  const follow = {
    label: 'auto',
    description: `what the build asks for${current === 'auto' ? ' (current)' : ''}`,
    detail: '-arch and -gencode in compile_commands.json',
  };
  const items = [...known, follow];
  const picked = await vscode.window.showQuickPick(items, {
    title: 'Compute capability to analyse for',
    placeHolder: 'A capability, an architecture or a GPU, for example 8.6, Ampere or RTX 3090',
    matchOnDescription: true,
    matchOnDetail: true,
  });
  if (picked !== undefined) await configuration.update(setting, picked.label, targetOf(configuration));
}
