/** What is kept of a kernel between edits, and how it moves with the text around it. */
import type { Program } from '../program/program';
import type { TriedPadding } from '../rules/rule';
import type { Fingerprint } from './fingerprint';
import { changedPlan, type RoundChange } from './further-rounds';
import type { PlannedLaunch } from './launch-plan';
import { resting, type Simulation } from './simulate';

/** Everything known of one kernel, with token positions of the unit it was made from. */
export interface KernelResult {
  readonly fingerprint: Fingerprint;
  /** The text, the launches and the settings that it was made for, whoever compiled it. */
  readonly sourceKey: string;
  /** The data that it rests on, if any was asked for. */
  readonly dataKey?: string;
  /** Warp instructions executed for it. */
  readonly cost: number;
  /** Effort of making its programs. */
  readonly made: number;
  /** Paddings tried for this text, so that they are not tried again at every key press elsewhere. */
  readonly tried: Map<string, TriedPadding | undefined>;
  readonly launches: readonly {
    /** Of the plan it was made from. */
    readonly index: number;
    readonly plan: PlannedLaunch;
    /** Of another time that the program comes to the launch: what it changes of the plan. Behind all that are as planned. */
    readonly change?: RoundChange;
    /** Times that it stands for, among the launches of the kernel in this shape; undefined where the program was not run. */
    readonly rounds?: readonly number[];
    readonly simulation: Simulation;
    /** What was simulated. */
    readonly program: Program;
    /** The source tier's program: estimates of registers are made for it. */
    readonly source: Program;
    /** Why it is not the compiler's program that was simulated, where that was wanted. */
    readonly reason?: string;
  }[];
}

/** What is kept of a result: nothing of the unit, whose trees and texts are many times as large as what was found. */
export const kept = (result: KernelResult): KernelResult => ({
  ...result,
  launches: result.launches.map((launch) => ({
    ...launch,
    plan: { ...launch.plan, launch: undefined, under: undefined },
    simulation: resting(launch.simulation),
  })),
});

/** The same result with the positions of the present text. */
export function shifted(result: KernelResult, now: Fingerprint, plans: readonly PlannedLaunch[]): KernelResult {
  const before = result.fingerprint.pieces;
  const delta = now.pieces.map((p, i) => p.first - (before[i]?.first ?? p.first));
  const move = (token: number): number => {
    for (let i = 0; i < before.length; i++)
      if (token >= before[i].first && token <= before[i].last) return token + delta[i];
    return token;
  };
  if (delta.every((d) => d === 0))
    return {
      ...result,
      fingerprint: now,
      launches: result.launches.map((l) => ({ ...l, plan: planOf(l, plans) })),
    };
  const programs = new Map<Program, Program>();
  const moved = (program: Program): Program => {
    let known = programs.get(program);
    if (!known) programs.set(program, (known = moveProgram(program, move)));
    return known;
  };
  return {
    ...result,
    fingerprint: now,
    launches: result.launches.map((l) => ({
      index: l.index,
      plan: planOf(l, plans),
      change: l.change,
      rounds: l.rounds,
      program: moved(l.program),
      source: moved(l.source),
      reason: l.reason,
      simulation: { ...l.simulation, program: moved(l.simulation.program) },
    })),
  };
}

const planOf = ({ index, plan, change }: KernelResult['launches'][number], plans: readonly PlannedLaunch[]) =>
  plans[index] ? changedPlan(plans[index], change) : plan;

function moveProgram(program: Program, move: (token: number) => number): Program {
  type Place = Program['accesses'][number]['place'];
  const place = (p: Place): Place => ({ first: move(p.first), last: move(p.last), call: p.call && place(p.call) });
  return {
    ...program,
    accesses: program.accesses.map((a) => ({
      ...a,
      place: place(a.place),
      charged: a.charged && place(a.charged),
      machine: a.machine?.map((each) => ({ ...each, place: each.place && place(each.place) })),
    })),
    branches: program.branches.map((b) => ({ ...b, place: place(b.place) })),
    objects: program.objects.map((o) => ({ ...o, place: place(o.place) })),
    skipped: program.skipped.map((s) => ({
      ...s,
      place: place(s.place),
      recursion: s.recursion && place(s.recursion),
    })),
  };
}
