/** `warplens simulate`: everything about one kernel. */
import { analyzeSources } from './analysis';
import { lineReader, type Output } from './check';
import { compileSources } from './compiled';
import { painter } from './excerpt';
import { formatJson } from './format-json';
import { formatSimulation } from './format-simulation';
import { simulationPage } from './html/page';
import { analysisOptions, type SharedOptions, workspaceOf } from './options';
import { exitStatus, UsageProblem } from './problem';
import { loadSource } from './sources';

export const simulateFormats = ['text', 'json', 'html'] as const;

export interface SimulateOptions extends SharedOptions {
  readonly kernel: string;
  readonly format: (typeof simulateFormats)[number];
}

/** Simulates one kernel of one file under each capability asked for. @throws UsageProblem when it is not there */
export async function simulate(file: string, options: SimulateOptions, output: Output): Promise<number> {
  const source = loadSource(file);
  if (!('text' in source)) throw new UsageProblem(source.problem);
  const asked = analysisOptions(options).map((each) => ({ ...each, withCurves: true }));
  const workspace = workspaceOf(options);
  const { compiler } = options;
  const { complain } = output;
  const compiled = await compileSources({ sources: [source], options: asked, workspace, compiler, complain });
  const sources = [source];
  const reports = await analyzeSources({ sources, options: asked, workspace, complain, compiled, threads: 1 });
  const found = reports.some(({ files }) => files.some(({ kernels }) => kernels.length > 0));
  if (!found) {
    const all = analysisOptions({ ...options, kernel: undefined, cc: undefined });
    const [everything] = await analyzeSources({ sources, options: all.slice(0, 1), workspace, complain });
    const names = [...new Set(everything.files.flatMap(({ kernels }) => kernels.map(({ name }) => name)))];
    const others = names.length > 0 ? `its kernels are ${names.join(', ')}` : 'it has no kernels';
    throw new UsageProblem(`${file}: no kernel ${options.kernel}; ${others}`);
  }
  if (options.format === 'json') output.write(formatJson(reports));
  else if (options.format === 'html') {
    output.write(simulationPage(reports, options.kernel, { linesOf: lineReader([source]) }));
  } else {
    const paint = painter(output.hasColour);
    for (const { files, computeCapability } of reports) {
      for (const { kernels } of files) output.write(formatSimulation(kernels, computeCapability, paint));
    }
  }
  return exitStatus.clean;
}
