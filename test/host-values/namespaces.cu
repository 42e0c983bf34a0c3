/** Members that are defined outside of their class and of its namespace. */
#include <map>
#include <string>
namespace part {
class Options {
 public:
  typedef std::map<std::string, unsigned> Keys;
  Options();
  ~Options();
  bool define(const std::string& name, int attribute = 0);
  bool found(const std::string& name) const;
  int key(const std::string& name) const;
  unsigned next;
  static int made;

 private:
  Keys keys;
  std::map<unsigned, int> attributes;
  std::map<unsigned, std::string> values;
};
bool isShort(const std::string& name);
namespace {
struct Hidden {
  int all();
  static int some;
};
}  // namespace
inline namespace v1 {
struct Inner {
  int all();
};
}  // namespace v1
}  // namespace part
namespace other {
struct Options {
  int key(const std::string& name) const;
  static int made;
};
}  // namespace other
using namespace part;
struct Program {
  static bool add(const std::string& name);
  static Options options;
};
int main() {
  show(Program::options.next); //= 1
  show(Program::add("method")); //= 1
  show(Program::add("n")); //= 1
  show(Program::add("n")); //= 0
  show(Program::options.next); //= 3
  show(Program::options.key("n")); //= 2
  show(Program::options.key("m")); //= -1
  show(Program::options.found("n")); //= 0
  show(other::Options().key("abc")); //= 3
  show(part::Options::made * 10 + other::Options::made); //= 17
  show(part::Hidden().all() + Hidden::some); //= 18
  show(part::Inner().all()); //= 16
}
Options::Options() : next(1) { ++made; }
Options::~Options() {}
int Options::key(const std::string& name) const {
  Keys::const_iterator at = keys.find(name);
  if (at == keys.end()) return -1;
  return at->second;
}
bool Options::found(const std::string& name) const {
  int k = key(name);
  if (k == -1) return false;
  return values.find(k) != values.end();
}
bool Options::define(const std::string& name, int attribute) {
  if (keys.find(name) != keys.end()) return false;
  keys[name] = next;
  attributes[next] = attribute;
  ++next;
  return true;
}
bool part::isShort(const std::string& name) { return name.length() < 2; }
int part::Options::made = 0;
Options Program::options;
bool Program::add(const std::string& name) { return options.define(name, part::isShort(name)); }
int other::Options::key(const std::string& name) const { return name.length(); }
int other::Options::made = 7;
int Hidden::all() { return 14 + some; }
int Hidden::some = 2;
int Inner::all() { return 16; }
