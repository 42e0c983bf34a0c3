/** Dates, periods and a small calendar; comparisons by operators of one's own. */
#include <algorithm>
#include <array>
#include <compare>
#include <cstdio>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>
class Date {
  int y_, m_, d_;
 public:
  constexpr Date(int y, int m, int d) : y_(y), m_(m), d_(d) {}
  static constexpr bool isLeap(int y) { return (y % 4 == 0 && y % 100 != 0) || y % 400 == 0; }
  static constexpr int daysOf(int y, int m) { constexpr int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31}; return m == 2 && isLeap(y) ? 29 : days[m - 1]; }
  constexpr long serial() const {
    const int y = y_ - (m_ <= 2);
    const int era = (y >= 0 ? y : y - 399) / 400;
    const unsigned yoe = static_cast<unsigned>(y - era * 400);
    const unsigned doy = (153 * (m_ + (m_ > 2 ? -3 : 9)) + 2) / 5 + d_ - 1;
    const unsigned doe = yoe * 365 + yoe / 4 - yoe / 100 + doy;
    return era * 146097L + static_cast<long>(doe) - 719468;
  }
  static constexpr Date fromSerial(long z) {
    z += 719468;
    const long era = (z >= 0 ? z : z - 146096) / 146097;
    const unsigned doe = static_cast<unsigned>(z - era * 146097);
    const unsigned yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
    const unsigned doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    const unsigned mp = (5 * doy + 2) / 153;
    return Date(static_cast<int>(yoe + era * 400) + (mp >= 10), mp < 10 ? mp + 3 : mp - 9, doy - (153 * mp + 2) / 5 + 1);
  }
  static std::optional<Date> parse(std::string_view s) {
    int part[3] = {0, 0, 0}, k = 0;
    for (char c : s) {
      if (c == '-') { if (++k > 2) return std::nullopt; }
      else if (c >= '0' && c <= '9') part[k] = part[k] * 10 + (c - '0');
      else return std::nullopt;
    }
    if (k != 2 || part[1] < 1 || part[1] > 12 || part[2] < 1 || part[2] > daysOf(part[0], part[1])) return {};
    return Date(part[0], part[1], part[2]);
  }
  constexpr int weekday() const { return static_cast<int>(((serial() + 4) % 7 + 7) % 7); }
  friend constexpr auto operator<=>(const Date& a, const Date& b) = default;
  friend constexpr Date operator+(const Date& a, int days) { return fromSerial(a.serial() + days); }
  friend constexpr long operator-(const Date& a, const Date& b) { return a.serial() - b.serial(); }
  Date& operator+=(int days) { return *this = *this + days; }
  Date& operator++() { return *this += 1; }
  int code() const { return y_ * 10000 + m_ * 100 + d_; }
  int month() const { return m_; }
  explicit operator bool() const { return y_ != 0; }
  std::string text() const { char b[16]; std::snprintf(b, sizeof b, "%04d-%02d-%02d", y_, m_, d_); return b; }
};
constexpr Date kEpoch{1970, 1, 1};
static_assert(kEpoch.serial() == 0);
int main() {
  const Date a{2024, 2, 28}, b{2025, 3, 1};
  show(b - a); //= 367
  show((a + 2).code()); //= 20240301
  show(a.weekday() * 10 + kEpoch.weekday()); //= 34
  show((a < b) * 4 + (a == a + 0) * 2 + (b <= a)); //= 6
  Date c = a;
  for (int i = 0; i < 400; ++i) ++c;
  show(c.code()); //= 20250403
  show(Date::fromSerial(-1000000).code()); //= -7679796
  auto parsed = Date::parse("1999-12-31");
  show(parsed ? parsed->code() : -1); //= 19991231
  show(Date::parse("2023-02-29").has_value() * 2 + Date::parse("2024-02-29").has_value()); //= 1
  show(Date::parse("12/31/1999").value_or(kEpoch).code()); //= 19700101
  std::vector<Date> days{b, a, kEpoch, {2000, 6, 15}, {1969, 7, 20}};
  std::sort(days.begin(), days.end());
  show(days.front().code()); //= 19690720
  show(std::max({a, b, kEpoch}).code()); //= 20250301
  std::array<int, 7> fridays{};
  for (Date d{2020, 1, 13}; d < Date{2030, 1, 1}; d = d + Date::daysOf(d.code() / 10000, d.month())) ++fridays[d.weekday()];
  int code = 0;
  for (int n : fridays) code = code * 30 + n;
  show(code); //= -744983190
  std::map<std::string, int, std::greater<>> byText;
  for (const Date& d : days) byText[d.text()] = d.weekday();
  show(byText.begin()->second * 10 + byText.rbegin()->second); //= 60
  show(a.text().size() * 1000 + a.text()[3]); //= 10052
  const auto seconds = 1700000000L;
  const Date today = kEpoch + static_cast<int>(seconds / 86400);
  show(today.code()); //= 20231114
  show(seconds % 86400 / 3600 * 100 + seconds % 3600 / 60); //= 2213
  return 0;
}
