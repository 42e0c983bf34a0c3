/** Generators of random numbers beside the usual ones, and how they are seeded. */
#include <random>
#include <vector>
int main() {
  std::seed_seq seq{1, 2, 3, 4};
  std::vector<unsigned> words(5);
  seq.generate(words.begin(), words.end());
  show(words[0]); //= 3934289196
  show(words[4]); //= 1521798007
  std::mt19937 a(seq);
  show(a()); //= 2103621173
  show(a()); //= 3113074417
  std::mt19937_64 b(seq);
  show(b() >> 1); //= 4793557179720839000
  std::minstd_rand c(seq);
  show(c()); //= 1631472685
  std::linear_congruential_engine<std::uint32_t, 1664525, 1013904223, 0> d(42);
  show(d()); //= 1083814273
  show(d()); //= 378494188
  std::knuth_b k;
  show(k()); //= 152607844
  show(k()); //= 823378840
  std::knuth_b k2(7);
  k2.discard(300);
  show(k2()); //= 1231814590
  std::ranlux24_base rb;
  show(rb()); //= 15039276
  std::ranlux24 r24(3);
  unsigned long x = 0;
  for (int i = 0; i < 100; ++i) x = r24();
  show(x); //= 4066633
  std::ranlux48 r48;
  for (int i = 0; i < 30; ++i) x = r48();
  show(x); //= 124110756174716
  std::ranlux48_base r48b(12);
  show(r48b()); //= 279770786461071
  std::subtract_with_carry_engine<std::uint32_t, 24, 10, 24> swc(9);
  for (int i = 0; i < 50; ++i) x = swc();
  show(x); //= 4909460
  std::vector<double> edges{0, 1, 4, 5}, weights{1, 2, 1};
  std::piecewise_constant_distribution<double> pc(edges.begin(), edges.end(), weights.begin());
  std::mt19937 g(11);
  show(pc(g) * 1e9); //= 273227392
  show(pc(g) * 1e9); //= 3488321908
  double corners[] = {0.0, 1.0, 1.0, 0.5};
  std::piecewise_linear_distribution<double> pl(edges.begin(), edges.end(), corners);
  show(pl(g) * 1e9); //= 1324991392
  show(std::generate_canonical<double, 10>(g) * 1e9); //= 724933925
  show(std::generate_canonical<double, 53>(g) * 1e9); //= 420203604
  show(std::generate_canonical<float, 24>(g) * 1e9); //= 105175152
  std::shuffle_order_engine<std::minstd_rand, 16> so(4);
  show(so()); //= 110863117
  std::discard_block_engine<std::mt19937, 10, 3> db(2);
  for (int i = 0; i < 7; ++i) x = db();
  show(x); //= 2667749500
  a.seed(99);
  std::uniform_int_distribution<int> u(1, 6);
  int sum = 0;
  for (int i = 0; i < 20; ++i) sum = sum * 3 % 1000003 + u(r24);
  show(sum); //= 200585
  std::normal_distribution<float> n(0.f, 2.f);
  show(n(k) * 1e6f); //= -2176715
  std::mt19937 copy = a;
  show((copy() == a()) * 2 + (copy == a)); //= 3
  return 0;
}
