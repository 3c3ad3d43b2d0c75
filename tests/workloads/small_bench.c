/* A program with the command line and the output of db_bench, and operations of a known size. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef LOOKUP
#define LOOKUP 1000
#endif
#define NOINLINE __attribute__((noinline))
#define TEXT(number) #number
#define TEXT_OF(macro) TEXT(macro)

/* So that a test can tell from the binary what a lookup costs. */
const char cost_of_lookup[] = "cost of a lookup: " TEXT_OF(LOOKUP);

static volatile uint64_t sink;
static char undefok[4096] = ",", benchmarks[4096], db[4096];
static long num = 10, reads = -1, writes = -1, use_existing_db = 0, log_next = 0;

#if defined STRIDE
/* As many instructions with any stride, and as many lines of memory as it makes. */
static volatile char memory[1 << 25];
static uint64_t at = 0;
static NOINLINE void lookup(void) {
  for (int i = 0; i < LOOKUP; i++) { sink += memory[at]; at = (at + STRIDE) & (sizeof memory - 1); }
}
#elif defined SORTED
/* As many instructions in any order: 512 branches of 1024 are taken, the first ones or any. */
static volatile char taken[1024];
static NOINLINE void lookup(void) {
  for (int i = 0; i < LOOKUP; i++) { if (taken[i & 1023]) sink += i; else sink -= i; }
}
#else
static NOINLINE void lookup(void) { for (int i = 0; i < LOOKUP; i++) sink += i; }
#endif
static NOINLINE void encode(void) { for (int i = 0; i < 500; i++) sink += i; }
static NOINLINE void open_db(void) {
  for (int i = 0; i < 200000; i++) sink += i;
#ifdef SORTED
  uint32_t chance = 1;
  for (int i = 0; i < 1024; i++) taken[i] = i < 512;
  for (int i = 1023; i > 0 && !SORTED; i--) {
    chance = chance * 1664525u + 1013904223u;
    int other = (chance >> 8) % (i + 1);
    char kept = taken[i];
    taken[i] = taken[other];
    taken[other] = kept;
  }
#endif
}
#ifdef EXTRA
static NOINLINE void added_function(void) { for (int i = 0; i < 100; i++) sink += i; }
#endif

static void die(const char *what, const char *detail) { fprintf(stderr, "ERROR: %s '%s'\n", what, detail); exit(1); }

static void path_of(char *out, size_t size, const char *file) { snprintf(out, size, "%s/%s", db, file); }

static long rows_of(const char *file) {
  char path[8192], line[32] = "0";
  path_of(path, sizeof path, file);
  FILE *f = fopen(path, "r");
  if (f) { if (!fgets(line, sizeof line, f)) line[0] = '0'; fclose(f); }
  return atol(line);
}

static void keep(const char *file, long rows) {
  char path[8192];
  path_of(path, sizeof path, file);
  FILE *f = fopen(path, "w");
  if (!f) die("IO error: cannot open", path);
  fprintf(f, "%ld\n", rows);
  fclose(f);
}

static void report(const char *name, long operations, const char *more) {
  double seconds = operations * 2e-6;
  fprintf(stderr, "... finished %ld ops%30s\r", operations, "");
#ifdef OLD_FORMAT
  printf("%-12s : %11.3f micros/op %ld ops/sec;%s\n", name, seconds * 1e6 / operations, (long)(operations / seconds), more);
#else
  printf("%-12s : %11.3f micros/op %ld ops/sec %.3f seconds %ld operations;%s\n", name, seconds * 1e6 / operations,
         (long)(operations / seconds), seconds, operations, more);
#endif
}

static void one(const char *name) {
  char found[80];
  long written = writes >= 0 ? writes : num, read = reads >= 0 ? reads : num;
  if (!strncmp(name, "fill", 4) || !strcmp(name, "overwrite") || !strcmp(name, "mergerandom")) {
    for (long i = 0; i < written; i++) encode();
    keep("000003.log", log_next += written);
    report(name, written, "");
  } else if (!strcmp(name, "compact")) {
    report(name, 1, "");
  } else if (!strcmp(name, "readrandom") || !strcmp(name, "seekrandom") || !strcmp(name, "readwhilewriting") || !strcmp(name, "readseq")) {
#ifdef CRASH
    abort();
#endif
#ifdef SILENT
    return;
#endif
    for (long i = 0; i < read; i++) {
      lookup();
#ifdef EXTRA
      added_function();
#endif
    }
    if (!strcmp(name, "readwhilewriting")) for (long i = 0; i < written; i++) encode();
    snprintf(found, sizeof found, " (%ld of %ld found)", rows_of("000009.sst") > 0 ? read : 0, read);
    report(name, read, found);
  } else {
    fprintf(stderr, "unknown benchmark '%s'\n", name);
    exit(1);
  }
}

int main(int argc, char **argv) {
  struct { const char *name; long *value; } flags[] = {{"num", &num}, {"reads", &reads}, {"writes", &writes}};
  for (int i = 1; i < argc; i++)
    if (!strncmp(argv[i], "--undefok=", 10)) snprintf(undefok, sizeof undefok, ",%s,", argv[i] + 10);
  for (int i = 1; i < argc; i++) {
    char name[256], asked[300];
    const char *value = strchr(argv[i], '=') + 1;
    snprintf(name, sizeof name, "%.*s", (int)(value - argv[i] - 3), argv[i] + 2);
    snprintf(asked, sizeof asked, ",%s,", name);
    int known = !strcmp(name, "undefok") || !strcmp(name, "threads") || !strcmp(name, "seed") || !strcmp(name, "finish_after_writes");
    for (size_t f = 0; f < sizeof flags / sizeof *flags; f++)
      if (!strcmp(name, flags[f].name)) { *flags[f].value = atol(value); known = 1; }
    if (!strcmp(name, "benchmarks")) { snprintf(benchmarks, sizeof benchmarks, "%s", value); known = 1; }
    if (!strcmp(name, "db")) { snprintf(db, sizeof db, "%s", value); known = 1; }
    if (!strcmp(name, "use_existing_db")) { use_existing_db = !strcmp(value, "true"); known = 1; }
    if (!known && !strstr(undefok, asked)) die("unknown command line flag", name);
  }
  open_db();
  mkdir(db, 0700);
  if (!use_existing_db) { keep("000009.sst", 0); keep("000003.log", 0); }
  /* What the log holds becomes a table at the next open. */
  char table[8192];
  path_of(table, sizeof table, "000009.sst");
  long recovered = rows_of("000003.log");
  if (recovered) {
    long rows = rows_of("000009.sst") + recovered;
    unlink(table);
    keep("000009.sst", rows);
    keep("000003.log", 0);
  }
  printf("Keys: 16 bytes each\nDB path: [%s]\n", db);
  for (char *name = strtok(benchmarks, ","); name; name = strtok(NULL, ",")) one(name);
  return 0;
}
