/** Thrust on the host, in our own words: what its algorithms leave in memory, which later kernels read. Its own kernels are not told. */
import { elementNames, elements } from './thrust/elements';
import { foldNames, folds } from './thrust/folds';
import { functions } from './thrust/functions';
import { iterators } from './thrust/iterators';
import { orderingNames, orderings } from './thrust/orderings';
import { pointers } from './thrust/pointers';
import { selectionNames, selections } from './thrust/selections';

const names = [elementNames, foldNames, selectionNames, orderingNames].join(' ').trim().split(/\s+/);

/** Each algorithm may be told where to run. */
const withPolicy = (name: string): string =>
  `template <class... A> auto ${name}(const __policy& p, A... a) { (__touch(a), ...); return thrust::${name}(a...); }`;

export const thrust = `
namespace thrust {
template <class T> using host_vector = std::vector<T>;
template <class T> using device_vector = std::vector<T>;
template <class T> using universal_vector = std::vector<T>;
${pointers}
${functions}
${iterators}
${elements}
${folds}
${selections}
${orderings}
${names.map(withPolicy).join('\n')}
}
`;
