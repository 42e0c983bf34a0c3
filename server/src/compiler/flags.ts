/** Flags of a build that bear on what a file means; those that say what is to be made of it are ours. */

/** Flags with an operand in the next argument, or behind `=`. */
const droppedWithOperand = new Set([
  '-o',
  '--output-file',
  '-arch',
  '--gpu-architecture',
  '-code',
  '--gpu-code',
  '-gencode',
  '--generate-code',
  '-odir',
  '--output-directory',
  '-MF',
  '-MT',
  '-MQ',
  '-x',
  '--x',
  '-ccbin-dir',
  '-t',
  '--threads',
  '-keep-dir',
  '--keep-dir',
  '-diag-suppress',
]);

const dropped = new Set([
  '-c',
  '--compile',
  '-dc',
  '--device-c',
  '-dw',
  '--device-w',
  '-ptx',
  '--ptx',
  '-cubin',
  '--cubin',
  '-fatbin',
  '--fatbin',
  '-E',
  '-S',
  '-M',
  '-MM',
  '-MD',
  '-MMD',
  '-MP',
  '-G',
  '--device-debug',
  '-g',
  '--debug',
  '-lineinfo',
  '--generate-line-info',
  '-keep',
  '--keep',
  '-dryrun',
  '--dryrun',
  '-run',
  '--run',
  '-v',
  '--verbose',
  '-link',
  '--link',
  '-lib',
  '--lib',
  '-dlink',
  '--device-link',
  '-shared',
  '--shared',
  '-optix-ir',
  '--optix-ir',
  '-ltoir',
  '--ltoir',
  '-dlto',
  '-forward-unknown-to-host-compiler',
]);

/** Endings of files that are compiled: the source among the arguments is named by us. */
const source = /\.(cu|cpp|cc|cxx|c|o|obj|a|so|ptx|cubin|fatbin)$/i;

/** The flags without outputs, architectures, debug modes and sources, in order. */
export function usableFlags(flags: readonly string[]): string[] {
  const result: string[] = [];
  for (let i = 0; i < flags.length; i++) {
    const flag = flags[i];
    const name = flag.split('=')[0];
    if (dropped.has(flag)) continue;
    if (droppedWithOperand.has(name)) {
      if (name === flag) i++;
      continue;
    }
    if (/^-o./.test(flag) && !flag.startsWith('-optix')) continue;
    if (!flag.startsWith('-')) {
      const isOperand = i > 0 && takesOperand.has(flags[i - 1]);
      if (!isOperand && source.test(flag)) continue;
    }
    result.push(flag);
  }
  return result;
}

/** 'a' or 'f' where the build asks for code of this architecture's own features (`sm_90a`), else nothing. */
export function featureSuffix(flags: readonly string[], architecture: number): string {
  const pattern = new RegExp(`(?:sm|compute)_${architecture}([af])\\b`);
  for (const flag of flags) {
    const found = pattern.exec(flag);
    if (found) return found[1];
  }
  return '';
}

/** Flags kept whose operand may look like a source. */
const takesOperand = new Set([
  '-I',
  '-isystem',
  '-include',
  '--include-path',
  '-D',
  '-U',
  '-std',
  '--std',
  '-Xcompiler',
  '-Xptxas',
  '-Xcudafe',
  '-ccbin',
  '--compiler-bindir',
  '--pre-include',
  '-L',
  '-l',
  '-maxrregcount',
  '--maxrregcount',
]);

/** Flags with an operand behind them that mean the same to clang. */
const clangTakes = new Set(['-I', '-isystem', '-iquote', '-idirafter', '-include', '-D', '-U']);
/** Beginnings of such flags in one word. */
const clangKnows = /^(-I.|-D.|-U.|-isystem.|-std=|--std=|-O[0-3sz]$|-Ofast$|-f|--cuda-path=)/;
/** nvcc's words for what clang calls otherwise. */
const clangNames: Readonly<Record<string, string>> = {
  '-use_fast_math': '-ffast-math',
  '--use_fast_math': '-ffast-math',
  '-fmad=false': '-ffp-contract=off',
  '--fmad=false': '-ffp-contract=off',
};
/** nvcc's flags that begin like clang's. */
const onlyNvccs = /^-(fmad|ftz|fatbin|foreign|forward|fdevice)/;
/** Flags whose operand is another program's. */
const othersOperand = new Set(['-Xcompiler', '-Xptxas', '-Xcudafe', '-Xlinker', '-Xarchive', '-Xnvlink']);

/** Of the flags of a build, written for nvcc or clang, those that clang understands and that bear on what a file means. */
export function clangFlags(flags: readonly string[]): string[] {
  const usable = usableFlags(flags);
  return usable.flatMap((flag, index): string[] => {
    if (clangTakes.has(usable[index - 1]) || othersOperand.has(usable[index - 1])) return [];
    if (clangTakes.has(flag)) return index + 1 < usable.length ? [flag, usable[index + 1]] : [];
    if (clangNames[flag]) return [clangNames[flag]];
    return clangKnows.test(flag) && !onlyNvccs.test(flag) ? [flag] : [];
  });
}
