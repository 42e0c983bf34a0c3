/** Clocks of POSIX: what they say is not known, but classes of timers have such members, and programs go on behind them. */
export const hostClocks = `
struct timeval { long tv_sec, tv_usec; };
struct timespec { long tv_sec, tv_nsec; };
struct timezone { int tz_minuteswest, tz_dsttime; };
enum {
  CLOCK_REALTIME = 0, CLOCK_MONOTONIC = 1, CLOCK_PROCESS_CPUTIME_ID = 2, CLOCK_THREAD_CPUTIME_ID = 3, CLOCK_MONOTONIC_RAW = 4
};
inline int gettimeofday(timeval* now, void*) {
  now->tv_sec = __warplens_unknown<long>(0);
  now->tv_usec = __warplens_unknown<long>(0);
  return 0;
}
inline int clock_gettime(int, timespec* now) {
  now->tv_sec = __warplens_unknown<long>(0);
  now->tv_nsec = __warplens_unknown<long>(0);
  return 0;
}
`;
