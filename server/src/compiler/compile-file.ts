/** One file through the compiler that was found. */

import { compileWithClang } from './clang';
import { type CompileError, compileKernels, type KernelsResult, type SourceToCompile } from './compile';
import type { Compiler } from './find-compiler';

/** PTX of a file; of nvcc its registers and machine code too. Never rejects. */
export function compileFile(compiler: Compiler, source: SourceToCompile): Promise<KernelsResult | CompileError> {
  switch (compiler.kind) {
    case 'nvcc':
      return compileKernels({ ...source, nvcc: compiler.program });
    case 'clang':
      return compileWithClang({ ...source, clang: compiler.program, toolkit: compiler.toolkit });
  }
}
