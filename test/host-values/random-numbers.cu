/** Generators and distributions. */
#include <algorithm>
#include <numeric>
#include <random>
#include <vector>
int main() {
  std::mt19937 g(42);
  show(g()); //= 1608637542
  std::uniform_int_distribution<int> die(1, 6);
  int sum = 0;
  for (int i = 0; i < 100; i++) sum += die(g);
  show(sum); //= 323
  std::uniform_real_distribution<float> unit(0.f, 1.f);
  show(unit(g) * 1000000); //= 842284
  std::normal_distribution<double> normal(10, 3);
  double total = 0;
  for (int i = 0; i < 50; i++) total += normal(g);
  show(total * 1000); //= 515896
  std::vector<int> order(20);
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), g);
  show(order[0] * 100 + order[19]); //= 111
  std::mt19937_64 wide(7);
  show(wide() >> 20); //= 13271286619830
  std::bernoulli_distribution coin(0.3);
  int heads = 0;
  for (int i = 0; i < 200; i++) heads += coin(g);
  show(heads); //= 61
  std::discrete_distribution<int> pick{1, 2, 5};
  int counts[3] = {};
  for (int i = 0; i < 100; i++) counts[pick(g)]++;
  show(counts[2]); //= 63
  std::exponential_distribution<float> wait(0.5f);
  show(wait(g) * 1000); //= 694
  std::default_random_engine plain(3);
  show(plain()); //= 50421
  std::minstd_rand small(9);
  show(small()); //= 434439
  std::uniform_int_distribution<size_t> big(0, 1ull << 40);
  show(big(wide)); //= 1043767710843
  std::poisson_distribution<int> events(4.0);
  int seen = 0;
  for (int i = 0; i < 30; i++) seen += events(g);
  show(seen); //= 137
  std::srand(1);
  show(std::rand()); //= 1804289383
  std::vector<int> sampled;
  std::sample(order.begin(), order.end(), std::back_inserter(sampled), 5, g);
  show(sampled[0] + 100 * sampled[4]); //~ 1701
  std::seed_seq seq{1, 2, 3};
  std::mt19937 seeded(seq);
  show(seeded()); //~ 1710881851
  return 0;
}
