#include "lead_buffers.cuh"
#include "recording.hpp"

BeatReport analyse_gpu(const RecordingSpec& r, const DetectorSpec& d, const std::vector<std::int16_t>& x) {
    using namespace ecg;
    size_t n = size_t(r.leads) * r.samples;
    Device<short> frames(x);
    Device<int> raw(n), filtered(n), scratch(n), power(n), maximum(r.leads), count(r.leads);
    Device<unsigned char> flag(n);
    upload_taps(band_pass_taps(d.taps));
    split_leads(frames.ptr, r.leads, r.samples, raw.ptr);
    band_pass(raw.ptr, r.leads, r.samples, d.taps, filtered.ptr);
    energy(filtered.ptr, r.leads, r.samples, d.integrate, scratch.ptr, power.ptr);
    lead_maximum(power.ptr, r.leads, r.samples, maximum.ptr);
    mark_peaks(power.ptr, maximum.ptr, r.leads, r.samples, d.refractory, d.threshold_percent, flag.ptr, count.ptr);

    BeatReport rep;
    rep.first.push_back(0);
    for (int c : count.get()) rep.first.push_back(rep.first.back() + c);
    Device<int> first(rep.first), peaks(rep.first.back());
    Device<float> avg(size_t(r.leads) * (d.before + d.after)), corr(rep.first.back());
    list_peaks(flag.ptr, first.ptr, r.leads, r.samples, peaks.ptr);
    average_beats(raw.ptr, first.ptr, peaks.ptr, r.leads, r.samples, d.before, d.after, avg.ptr);
    correlate_beats(raw.ptr, first.ptr, peaks.ptr, avg.ptr, r.leads, r.samples, d.before, d.after, corr.ptr);
    rep.peaks = peaks.get();
    rep.average = avg.get();
    rep.correlation = corr.get();
    return rep;
}
