#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>

#include "minikv/db.h"
#include "util/crc32.h"
#include "util/random.h"

namespace minikv {
namespace {

#define EXPECT(condition)                                                 \
  if (!(condition)) {                                                     \
    fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);       \
    exit(1);                                                              \
  }

void TestCrc32() { EXPECT(Crc32("123456789") == 0xcbf43926u); }

void ExpectSame(DB* db, const std::map<std::string, std::string>& model) {
  auto iterator = db->NewIterator();
  iterator->SeekToFirst();
  for (const auto& [key, value] : model) {
    EXPECT(iterator->Valid() && iterator->key() == key && iterator->value() == value);
    std::string got;
    EXPECT(db->Get(key, &got).ok() && got == value);
    iterator->Next();
  }
  EXPECT(!iterator->Valid() && iterator->status().ok());
}

void TestAgainstModel(bool compact) {
  const std::string path = "kv_test.db";
  DB::Destroy(path);
  Options options;
  options.write_buffer_size = 64 << 10;
  options.disable_auto_compactions = !compact;
  std::map<std::string, std::string> model;
  std::unique_ptr<DB> db;
  EXPECT(DB::Open(options, path, &db).ok());
  Random random(7);
  for (int i = 0; i < 5000; ++i) {
    const std::string key = "key" + std::to_string(random.Uniform(500));
    const std::string value(random.Uniform(200), static_cast<char>('a' + random.Uniform(26)));
    switch (random.Uniform(8)) {
      case 0:
        EXPECT(db->Delete(key).ok());
        model.erase(key);
        break;
      case 1:
        EXPECT(db->Merge(key, value).ok());
        if (model.count(key) == 0 || value > model[key]) model[key] = value;
        break;
      default:
        EXPECT(db->Put(key, value).ok());
        model[key] = value;
    }
  }
  ExpectSame(db.get(), model);
  db.reset();
  EXPECT(DB::Open(options, path, &db).ok());
  ExpectSame(db.get(), model);
  EXPECT(db->Compact().ok());
  ExpectSame(db.get(), model);
  std::string value;
  EXPECT(db->Get("absent", &value).IsNotFound());
  db.reset();
  DB::Destroy(path);
}

}  // namespace
}  // namespace minikv

int main() {
  minikv::TestCrc32();
  minikv::TestAgainstModel(false);
  minikv::TestAgainstModel(true);
  puts("ok");
}
