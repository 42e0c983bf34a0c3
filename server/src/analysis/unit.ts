/** One file under analysis: what the steps for its kernels share. */
import type { Annotation } from '../launch/annotation';
import type { UnitContext } from '../lower/context';
import type { TranslationUnit } from '../parse/ast';
import type { PreprocessResult } from '../preprocess/token';
import type { FileReport, Location } from '../report/report';
import type { PreparedCompilation } from './compilation';
import type { Effort } from './effort';
import type { Fingerprints } from './fingerprint';
import type { HostData } from './host-data';
import type { FoundKernel } from './kernels';
import type { PlannedLaunch } from './launch-plan';
import type { Launch } from './launches';
import type { AnalysisRequest } from './request';
import type { SampledLaunches } from './sampled-launches';
import { argumentsWithoutLaunch, type InstanceArguments, withAssumedTypes } from './template-arguments';

export interface Unit {
  readonly request: AnalysisRequest;
  readonly tree: TranslationUnit;
  readonly source: PreprocessResult;
  readonly context: UnitContext;
  readonly launches: readonly Launch[];
  readonly sampled: SampledLaunches;
  readonly annotations: ReadonlyMap<FoundKernel, Annotation>;
  readonly fingerprints: Fingerprints;
  /** What main fills memory with; undefined when data are not to be followed. */
  readonly data: HostData | undefined;
  readonly effort: Effort;
  readonly compiled: PreparedCompilation | undefined;
  readonly notes: FileReport['notes'][number][];
  /** A fix is being tried: only counts of the reported sizes are looked at. */
  readonly isTrial: boolean;
  readonly locate: (first: number, last: number) => Location;
}

/** The launch's arguments; for a template that nobody launches those of an annotation, an instantiation, or assumed ones. */
export function instanceArguments(unit: Unit, kernel: FoundKernel, plan: PlannedLaunch): InstanceArguments {
  if (plan.launch) return withAssumedTypes(kernel, plan.launch.templateArguments);
  return argumentsWithoutLaunch(unit.context, unit.tree, kernel, unit.annotations.get(kernel));
}
