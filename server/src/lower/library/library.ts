/**
 * Headers that are not in the folder (cuRAND, CUB, libcu++, the standard library), as far as kernels use them and in our own words: sizes
 * and members are the real ones, values that depend on what we do not follow come from `__warplens_unknown`. A name that the user's
 * files declare hides the one here.
 */
import type { Declaration } from '../../parse/ast';
import { parse } from '../../parse/parse';
import { renumber } from '../../parse/renumber';
import { preprocess } from '../../preprocess/preprocess';
import type { TokenStream } from '../../preprocess/token';
import { LIBRARY_TOKENS } from '../context';
import { declareAll, LIBRARY, Scope } from '../scope';
import { aten } from './aten';
import { atomicBuiltins } from './atomic-builtins';
import { bitBuiltins } from './bit-builtins';
import { bytes } from './bytes';
import { collectives } from './collectives';
import { complex } from './complex';
import { conceptNames, concepts } from './concepts';
import { cub } from './cub';
import { cubOnDevice } from './cub/device';
import { cuda } from './cuda';
import { device } from './device';
import { floatParts } from './float-parts';
import { fp8 } from './fp8';
import { host } from './host';
import { binding } from './host-binding';
import { characters } from './host-characters';
import { chrono } from './host-chrono';
import { comparing } from './host-comparing';
import { copying } from './host-copying';
import { counts } from './host-counts';
import { engines } from './host-engines';
import { fileDescriptors, fileStatus, fileStreams, hostFiles, redirectedInput, writtenStreams } from './host-files';
import { hostFormat } from './host-format';
import { forwardList } from './host-forward-list';
import { inserters } from './host-inserters';
import { manyHashed } from './host-many-hashed';
import { numerics, wantedNumerics } from './host-numerics';
import { orderings } from './host-orderings';
import { paths } from './host-paths';
import { hostStreams } from './host-streams';
import { valarrays } from './host-valarray';
import { rangeViews } from './host-views';
import { integerIntrinsics } from './integer-intrinsics';
import { matrices } from './matrices';
import { pitched } from './pitched';
import { random } from './random';
import { sineCosine } from './sine-cosine';
import { standard } from './standard';
import { indexAlgorithms, iteratorAlgorithms } from './standard-functions';
import { checkedChoices, choices } from './standard-numbers';
import { textures } from './textures';
import { thrust } from './thrust';

interface Part {
  readonly text: string;
  /** The same for programs of the host, where it differs. */
  readonly hostText?: string;
  /** A word of the user's text that asks for the part. */
  readonly wanted: RegExp;
  /** Only the program of the host means it. */
  readonly isOfHost?: true;
}

const parts: readonly Part[] = [
  {
    text: standard,
    // a union of containers has no form in variables: there the alternatives of a variant lie side by side
    hostText: standard
      .replaceAll(choices, checkedChoices)
      .replaceAll('union __alternatives', 'struct __alternatives')
      .replaceAll(indexAlgorithms, iteratorAlgorithms),
    wanted: /^(?:std|thrust)$/,
  },
  { text: concepts, wanted: conceptNames },
  { text: random, wanted: /^(?:curand|skipahead)/ },
  { text: complex, wanted: /^(?:make_)?(?:cu(?:Float|Double)?Complex|cuC|cufft)/ },
  { text: cub, wanted: /^cub$/ },
  { text: cuda, wanted: /^(?:cuda|memcpy_async|block_tile_memory)$/ },
  { text: collectives, wanted: /^cooperative_groups$/ },
  { text: fp8, wanted: /^__nv_(?:fp8|cvt_|saturation_t)/ },
  { text: matrices, wanted: /^wmma$/ },
  { text: pitched, wanted: /^(?:(?:make_)?cuda(?:PitchedPtr|Extent|Pos)|cuda(?:Malloc|Memset|Memcpy)3D(?:Parms)?)$/ },
  { text: textures, wanted: /^(?:texture|surface)$/ },
  {
    text: integerIntrinsics,
    wanted: /^__(?:funnelshift|byte_perm|dp[24]a|u?sad$|u?r?hadd$|v(?:add|sub|avg|hadd|abs|max|min|cmp|set|sad))/,
  },
  { text: atomicBuiltins, wanted: /^__nv_atomic_/ },
  { text: aten, wanted: /^(?:WARP_(?:SHFL|BALLOT)|gpuAtomicAdd|Half$|BFloat16$)/ },
  { text: sineCosine, wanted: /^(?:__)?sincos/ },
  { text: floatParts, wanted: /^(?:frexp|modf)f?$/ },
  { text: device, wanted: /^cuda(?:DeviceProp$|GetDevicePrope|DeviceGetAttr|OccupancyMax)/, isOfHost: true },
  { text: hostFormat, wanted: /^sn?printf$/, isOfHost: true },
  { text: bitBuiltins, wanted: /^__builtin_(?:popcount|parity|c[lt]z|ffs|bswap)/, isOfHost: true },
  { text: bytes, wanted: /^(?:__builtin_)?mem(?:set|cpy)$/ },
];

const hostPart: Part = { text: host, wanted: /^main$/ };

const oneOf = (names: string): RegExp => new RegExp(`^(?:${names.trim().split(/\s+/).join('|')})$`);

