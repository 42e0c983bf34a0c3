/** What kernels use of the C++ standard library, in namespaces std and cuda::std, and of Thrust what is the same. */
import { containers, orderedTuple, reversedTuple } from './standard-containers';
import { algorithms, extrema, functors } from './standard-functions';
import { numericLimits } from './standard-limits';
import { alignedComplex, choices, plainComplex, views } from './standard-numbers';
import { traits } from './standard-traits';

export const standard = `
namespace __warplens_std {
${traits}
${numericLimits}
${containers}
${functors}
${algorithms}
${views}
}
namespace std {
using namespace __warplens_std;
namespace __tuples {
using namespace __warplens_std;
${reversedTuple}
${plainComplex}
${choices}
}
using namespace __tuples;
}
namespace cuda {
${extrema}
namespace std {
using namespace __warplens_std;
namespace __tuples {
using namespace __warplens_std;
${orderedTuple}
${alignedComplex}
${choices}
}
using namespace __tuples;
}
}
namespace thrust { using namespace ::cuda::std; using namespace ::cuda; }
`;
