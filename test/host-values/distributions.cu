/** Counts and waiting times: distributions that libstdc++ draws by rejection. */
#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <vector>
template <class D> long sum(D d, std::mt19937& g, int n) { long s = 0; for (int i = 0; i < n; i++) s = s * 3 % 1000003 + long(d(g)); return s; }
template <class D> long scaled(D d, std::mt19937& g, int n) { double s = 0; for (int i = 0; i < n; i++) s += std::fabs(d(g)); return long(s * 1000); }
int main() {
  std::mt19937 g(2024);
  std::poisson_distribution<int> few(3.5), many(40.0), most(1500);
  show(sum(few, g, 100)); //= 900619
  show(sum(many, g, 200)); //= 860401
  show(sum(most, g, 200)); //= 691327
  std::binomial_distribution<int> coins(10, 0.5), rare(1000, 0.003), common(3000, 0.37), unlikely(400, 0.8);
  show(sum(coins, g, 100)); //= 702328
  show(sum(rare, g, 100)); //= 795342
  show(sum(common, g, 300)); //= 524510
  show(sum(unlikely, g, 300)); //= 916640
  show(sum(std::binomial_distribution<>(64), g, 50)); //= 863310
  show(sum(std::geometric_distribution<>(0.2), g, 100)); //= 70389
  show(sum(std::negative_binomial_distribution<>(6, 0.4), g, 100)); //= 99044
  show(scaled(std::cauchy_distribution<>(0, 2), g, 50)); //= 1021285
  show(scaled(std::extreme_value_distribution<>(1, 2), g, 50)); //= 133594
  show(scaled(std::chi_squared_distribution<>(5), g, 50)); //= 267478
  show(scaled(std::student_t_distribution<>(7), g, 50)); //= 43352
  show(scaled(std::gamma_distribution<float>(2.5f, 1.5f), g, 50)); //= 221617
  std::vector<int> degree(64);
  for (int& d : degree) d = 1 + many(g) % 9;
  show(std::accumulate(degree.begin(), degree.end(), 0)); //= 315
  show(int(g())); //= -1892631699
}
