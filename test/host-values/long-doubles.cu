/** Functions of long double. */
#include <algorithm>
#include <cmath>
#include <cstring>
int main() {
  char letters[63] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
  unsigned long long total = powl(strlen(letters), 5);
  show(total); //= 916132832
  show(sqrtl(16.0L) + fabsl(-2.5L) * 2); //= 9
  unsigned long long n = std::min(total - 7, (unsigned long long)(256 * 512));
  show(n); //= 131072
  show(ceill(2.25L) + std::floor(3.5L) + logl(1.0L) + fmodl(7, 4)); //= 9
}
