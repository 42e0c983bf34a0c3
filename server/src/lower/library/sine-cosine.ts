/** Sine and cosine at once: of floats both are known, of doubles no table is read (builtins/trigonometry.ts). */
const pair = (name: string, type: string, sine: string, cosine: string): string =>
  `__device__ inline void ${name}(${type} x, ${type}* s, ${type}* c) { *s = ${sine}; *c = ${cosine}; }`;
const open = '__warplens_unknown<double>(x)';

export const sineCosine = `
${pair('sincosf', 'float', 'sinf(x)', 'cosf(x)')}
${pair('__sincosf', 'float', '__sinf(x)', '__cosf(x)')}
${pair('sincospif', 'float', 'sinpif(x)', 'cospif(x)')}
${pair('sincos', 'double', open, open)}
${pair('sincospi', 'double', open, open)}
`;
