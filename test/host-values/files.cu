/** Files that a program reads: with the functions of C, as streams, in words, lines and bytes. */
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <unistd.h>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>
template <class T> std::vector<T> numbersOf(const std::string& name, bool& good) {
  std::ifstream in(name);
  std::vector<T> numbers;
  good = in.is_open();
  T x;
  while (in >> x) numbers.push_back(x);
  good = good && !in.bad();
  in.close();
  return numbers;
}
int sumOf(std::istream& in) {
  int a, b;
  in >> a >> b;
  return a + b;
}
int main(int argc, char** argv) {
  FILE* f = fopen("files.txt", "r");
  if (!f) { printf("no file\n"); return 1; }
  int a, b, c, d;
  if (fscanf(f, "%d %d", &a, &b) != 2) return 1;
  show(a * 100 + b); //= 403
  fscanf(f, "%d,%d\n", &c, &d);
  show(c * 100 + d); //= 1020
  show(ftell(f)); //= 10
  float x, y;
  char word[10];
  fscanf(f, "%f %f %s", &x, &y, word);
  show(x * 10 + y + word[1]); //= 115
  char line[100];
  fgets(line, 100, f);
  char* got = fgets(line, 100, f);
  show(atoi(line) + (got != NULL)); //= 8
  show(fgets(line, 100, f) == NULL); //= 1
  show(feof(f) != 0); //= 1
  rewind(f);
  int count = 0, value;
  while (fscanf(f, "%d", &value) == 1) count++;
  show(count); //= 3
  show(fgetc(f)); //= 44
  fseek(f, 0, SEEK_END);
  long size = ftell(f);
  show(size); //= 28
  fseek(f, 0, SEEK_SET);
  int c1, lines = 0;
  while ((c1 = fgetc(f)) != EOF) if (c1 == '\n') lines++;
  show(lines); //= 4
  fclose(f);

  FILE* bytes = fopen("files.bin", "rb");
  int head[2];
  double wide;
  short tail[4];
  fread(head, sizeof(int), 2, bytes);
  show(head[0] * 10 + head[1]); //= 65
  fread(&wide, sizeof(double), 1, bytes);
  show(wide * 4); //= 9
  show(fread(tail, sizeof(short), 4, bytes)); //= 3
  show(tail[2]); //= 300
  fclose(bytes);

  std::ifstream in("files.txt");
  if (!in) return 1;
  int p, q;
  in >> p >> q;
  show(p * 10 + q); //= 43
  std::string s;
  std::getline(in, s);
  std::getline(in, s);
  show(s.size()); //= 5
  show(std::count(s.begin(), s.end(), ',')); //= 1
  int rest = 0;
  while (std::getline(in, s)) {
    std::stringstream words(s);
    std::string each;
    while (words >> each) rest += (int)each.size();
  }
  show(rest); //= 12
  show(in.eof()); //= 1
  in.clear();
  in.seekg(0);
  in >> p;
  show(p); //= 4
  in.close();
  bool good = false;
  std::vector<int> all = numbersOf<int>("files.txt", good);
  show(all.size() * 10 + good); //= 31
  std::string name = "files";
  std::ifstream named(name + ".txt");
  show(sumOf(named)); //= 7
  std::ifstream binary("files.bin", std::ios::binary | std::ios::ate);
  show(binary.tellg()); //= 22
  binary.seekg(0, std::ios::beg);
  int first;
  binary.read(reinterpret_cast<char*>(&first), sizeof(first));
  show(first + binary.gcount()); //= 11

  // what is not read at the end of a file keeps what it was in the pass before
  std::ifstream until_end("files.txt");
  int last = 0, passes = 0;
  while (until_end.peek() != EOF && passes < 9) {
    int x = 0;
    char y;
    until_end >> x >> y;
    last = last * 3 + x;
    passes++;
  }
  show(last * 10 + passes); //= 2584
  FILE* over = fopen("files.txt", "r");
  int total = 0;
  while (!feof(over)) {
    int n;
    fscanf(over, "%d%*[^\n]", &n);
    total = total * 10 + n;
  }
  show(total); //= 50177
  std::ifstream whole("files.txt");
  std::string text((std::istreambuf_iterator<char>(whole)), std::istreambuf_iterator<char>());
  show(text.size() * 100 + text[5]); //= 2848
  std::ifstream poured("files.txt");
  std::stringstream held;
  held << poured.rdbuf();
  int u, v;
  held >> u >> v;
  show(held.str().size() + u * 10 + v); //= 71
  int descriptor = open("files.bin", O_RDONLY);
  int low = 0;
  long taken = read(descriptor, &low, sizeof(int));
  show(low * 10 + taken); //= 74
  show(lseek(descriptor, 0, SEEK_END)); //= 22
  close(descriptor);

  // lines of any length, the first of them skipped
  FILE* any = fopen("files.txt", "r");
  size_t room = 16;
  char few[16];
  char* few_line = few;
  long read_length = getline(&few_line, &room, any);
  show(read_length); //= 4
  fscanf(any, "%d", &total);
  show(total); //= 10
  rewind(any);
  char* grown = nullptr;
  size_t grown_room = 0;
  int sums = 0;
  while ((read_length = getline(&grown, &grown_room, any)) != -1) sums = 10 * sums + read_length + atoi(grown);
  show(sums + feof(any)); //= 9744
  return 0;
}
