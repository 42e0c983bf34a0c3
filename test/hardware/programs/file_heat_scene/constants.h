#pragma once
extern const float conductivity;
extern const int halo;
extern int steps_between;
