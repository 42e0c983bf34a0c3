/** What the extension and the panel's page say to each other. */
import type { SimulateResult } from '../../../server/src/lsp/protocol';
import type { Range } from '../../../server/src/report/report';

export interface ToPanel {
  readonly kind: 'show';
  readonly result: SimulateResult;
  /** The kernel asked for; the result may be without it. */
  readonly name: string;
}

export type FromPanel =
  /** The page listens. */
  | { readonly kind: 'ready' }
  /** Show a place of a file in its editor. */
  | { readonly kind: 'reveal'; readonly uri: string; readonly range: Range };
