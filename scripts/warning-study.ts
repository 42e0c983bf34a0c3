/**
 * npm run warnings -- <folders or .cu files>: which warnings about accesses the source tier raises that nvcc's own code does not bear
 * out, and the other way round. Needs nvcc, no GPU. Only kernels are counted that both tiers answered for. `-I<folder>` and `-D<name>`
 * go to nvcc, `--keep=<folder>` keeps what nvcc made there for the next run of the same text and flags.
 */
import * as fs from 'node:fs';
import * as path from 'node:path';
import { analyzeFile } from '../server/src/analysis/analyze';
import type { AnalysisRequest } from '../server/src/analysis/request';
import { PATIENCE } from '../server/src/cli/options';
import { findNvcc } from '../server/src/compiler/find-nvcc';
import type { FileReport, Finding } from '../server/src/report/report';
import { UnitReader } from '../server/src/workspace/units';
import { compiledProgram, cudaFilesIn, recordedFlags } from './compiled-program';

/** Rules about single accesses: what the machine code does decides them. */
const rules = new Set(['shared-bank-conflict', 'uncoalesced-global-access', 'misaligned-global-access']);
const CAPABILITY = '9.0';

interface Tally {
  kernels: number;
  both: number;
  onlySource: string[];
  onlyCompiler: string[];
}

const said = ({ rule, line, kernel, message }: Finding, file: string): string =>
  `${file}:${line} ${kernel} ${rule}: ${message}`;

/** Warnings by what they are about. */
function warningsOf(report: FileReport, kernels: ReadonlySet<string>): Map<string, Finding> {
  const warnings = report.diagnostics.filter(
    (d) => d.severity === 'warning' && rules.has(d.rule) && kernels.has(d.kernel),
  );
  return new Map(warnings.map((d) => [`${d.kernel}:${d.file}:${d.line}:${d.rule}`, d]));
}

async function study(file: string, nvcc: string, units: UnitReader, tally: Tally): Promise<void> {
  const text = fs.readFileSync(file, 'utf8');
  if (!text.includes('__global__')) return;
  const flags = [...recordedFlags(file), ...process.argv.filter((arg) => /^-[ID]./.test(arg))];
  const compilation = await compiledProgram(nvcc, file, flags, CAPABILITY);
  if (!compilation) return;
  const options = { computeCapability: CAPABILITY, defines: new Map(), assume: new Map(), patience: PATIENCE };
  const workspace = { folders: [path.dirname(file)], includePaths: [] };
  const request: AnalysisRequest = units.request(file, text, options, workspace);
  const source = analyzeFile(request);
  const compiled = analyzeFile({ ...request, compilation });
  const kernels = new Set(compiled.kernels.filter((k) => k.origin === 'ptx').map((k) => k.name));
  tally.kernels += kernels.size;
  const [ours, theirs] = [warningsOf(source, kernels), warningsOf(compiled, kernels)];
  for (const [key, finding] of ours) {
    if (theirs.has(key)) tally.both++;
    else tally.onlySource.push(said(finding, file));
  }
  for (const [key, finding] of theirs) if (!ours.has(key)) tally.onlyCompiler.push(said(finding, file));
}

async function main(): Promise<void> {
  const nvcc = findNvcc({ environment: process.env, platform: process.platform });
  const places = process.argv.slice(2).filter((arg) => !arg.startsWith('-'));
  if (!nvcc || places.length === 0) {
    process.stderr.write(
      nvcc ? 'npm run warnings -- <folders or .cu files>\n' : 'nvcc is not found: nothing to compare with\n',
    );
    process.exitCode = 2;
    return;
  }
  const units = new UnitReader(new Map(), () => {});
  const tally: Tally = { kernels: 0, both: 0, onlySource: [], onlyCompiler: [] };
  for (const file of places.flatMap(cudaFilesIn)) await study(path.resolve(file), nvcc, units, tally);
  for (const warning of tally.onlySource) console.log(`only the source: ${warning}`);
  for (const warning of tally.onlyCompiler) console.log(`only the compiler's: ${warning}`);
  const { kernels, both, onlySource, onlyCompiler } = tally;
  console.log(
    `${kernels} kernels: ${both} warnings in both, ${onlySource.length} only from the source, ${onlyCompiler.length} only with nvcc`,
  );
}

void main();
