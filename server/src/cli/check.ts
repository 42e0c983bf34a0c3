/** `warplens check` */
import type { CheckReport, Severity } from '../report/report';
import { analyzeSources } from './analysis';
import { compileSources } from './compiled';
import { painter } from './excerpt';
import { formatGithub } from './format-github';
import { formatJson } from './format-json';
import { formatSarif } from './format-sarif';
import { formatText } from './format-text';
import { analysisOptions, type SharedOptions, workspaceOf } from './options';
import { exitStatus } from './problem';
import { expandPaths, loadSource, type Source } from './sources';

export const checkFormats = ['text', 'json', 'sarif', 'github'] as const;
export const failOnLevels = ['error', 'warning', 'information', 'never'] as const;

export interface CheckOptions extends SharedOptions {
  readonly format: (typeof checkFormats)[number];
  readonly failOn: (typeof failOnLevels)[number];
  readonly threads?: number;
}

export interface Output {
  readonly write: (text: string) => void;
  readonly complain: (line: string) => void;
  readonly hasColour: boolean;
}

const ranks: Readonly<Record<Severity, number>> = { error: 3, warning: 2, information: 1, hint: 0 };

function isFound(reports: readonly CheckReport[], failOn: CheckOptions['failOn']): boolean {
  if (failOn === 'never') return false;
  const findings = reports.flatMap(({ files }) => files.flatMap(({ diagnostics }) => diagnostics));
  return findings.some(({ severity }) => ranks[severity] >= ranks[failOn]);
}

/** The lines of the sources analysed; headers are read again when a finding stands in one. */
export function lineReader(sources: readonly Source[]): (file: string) => readonly string[] {
  const known = new Map(sources.map(({ path, text }) => [path, text.split('\n')]));
  return (file) => {
    let lines = known.get(file);
    if (lines === undefined) {
      const source = loadSource(file);
      known.set(file, (lines = 'text' in source ? source.text.split('\n') : []));
    }
    return lines;
  };
}

/** Checks files and folders, writes the reports, and returns the exit status. */
export async function check(paths: readonly string[], options: CheckOptions, output: Output): Promise<number> {
  const { files, problems } = expandPaths(paths);
  const sources: Source[] = [];
  for (const file of files) {
    const source = loadSource(file);
    if ('text' in source) sources.push(source);
    else problems.push(source.problem);
  }
  const failed = (line: string): void => void problems.push(line);
  const [asked, workspace] = [analysisOptions(options), workspaceOf(options)];
  const { compiler } = options;
  const compiled = await compileSources({ sources, options: asked, workspace, compiler, complain: output.complain });
  const { threads } = options;
  const reports = await analyzeSources({ sources, options: asked, workspace, complain: failed, compiled, threads });
  for (const problem of problems) output.complain(problem);
  // nothing was read at all: the complaint is the answer
  if (sources.length > 0 || options.format !== 'text') output.write(render(reports, options, output, sources));
  if (problems.length > 0) return exitStatus.wrongUsage;
  return isFound(reports, options.failOn) ? exitStatus.found : exitStatus.clean;
}

function render(reports: CheckReport[], { format }: CheckOptions, output: Output, sources: readonly Source[]): string {
  if (format === 'sarif') return formatSarif(reports);
  if (format === 'github') return formatGithub(reports);
  if (format === 'text') return formatText(reports, { paint: painter(output.hasColour), linesOf: lineReader(sources) });
  return formatJson(reports);
}
