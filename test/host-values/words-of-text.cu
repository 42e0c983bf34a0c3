/** Words of a text, cut by the functions of C. */
#include <cstdlib>
#include <cstring>
int main() {
  const char* s = "size=12,depth;end";
  show(strspn(s, "eisz")); //= 4
  show(strcspn(s, ",;") * 100 + strcspn(s, "!")); //= 717
  show(strpbrk(s, ";,") - s); //= 7
  show(strpbrk(s, "!") == nullptr); //= 1
  char text[32];
  strcpy(text, s);
  char* at;
  int sum = 0;
  for (char* word = strtok_r(text, "=,;", &at); word; word = strtok_r(nullptr, "=,;", &at)) sum = sum * 10 + (int)strlen(word);
  show(sum); //= 4253
  strcpy(text, "a,,b");
  char* rest = text;
  int parts = 0;
  while (char* part = strsep(&rest, ",")) parts = parts * 10 + (int)strlen(part);
  show(parts); //= 101
}
