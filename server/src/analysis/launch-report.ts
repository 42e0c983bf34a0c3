/** The report of one launch: shape, occupancy, accesses, branches, time. */
import { deviceProperties } from '../hardware/device-properties';
import { argumentKey } from '../lower/records';
import { accessReports, branchReports } from '../report/assemble';
import { timeEstimate } from '../report/estimate';
import { occupancyReport } from '../report/occupancy';
import type { AccessReport, LaunchReport } from '../report/report';
import { launchBoundsOf, maxRegistersOf } from './bounds';
import type { KernelResult } from './kernel-result';
import type { FoundKernel } from './kernels';
import { type PlannedLaunch, RANDOM_SEED } from './launch-plan';
import type { CompiledKernel } from './request';
import { instanceArguments, type Unit } from './unit';

/** @param resources what the compiler said of the kernel's instances, if it did */
export function launchReport(
  unit: Unit,
  kernel: FoundKernel,
  { plan, simulation, source, rounds }: KernelResult['launches'][number],
  resources: readonly CompiledKernel[] | undefined,
): LaunchReport {
  const location = plan.place && unit.locate(plan.place.first, plan.place.last);
  const sample = simulation.reported;
  const { values, assumed } = instanceArguments(unit, kernel, plan);
  const bounds = launchBoundsOf(unit.context, kernel, values);
  const boundsPlace = kernel.declaration.specifiers.launchBoundsPlace;
  const occupancy = unit.isTrial
    ? null
    : occupancyReport({
        program: source,
        plan,
        bounds,
        maxRegisters: maxRegistersOf(unit.context, kernel, values),
        options: resources ? { ...unit.request.options, compiled: resources } : unit.request.options,
        kernel: kernel.name,
        templateArguments: values.map(argumentKey),
      });
  return {
    templateArguments: values.map(argumentKey),
    line: location?.line ?? 0,
    location,
    origin: plan.origin,
    grid: sample.shape.grid,
    block: sample.shape.block,
    dynamicSharedBytes: plan.dynamicSharedBytes,
    rounds,
    assumptions: sample.assumptions,
    occupancy,
    launchBounds: bounds && { ...bounds, location: boundsPlace && unit.locate(boundsPlace.first, boundsPlace.last) },
    accesses: restingOn([...assumed, ...answersOf(plan, unit)], accessReports(simulation, unit.locate)),
    branches: branchReports(simulation, unit.locate),
    warpInstructions: sample.execution.blockExecutions.reduce(
      (sum, n, i) => sum + n * simulation.program.blocks[i].instructions.length,
      0,
    ),
    estimate:
      occupancy &&
      timeEstimate({
        plan,
        simulation,
        blocksPerSm: occupancy.blocksPerSm,
        computeCapability: unit.request.options.computeCapability,
        device: unit.request.options.device,
      }),
    incomplete: sample.execution.incomplete,
    assumedTemplateArguments: assumed,
  };
}

/** What the device was asked that the launch rests on, `multiProcessorCount = 132, as of an H100 SXM`, and the seed of random numbers. */
function answersOf(plan: PlannedLaunch, unit: Unit): string[] {
  const answers = plan.assumptions.filter(({ origin }) => origin === 'device');
  const seeds = plan.assumptions.filter(({ name }) => name === RANDOM_SEED);
  const { computeCapability, device } = unit.request.options;
  const { device: of } = deviceProperties(computeCapability, device) ?? {};
  return [
    ...answers.map(({ name, value }) => `${name} = ${value}${of ? `, as of ${of.name}` : ''}`),
    ...seeds.map(({ name, value }) => `${name} = ${value}`),
  ];
}

/** Figures of an instance whose types were assumed are no surer than that. */
function restingOn(assumed: readonly string[], accesses: readonly AccessReport[]): readonly AccessReport[] {
  if (assumed.length === 0) return accesses;
  const reason = `rests on assumed ${assumed.join(', ')}`;
  return accesses.map((a) =>
    a.certainty === 'unknown'
      ? a
      : { ...a, certainty: 'assumed', reason: a.reason === null ? reason : `${a.reason}; ${reason}` },
  );
}
