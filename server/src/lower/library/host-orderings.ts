/** What \`<=>\` gives, which here is a number below, at or above 0. */
const ordering = (name: string, wider: string): string => `
struct ${name} {
  int held_;
  constexpr ${name}(int x = 0) : held_(x) {}
  ${wider}
  static constexpr int less = -1;
  static constexpr int equal = 0;
  static constexpr int equivalent = 0;
  static constexpr int greater = 1;
};
${['==', '!=', '<', '<=', '>', '>='].map((sign) => `inline bool operator${sign}(const ${name}& a, int b) { return a.held_ ${sign} b; }`).join('\n')}
inline bool operator==(const ${name}& a, const ${name}& b) { return a.held_ == b.held_; }
inline bool operator!=(const ${name}& a, const ${name}& b) { return a.held_ != b.held_; }`;

export const orderings = `
namespace std {
${ordering('strong_ordering', '')}
${ordering('weak_ordering', 'constexpr weak_ordering(strong_ordering x) : held_(x.held_) {}')}
${ordering('partial_ordering', 'constexpr partial_ordering(strong_ordering x) : held_(x.held_) {}')}
inline bool is_lt(int x) { return x < 0; }
inline bool is_gt(int x) { return x > 0; }
inline bool is_eq(int x) { return x == 0; }
}
`;
