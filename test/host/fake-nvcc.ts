/** Programs that stand for nvcc: what the compiler service and the editor meet when there is no toolkit, or a bad one. */
import * as fs from 'node:fs';
import * as path from 'node:path';

/**
 * Writes an nvcc into a folder: it knows capability 9.0, logs each run with its arguments in `runs.txt` beside it, and then
 * does as the shell script says; `$keep` is the folder that PTX is to be left in, `$source` the file to compile.
 */
export function fakeNvcc(folder: string, script: string, name = 'nvcc'): string {
  const file = path.join(folder, name);
  const head = `#!/bin/sh
case "$*" in *--list-gpu-arch*) echo compute_90; exit 0;; esac
echo "start $*" >> "${path.join(folder, 'runs.txt')}"
trap 'echo end >> "${path.join(folder, 'runs.txt')}"' EXIT
while [ $# -gt 1 ]; do [ "$1" = --keep-dir ] && keep="$2"; shift; done
source="$1"
`;
  fs.writeFileSync(file, `${head}${script}\n`, { mode: 0o755 });
  return file;
}

/** `start …` and `end` of each run of the fake in a folder. */
export function runsOf(folder: string): string[] {
  const file = path.join(folder, 'runs.txt');
  return fs.existsSync(file) ? fs.readFileSync(file, 'utf8').trim().split('\n') : [];
}
