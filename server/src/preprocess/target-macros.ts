/**
 * `NV_IF_TARGET(NV_IS_DEVICE, (…), (…))` and its kin: CUDA's <nv/target>, which is not read, in words of our own. A condition becomes 0 or 1, of
 * which the name of the macro is made that picks an alternative; parentheses around it, where there are some, are taken away.
 */

/** What <nv/target> of CUDA 13.0 asks for: NV_PROVIDES_SM_80, NV_IS_EXACTLY_SM_80. */
const architectures = [
  ...[35, 37, 50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 88, 89, 90],
  ...[100, 101, 103, 110, 120, 121],
];

const selection: readonly (readonly [string, string])[] = [
  ['NV_IF_TARGET(condition, ...)', '__warplens_target(condition, __VA_ARGS__, )'],
  ['NV_IF_ELSE_TARGET(condition, t, f)', '__warplens_target(condition, t, f)'],
  ['__warplens_target(condition, t, ...)', '__warplens_target_ ## condition(t, __VA_ARGS__)'],
  ['__warplens_target_1(t, ...)', '{ __warplens_open(t) }'],
  ['__warplens_target_0(t, f, ...)', '{ __warplens_open(f) }'],
  // `in (a, b)` is a call of the macro, `in a` is none: both begin with `in`, which is pasted to a name that stands for nothing
  ['__warplens_open(...)', '__warplens_opened(__warplens_in __VA_ARGS__)'],
  ['__warplens_in(...)', '__warplens_in __VA_ARGS__'],
  ['__warplens_opened(...)', '__warplens_pasted(__VA_ARGS__)'],
  ['__warplens_pasted(...)', '__warplens_from ## __VA_ARGS__'],
  ['__warplens_from__warplens_in', ''],
];

/** @param architecture as `__CUDA_ARCH__` has it; undefined in the pass for the host */
export function targetMacros(architecture: number | undefined): (readonly [string, string])[] {
  const told = (holds: boolean) => (holds ? '1' : '0');
  const isDevice = architecture !== undefined;
  return [
    ...selection,
    ['NV_IS_DEVICE', told(isDevice)],
    ['NV_IS_HOST', told(!isDevice)],
    ['NV_ANY_TARGET', '1'],
    ['NV_NO_TARGET', '0'],
    ...architectures.flatMap((sm): [string, string][] => [
      [`NV_PROVIDES_SM_${sm}`, told(isDevice && architecture >= 10 * sm)],
      [`NV_IS_EXACTLY_SM_${sm}`, told(isDevice && architecture === 10 * sm)],
    ]),
  ];
}
