/** Runs the analysis over sources, one capability after the other; a file that fails is left out and named. */
import { createAnalyzer } from '../analysis/analyze';
import type { AnalysisOptions } from '../analysis/request';
import type { CheckReport, FileReport } from '../report/report';
import { UnitReader, type Workspace } from '../workspace/units';
import { type CompiledSources, compiledKey } from './compiled';
import type { Source } from './sources';

declare const WARPLENS_VERSION: string;

/** Milliseconds one file may take for one capability; then what there is is reported. */
const fileBudgetMs = 30_000;

/**
 * @param complain told in one line what could not be analysed or read
 * @param compiled what a compiler made of the sources
 */
export function analyzeSources(
  sources: readonly Source[],
  options: readonly AnalysisOptions[],
  workspace: Workspace,
  complain: (line: string) => void,
  compiled: CompiledSources = new Map(),
): CheckReport[] {
  const units = new UnitReader(new Map(), complain);
  return options.map((each) => {
    const analyzer = createAnalyzer();
    const files = sources.flatMap(({ path, text }): FileReport[] => {
      const end = performance.now() + fileBudgetMs;
      try {
        const request = units.request(path, text, each, workspace);
        const compilation = compiled.get(compiledKey(each.computeCapability, path));
        return [analyzer.analyze({ ...request, compilation, cancelled: () => performance.now() > end })];
      } catch (error) {
        complain(
          `${path}: the analysis failed: ${error instanceof Error ? error.message.split('\n')[0] : String(error)}`,
        );
        return [];
      }
    });
    return {
      schemaVersion: 1,
      tool: { name: 'warplens', version: WARPLENS_VERSION },
      computeCapability: each.computeCapability,
      files,
    };
  });
}
