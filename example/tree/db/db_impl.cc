#include "db/db_impl.h"

#include <unistd.h>

#include <cstdio>
#include <utility>

#include "table/bloom.h"

namespace minikv {

Status DB::Open(const Options& options, const std::string& path, std::unique_ptr<DB>* db) {
  auto opened = std::make_unique<DBImpl>(options, path);
  Status s = opened->Recover();
  if (s.ok()) *db = std::move(opened);
  return s;
}

Status DB::Destroy(const std::string& path) {
  for (const std::string& name : ListDirectory(path)) {
    const Slice suffix = Slice(name).substr(name.size() < 4 ? 0 : name.size() - 4);
    if (name == "MANIFEST" || suffix == ".tbl" || suffix == ".log") remove((path + "/" + name).c_str());
  }
  return Status::OK();
}

DBImpl::DBImpl(const Options& options, const std::string& path)
    : options_(options), path_(path), cache_(options.cache_size) {}

Status DBImpl::Recover() {
  auto view = std::make_shared<View>();
  view->memtable = std::make_shared<MemTable>();
  if (access(ManifestPath(path_).c_str(), F_OK) != 0) {
    if (!options_.create_if_missing) return Status::IOError(path_ + ": no database there");
    SetView(std::move(view));
    Status s = MakeDirectory(path_);
    return s.ok() ? RenewWal() : s;
  }
  Status s = manifest_.Load(path_);
  for (size_t i = 0; s.ok() && i < manifest_.tables.size(); ++i) {
    const uint64_t number = manifest_.tables[i];
    view->tables.emplace_back();
    s = Table::Open(TablePath(path_, number), number, &cache_, &view->tables.back());
  }
  if (!s.ok()) return s;
  SetView(std::move(view));
  last_sequence_ = manifest_.last_sequence;
  const bool flush = !options_.avoid_flush_during_recovery;
  s = ReplayWal(WalPath(path_, manifest_.wal), [&](uint64_t sequence, EntryType type, Slice key, Slice value) {
    view_->memtable->Add(sequence, type, key, value);
    last_sequence_ = sequence;
    return flush && MemTableIsFull() ? WriteTable() : Status::OK();
  });
  if (!s.ok()) return s;
  if (!flush) return wal_.Open(WalPath(path_, manifest_.wal));
  s = WriteTable();
  return s.ok() ? RenewWal() : s;
}

Status DBImpl::RenewWal() {
  const std::string old = WalPath(path_, manifest_.wal);
  manifest_.wal = manifest_.next_file++;
  Status s = wal_.Open(WalPath(path_, manifest_.wal));
  if (s.ok()) s = SaveManifest();
  if (s.ok()) remove(old.c_str());
  return s;
}

Status DBImpl::SaveManifest() {
  manifest_.last_sequence = last_sequence_;
  manifest_.tables.clear();
  for (const auto& table : view_->tables) manifest_.tables.push_back(table->number());
  return manifest_.Save(path_);
}

void DBImpl::SetView(std::shared_ptr<const View> view) {
  std::lock_guard<std::mutex> lock(view_mutex_);
  view_ = std::move(view);
}

std::shared_ptr<const DBImpl::View> DBImpl::CurrentView() const {
  std::lock_guard<std::mutex> lock(view_mutex_);
  return view_;
}

Status DBImpl::Write(EntryType type, Slice key, Slice value) {
  std::lock_guard<std::mutex> lock(write_mutex_);
  const uint64_t sequence = last_sequence_ + 1;
  if (!options_.disable_wal) {
    Status s = wal_.Add(sequence, type, key, value);
    if (!s.ok()) return s;
  }
  view_->memtable->Add(sequence, type, key, value);
  last_sequence_ = sequence;
  if (!MemTableIsFull()) return Status::OK();
  Status s = FlushLocked();
  const bool compact = !options_.disable_auto_compactions &&
                       view_->tables.size() >= static_cast<size_t>(options_.compaction_trigger);
  return s.ok() && compact ? CompactLocked() : s;
}

Status DBImpl::Get(Slice key, std::string* value) {
  // In this order: a compaction may drop versions that only older sequence numbers see.
  const std::shared_ptr<const View> view = CurrentView();
  const uint64_t sequence = last_sequence_;
  const std::string seek_key = MakeSeekKey(key, sequence);
  Resolver resolver(value);
  bool done = view->memtable->Get(key, seek_key, &resolver);
  const uint64_t hash = HashKey(key);
  for (const auto& table : view->tables) {
    if (done) break;
    Status s = table->Get(key, hash, seek_key, &resolver, &done);
    if (!s.ok()) return s;
  }
  return resolver.found() ? Status::OK() : Status::NotFound();
}

std::unique_ptr<Iterator> DBImpl::NewIterator() {
  std::shared_ptr<const View> view = CurrentView();
  const uint64_t sequence = last_sequence_;
  std::vector<std::unique_ptr<Iterator>> children;
  children.push_back(view->memtable->NewIterator());
  for (const auto& table : view->tables) children.push_back(table->NewIterator());
  return NewDBIterator(NewMergingIterator(std::move(children)), sequence, std::move(view));
}

Status DBImpl::Flush() {
  std::lock_guard<std::mutex> lock(write_mutex_);
  return FlushLocked();
}

Status DBImpl::Compact() {
  std::lock_guard<std::mutex> lock(write_mutex_);
  Status s = FlushLocked();
  return s.ok() ? CompactLocked() : s;
}

Status DBImpl::FlushLocked() {
  if (view_->memtable->empty()) return Status::OK();
  Status s = WriteTable();
  return s.ok() ? RenewWal() : s;
}

Status DBImpl::WriteTable() {
  if (view_->memtable->empty()) return Status::OK();
  const uint64_t number = manifest_.next_file++;
  TableBuilder builder(options_, TablePath(path_, number));
  auto entries = view_->memtable->NewIterator();
  for (entries->SeekToFirst(); entries->Valid(); entries->Next()) builder.Add(entries->key(), entries->value());
  auto view = std::make_shared<View>();
  view->memtable = std::make_shared<MemTable>();
  view->tables.emplace_back();
  view->tables.insert(view->tables.end(), view_->tables.begin(), view_->tables.end());
  Status s = builder.Finish();
  if (s.ok()) s = Table::Open(TablePath(path_, number), number, &cache_, &view->tables.front());
  if (s.ok()) SetView(std::move(view));
  return s;
}

Status DBImpl::CompactLocked() {
  if (view_->tables.size() < 2) return Status::OK();
  std::vector<std::unique_ptr<Iterator>> children;
  for (const auto& table : view_->tables) children.push_back(table->NewIterator());
  auto entries = NewMergingIterator(std::move(children));
  const uint64_t number = manifest_.next_file++;
  TableBuilder builder(options_, TablePath(path_, number));
  std::string first, value;
  entries->SeekToFirst();
  while (entries->Valid()) {
    first.assign(entries->key());
    Resolver resolver(&value);
    bool done = false;
    for (; entries->Valid() && UserKey(entries->key()) == UserKey(first); entries->Next()) {
      if (!done) done = resolver.Add(TypeOf(entries->key()), entries->value());
    }
    if (resolver.found()) {
      builder.Add(MakeInternalKey(UserKey(first), SequenceOf(first), EntryType::kPut), value);
    }
  }
  const std::shared_ptr<const View> old = view_;
  auto view = std::make_shared<View>();
  view->memtable = old->memtable;
  view->tables.emplace_back();
  Status s = entries->status();
  if (s.ok()) s = builder.Finish();
  if (s.ok()) s = Table::Open(TablePath(path_, number), number, &cache_, &view->tables.front());
  if (!s.ok()) return s;
  SetView(std::move(view));
  s = SaveManifest();
  if (!s.ok()) return s;
  for (const auto& obsolete : old->tables) remove(TablePath(path_, obsolete->number()).c_str());
  return s;
}

}  // namespace minikv
