#include "config.h"
#include <cstdlib>
#include <string>

FlowConfig config_from_args(int argc, char** argv) {
    FlowConfig c;
    for (int i = 1; i < argc; ++i) {
        std::string a = argv[i];
        auto eq = a.find('=');
        if (eq == std::string::npos) continue;
        std::string k = a.substr(0, eq);
        const char* v = a.c_str() + eq + 1;
        if (k == "blobs") c.blobs = std::atoi(v);
        else if (k == "tracers") c.tracers = std::atoi(v);
        else if (k == "steps") c.steps = std::atoi(v);
        else if (k == "dt") c.dt = float(std::atof(v));
        else if (k == "core") c.core = float(std::atof(v));
        else if (k == "grid") c.grid = std::atoi(v);
    }
    return c;
}
