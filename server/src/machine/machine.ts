/**
 * What the compiler changes between the source and the machine code, as far as it changes what the profiler counts.
 * One pass a file, in this order; each says on what evidence it rests.
 */
import { keepFlow } from '../program/control-flow';
import type { Program } from '../program/program';
import { aggregateAtomics } from './aggregate-atomics';
import { joinQuestions } from './arms-that-ask';
import { carryLoads } from './carry-loads';
import { carryUnmovedLoads } from './carry-unmoved-loads';
import { chargeAtomics } from './charge-atomics';
import { chargeCalls } from './charge-calls';
import { shareExpressions } from './common-expressions';
import { forwardInBlocks } from './copies-in-blocks';
import { dropDeadCode } from './dead-code';
import { dropDeadStores } from './dead-stores';
import { passDecided } from './decided-branches';
import { fetchAhead } from './fetch-ahead';
import { forwardCopies } from './forward-copies';
import { forwardStored } from './forward-stored';
import { guardPreheaders } from './guard-preheaders';
import { hoistCommonLoads } from './hoist-common';
import { hoistInvariants } from './hoist-invariants';
import { convertBranches, convertCheapBranches } from './if-conversion';
import { inferObjects } from './infer-objects';
import { placeInvariantsOfCopies } from './invariants-of-copies';
import { placeCopies } from './lines-of-copies';
import { placeLoadsOfPasses } from './lines-of-passes';
import { loadForAlternatives } from './load-for-alternatives';
import { loadOnce } from './load-once';
import { placeLoadsAtHeads } from './loads-at-heads';
import { meetAtSharedBlocks } from './meet-at-shared-blocks';
import { mergeBesideWider } from './merge-beside-wider';
import { mergeNeighbours } from './merge-neighbours';
import { narrowIntegers } from './narrow-integers';
import { narrowLoads } from './narrow-loads';
import { narrowSwitches } from './narrow-switches';
import { narrowVectors } from './narrow-vectors';
import { narrowWords } from './narrow-words';
import { placeExtended } from './place-extended';
import { placeReinterpreted } from './place-reinterpreted';
import { promoteMemory } from './promote-memory';
import { propagateCopies } from './propagate-copies';
import { dropRepeatedMatrices } from './repeated-matrices';
import { reuseAsAssembled } from './reuse-as-assembled';
import { reuseLoads } from './reuse-loads';
import { separateVariables } from './separate-variables';
import { gatherSharedScalars } from './shared-scalars';
import { sinkChains } from './sink-chains';
import { sinkCommon } from './sink-common';
import { sinkIntoArms } from './sink-into-arms';
import { storeAtGivenPlace } from './store-at-given-place';
import { storeOnce } from './store-once';
import { threadJumps } from './thread-jumps';
import { dropUnreadShared } from './unread-shared';
import { unrollFurther } from './unroll-further';

type Pass = (program: Program) => Program;

const passes: readonly Pass[] = [
  separateVariables,
  propagateCopies,
  dropDeadCode,
  narrowIntegers,
  inferObjects,
  forwardStored,
  dropUnreadShared,
  dropDeadCode,
  placeReinterpreted,
  forwardCopies,
  convertCheapBranches,
  placeInvariantsOfCopies,
  sinkChains,
  reuseLoads,
  dropDeadCode,
  convertCheapBranches,
  passDecided,
  placeLoadsAtHeads,
  hoistCommonLoads,
  storeAtGivenPlace,
  storeOnce,
  sinkIntoArms,
  sinkCommon,
  storeOnce,
  loadOnce,
  joinQuestions,
  convertBranches,
  forwardInBlocks,
  threadJumps,
  loadForAlternatives,
  reuseLoads,
  hoistInvariants,
  shareExpressions,
  promoteMemory,
  reuseLoads,
  shareExpressions,
  carryLoads,
  carryUnmovedLoads,
  reuseLoads,
  reuseAsAssembled,
  dropRepeatedMatrices,
  dropDeadStores,
  dropDeadCode,
  placeExtended,
  narrowVectors,
  fetchAhead,
  gatherSharedScalars,
  mergeNeighbours,
  mergeBesideWider,
  narrowVectors,
  narrowLoads,
  narrowSwitches,
  narrowWords,
  dropDeadCode,
  aggregateAtomics,
  guardPreheaders,
  unrollFurther,
  placeLoadsOfPasses,
  chargeCalls,
  placeCopies,
  chargeAtomics,
  meetAtSharedBlocks,
];

/** Passes after which blocks lead to other blocks than before. */
const changesFlow: ReadonlySet<Pass> = new Set([
  convertCheapBranches,
  passDecided,
  convertBranches,
  threadJumps,
  joinQuestions,
  loadForAlternatives,
  guardPreheaders,
  unrollFurther,
  meetAtSharedBlocks,
]);

export function machineProgram(program: Program): Program {
  /** By pass: the program that it left as it is, which it would again. */
  const settled = new Map<Pass, Program>();
  return passes.reduce((before, pass) => {
    if (settled.get(pass) === before) return before;
    const after = pass(before);
    if (after === before) settled.set(pass, before);
    else if (!changesFlow.has(pass)) keepFlow(before, after);
    return after;
  }, program);
}
