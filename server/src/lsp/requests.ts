/** What the editor asks for: hover, lenses, quick fixes, the panel's data. */
import type { Connection } from 'vscode-languageserver';
import { capabilityChoices } from './capability-choices';
import { codeActions } from './code-action';
import { codeLenses } from './code-lens';
import type { Configuration } from './configuration';
import type { Analysed, Documents } from './documents';
import { hoverAt } from './hover';
import { pathOfUri } from './positions';
import { capabilitiesRequest, type SimulateParams, type SimulateResult, simulateRequest } from './protocol';
import { simulateResult } from './simulate';

export interface RequestContext {
  readonly connection: Connection;
  readonly configuration: Configuration;
  readonly documents: Documents;
  readonly uriOf: (file: string) => string;
  readonly log: (line: string) => void;
}

/** Answers the editor's requests. One that fails inside answers nothing and says why in one line; the server goes on. */
export function answerRequests({ connection, configuration, documents, uriOf, log }: RequestContext): void {
  function guarded<P, R>(name: string, fallback: R, answer: (params: P) => Promise<R>): (params: P) => Promise<R> {
    return (params) =>
      answer(params).catch((error: unknown) => {
        log(`${name} failed: ${error instanceof Error ? error.message.split('\n')[0] : String(error)}`);
        return fallback;
      });
  }

  /** The reports that know a document: its own first, then those of the files that include it. */
  async function reportsFor(uri: string): Promise<Analysed[]> {
    const own = await documents.current(uri);
    const file = pathOfUri(uri);
    const including = [...documents.reports()].filter((each) => each.uri !== uri && each.headers.includes(file));
    return own === undefined ? including : [own, ...including];
  }

  connection.onHover(
    guarded('hover', null, async ({ textDocument, position }) => {
      const file = pathOfUri(textDocument.uri);
      for (const analysed of await reportsFor(textDocument.uri)) {
        const hover = hoverAt(analysed, file, position);
        if (hover !== null) return hover;
      }
      return null;
    }),
  );

  connection.onCodeLens(
    guarded('code lens', [], async ({ textDocument: { uri } }) => {
      const { enable, codeLens } = await configuration.settingsFor(uri);
      const analysed = enable && codeLens ? await documents.current(uri) : undefined;
      return analysed === undefined ? [] : codeLenses(analysed.report, uri);
    }),
  );

  connection.onCodeAction(
    guarded('quick fix', [], async ({ textDocument: { uri }, range }) => {
      const reports = await reportsFor(uri);
      return reports.flatMap(({ report }) => codeActions(report, pathOfUri(uri), range, uriOf));
    }),
  );

  connection.onRequest(capabilitiesRequest, capabilityChoices);

  connection.onRequest(
    simulateRequest,
    guarded('simulate', null, async (params: SimulateParams): Promise<SimulateResult | null> => {
      const [analysed] = await reportsFor(params.uri);
      if (analysed === undefined) return null;
      const result = simulateResult(analysed, params, pathOfUri(params.uri), uriOf);
      return analysed.isPart && result.kernel === undefined ? null : result;
    }),
  );
}
