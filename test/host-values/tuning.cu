/** A library of kernels in C's manner: options, tables of configurations, checks with goto, callbacks, a cache of what was tuned. */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cstdint>
#include <cstddef>
#include <cmath>
#define MAX_CONFIGS 64
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define CHECK(expr) do { status = (expr); if (status != STATUS_OK) { fprintf(stderr, "%s:%d\n", __FILE__, __LINE__); goto cleanup; } } while (0)
typedef enum { STATUS_OK = 0, STATUS_BAD_ARGUMENT = 3, STATUS_NO_MEMORY, STATUS_NOT_FOUND = 10 } status_t;
typedef struct { int tile_m, tile_n, tile_k; unsigned flags; } config_t;
typedef struct { const char* name; size_t offset; int low, high; } field_t;
enum { FLAG_VECTOR = 1 << 0, FLAG_ASYNC = 1 << 1, FLAG_SWIZZLE = 1 << 4 };
static const field_t fields[] = {
  {"m", offsetof(config_t, tile_m), 16, 256},
  {"n", offsetof(config_t, tile_n), 16, 256},
  {"k", offsetof(config_t, tile_k), 8, 64},
  {"flags", offsetof(config_t, flags), 0, 0x1f},
};
static const config_t defaults[] = {{64, 64, 16, FLAG_VECTOR}, {128, 64, 16, FLAG_VECTOR | FLAG_ASYNC}, {128, 128, 32, 0x13}, {32, 32}};
typedef struct entry { uint64_t key; config_t best; double score; struct entry* next; } entry_t;
typedef struct { entry_t* buckets[16]; int count; int collisions; } cache_t;
typedef double (*score_fn)(const config_t*, void*);
struct problem { int m, n, k; int calls; };
static status_t parse_config(const char* text, config_t* out) {
  char copy[128], *save = copy, *word;
  strncpy(copy, text, sizeof copy - 1);
  copy[sizeof copy - 1] = '\0';
  for (word = strtok(save, ","); word; word = strtok(NULL, ",")) {
    char* eq = strchr(word, '=');
    size_t i;
    if (!eq) return STATUS_BAD_ARGUMENT;
    *eq = 0;
    for (i = 0; i < ARRAY_SIZE(fields); i++) if (strcmp(fields[i].name, word) == 0) break;
    if (i == ARRAY_SIZE(fields)) return STATUS_NOT_FOUND;
    long value = strtol(eq + 1, NULL, 0);
    if (value < fields[i].low || value > fields[i].high) return STATUS_BAD_ARGUMENT;
    *(int*)((char*)out + fields[i].offset) = (int)value;
  }
  return STATUS_OK;
}
static uint64_t hash_bytes(const void* data, size_t n) {
  const unsigned char* p = (const unsigned char*)data;
  uint64_t h = 14695981039346656037ull;
  while (n--) { h ^= *p++; h *= 1099511628211ull; }
  return h;
}
static double score(const config_t* c, void* context) {
  struct problem* p = (struct problem*)context;
  p->calls++;
  int blocks = ((p->m + c->tile_m - 1) / c->tile_m) * ((p->n + c->tile_n - 1) / c->tile_n);
  double waves = ceil(blocks / 132.0);
  double work = (double)c->tile_m * c->tile_n * p->k / (c->flags & FLAG_VECTOR ? 4 : 1);
  return waves * work * (c->flags & FLAG_ASYNC ? 0.8 : 1.0) + (c->tile_k > 16 ? 500 : 0);
}
static const config_t* pick(const config_t* list, int n, score_fn f, void* context, double* best) {
  const config_t* found = NULL;
  *best = HUGE_VAL;
  for (int i = 0; i < n; i++) { double s = f(&list[i], context); if (s < *best) { *best = s; found = list + i; } }
  return found;
}
static status_t tune(cache_t* cache, int m, int n, int k, const char* extra, config_t* out) {
  status_t status = STATUS_OK;
  config_t* list = NULL;
  int count = ARRAY_SIZE(defaults);
  struct problem p = {m, n, k, 0};
  int key[3] = {m, n, k};
  uint64_t h = hash_bytes(key, sizeof key);
  entry_t* e;
  for (e = cache->buckets[h % 16]; e; e = e->next) if (e->key == h) { *out = e->best; return STATUS_OK; }
  list = (config_t*)malloc(MAX_CONFIGS * sizeof *list);
  if (!list) { status = STATUS_NO_MEMORY; goto cleanup; }
  memcpy(list, defaults, sizeof defaults);
  if (extra) { list[count] = list[0]; CHECK(parse_config(extra, &list[count])); count++; }
  e = (entry_t*)calloc(1, sizeof *e);
  e->key = h;
  e->best = *pick(list, count, score, &p, &e->score);
  e->next = cache->buckets[h % 16];
  if (e->next) cache->collisions++;
  cache->buckets[h % 16] = e;
  cache->count += p.calls;
  *out = e->best;
cleanup:
  free(list);
  return status;
}
int main(void) {
  static cache_t cache;
  config_t c = {0};
  show(sizeof(config_t) * 100 + offsetof(config_t, flags)); //= 1612
  show(tune(&cache, 1024, 1024, 512, NULL, &c)); //= 0
  show(c.tile_m * 1000 + c.tile_n); //= 128064
  show(tune(&cache, 4096, 256, 64, "m=0x40,n=128,flags=3", &c)); //= 0
  show(c.tile_m * 1000 + c.tile_n); //= 128064
  show(c.flags); //= 3
  show(tune(&cache, 100, 100, 100, "m=64,q=3", &c)); //= 10
  show(tune(&cache, 100, 100, 100, "m=640", &c)); //= 3
  show(tune(&cache, 1024, 1024, 512, "bad", &c)); //= 0
  show(c.tile_k); //= 16
  show(cache.count); //= 9
  for (int i = 1; i <= 20; i++) tune(&cache, i * 100, i * 50, 64, NULL, &c);
  show(cache.collisions); //= 7
  int used = 0;
  double total = 0;
  for (size_t b = 0; b < ARRAY_SIZE(cache.buckets); b++) { used += cache.buckets[b] != NULL; for (entry_t* e = cache.buckets[b]; e; e = e->next) total += e->score; }
  show(used); //= 15
  show(total); //= 3237478
  show((int)(hash_bytes("tile", 4) >> 40)); //= 1986713
  return 0;
}
