#include "db/manifest.h"

#include <cinttypes>
#include <cstdio>

#include "util/file.h"

namespace minikv {
namespace {

std::string NumberedPath(const std::string& directory, uint64_t number, const char* suffix) {
  char name[32];
  snprintf(name, sizeof(name), "/%06" PRIu64 "%s", number, suffix);
  return directory + name;
}

void AddLine(std::string* text, const char* name, uint64_t value) {
  text->append(name).append(" ").append(std::to_string(value)).append("\n");
}

}  // namespace

std::string ManifestPath(const std::string& directory) { return directory + "/MANIFEST"; }

std::string TablePath(const std::string& directory, uint64_t number) {
  return NumberedPath(directory, number, ".tbl");
}

std::string WalPath(const std::string& directory, uint64_t number) {
  return NumberedPath(directory, number, ".log");
}

Status Manifest::Save(const std::string& directory) const {
  std::string text;
  AddLine(&text, "next_file", next_file);
  AddLine(&text, "last_sequence", last_sequence);
  AddLine(&text, "wal", wal);
  for (uint64_t table : tables) AddLine(&text, "table", table);
  return ReplaceFile(ManifestPath(directory), text);
}

Status Manifest::Load(const std::string& directory) {
  std::string text;
  Status s = ReadFile(ManifestPath(directory), &text);
  if (!s.ok()) return s;
  *this = Manifest();
  for (size_t start = 0, end; (end = text.find('\n', start)) != std::string::npos; start = end + 1) {
    char name[16];
    uint64_t value;
    if (sscanf(text.c_str() + start, "%15s %" SCNu64, name, &value) != 2) {
      return Status::Corruption(ManifestPath(directory) + ": unreadable line");
    }
    const Slice field = name;
    if (field == "next_file") next_file = value;
    if (field == "last_sequence") last_sequence = value;
    if (field == "wal") wal = value;
    if (field == "table") tables.push_back(value);
  }
  return Status::OK();
}

}  // namespace minikv
