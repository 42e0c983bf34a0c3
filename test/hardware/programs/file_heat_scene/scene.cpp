#include "scene.h"
#include <cstdio>
#include <cstring>

int readScene(const char* name, Scene& scene) {
  FILE* f = fopen(name, "r");
  if (f == NULL) {
    fprintf(stderr, "no scene %s\n", name);
    return -1;
  }
  char line[128], what[16];
  while (fgets(line, sizeof line, f)) {
    if (line[0] == '#') continue;
    int a, b, c, d;
    float t;
    if (sscanf(line, "size %d %d", &a, &b) == 2) {
      scene.width = a;
      scene.height = b;
      scene.heat.assign(a * b, 0.0f);
      scene.wall.assign(a * b, 0);
    } else if (sscanf(line, "steps %d", &a) == 1) {
      scene.steps = a;
    } else if (sscanf(line, "source %d %d %f", &a, &b, &t) == 3) {
      scene.heat[b * scene.width + a] = t;
    } else if (sscanf(line, "%s %d %d %d %d", what, &a, &b, &c, &d) == 5 && strcmp(what, "wall") == 0) {
      for (int y = b; y <= d; y++)
        for (int x = a; x <= c; x++) scene.wall[y * scene.width + x] = 1;
    }
  }
  fclose(f);
  return 0;
}
