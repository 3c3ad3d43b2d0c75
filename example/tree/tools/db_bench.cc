#include <algorithm>
#include <atomic>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "minikv/db.h"
#include "minikv/version.h"
#include "tools/flags.h"
#include "util/random.h"

namespace minikv {
namespace {

struct Settings {
  std::string benchmarks = "fillseq,readrandom,seekrandom";
  std::string db = "minikv-bench";
  int64_t num = 10000;
  int64_t reads = -1;
  int64_t writes = -1;
  int64_t threads = 1;
  int64_t key_size = 16;
  int64_t value_size = 100;
  int64_t write_buffer_size = 4 << 20;
  int64_t cache_size = 32 << 20;
  int64_t block_size = 4096;
  int64_t bloom_bits = 10;
  int64_t seek_nexts = 0;
  int64_t seed = 1;
  int64_t duration = 0;
  bool use_existing_db = false;
  bool finish_after_writes = false;
  bool avoid_flush_during_recovery = false;
  bool disable_wal = false;
  bool disable_auto_compactions = false;
};

using Clock = std::chrono::steady_clock;

double Seconds(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// What one thread did.
struct Result {
  double seconds = 0;
  int64_t operations = 0;
  int64_t found = -1;
  int64_t bytes = 0;
};

// Counts down operations, or seconds if a duration is set.
class Budget {
 public:
  Budget(int64_t operations, int64_t seconds) : left_(operations), seconds_(static_cast<double>(seconds)) {}

  bool Take() {
    if (seconds_ == 0) return left_-- > 0;
    if (++taken_ % 64 == 0 && Seconds(start_) >= seconds_) left_ = 0;
    return left_ > 0;
  }

 private:
  int64_t left_;
  double seconds_;
  int64_t taken_ = 0;
  Clock::time_point start_ = Clock::now();
};

[[noreturn]] void Die(const std::string& message) {
  fprintf(stderr, "ERROR: %s\n", message.c_str());
  exit(1);
}

void Check(const Status& s) {
  if (!s.ok()) Die(s.message());
}

class Benchmark {
 public:
  explicit Benchmark(const Settings& settings) : settings_(settings), pool_(1 << 20, '\0') {
    Random random(301);
    for (char& c : pool_) c = static_cast<char>(' ' + random.Uniform(95));
    if (settings_.value_size < 0 || settings_.value_size > (1 << 20)) Die("value_size is out of range");
    if (settings_.key_size < 8 || settings_.num < 1) Die("key_size or num is too small");
    if (settings_.threads < 1) Die("a flag is too small");
    if (!settings_.use_existing_db) DB::Destroy(settings_.db);
    Open();
  }

  void Run() {
    PrintHeader();
    std::string list = settings_.benchmarks + ",";
    for (size_t comma; (comma = list.find(',')) != std::string::npos; list.erase(0, comma + 1)) {
      if (comma > 0) RunOne(list.substr(0, comma));
    }
  }

 private:
  using Method = Result (Benchmark::*)(Random*);

  void Open() {
    Options options;
    options.create_if_missing = !settings_.use_existing_db;
    options.write_buffer_size = static_cast<size_t>(settings_.write_buffer_size);
    options.cache_size = static_cast<size_t>(settings_.cache_size);
    options.block_size = static_cast<size_t>(settings_.block_size);
    options.bloom_bits_per_key = static_cast<int>(settings_.bloom_bits);
    options.avoid_flush_during_recovery = settings_.avoid_flush_during_recovery;
    options.disable_wal = settings_.disable_wal;
    options.disable_auto_compactions = settings_.disable_auto_compactions;
    Check(DB::Open(options, settings_.db, &db_));
  }

  void PrintHeader() const {
    printf("minikv:     version %d.%d.%d\n", MINIKV_MAJOR, MINIKV_MINOR, MINIKV_PATCH);
    printf("Keys:       %" PRId64 " bytes each\n", settings_.key_size);
    printf("Values:     %" PRId64 " bytes each\n", settings_.value_size);
    printf("Entries:    %" PRId64 "\n", settings_.num);
    printf("------------------------------------------------\n");
  }

  void RunOne(const std::string& name) {
    struct Entry {
      const char* name;
      Method method;
      bool fresh;
    };
    static constexpr Entry kEntries[] = {
        {"fillseq", &Benchmark::FillSeq, true},
        {"fillrandom", &Benchmark::WriteRandom, true},
        {"filluniquerandom", &Benchmark::FillUniqueRandom, true},
        {"overwrite", &Benchmark::WriteRandom, false},
        {"readrandom", &Benchmark::ReadRandom, false},
        {"readseq", &Benchmark::ReadSeq, false},
        {"seekrandom", &Benchmark::SeekRandom, false},
        {"mergerandom", &Benchmark::MergeRandom, false},
        {"compact", &Benchmark::Compact, false},
        {"readwhilewriting", &Benchmark::ReadRandom, false},
        {"seekrandomwhilewriting", &Benchmark::SeekRandom, false},
    };
    for (const Entry& entry : kEntries) {
      if (name != entry.name) continue;
      if (entry.fresh && settings_.use_existing_db) {
        printf("%-12s : skipped (--use_existing_db is true)\n", entry.name);
        return;
      }
      if (entry.fresh) {
        db_.reset();
        DB::Destroy(settings_.db);
        Open();
      }
      Report(entry.name, RunThreads(entry.method, name.find("whilewriting") != std::string::npos));
      return;
    }
    Die("unknown benchmark '" + name + "'");
  }

  std::vector<Result> RunThreads(Method method, bool with_writer) {
    std::vector<Result> results(static_cast<size_t>(settings_.threads));
    auto work = [&](size_t thread) {
      Random random(static_cast<uint64_t>(settings_.seed) * 1000 + thread);
      const Clock::time_point start = Clock::now();
      results[thread] = (this->*method)(&random);
      results[thread].seconds = Seconds(start);
    };
    std::atomic<bool> stop{false};
    std::thread writer;
    if (with_writer) writer = std::thread([&] { WriteUntil(&stop); });
    std::vector<std::thread> others;
    for (size_t thread = 1; thread < results.size(); ++thread) others.emplace_back(work, thread);
    work(0);
    for (std::thread& other : others) other.join();
    if (!settings_.finish_after_writes) stop = true;
    if (with_writer) writer.join();
    return results;
  }

  void Report(const char* name, const std::vector<Result>& results) const {
    Result sum;
    double longest = 0;
    for (const Result& result : results) {
      sum.seconds += result.seconds;
      sum.operations += result.operations;
      sum.bytes += result.bytes;
      if (result.found >= 0) sum.found = (sum.found < 0 ? 0 : sum.found) + result.found;
      if (result.seconds > longest) longest = result.seconds;
    }
    const double operations = sum.operations > 0 ? static_cast<double>(sum.operations) : 1;
    if (longest <= 0) longest = 1e-9;
    printf("%-12s : %11.3f micros/op %.0f ops/sec %.3f seconds %" PRId64 " operations;", name,
           sum.seconds * 1e6 / operations, operations / longest, longest, sum.operations);
    if (sum.bytes > 0) printf(" %6.1f MB/s", static_cast<double>(sum.bytes) / 1048576.0 / longest);
    if (sum.found >= 0) printf(" (%" PRId64 " of %" PRId64 " found)", sum.found, sum.operations);
    printf("\n");
    fflush(stdout);
  }

  // Eight bytes of the number, the most significant first, then zeros.
  Slice Key(uint64_t number, std::string* buffer) const {
    buffer->assign(static_cast<size_t>(settings_.key_size), '0');
    for (size_t i = 0; i < 8; ++i) (*buffer)[i] = static_cast<char>(number >> (56 - 8 * i));
    return *buffer;
  }

  Slice Value(Random* random) const {
    const size_t size = static_cast<size_t>(settings_.value_size);
    return Slice(pool_).substr(random->Uniform(pool_.size() - size + 1), size);
  }

  uint64_t RandomNumber(Random* random) const { return random->Uniform(static_cast<uint64_t>(settings_.num)); }

  Budget OfReads() const { return {settings_.reads < 0 ? settings_.num : settings_.reads, settings_.duration}; }
  int64_t writes() const { return settings_.writes < 0 ? settings_.num : settings_.writes; }
  Budget OfWrites() const { return {writes(), settings_.duration}; }

  void Count(Result* result, size_t value_bytes) const {
    ++result->operations;
    result->bytes += settings_.key_size + static_cast<int64_t>(value_bytes);
  }

  void PutOne(uint64_t number, Random* random, std::string* buffer, Result* result) {
    const Slice value = Value(random);
    Check(db_->Put(Key(number, buffer), value));
    Count(result, value.size());
  }

  Result FillSeq(Random* random) {
    Result result;
    std::string key;
    Budget budget = OfWrites();
    for (uint64_t i = 0; budget.Take(); ++i) PutOne(i, random, &key, &result);
    return result;
  }

  Result WriteRandom(Random* random) {
    Result result;
    std::string key;
    Budget budget = OfWrites();
    while (budget.Take()) PutOne(RandomNumber(random), random, &key, &result);
    return result;
  }

  Result FillUniqueRandom(Random* random) {
    std::vector<uint64_t> numbers(static_cast<size_t>(settings_.num));
    for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = i;
    for (size_t i = numbers.size(); i > 1; --i) std::swap(numbers[i - 1], numbers[random->Uniform(i)]);
    Result result;
    std::string key;
    numbers.resize(std::min(numbers.size(), static_cast<size_t>(writes())));
    for (uint64_t number : numbers) PutOne(number, random, &key, &result);
    return result;
  }

  Result MergeRandom(Random* random) {
    Result result;
    std::string key;
    Budget budget = OfWrites();
    while (budget.Take()) {
      const Slice operand = Value(random);
      Check(db_->Merge(Key(RandomNumber(random), &key), operand));
      Count(&result, operand.size());
    }
    return result;
  }

  Result ReadRandom(Random* random) {
    Result result;
    result.found = 0;
    std::string key, value;
    Budget budget = OfReads();
    while (budget.Take()) {
      Status s = db_->Get(Key(RandomNumber(random), &key), &value);
      if (!s.ok() && !s.IsNotFound()) Check(s);
      result.found += s.ok();
      Count(&result, s.ok() ? value.size() : 0);
    }
    return result;
  }

  Result ReadSeq(Random*) {
    Result result;
    Budget budget = OfReads();
    auto iterator = db_->NewIterator();
    for (iterator->SeekToFirst(); iterator->Valid() && budget.Take(); iterator->Next()) {
      Count(&result, iterator->value().size());
    }
    Check(iterator->status());
    return result;
  }

  Result SeekRandom(Random* random) {
    Result result;
    result.found = 0;
    std::string key;
    Budget budget = OfReads();
    while (budget.Take()) {
      auto iterator = db_->NewIterator();
      const Slice target = Key(RandomNumber(random), &key);
      iterator->Seek(target);
      result.found += iterator->Valid() && iterator->key() == target;
      size_t bytes = 0;
      for (int64_t i = 0; i < settings_.seek_nexts && iterator->Valid(); ++i) {
        bytes += iterator->value().size();
        iterator->Next();
      }
      Check(iterator->status());
      Count(&result, bytes);
    }
    return result;
  }

  Result Compact(Random*) {
    Check(db_->Compact());
    Result result;
    result.operations = 1;
    return result;
  }

  // Writes until the readers are done or, with --writes, as often as that.
  void WriteUntil(const std::atomic<bool>* stop) {
    Random random(static_cast<uint64_t>(settings_.seed) * 1000 + 999);
    Result ignored;
    std::string key;
    for (int64_t i = 0; !*stop && (settings_.writes < 0 || i < settings_.writes); ++i) {
      PutOne(RandomNumber(&random), &random, &key, &ignored);
    }
  }

  const Settings settings_;
  std::string pool_;
  std::unique_ptr<DB> db_;
};

int Main(int argc, char** argv) {
  Settings settings;
  Flags flags;
  flags.Define("benchmarks", &settings.benchmarks);
  flags.Define("db", &settings.db);
  flags.Define("num", &settings.num);
  flags.Define("reads", &settings.reads);
  flags.Define("writes", &settings.writes);
  flags.Define("threads", &settings.threads);
  flags.Define("key_size", &settings.key_size);
  flags.Define("value_size", &settings.value_size);
  flags.Define("write_buffer_size", &settings.write_buffer_size);
  flags.Define("cache_size", &settings.cache_size);
  flags.Define("block_size", &settings.block_size);
  flags.Define("bloom_bits", &settings.bloom_bits);
  flags.Define("seek_nexts", &settings.seek_nexts);
  flags.Define("seed", &settings.seed);
  flags.Define("duration", &settings.duration);
  flags.Define("use_existing_db", &settings.use_existing_db);
  flags.Define("finish_after_writes", &settings.finish_after_writes);
  flags.Define("avoid_flush_during_recovery", &settings.avoid_flush_during_recovery);
  flags.Define("disable_wal", &settings.disable_wal);
  flags.Define("disable_auto_compactions", &settings.disable_auto_compactions);
  const std::string problem = flags.Parse(argc, argv);
  if (!problem.empty()) Die(problem);
  Benchmark(settings).Run();
  return 0;
}

}  // namespace
}  // namespace minikv

int main(int argc, char** argv) { return minikv::Main(argc, argv); }
