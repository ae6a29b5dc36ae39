// The suite for storages: a model of a disk keeps every promise, whatever its crashes take, and planted mistakes are named.
#include <catch2/catch.hpp>

#include <algorithm>
#include <map>
#include <random>

#include <spindrift/store/conformance.hpp>

namespace spindrift::store {
namespace {

enum class Mistake {
  none,
  durable_write_is_not_durable,
  finish_does_not_sync,
  sync_misses_content,
  sync_misses_size,
  sync_names_misses_creates,
  sync_names_misses_renames,
  sync_names_misses_removes,
  rename_destroys_first,
  create_without_zeros,
  stale_read,
  unsorted_names,
  lost_write_takes_its_neighbor,
  missing_file_is_no_bad_input,
  missing_file_is_removed,
  last_block_is_not_counted,
};

/// How much of what is not durable a crash takes.
enum class Loss { everything, nothing, something };

struct ModelInode {
  Blocks now;
  Blocks before;   // the last write
  Blocks durable;  // shorter than its size until that is durable
};

using ModelNames = std::map<std::string, std::shared_ptr<ModelInode>>;

class ModelFile final : public StoredFile {
 public:
  ModelFile(std::shared_ptr<ModelInode> inode, Mistake mistake) : inode_(std::move(inode)), mistake_(mistake) {}

  [[nodiscard]] std::uint64_t bytes() const noexcept override {
    return inode_->now.size() - (mistake_ == Mistake::last_block_is_not_counted ? block_bytes : 0);
  }
  [[nodiscard]] Result<void> read(std::uint64_t at, std::span<std::byte> to) override {
    const Blocks& from = mistake_ == Mistake::stale_read ? inode_->before : inode_->now;
    std::ranges::copy(std::span(from).subspan(at, to.size()), to.begin());
    return {};
  }
  [[nodiscard]] Result<void> write(std::uint64_t at, std::span<const std::byte> from) override {
    inode_->before = inode_->now;
    std::ranges::copy(from, inode_->now.begin() + static_cast<std::ptrdiff_t>(at));
    const std::size_t next = at + from.size();
    if (mistake_ == Mistake::lost_write_takes_its_neighbor && next < inode_->durable.size())
      inode_->durable[next] ^= std::byte(1);
    return {};
  }
  [[nodiscard]] Result<void> write_durably(std::uint64_t at, std::span<const std::byte> from) override {
    SPINDRIFT_TRY(write(at, from));
    if (mistake_ == Mistake::durable_write_is_not_durable) return {};
    if (inode_->durable.size() < at + from.size()) inode_->durable.resize(at + from.size());
    std::ranges::copy(from, inode_->durable.begin() + static_cast<std::ptrdiff_t>(at));
    return {};
  }
  [[nodiscard]] Result<void> begin_write(std::uint64_t at, std::span<const std::byte> from) override {
    if (mistake_ == Mistake::finish_does_not_sync) return write(at, from);
    return write_durably(at, from);
  }
  [[nodiscard]] Result<void> finish_write() override { return {}; }
  [[nodiscard]] Result<void> sync() override {
    const std::size_t size = inode_->durable.size();
    if (mistake_ != Mistake::sync_misses_content) inode_->durable = inode_->now;
    inode_->durable.resize(mistake_ == Mistake::sync_misses_size ? size : inode_->now.size());
    return {};
  }

 private:
  std::shared_ptr<ModelInode> inode_;
  Mistake mistake_;
};

/// A disk in memory. Its names are, after a crash, as they were at some time since they were last made durable.
class ModelDisk final : public Storage, public CrashableStorage {
 public:
  ModelDisk(Mistake mistake, Loss loss) : mistake_(mistake), loss_(loss) {}

  [[nodiscard]] Result<std::vector<std::string>> names() override {
    std::vector<std::string> names;
    for (const auto& [name, inode] : now_) names.push_back(name);
    if (mistake_ == Mistake::unsorted_names) std::ranges::reverse(names);
    return names;
  }
  [[nodiscard]] Result<std::unique_ptr<StoredFile>> create(std::string_view name, std::uint64_t bytes) override {
    auto inode = std::make_shared<ModelInode>();
    inode->now.resize(bytes, std::byte(mistake_ == Mistake::create_without_zeros ? 0xaa : 0));
    inode->before = inode->now;
    now_[std::string(name)] = inode;
    changed();
    return std::unique_ptr<StoredFile>(std::make_unique<ModelFile>(std::move(inode), mistake_));
  }
  [[nodiscard]] Result<std::unique_ptr<StoredFile>> open(std::string_view name) override {
    const auto found = now_.find(std::string(name));
    if (found != now_.end()) return std::unique_ptr<StoredFile>(std::make_unique<ModelFile>(found->second, mistake_));
    const bool wrong = mistake_ == Mistake::missing_file_is_no_bad_input;
    return Error(wrong ? ErrorKind::resource : ErrorKind::bad_input, "there is no such file");
  }
  [[nodiscard]] Result<void> rename(std::string_view from, std::string_view to) override {
    auto moved = now_.extract(std::string(from));
    if (moved.empty()) return Error(ErrorKind::resource, "there is no such file");
    if (mistake_ == Mistake::rename_destroys_first) {
      durable_.erase(std::string(to));
      for (ModelNames& names : pending_) names.erase(std::string(to));
    }
    now_[std::string(to)] = std::move(moved.mapped());
    changed();
    return {};
  }
  [[nodiscard]] Result<void> remove(std::string_view name) override {
    const bool was_there = now_.erase(std::string(name)) > 0;
    if (!was_there && mistake_ != Mistake::missing_file_is_removed)
      return Error(ErrorKind::resource, "there is no such file");
    changed();
    return {};
  }
  [[nodiscard]] Result<void> sync_names() override {
    ModelNames durable = now_;
    for (const auto& [name, inode] : now_) {
      const std::string before = name_of(durable_, inode);
      const bool is_new = before.empty();
      if (is_new ? mistake_ == Mistake::sync_names_misses_creates
                 : before != name && mistake_ == Mistake::sync_names_misses_renames) {
        durable.erase(name);
        if (!is_new) durable[before] = inode;
      }
    }
    for (const auto& [name, inode] : durable_) {
      if (mistake_ == Mistake::sync_names_misses_removes && name_of(now_, inode).empty()) durable.try_emplace(name, inode);
    }
    durable_ = std::move(durable);
    pending_.clear();
    return {};
  }
  [[nodiscard]] std::string place(std::string_view name) const override { return "model/" + std::string(name); }