/** Made of what all programs of the host have: declared behind it. */
const laterParts: readonly Part[] = [
  { text: hostStreams, wanted: /^(?:[io]?stringstream|[io]?fstream|freopen)$/ },
  { text: hostFiles, wanted: oneOf('fopen fscanf fgets fread fgetc fseek ftell rewind feof O_RDONLY freopen') },
  { text: fileStatus, wanted: oneOf('stat') },
  { text: paths, wanted: oneOf('filesystem') },
  { text: fileDescriptors, wanted: oneOf('O_RDONLY') },
  { text: fileStreams, wanted: oneOf('ifstream fstream ofstream freopen') },
  { text: writtenStreams, wanted: oneOf('ofstream') },
  { text: redirectedInput, wanted: oneOf('freopen') },
  {
    text: comparing,
    wanted:
      oneOf(`equal mismatch search search_n find_end find_first_of find_if_not is_heap is_heap_until is_partitioned is_sorted_until
      is_permutation for_each_n`),
  },
  {
    text: copying,
    wanted:
      oneOf(`copy_backward move_backward remove_copy remove_copy_if replace_copy replace_copy_if reverse_copy rotate_copy unique_copy
      partition_copy set_symmetric_difference inplace_merge partial_sort_copy prev_permutation sample transform_exclusive_scan
      transform_inclusive_scan uninitialized_copy uninitialized_copy_n uninitialized_move uninitialized_fill uninitialized_fill_n
      uninitialized_value_construct construct_at destroy_at destroy`),
  },
  { text: inserters, wanted: oneOf('front_inserter inserter make_move_iterator make_reverse_iterator move_iterator') },
  {
    text: engines,
    wanted:
      oneOf(`linear_congruential_engine subtract_with_carry_engine discard_block_engine shuffle_order_engine knuth_b ranlux24 ranlux48
      ranlux24_base ranlux48_base piecewise_constant_distribution piecewise_linear_distribution`),
  },
  {
    text: counts,
    wanted: /^(?:poisson|binomial|negative_binomial|cauchy|extreme_value|chi_squared|student_t)_distribution$/,
  },
  { text: binding, wanted: oneOf('bind placeholders') },
  { text: forwardList, wanted: oneOf('forward_list') },
  { text: valarrays, wanted: oneOf('valarray') },
  { text: manyHashed, wanted: oneOf('unordered_multimap unordered_multiset') },
  { text: orderings, wanted: oneOf('strong_ordering weak_ordering partial_ordering') },
  { text: numerics, wanted: oneOf(wantedNumerics) },
  { text: chrono, wanted: oneOf('chrono chrono_literals ratio') },
  { text: characters, wanted: oneOf('from_chars to_chars') },
  { text: rangeViews, wanted: oneOf('views') },
  { text: thrust, wanted: oneOf('thrust') },
  {
    text: cubOnDevice,
    wanted:
      /^(?:Device(?:Reduce|Scan|RadixSort|MergeSort|Select|Partition|RunLengthEncode|Histogram|Segmented\w+)|DoubleBuffer)$/,
  },
];

const scopes = new Map<string, Scope>();
const parsed = new Map<string, readonly Declaration[]>();

/**
 * The scope of the library's names that a unit can mean, to be put around the unit's own.
 * @param ofHost for the program of the host, which uses more of it
 */
export function libraryScope(tokens: TokenStream, ofHost = false): Scope {
  const words = new Set(tokens.text);
  const wanted = parts.filter(({ wanted, isOfHost }) => {
    if (isOfHost && !ofHost) return false;
    for (const word of words) if (wanted.test(word)) return true;
    return false;
  });
  // the host's memset and memcpy are no loops of a kernel
  const ofBoth = wanted.filter(({ text }) => text !== bytes);
  const needed = ofHost ? [...new Set([parts[0], ...ofBoth]), hostPart, ...laterPartsFor(words)] : wanted;
  const key = needed.map((part) => [...parts, hostPart, ...laterParts].indexOf(part)).join();
  let scope = scopes.get(key);
  if (!scope) {
    scope = new Scope(undefined, LIBRARY);
    for (const { text, hostText = text } of needed) declareAll(scope, declarationsOf(ofHost ? hostText : text));
    scopes.set(key, scope);
  }
  return scope;
}

function laterPartsFor(words: ReadonlySet<string>): readonly Part[] {
  const isAsked = laterParts.map(({ wanted }) => [...words].some((word) => wanted.test(word)));
  return laterParts.filter((_, i) => isAsked[i]);
}

function declarationsOf(text: string): readonly Declaration[] {
  let declarations = parsed.get(text);
  if (!declarations) {
    const { tokens, pragmas } = preprocess({
      path: 'library',
      text,
      defines: new Map(),
      include: () => undefined,
    });
    declarations = parse(tokens, pragmas).declarations;
    renumber(declarations, LIBRARY_TOKENS);
    parsed.set(text, declarations);
  }
  return declarations;
}

/** Whether a scope lies in the library and not in the user's unit. */
export function isLibraryScope(from: Scope, unit: Scope): boolean {
  for (let at: Scope | undefined = from; at; at = at.parent) if (at === unit) return false;
  return true;
}
