/**
 * Finds every kernel launch of a translation unit and evaluates what it passes, by running the host code: `main` first,
 * then the functions that launch and that nobody has called, with parameters that are not known.
 */
import { type DeviceProperties, otherDevice } from '../hardware/device-properties';
import type { Declaration, TranslationUnit } from '../parse/ast';
import type { TokenStream, WarplensComment } from '../preprocess/token';
import { hostAssumptions } from './annotation';
import { declareLocal } from './declaration';
import { runEntry, runMain } from './entry';
import { launchKey } from './export';
import { evaluate } from './expression';
import type { FoundLaunch } from './found-launch';
import type { HostUnit } from './host-tokens';
import { FEWEST_ROUNDS, type LaunchRecorder } from './launch-recorder';
import { findSites, type Holder } from './launch-sites';
import { forget } from './memory';
import { optionVariables } from './options';
import { indexUnit } from './scope';
import { foreignKernels } from './shared-kernels';
import { budgets, createState, type HostState } from './state';
import { type Cell, isNull } from './value';
import { walk } from './walk';

/** Times the steps where more rounds of a loop are wanted than first, middle and last: they are run. */
const PATIENT = 8;

export interface FindOptions {
  /** Values for host variables (and annotated names) that the text leaves open, by name. */
  readonly assume: ReadonlyMap<string, number>;
  /** Answers what the program asks its device; nothing is known of it where it is missing. */
  readonly device?: DeviceProperties;
  /** What the program is started with, where that is known. */
  readonly programArguments?: readonly string[];
  /** Steps of host code to follow over the whole unit; 100,000 by default. */
  readonly steps?: number;
  /** Different launches of a host loop that are reported; first, middle and last by default. */
  readonly rounds?: number;
  /** Answers of the device are not put to the test: `asked` names all that the run was told. */
  readonly withoutOtherDevice?: boolean;
  /** Other translation units of the program; launches in them are found too. */
  readonly others?: readonly OtherUnit[];
}

/** A translation unit that is linked with the one in question. */
export interface OtherUnit extends HostUnit {
  /** Nodes are numbered from `base` on. */
  readonly declarations: readonly Declaration[];
}

/** All launches in the order of the text; those of host loops thinned to first, typical and last. Never throws. */
export function findLaunches(
  unit: TranslationUnit,
  tokens: TokenStream,
  comments: readonly WarplensComment[],
  options: FindOptions,
): readonly FoundLaunch[] {
  const others = options.others ?? [];
  const units = [{ base: 0, tokens }, ...others];
  const declarations = [...unit.declarations, ...others.flatMap(({ declarations }) => declarations)];
  const index = indexUnit([...declarations, ...optionVariables(units)]);
  const foreign = foreignKernels(index, units);
  const sites = findSites(index, units, foreign);
  if (sites.holders.length === 0) return [];
  const assume = new Map([...hostAssumptions(index, comments), ...options.assume]);
  const isPatient = (options.rounds ?? 0) > FEWEST_ROUNDS;
  const steps = options.steps ?? budgets.steps * (isPatient ? PATIENT : others.length > 0 ? 2 : 1);
  const run = (device: DeviceProperties | undefined, { recorder, holders }: ReturnType<typeof findSites>) => {
    runProgram(
      createState(index, {
        tokens: units,
        assume,
        device,
        recorder,
        steps,
        programArguments: options.programArguments,
      }),
      recorder,
      holders,
    );
    return recorder.launches(options.rounds);
  };
  const found = run(options.device, sites);
  if (!options.device || options.withoutOtherDevice || found.every(({ asked }) => asked.size === 0)) return found;
  return withoutNeedless(found, run(otherDevice(options.device), findSites(index, units, foreign)));
}

/** Launches that are the same whatever the device answers rest on no answer. */
function withoutNeedless(found: readonly FoundLaunch[], others: readonly FoundLaunch[]): FoundLaunch[] {
  const counts = new Map<string, number>();
  for (const launch of others) counts.set(shapeKey(launch), (counts.get(shapeKey(launch)) ?? 0) + 1);
  return found.map((launch) => {
    const left = counts.get(shapeKey(launch)) ?? 0;
    counts.set(shapeKey(launch), left - 1);
    return left > 0 ? { ...launch, asked: new Map() } : launch;
  });
}

const shapeKey = ({ kernel, place, grid, block, dynamicSharedBytes, arguments: passed }: FoundLaunch): string =>
  `${kernel.name} ${place.first} ${launchKey([...grid, ...block, dynamicSharedBytes, ...passed])}`;

function runProgram(state: HostState, recorder: LaunchRecorder, holders: readonly Holder[]): void {
  // several programs may be linked with the same functions
  const mains = holders.filter(({ name, function: entry }) => name === 'main' && !entry.record);
  for (const main of mains) withShare(state, 0.6, () => runMain(state, main.function));
  const roots = holders.filter((holder) => !isCalled(holder, holders));
  for (const [index, holder] of [...roots, ...holders].entries()) {
    const { declaration } = holder.function;
    if (recorder.hasEntered(declaration)) continue;
    // Behind the roots only functions that launch themselves are run: their callers were reached and did not come here.
    if (index >= roots.length && !hasUnseen(recorder, holder)) continue;
    withShare(state, 0.25, () => runEntry(state, holder.function));
  }
  for (const holder of holders) if (hasUnseen(recorder, holder)) evaluateInPlace(state, recorder, holder);
}

function isCalled(holder: Holder, holders: readonly Holder[]): boolean {
  return holders.some((other) => other.name !== holder.name && other.function.declaration.mentions.has(holder.name));
}

function hasUnseen(recorder: LaunchRecorder, holder: Holder): boolean {
  return holder.sites.some((site) => recorder.holdsUnseen(site, site));
}

/** Runs something with a part of the steps that are left. */
function withShare(state: HostState, share: number, run: () => void): void {
  const kept = Math.floor(state.steps * (1 - share));
  state.steps -= kept;
  run();
  state.steps += kept;
  resetRun(state);
}

function resetRun(state: HostState): void {
  state.journals.length = 0;
  state.symbols.clear();
  state.leaving = undefined;
  state.pastExit = false;
  state.doubtful = false;
  state.depth = 0;
  state.nesting = 0;
  state.uncertain = 0;
  state.blind = 0;
  state.isQuiet = false;
  state.tries = 0;
}

/**
 * The last resort for a launch that no run came to (behind the budget, in code that was not understood): its function's
 * variables take their initial values, and the launch is evaluated on its own.
 */
function evaluateInPlace(state: HostState, recorder: LaunchRecorder, holder: Holder): void {
  withShare(state, 0.5, () => {
    runEntry(state, holder.function, (scope, body) => {
      recorder.speculation++;
      const outer = state.frame;
      state.frame = { ...outer, name: holder.name };
      walk(body, {
        variable: (variable) => {
          if (!variable.name || scope.values.has(variable.name)) return;
          declareLocal(state, variable, scope);
          forgetIfEmpty(state, scope.values.get(variable.name));
        },
        launch: (launch) => {
          if (recorder.holdsUnseen(launch.first, launch.last)) evaluate(state, launch, scope);
        },
      });
      state.frame = outer;
      recorder.speculation--;
    });
  });
}

/** What fills a container that begins empty was not run. */
function forgetIfEmpty(state: HostState, cell: Cell | undefined): void {
  const value = cell?.value;
  if (cell && value?.kind === 'container' && isNull(value.size.value))
    forget(state, cell, `${cell.name} is filled later`);
}

export type { FoundLaunch } from './found-launch';
