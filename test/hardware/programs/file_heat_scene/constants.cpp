#include "constants.h"
const float conductivity = 0.2f;
const int halo = 2;
int steps_between = 2;
