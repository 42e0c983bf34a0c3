/** What the programs of the host use of the standard library, beside what kernels do. */
import { hostAlgorithms } from './host-algorithms';
import { appending } from './host-appending';
import { hostBytes } from './host-bytes';
import { hostClocks } from './host-clocks';
import { hostConcurrency, unwrapping } from './host-concurrency';
import { hostContainers } from './host-containers';
import { allocationFunctions } from './host-deleters';
import { hostExceptions } from './host-exceptions';
import { hostHashed } from './host-hashed';
import { hostLists } from './host-lists';
import { hostOptions } from './host-options';
import { hostOrdered } from './host-ordered';
import { hostQsort } from './host-qsort';
import { hostRand, hostRandom } from './host-random';
import { hostRanges } from './host-ranges';
import { hostSequences } from './host-sequences';
import { textSuffixes } from './host-string-views';
import { hostStrings } from './host-strings';
import { hostText } from './host-text';
import { hostTrees } from './host-trees';

export const host = `
struct cudaLaunchConfig_t { dim3 gridDim; dim3 blockDim; size_t dynamicSmemBytes; void* stream; void* attrs; unsigned numAttrs; };
${hostRand}
${hostText}
${hostBytes}
${allocationFunctions}
${hostOptions}
${hostClocks}
namespace __warplens_std {
${appending}
}
namespace std {
${hostExceptions}
${hostContainers}
${hostStrings}
${hostRandom}
${hostAlgorithms}
${hostTrees}
${hostOrdered}
${hostHashed}
${hostConcurrency}
${hostSequences}
${hostLists}
${hostRanges}
}
namespace __warplens_std {
${unwrapping}
}
${hostQsort}
${textSuffixes}
`;
