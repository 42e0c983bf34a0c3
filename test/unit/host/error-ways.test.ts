/** Ways that end the program with an error: nothing of them is made, so that programs that check everything are run. */
import { check } from './check-contents';

const reader = `
__global__ void k(int n) {}
void fail(int line, const char* text) {
  int error = errno;
  fprintf(stderr, "%d: %s", line, text);
  if (error != 0) fprintf(stderr, "%s", strerror(error));
  exit(1);
}
#define FAIL(what, name, line) \\
  { char text[80]; \\
    if (line) sprintf(text, " %s of %s in line %d", what, name, line); \\
    else sprintf(text, " %s of %s", what, name); \\
    fail(__LINE__, text); }
const char* lookUp(const char* text, const char* name, int* lines) {
  while (*text) {
    ++*lines;
    const char* end = strchr(text, '=');
    if (end == 0) FAIL("no value", name, *lines);
    if (end[1] == 0) FAIL("empty value", name, *lines);
    if (strncmp(text, name, end - text) == 0) return end + 1;
    text = strchr(end, ';') + 1;
  }
  FAIL("no line", name, *lines);
  return 0;
}
void read(const char* text, const char* name, int* to) {
  int lines = 0;
  const char* value = lookUp(text, name[0] == '*' ? name + 1 : name, &lines);
  if (sscanf(value, "%d", to) == 0) FAIL("no number", name, lines);
}`;

describe('ways that end in an error', () => {
  it('cost nothing, however often they are written out', () => {
    const names = Array.from({ length: 24 }, (_, i) => `n${10 + i}`);
    check(`${reader}
int main() {
  const char* text = "${names.map((name, i) => `${name}=${i * i};`).join('')}";
  int ${names.join(', ')};
${names.map((name) => `  read(text, "${name}", &${name});`).join('\n')}
  k<<<1, 32>>>(n13 + n33); //= n: 538
}`);
  });

  it('are all that is behind them where one is taken for sure', () => {
    check(`${reader}
int main(int argc, char** argv) {
  int n = 4;
  if (n < 3) { printf("too few"); exit(-1); } else n++;
  k<<<1, 32>>>(n); //= n: 5
  if (argc > 1) { k<<<1, 32>>>(n); exit(1); }
  if (n != 5) fail(1, "n"); else if (n == 5) { n *= 2; fail(2, "five"); }
  k<<<1, 32>>>(n); //= not reached
}`);
  });

  it('are no others: what launches, goes on elsewhere or ends well is run', () => {
    check(`${reader}
void work(int n) {
  k<<<1, 32>>>(n); //= n: 7
}
int last(int n) { if (n > 8) return n; fail(1, "n"); return 0; }
void checked(int n) { if (n < 9) return; fail(1, "n"); }
int main() {
  int n = atoi("8");
  if (n == 8) work(7); else { n++; fail(1, "n"); }
  while (n < 20) { if (n == 8) { ++n; break; fail(1, "n"); } }
  checked(n - 1);
  k<<<1, 32>>>(last(n)); //= n: 9
}`);
  });
});
