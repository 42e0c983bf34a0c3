// Bytes and text: counting a pattern, upper case by words, run lengths, base64 triples.
#include <string>
#include "common.h"

typedef unsigned char byte;

__global__ void countPattern(const char *text, int length, const char *pattern, int patternLength, int *hits)
{
    extern __shared__ char window[];
    char *pat = window + blockDim.x + patternLength;
    int start = blockIdx.x * blockDim.x;
    for (int i = threadIdx.x; i < blockDim.x + patternLength; i += blockDim.x)
        window[i] = start + i < length ? text[start + i] : '\0';
    if (threadIdx.x < patternLength) pat[threadIdx.x] = pattern[threadIdx.x];
    __syncthreads();
    bool same = true;
    for (int k = 0; same && k < patternLength; ++k)
        same = window[threadIdx.x + k] == pat[k];
    int votes = __syncthreads_count(same);
    if (threadIdx.x == 0) hits[blockIdx.x] = votes;
}

__global__ void upperCaseWords(unsigned int *text, int words)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= words) return;
    unsigned int w = text[i], r = 0;
#pragma unroll
    for (int b = 0; b < 4; ++b) {
        unsigned int c = w >> (8 * b) & 0xff;
        if (c >= 'a' && c <= 'z') c -= 32;
        r |= c << (8 * b);
    }
    text[i] = r;
}

__global__ void upperCaseBytes(char *text, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && text[i] >= 'a' && text[i] <= 'z')
        text[i] -= 'a' - 'A';
}

__global__ void base64(const byte *in, char4 *out, int triples, const char *alphabet)
{
    __shared__ char a[64];
    if (threadIdx.x < 64) a[threadIdx.x] = alphabet[threadIdx.x];
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= triples) return;
    byte x = in[3 * i], y = in[3 * i + 1], z = in[3 * i + 2];
    out[i] = make_char4(a[x >> 2], a[(x & 3) << 4 | y >> 4], a[(y & 15) << 2 | z >> 6], a[z & 63]);
}

int main()
{
    bool ok = true;
    const int n = 24000;
    std::string text(n, ' ');
    Random r(1);
    for (char &c : text) c = "abcABC xyz"[r.below(10)];
    for (int i = 0; i < 200; ++i) text.replace(i * 113, 5, "hello");
    std::vector<char> chars(text.begin(), text.end());
    int want = 0;
    for (size_t at = text.find("hello"); at != std::string::npos; at = text.find("hello", at + 1)) ++want;
    const std::vector<char> pattern = {'h', 'e', 'l', 'l', 'o'};
    int *hits = deviceZeros<int>(94);
    countPattern<<<(24000 + 255) / 256, 256, 256 + 5 + 5>>>(toDevice(chars), n, toDevice(pattern), 5, hits);
    int total = 0;
    for (int h : toHost(hits, 94)) total += h;
    ok &= report("countPattern", total == want);

    std::vector<char> upper = chars;
    for (char &c : upper) if (c >= 'a' && c <= 'z') c -= 32;
    char *a = toDevice(chars), *b = toDevice(chars);
    upperCaseWords<<<(n / 4 + 127) / 128, 128>>>((unsigned int *)a, n / 4);
    ok &= report("upperCaseWords", toHost(a, n) == upper);
    upperCaseBytes<<<(n + 255) / 256, 256>>>(b, n);
    ok &= report("upperCaseBytes", toHost(b, n) == upper);

    std::vector<char> alphabet(64);
    for (int i = 0; i < 64; ++i) alphabet[i] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"[i];
    std::vector<char> code(n / 3 * 4);
    for (int i = 0; i < n / 3; ++i) {
        unsigned int v = (byte)chars[3 * i] << 16 | (byte)chars[3 * i + 1] << 8 | (byte)chars[3 * i + 2];
        for (int k = 0; k < 4; ++k) code[4 * i + k] = alphabet[v >> (18 - 6 * k) & 63];
    }
    char *dc = deviceZeros<char>(code.size());
    base64<<<(n / 3 + 127) / 128, 128>>>((byte *)toDevice(chars), (char4 *)dc, n / 3, toDevice(alphabet));
    ok &= report("base64", toHost(dc, code.size()) == code);
    return ok ? 0 : 1;
}
