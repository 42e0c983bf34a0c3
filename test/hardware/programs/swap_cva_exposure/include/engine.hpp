#pragma once
#include <memory>
#include <string>
#include <vector>
#include "market.hpp"

struct ExposureProfile {
    std::vector<double> expected;           // per date
    std::vector<std::vector<unsigned>> histogram;
    double cva = 0;
};

class ExposureEngine {
public:
    virtual ~ExposureEngine() = default;
    virtual const char* name() const = 0;
    virtual ExposureProfile run(const SimulationSpec& spec) = 0;

protected:
    static double charge(const SimulationSpec& s, const ShortRateModel& m, const std::vector<double>& ee);
};

std::unique_ptr<ExposureEngine> make_engine(const std::string& kind, const ShortRateModel& m,
                                            const std::vector<Swap>& book);
// individual constructors, used by the factory
std::unique_ptr<ExposureEngine> new_path_major(const ShortRateModel& m, const std::vector<Swap>& book);
std::unique_ptr<ExposureEngine> new_date_major(const ShortRateModel& m, const std::vector<Swap>& book);
std::unique_ptr<ExposureEngine> new_host(const ShortRateModel& m, const std::vector<Swap>& book);
