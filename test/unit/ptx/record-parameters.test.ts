/** Pointers within a record that is passed by value point to objects of their own, as pointers passed alone do. */
import assert from 'node:assert/strict';
import { lowered } from './run';

const gather = `.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .align 8 .b8 k_param_0[24], .param .u64 k_param_1)
{
  .reg .b32 %r<9>; .reg .b64 %rd<20>; .reg .f64 %fd<3>;
  ld.param.u64 %rd1, [k_param_1];
  ld.param.u64 %rd2, [k_param_0+16];
  ld.param.u64 %rd3, [k_param_0+8];
  cvta.to.global.u64 %rd4, %rd1;
  cvta.to.global.u64 %rd5, %rd3;
  cvta.to.global.u64 %rd6, %rd2;
  mov.u32 %r1, %tid.x;
  mul.wide.s32 %rd7, %r1, 4;
  add.s64 %rd8, %rd5, %rd7;
  ld.global.u32 %r2, [%rd8];
  mul.wide.s32 %rd9, %r2, 8;
  add.s64 %rd10, %rd6, %rd9;
  ld.global.f64 %fd1, [%rd10];
  mul.wide.s32 %rd11, %r1, 8;
  add.s64 %rd12, %rd4, %rd11;
  st.global.f64 [%rd12], %fd1;
  ret;
}`;

describe('PTX: pointers in a record that is a parameter', () => {
  it('have an object each, told apart by their bytes', () => {
    const { accesses, objects } = lowered(gather);
    const names = accesses.map(({ object }) => (object === undefined ? undefined : objects[object].name));
    assert.deepEqual(names, ['parameter 1 + 8 bytes', 'parameter 1 + 16 bytes', 'parameter 2']);
  });
});
