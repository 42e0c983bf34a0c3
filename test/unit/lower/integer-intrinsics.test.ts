/** Integer intrinsics of CUDA's headers have values: they lead to addresses (tables, hashes, packed formats). */
import { equals } from './check-index';

describe('integer intrinsics', () => {
  it('funnel shifts', () => {
    equals('', '__funnelshift_l(0x80000000u, 1u, 1)', 3);
    equals('', '__funnelshift_r(0x10u, 7u, 4) & 15', 1);
    equals('', '__funnelshift_r(5u, 5u, 32)', 5);
    equals('', '__funnelshift_rc(0u, 5u, 40)', 5);
    equals('', '__funnelshift_lc(6u, 1u, 32)', 6);
  });

  it('byte permutation', () => {
    equals('', '__byte_perm(0x04030201u, 0x08070605u, 0x4442) & 255', 3);
    equals('', '__byte_perm(0x04030201u, 0x08070605u, 0x0006)  & 255', 7);
    equals('', '__byte_perm(0x01020304u, 0u, 0x0123) >> 24', 4);
  });

  it('dot products, signed and unsigned', () => {
    equals('', '__dp4a(0x01010101, 0x01010101, 1)', 5);
    equals('', '__dp4a((int)0xff000000, 0x01000000, 4)', 3);
    equals('', '__dp4a(0x02000001u, 0x01000002u, 3u)', 7);
    equals('', '__dp2a_lo(0x00020001, 0x0201, 1)', 6);
    equals('', '__dp2a_hi(0x00020001, 0x02010000, 1)', 6);
  });

  it('packed lanes', () => {
    equals('', '__vadd4(0x01ff0101u, 0x02020101u) >> 24', 3);
    equals('', '__vadd4(0x01ff0101u, 0x02020101u) >> 16 & 255', 1);
    equals('', '__vsubss4(0x00000080u, 0x00000001u) >> 5 & 7', 4);
    equals('', '__vmaxs4(0x000000ffu, 0x00000003u)', 3);
    equals('', '__vmaxu2(0x00010002u, 0x00000003u) & 65535', 3);
    equals('', '__vcmpgtu4(0x00000005u, 0x00000003u) & 7', 7);
    equals('', '__vseteq2(0x00010001u, 0x00010000u) >> 16', 1);
    equals('', '__vsadu4(0x01010101u, 0x02020202u)', 4);
    equals('', '__sad(3, 5, 1u)', 3);
    equals('', '__urhadd(4u, 5u)', 5);
  });

  it('of a name that the user declares are the user’s', () => {
    equals('', '__vadd4(1u, 2u)', 7, '__device__ unsigned __vadd4(unsigned, unsigned) { return 7; }');
  });
});

describe('functions that round to an integer', () => {
  it('round halves away from zero, or to the even number', () => {
    equals('', 'lroundf(2.5f)', 3);
    equals('', 'llround(4.5)', 5);
    equals('', 'lrintf(2.5f)', 2);
    equals('', 'std::lround(threadIdx.x * 0.0f + 1.75f)', 2);
  });
});