  [[nodiscard]] Storage& storage() override { return *this; }
  void crash() override {
    pending_.insert(pending_.begin(), durable_);
    const std::size_t last = pending_.size() - 1;
    now_ = pending_[loss_ == Loss::everything ? 0 : loss_ == Loss::nothing ? last : random_() % pending_.size()];
    for (const auto& [name, inode] : now_) crash(*inode);
    durable_ = now_;
    pending_.clear();
  }

 private:
  static std::string name_of(const ModelNames& names, const std::shared_ptr<ModelInode>& inode) {
    const auto found = std::ranges::find(names, inode, &ModelNames::value_type::second);
    return found == names.end() ? std::string() : found->first;
  }
  void changed() { pending_.push_back(now_); }
  void crash(ModelInode& inode) {
    if (loss_ == Loss::something) {
      if (inode.durable.size() < inode.now.size() && random_() % 2 == 0) inode.durable.resize(inode.now.size());
      for (std::size_t at = 0; at < inode.durable.size(); at += block_bytes) crash(inode, at);
    }
    if (loss_ != Loss::nothing) inode.now = inode.durable;
    inode.before = inode.durable = inode.now;
  }
  /// One block is there, is not, or is damaged.
  void crash(ModelInode& inode, std::size_t at) {
    const auto durable = std::span(inode.durable).subspan(at, block_bytes);
    const auto now = std::span(inode.now).subspan(at, block_bytes);
    if (std::ranges::equal(durable, now)) return;
    const auto outcome = random_() % 3;
    if (outcome == 0) std::ranges::copy(now, durable.begin());
    if (outcome == 1) durable[random_() % block_bytes] ^= std::byte(0x40);
  }

  Mistake mistake_;
  Loss loss_;
  std::mt19937_64 random_{1};
  ModelNames now_;
  ModelNames durable_;
  std::vector<ModelNames> pending_;  // since the durable ones, the oldest first
};

std::vector<std::string> violations(Mistake mistake, Loss loss = Loss::everything) {
  ModelDisk disk(mistake, loss);
  return violations_of_contract(disk);
}

}  // namespace

TEST_CASE("a storage that keeps its promises violates none, whatever a crash takes of what it may take") {
  for (const Loss loss : {Loss::everything, Loss::nothing}) CHECK(violations(Mistake::none, loss).empty());
  ModelDisk disk(Mistake::none, Loss::something);
  for (int run = 0; run < 20; ++run) CHECK(violations_of_contract(disk).empty());
}

TEST_CASE("the suite leaves a storage as it was") {
  ModelDisk disk(Mistake::none, Loss::everything);
  value_or_throw(disk.create("other", block_bytes));
  CHECK(violations_of_contract(disk).empty());
  disk.crash();
  CHECK(value_or_throw(disk.names()) == std::vector<std::string>{"other"});
}

TEST_CASE("a storage that breaks a promise is told which") {
  struct Planted {
    Mistake mistake;
    std::string violation;
  };
  const std::vector<Planted> all = {
      {Mistake::durable_write_is_not_durable, "a durable write is not there after a crash"},
      {Mistake::finish_does_not_sync, "a write that was begun and finished is not there, or not after a crash"},
      {Mistake::sync_misses_content, "a write before a sync is not there after a crash"},
      {Mistake::sync_misses_size, "a synced file that nobody wrote into has not its size, or no zeros, after a crash"},
      {Mistake::sync_names_misses_creates, "a new name is not there after sync_names and a crash"},
      {Mistake::sync_names_misses_renames, "a renamed file has not its new name alone after sync_names and a crash"},
      {Mistake::sync_names_misses_removes, "a removed file is there again after sync_names and a crash, or another is not"},
      {Mistake::rename_destroys_first, "a file that another replaces is gone before the other's name is durable"},
      {Mistake::create_without_zeros, "a new file is not full of zeros"},
      {Mistake::stale_read, "a read gives something else than what was written last"},
      {Mistake::unsorted_names, "the names are not those of the files, in their order"},
      {Mistake::lost_write_takes_its_neighbor, "a crash takes blocks that were durable and not written since"},
      {Mistake::missing_file_is_no_bad_input, "a file that is not there is opened, or the error is not bad_input"},
      {Mistake::missing_file_is_removed, "a file that is not there is renamed or removed, or the error is not resource"},
      {Mistake::last_block_is_not_counted, "a file has another size than it was made with"},
  };
  for (const Planted& planted : all) {
    INFO(planted.violation);
    const std::vector<std::string> found = violations(planted.mistake);
    CHECK(std::ranges::find(found, planted.violation) != found.end());
    CHECK(found == violations(planted.mistake));
  }
}

}  // namespace spindrift::store
