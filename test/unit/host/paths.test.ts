/** Names of files as `std::filesystem` has them (values of g++). */
import { check } from './check-contents';

const kernel = `namespace fs = std::filesystem;
__global__ void k(int a, int b, int c) {}
int is(const fs::path& p, const char* text) { return p == text; }`;

describe('paths of the host', () => {
  it('are taken apart', () => {
    check(`${kernel}
int main() {
  fs::path p = "data/in.tar.gz";
  k<<<1, 32>>>(is(p.filename(), "in.tar.gz"), is(p.stem(), "in.tar"), is(p.extension(), ".gz")); //= a: 1, b: 1, c: 1
  k<<<1, 32>>>(is(p.parent_path(), "data"), is(p.parent_path().parent_path(), ""), p.filename().parent_path().empty()); //= a: 1, b: 1, c: 1
  fs::path hidden(std::string("/home/.rc")), root = "/", folder{"a//"}, up = "..";
  k<<<1, 32>>>(is(hidden.stem(), ".rc"), hidden.extension().empty(), hidden.is_absolute()); //= a: 1, b: 1, c: 1
  k<<<1, 32>>>(is(root.parent_path(), "/"), is(folder.parent_path(), "a"), is(up.stem(), "..")); //= a: 1, b: 1, c: 1
  k<<<1, 32>>>(root.has_filename(), folder.has_parent_path(), up.has_extension()); //= a: 0, b: 1, c: 0
  k<<<1, 32>>>((int)p.string().size(), p.c_str()[5], (int)p.native().length()); //= a: 14, b: 105, c: 14
}`);
  });

  it('are put together', () => {
    check(`${kernel}
int main() {
  fs::path folder = "data";
  const std::string name = "in";
  fs::path p = folder / (name + ".bin");
  k<<<1, 32>>>(is(p, "data/in.bin"), is(folder / "/in", "/in"), is(fs::path() / "in", "in")); //= a: 1, b: 1, c: 1
  k<<<1, 32>>>(is(folder / "sub" / fs::path("x"), "data/sub/x"), is("a/" / fs::path("b"), "a/b"), is(folder / "", "data/")); //= a: 1, b: 1, c: 1
  p.replace_extension(".txt");
  folder /= p.filename();
  fs::path copy = p;
  copy += ".old";
  k<<<1, 32>>>(is(p, "data/in.txt"), is(folder, "data/in.txt"), is(copy, "data/in.txt.old")); //= a: 1, b: 1, c: 1
  copy.replace_extension();
  p.replace_filename("out");
  k<<<1, 32>>>(is(copy, "data/in.txt"), is(p, "data/out"), folder < p); //= a: 1, b: 1, c: 1
  std::string text = p;
  p = "other";
  k<<<1, 32>>>((int)text.size(), text == "data/out", (int)p.string().size()); //= a: 8, b: 1, c: 5
}`);
  });

  it('of files that nobody knows say nothing about them', () => {
    check(`${kernel}
int main() {
  fs::path p = "none.bin";
  std::error_code e;
  k<<<1, 32>>>(fs::exists(p), (int)fs::file_size(p), fs::create_directories("out")); //= a: ?, b: ?, c: ?
  k<<<1, 32>>>(fs::exists(p, e), fs::is_regular_file(p), fs::is_directory(p)); //= a: ?, b: ?, c: ?
  std::ifstream in(p, std::ios::binary);
  std::ofstream out(p.parent_path() / "out.txt");
  k<<<1, 32>>>(in.is_open(), out.is_open(), 3); //= a: ?, b: ?, c: 3
}`);
  });
});
