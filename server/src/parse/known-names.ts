/**
 * Names that CUDA's and the standard library's headers declare. Those headers are usually not read, so that what a name is
 * has to be known here: whether `(half)(x)` is a cast, or `wmma::fragment<…>` a template.
 */
import { headerTypes } from './header-types';

const vectorBases = 'char uchar short ushort int uint long ulong longlong ulonglong float double';
const types = new Set<string>();
for (const base of vectorBases.split(' ')) for (const width of '1234') types.add(base + width);
for (const base of ['long', 'ulong', 'longlong', 'ulonglong', 'double']) {
  for (const suffix of ['4_16a', '4_32a']) types.add(base + suffix);
}
function addTypes(names: string): void {
  for (const name of names.split(' ')) types.add(name);
}
addTypes(
  'dim3 uint ulong ushort uchar FILE CUdeviceptr CUstream CUmodule CUfunction CUcontext CUdevice CUresult CUevent',
);
addTypes('half half2 __half __half2 __half_raw nv_half nv_half2 __nv_bfloat16 __nv_bfloat162 nv_bfloat16 nv_bfloat162');
addTypes('__nv_fp8_e4m3 __nv_fp8_e5m2 __nv_fp8x2_e4m3 __nv_fp8x4_e4m3 __nv_fp8x2_e5m2 __nv_fp8x4_e5m2 __nv_fp4_e2m1');
addTypes(
  'cuComplex cuFloatComplex cuDoubleComplex cufftComplex cufftDoubleComplex cufftReal cufftDoubleReal cufftHandle',
);
addTypes(
  'curandState curandStateXORWOW curandStatePhilox4_32_10_t curandStateMRG32k3a curandGenerator_t cudaDeviceProp',
);
addTypes('cudaArray cudaChannelFormatDesc cudaExtent cudaPos cudaPitchedPtr cudaMemcpy3DParms cudaResourceDesc');
addTypes(
  'cudaTextureDesc cudaPointerAttributes cudaFuncAttributes cudaLaunchConfig_t cudaKernelNodeParams CUtensorMap uint128_t __float128 string',
);

const templates = new Set(
  (
    'vector array pair tuple complex atomic span optional function unique_ptr shared_ptr initializer_list basic_string ' +
    'numeric_limits integral_constant bool_constant is_same enable_if conditional decay remove_reference remove_cv ' +
    'remove_const remove_pointer is_integral is_floating_point is_arithmetic integer_sequence index_sequence map set ' +
    'unordered_map unordered_set list deque queue stack priority_queue bitset hash less greater plus minus multiplies ' +
    'equal_to make_signed make_unsigned underlying_type common_type is_base_of is_convertible is_pointer is_void ' +
    'thread_block_tile fragment barrier pipeline_shared_state device_vector host_vector device_ptr counting_iterator ' +
    'BlockReduce BlockScan BlockLoad BlockStore BlockRadixSort BlockExchange BlockDiscontinuity WarpReduce WarpScan KeyValuePair ' +
    'pipeline atomic_ref aligned_size_t make_index_sequence integer_sequence ' +
    'texture surface chrono uniform_int_distribution uniform_real_distribution normal_distribution'
  ).split(' '),
);

const functionTemplates = new Set(
  (
    'min max move forward swap get make_pair make_tuple make_unique make_shared static_pointer_cast bit_cast tiled_partition ' +
    'duration_cast transform reduce accumulate fill sort declval to_address max_element min_element generate copy for_each ' +
    'raw_pointer_cast labeled_partition binary_partition'
  ).split(' '),
);

/** Whether a name nobody declared is a type of CUDA, of its libraries, or of the C library. */
export function isKnownType(name: string): boolean {
  return types.has(name) || headerTypes.has(name) || (name.endsWith('_t') && name.length > 2);
}

/** Class templates of the usual libraries, by their last name. */
export function isKnownClassTemplate(name: string): boolean {
  return templates.has(name);
}

/** Function templates of the usual libraries, by their last name. */
export function isKnownFunctionTemplate(name: string): boolean {
  return functionTemplates.has(name);
}
