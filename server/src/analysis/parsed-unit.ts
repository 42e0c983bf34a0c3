/** The first steps for a text: tokens, tree, names, kernels. */
import type { UnitContext } from '../lower/context';
import { createUnitContext } from '../lower/lower-kernel';
import type { TranslationUnit } from '../parse/ast';
import { parse } from '../parse/parse';
import type { LexCache } from '../preprocess/lex-cache';
import { predefinedMacros } from '../preprocess/predefined';
import { preprocess } from '../preprocess/preprocess';
import type { PreprocessResult } from '../preprocess/token';
import { Fingerprints } from './fingerprint';
import { type FoundKernel, findKernels, oncePerPlace } from './kernels';
import type { AnalysisRequest, SourceUnit } from './request';

export interface ParsedUnit {
  readonly source: PreprocessResult;
  readonly tree: TranslationUnit;
  readonly context: UnitContext;
  readonly kernels: readonly FoundKernel[];
  /** Kernels of files that are read for their device code: executed where the program of the host launches them, and not reported. */
  readonly others?: readonly FoundKernel[];
  readonly fingerprints: Fingerprints;
}

export type ParseRequest = Pick<AnalysisRequest, 'path' | 'text' | 'options' | 'include' | 'root'>;

/** What is read for a request: its text, or the source that includes it, with all macros. */
export function unitToRead(request: ParseRequest): SourceUnit {
  const { path, text, options, include } = request;
  const unit = request.root ? throughRoot(request, request.root) : { path, text, include, defines: options.defines };
  return { ...unit, defines: new Map([...predefinedMacros(options.computeCapability), ...unit.defines]) };
}

export const parseUnit = (request: ParseRequest, lexCache: LexCache): ParsedUnit =>
  readUnit(unitToRead(request), lexCache);

/** @param unit with all macros */
export function readUnit(unit: SourceUnit, lexCache: LexCache): ParsedUnit {
  const source = preprocess({ ...unit, lexCache });
  const tree = parse(source.tokens, source.pragmas);
  const context = createUnitContext(tree, source.tokens);
  const kernels = oncePerPlace(findKernels(tree, context.scope), source.tokens);
  return { source, tree, context, kernels, fingerprints: new Fingerprints(tree, source.tokens, source.pragmas) };
}

/** The unit of the file that includes the text, which reads the present text where it asks for the file's. */
function throughRoot({ path, text }: ParseRequest, root: SourceUnit): SourceUnit {
  return {
    ...root,
    include: (name, quoted, from) => {
      const found = root.include(name, quoted, from);
      return found?.path === path ? { path, text } : found;
    },
  };
}
