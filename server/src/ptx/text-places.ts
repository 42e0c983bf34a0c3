/** PTX without its source: everything stands at its own line. */

import type { PtxFunction, PtxModule, PtxVariable, SourceLocation } from './module';

/**
 * The module with places in its own text; the place in the source that an instruction had is where that was "inlined".
 * @param path of the PTX text, as a report names it
 */
export function placedInText(module: PtxModule, text: string, path: string): PtxModule {
  const file = Math.max(0, ...module.files.keys()) + 1;
  const lines = new LineCounter(text);
  const locationAt = (at: number, inlinedAt?: SourceLocation): SourceLocation => {
    return { file, line: lines.lineOf(at), column: 1, inlinedAt };
  };
  const variables = (list: readonly PtxVariable[]) => list.map((each) => ({ ...each, location: locationAt(each.at) }));
  const placedFunction = (each: PtxFunction): PtxFunction => ({
    ...each,
    location: each.at === undefined ? each.location : locationAt(each.at),
    variables: variables(each.variables),
    body: each.body?.map((item) =>
      item.kind === 'label' ? item : { ...item, location: locationAt(item.at, item.location) },
    ),
  });
  return {
    ...module,
    files: new Map([...module.files, [file, path]]),
    variables: variables(module.variables),
    functions: module.functions.map(placedFunction),
  };
}

/** Lines (from 1) of offsets that mostly grow. */
class LineCounter {
  private offset = 0;
  private line = 1;

  constructor(private readonly text: string) {}

  lineOf(offset: number): number {
    if (offset < this.offset) {
      this.offset = 0;
      this.line = 1;
    }
    for (;;) {
      const end = this.text.indexOf('\n', this.offset);
      if (end < 0 || end >= offset) return this.line;
      this.offset = end + 1;
      this.line++;
    }
  }
}
