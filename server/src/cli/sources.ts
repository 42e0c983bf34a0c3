/** From the files and folders on the command line to texts. */
import * as fs from 'node:fs';
import * as path from 'node:path';
import { cudaFile, filesUnder } from '../workspace/source-tree';
import { fileProblem, readSource } from '../workspace/text-files';

export interface Source {
  readonly path: string;
  readonly text: string;
}

/** Files in the order given, each once; folders searched for *.cu and *.cuh. Problems are one line each. */
export function expandPaths(given: readonly string[]): { files: string[]; problems: string[] } {
  const files = new Set<string>();
  const problems: string[] = [];
  for (const one of given) {
    let stat: fs.Stats;
    try {
      stat = fs.statSync(one);
    } catch (error) {
      problems.push(`${one}: ${fileProblem(error)}`);
      continue;
    }
    if (!stat.isDirectory()) {
      files.add(path.normalize(one));
      continue;
    }
    const before = files.size;
    for (const file of filesUnder(one, cudaFile)) files.add(file);
    if (files.size === before) problems.push(`${one}: no .cu or .cuh file in this folder`);
  }
  return { files: [...files], problems };
}

/** One file's text, or why it is not to be had, in one line. */
export function loadSource(file: string): Source | { readonly problem: string } {
  const source = readSource(file);
  return 'text' in source ? { path: file, text: source.text } : { problem: `${file}: ${source.problem}` };
}
