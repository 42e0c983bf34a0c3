/**
 * Which flags of a build are handed to nvcc: those that decide what the text means or what code is made of it. All else is left
 * out (outputs, warnings, host code), for the build may be another compiler's, and a flag that nvcc does not know ends it.
 */

import * as path from 'node:path';
import { capability } from '../hardware/capabilities';

/** Flags that stand alone, also with a value glued on by `=`. */
const alone = new Set([
  '-use_fast_math',
  '--use_fast_math',
  '-ftz',
  '--ftz',
  '-prec-div',
  '--prec-div',
  '-prec-sqrt',
  '--prec-sqrt',
  '-fmad',
  '--fmad',
  '-extended-lambda',
  '--extended-lambda',
  '-expt-extended-lambda',
  '--expt-extended-lambda',
  '-expt-relaxed-constexpr',
  '--expt-relaxed-constexpr',
  '-restrict',
  '--restrict',
  '-rdc',
  '--relocatable-device-code',
  '-allow-unsupported-compiler',
  '--allow-unsupported-compiler',
  '-default-stream',
  '--default-stream',
]);

/** Flags with a value, glued on by `=` or in the next word. Architectures say only whether features of one are used. */
const valued = new Set([
  '-std',
  '--std',
  '-Xptxas',
  '--ptxas-options',
  '-arch',
  '--gpu-architecture',
  '-gencode',
  '--generate-code',
  '-code',
  '--gpu-code',
]);

/** Flags whose value is a path. */
const paths = new Set(['-include', '--pre-include', '-ccbin', '--compiler-bindir', '--options-file', '-optf']);

/** The flags of a compile command for nvcc, in order; folders of headers and macros aside. Paths become absolute. */
export function keptFlags(words: readonly string[], directory: string): string[] {
  const kept: string[] = [];
  for (let i = 0; i < words.length; i++) {
    const word = words[i];
    const equals = word.indexOf('=');
    const name = equals < 0 ? word : word.slice(0, equals);
    if (alone.has(name) || /^-O\d$/.test(word)) kept.push(word);
    else if (valued.has(name) && equals >= 0) kept.push(word);
    else if (valued.has(name) && i + 1 < words.length) kept.push(word, words[++i]);
    else if (paths.has(name) && equals >= 0) kept.push(name, resolved(word.slice(equals + 1), directory));
    else if (paths.has(name) && i + 1 < words.length) kept.push(name, resolved(words[++i], directory));
  }
  return kept;
}

/** Flags that name architectures, in their value or the next word. */
const architectures =
  /^(?:-arch|--gpu-architecture|-gencode|--generate-code|-code|--gpu-code|--cuda-gpu-arch|--offload-arch)(?:=|$)/;

/** The highest capability that is known among the architectures of a command: `-arch=sm_90a` is 9.0. */
export function builtCapability(words: readonly string[]): string | undefined {
  let highest = 0;
  words.forEach((word, i) => {
    if (!architectures.test(word)) return;
    const value = word.includes('=') ? word : (words[i + 1] ?? '');
    for (const [, digits] of value.matchAll(/(?:sm|compute)_(\d{2,3})/g)) {
      const number = Number(digits);
      if (number > highest && capability(ccOf(number)) !== undefined) highest = number;
    }
  });
  return highest === 0 ? undefined : ccOf(highest);
}

const ccOf = (architecture: number): string => `${Math.floor(architecture / 10)}.${architecture % 10}`;

/** A bare name is looked for on PATH (`-ccbin g++-12`) or in the folders of headers. */
function resolved(value: string, directory: string): string {
  return /[/\\]/.test(value) ? path.resolve(directory, value) : value;
}
