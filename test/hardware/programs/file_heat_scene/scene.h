#pragma once
#include <vector>

typedef struct SCENE_T Scene;

struct SCENE_T {
  int width, height, steps;
  std::vector<float> heat;
  std::vector<unsigned char> wall;
};

int readScene(const char* name, Scene& scene);
