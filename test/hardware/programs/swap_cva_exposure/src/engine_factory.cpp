#include <cmath>
#include <random>
#include <stdexcept>
#include "../include/engine.hpp"
#include "../include/random_normal.cuh"

double ExposureEngine::charge(const SimulationSpec& s, const ShortRateModel& m, const std::vector<double>& ee) {
    double cva = 0;
    for (size_t d = 0; d < ee.size(); ++d) {
        double t0 = d * m.dt, t1 = (d + 1) * m.dt;
        double pd = std::exp(-s.hazard * t0) - std::exp(-s.hazard * t1);
        cva += (1.0 - s.recovery) * ee[d] * pd * std::exp(-m.level * t1);
    }
    return cva;
}

BondTables bond_tables(const ShortRateModel& m) {
    BondTables t{};
    for (int i = 0; i <= kDates; ++i) {
        double tau = i * double(m.dt), k = m.speed, s2 = double(m.vol) * m.vol;
        double b = (1.0 - std::exp(-k * tau)) / k;
        t.b[i] = float(b);
        t.a[i] = float((m.level - s2 / (2 * k * k)) * (b - tau) - s2 * b * b / (4 * k));
    }
    return t;
}

std::vector<Swap> netting_set(unsigned seed, int count) {
    std::mt19937 g(seed);
    std::vector<Swap> v;
    for (int i = 0; i < count && i < kMaxSwaps; ++i)
        v.push_back({float(200 + g() % 1800), 0.02f + float(g() % 200) * 1e-4f, 4 + int(g() % (kDates - 3)),
                     int(g() % 3 != 0)});
    return v;
}

namespace {
class HostEngine final : public ExposureEngine {
    ShortRateModel m_;
    std::vector<Swap> swaps_;

public:
    HostEngine(const ShortRateModel& m, const std::vector<Swap>& b) : m_(m), swaps_(b) {}
    const char* name() const override { return "host"; }
    ExposureProfile run(const SimulationSpec& spec) override {
        BondTables t = bond_tables(m_);
        ExposureProfile out;
        out.expected.assign(kDates, 0.0);
        out.histogram.assign(kDates, std::vector<unsigned>(spec.buckets, 0));
        for (int p = 0; p < spec.paths; ++p) {
            double r = m_.start;
            double annuity[kDates + 1];
            for (int d = 0; d < kDates; ++d) {
                r += m_.speed * (m_.level - r) * m_.dt +
                     m_.vol * std::sqrt(double(m_.dt)) * normal_at(spec.seed, p, d);
                annuity[0] = 0;
                for (int k = 1; k < kDates - d; ++k)
                    annuity[k] = annuity[k - 1] + m_.dt * std::exp(t.a[k] - t.b[k] * r);
                double v = 0;
                for (const Swap& s : swaps_) {
                    int left = s.maturity - (d + 1);
                    if (left <= 0) continue;
                    double last = (annuity[left] - annuity[left - 1]) / m_.dt;
                    double value = s.notional * (1.0 - last - s.fixed_rate * annuity[left]);
                    v += s.payer ? value : -value;
                }
                v = std::fmax(v, 0.0);
                out.expected[d] += v / spec.paths;
                int b = int(v / spec.bucket_width);
                out.histogram[d][b < spec.buckets ? b : spec.buckets - 1]++;
            }
        }
        out.cva = charge(spec, m_, out.expected);
        return out;
    }
};
}  // namespace

std::unique_ptr<ExposureEngine> new_host(const ShortRateModel& m, const std::vector<Swap>& b) {
    return std::make_unique<HostEngine>(m, b);
}

std::unique_ptr<ExposureEngine> make_engine(const std::string& kind, const ShortRateModel& m,
                                            const std::vector<Swap>& book) {
    if (kind == "path") return new_path_major(m, book);
    if (kind == "date") return new_date_major(m, book);
    if (kind == "host") return new_host(m, book);
    throw std::invalid_argument("unknown engine " + kind);
}
