/** A recorded program as the analysis reads it: one file, or all the sources of a folder. */
import * as fs from 'node:fs';
import * as path from 'node:path';
import { analyzeFile } from '../server/src/analysis/analyze';
import { PATIENCE } from '../server/src/cli/options';
import type { FileReport } from '../server/src/report/report';
import { UnitReader } from '../server/src/workspace/units';
import { compiledProgram, cudaFilesIn, definesIn } from './compiled-program';
import { flagsOfRecording, hardwareFolder } from './recorded-counters';
import { includeFrom } from './tiers';

/** The program's file, or its folder. */
export function placeOf(program: string): string {
  const folder = path.join(hardwareFolder, 'programs', program);
  return fs.existsSync(folder) ? folder : `${folder}.cu`;
}

/** Whether what is told of a file's line is of the program: of a folder all files are, of a single program its own. */
export function isOwnFile(program: string, file: string): boolean {
  return placeOf(program).endsWith('.cu') ? file.endsWith(`${program}.cu`) : true;
}

/**
 * What is said of all its kernels.
 * @param nvcc path of the compiler on whose PTX the answers rest; @param followData whether the data of the host are
 */
export async function analyseProgram(
  program: string,
  nvcc: string | undefined,
  followData: boolean,
): Promise<FileReport> {
  const place = placeOf(program);
  const reports: FileReport[] = [];
  // a file's own first line may say nothing of them: its program's other files do
  const flags = flagsOfRecording(program).map((flag) => inFolder(flag, place));
  for (const file of cudaFilesIn(place)) {
    const text = fs.readFileSync(file, 'utf8');
    const options = {
      computeCapability: '9.0',
      defines: definesIn(flags),
      assume: new Map(),
      patience: PATIENCE,
      followData,
    };
    const compilation = nvcc === undefined ? undefined : await compiledProgram(nvcc, file, flags);
    const request = place.endsWith('.cu')
      ? { path: file, text, options, include: includeFrom(path.dirname(file)) }
      : new UnitReader(new Map(), () => {}).request(file, text, options, { folders: [place], includePaths: [] });
    // without its data a program is measured as if nothing were known of them: that must not go unseen
    const onDefect = (error: unknown) => console.error(`${program}: the run of main failed:`, error);
    reports.push(analyzeFile({ ...request, compilation, onDefect }));
  }
  const ofAll = <T>(part: (report: FileReport) => readonly T[]) => reports.flatMap(part);
  const kernels = ofAll((r) => r.kernels);
  return { path: place, kernels, diagnostics: ofAll((r) => r.diagnostics), notes: ofAll((r) => r.notes) };
}

/** Folders of a flag are those from which the program was compiled. */
function inFolder(flag: string, place: string): string {
  const folder = place.endsWith('.cu') ? path.dirname(place) : place;
  return flag.startsWith('-I') ? `-I${path.resolve(folder, flag.slice('-I'.length))}` : flag;
}
