// The operations of a simulated disk, each with the faults that it may have.
#include "simulated_disk.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include <spindrift/core/check.hpp>

namespace spindrift::sim {
namespace {

constexpr std::size_t name_bytes_max = 64;

bool is_name(std::string_view name) noexcept {
  return !name.empty() && name.size() <= name_bytes_max &&
         name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789.-") == std::string_view::npos;
}

bool is_whole(std::uint64_t bytes) noexcept { return bytes % store::block_bytes == 0; }

/// Whether a disk could take these bytes without a copy.
void check_memory(std::uint64_t at, std::span<const std::byte> memory, std::uint64_t file_bytes) {
  SPINDRIFT_CHECK(is_whole(at) && is_whole(memory.size()) && !memory.empty());
  SPINDRIFT_CHECK(is_whole(std::bit_cast<std::uintptr_t>(memory.data())));
  SPINDRIFT_CHECK(at <= file_bytes && memory.size() <= file_bytes - at);
}

std::string place_of(std::string_view name) { return "simulated disk/" + std::string(name); }

Error failure(std::string_view what, std::string_view name) {
  return Error(ErrorKind::resource, std::string(what)).at(place_of(name)).fix("replace the disk");
}

DiskStep write_step(DiskStep::Kind kind, std::string name, std::uint64_t at, std::vector<BlockContent> blocks) {
  DiskStep step{.kind = kind, .name = std::move(name), .at = at};
  step.bytes = blocks.size() * store::block_bytes;
  step.blocks = std::move(blocks);
  return step;
}

DiskNames drawn_names(const DiskContents& contents, const CrashChoice& choice, Random& random) {
  DiskNames names = contents.durable_names();
  const auto operations = contents.unsynced_names();
  std::size_t first = random.below(operations.size() + 1);
  if (choice.there_in_100 == 0) first = 0;
  if (choice.there_in_100 == 100) first = operations.size();
  for (std::size_t i = 0; i < operations.size(); ++i)
    if (choice.reordered ? random.chance(choice.there_in_100, 100) : i < first) apply(operations[i], names);
  return names;
}

CrashOutcome::BlockFate drawn_fate(const UnsyncedBlock& block, const CrashChoice& choice, Random& random) {
  std::size_t version = 0;
  for (std::size_t i = 1; i < block.versions.size(); ++i)
    if (random.chance(choice.there_in_100, 100)) version = i;
  CrashOutcome::BlockFate fate{block.file, block.block, block.versions[version].content, version};
  if (version == 0 || !random.chance(choice.torn_in_100, 100)) return fate;
  const std::uint64_t garbage = random.chance(choice.garbage_in_100, 100) ? random.next() | 1 : 0;
  fate.sectors = static_cast<std::uint8_t>(random.below(all_sectors));
  fate.content = torn_block(block.versions[random.below(version)].content, fate.content, fate.sectors, garbage);
  return fate;
}

}  // namespace

CrashOutcome drawn_outcome(const DiskContents& contents, const CrashChoice& choice, Random& random) {
  CrashOutcome outcome;
  outcome.names = drawn_names(contents, choice, random);
  for (const FileNumber file : contents.unsized_files(outcome.names))
    if (!random.chance(choice.there_in_100, 100)) outcome.emptied.insert(file);
  for (const UnsyncedBlock& block : contents.unsynced_blocks(outcome.names))
    if (!outcome.emptied.contains(block.file)) outcome.blocks.push_back(drawn_fate(block, choice, random));
  return outcome;
}

SimulatedDisk::SimulatedDisk(DiskContents contents, std::uint64_t seed, const DiskFaults& faults)
    : contents_(std::move(contents)), random_(seed, Purpose::disks), crashes_(seed, Purpose::crashes), faults_(faults) {}

SimulatedDisk SimulatedDisk::replay(std::span<const DiskStep> steps) {
  DiskContents contents;
  for (const DiskStep& step : steps) contents.apply(step);
  return {std::move(contents), 0};
}

void SimulatedDisk::crash(const CrashChoice& choice) { crash(drawn_outcome(contents_, choice, crashes_)); }

void SimulatedDisk::crash(const CrashOutcome& outcome) {
  contents_ = contents_.after_crash(outcome);
  names_failed_ = false;
  ++crash_count_;
  steps_.clear();
}

void SimulatedDisk::flip_bit(std::string_view file, std::uint64_t bit) {
  const FileNumber number = contents_.file_named(file);
  const std::uint64_t block = bit / 8 / store::block_bytes;
  const BlockContent content = contents_.durable_block_of(number, block);
  BlockBytes bytes = content == nullptr ? BlockBytes{} : *content;
  bytes[bit / 8 % store::block_bytes] ^= std::byte(1U << bit % 8);
  contents_.damage(number, block, content_of(bytes));
}

void SimulatedDisk::lose_block(std::string_view file, std::uint64_t block) {
  contents_.lose_write(contents_.file_named(file), block);
}

void SimulatedDisk::misdirect(std::string_view file, std::uint64_t from_block, std::uint64_t to_block) {
  const FileNumber number = contents_.file_named(file);
  const BlockContent content = contents_.block_of(number, from_block);
  if (contents_.is_unsynced(number, from_block)) contents_.write(number, to_block, content);
  else contents_.damage(number, to_block, content);
  contents_.lose_write(number, from_block);
}

Result<FileNumber> SimulatedDisk::create(std::string_view name, std::uint64_t bytes) {
  SPINDRIFT_CHECK(is_name(name) && is_whole(bytes));
  if (fails(Operation::create)) return failure("a file could not be made", name);
  const FileNumber replaced = contents_.file_named(name);
  const std::uint64_t used = contents_.bytes_used() - (replaced == 0 ? 0 : contents_.bytes_of(replaced));
  if (used > capacity_ || bytes > capacity_ - used)
    return Error(ErrorKind::disk_full, "the disk is full").at(place_of(name)).fix("make room");
  record({.kind = DiskStep::Kind::create, .name = std::string(name), .bytes = bytes});
  return contents_.create(name, bytes);
}

Result<FileNumber> SimulatedDisk::open(std::string_view name) {
  if (fails(Operation::open)) return failure("a file could not be opened", name);
  const FileNumber file = contents_.file_named(name);
  if (file == 0) return Error(ErrorKind::bad_input, "there is no such file").at(place_of(name));
  return file;
}

Result<void> SimulatedDisk::read(FileNumber file, std::uint64_t at, std::span<std::byte> to) {
  check_memory(at, to, contents_.bytes_of(file));
  ++counts_.reads;
  if (fails(Operation::read, faults_.failed_reads_in_million)) return failure("a read failed", "");
  counts_.bytes_read += to.size();
  for (std::size_t done = 0; done < to.size(); done += store::block_bytes) {
    const BlockContent content = contents_.block_of(file, (at + done) / store::block_bytes);
    if (content == nullptr) std::memset(to.data() + done, 0, store::block_bytes);
    else std::memcpy(to.data() + done, content->data(), store::block_bytes);
  }
  return {};
}

Result<void> SimulatedDisk::write(FileNumber file, std::uint64_t at, std::span<const std::byte> from) {
  check_memory(at, from, contents_.bytes_of(file));
  ++counts_.writes;
  std::vector<BlockContent> contents = contents_of(from);
  if (fails(Operation::write, faults_.failed_writes_in_million)) {
    write_some(file, at, contents);
    return failure("a write failed", "");
  }
  counts_.bytes_written += from.size();
  write_blocks(file, at / store::block_bytes, contents);
  if (auto name = contents_.name_of(file))
    record(write_step(DiskStep::Kind::write, std::move(*name), at, std::move(contents)));
  return {};
}

Result<void> SimulatedDisk::write_durably(FileNumber file, std::uint64_t at, std::span<const std::byte> from) {
  check_memory(at, from, contents_.bytes_of(file));
  ++counts_.writes;
  ++counts_.syncs;
  std::vector<BlockContent> contents = contents_of(from);
  if (fails(Operation::write, faults_.failed_writes_in_million)) {
    write_some(file, at, contents);
    return failure("a write failed", "");
  }
  counts_.bytes_written += from.size();
  const std::set<std::uint64_t> blocks = write_blocks(file, at / store::block_bytes, contents);
  const bool durable = !fails(Operation::sync, faults_.failed_syncs_in_million);
  const auto kind = durable ? DiskStep::Kind::write_durably : DiskStep::Kind::write;
  if (auto name = contents_.name_of(file)) record(write_step(kind, std::move(*name), at, std::move(contents)));
  if (!durable) {
    lose_track(file);
    return failure("a durable write failed", "");
  }
  contents_.sync(file, blocks);
  rot(file);
  return {};
}

Result<void> SimulatedDisk::sync(FileNumber file) {
  ++counts_.syncs;
  if (fails(Operation::sync, faults_.failed_syncs_in_million)) {
    lose_track(file);
    return failure("a sync failed", "");
  }
  contents_.sync(file);
  if (auto name = contents_.name_of(file)) record({.kind = DiskStep::Kind::sync, .name = std::move(*name)});
  rot(file);
  return {};
}

Result<void> SimulatedDisk::rename(std::string_view from, std::string_view to) {
  SPINDRIFT_CHECK(is_name(from) && is_name(to) && from != to);
  if (fails(Operation::rename) || contents_.file_named(from) == 0) return failure("a file could not be renamed", from);
  contents_.rename(from, to);
  record({.kind = DiskStep::Kind::rename, .name = std::string(from), .other_name = std::string(to)});
  return {};
}

Result<void> SimulatedDisk::remove(std::string_view name) {
  if (fails(Operation::remove) || contents_.file_named(name) == 0) return failure("a file could not be removed", name);
  contents_.remove(name);
  record({.kind = DiskStep::Kind::remove, .name = std::string(name)});
  return {};
}

Result<void> SimulatedDisk::sync_names() {
  ++counts_.syncs;
  if (fails(Operation::sync_names, faults_.failed_syncs_in_million)) {
    names_failed_ = true;
    return failure("a sync of names failed", "");
  }
  if (names_failed_) return {};
  contents_.sync_names();
  record({.kind = DiskStep::Kind::sync_names});
  return {};
}

bool SimulatedDisk::fails(Operation operation, std::uint64_t in_million) {
  return failing_.erase(operation) != 0 || drawn(in_million);
}

std::set<std::uint64_t> SimulatedDisk::write_blocks(FileNumber file, std::uint64_t block,
                                                    std::span<const BlockContent> contents) {
  const std::uint64_t block_count = contents_.bytes_of(file) / store::block_bytes;
  std::set<std::uint64_t> touched;
  for (const BlockContent& content : contents) {
    const bool strays = block_count > 1 && drawn(faults_.misdirected_blocks_in_million);
    const bool lost = strays || drawn(faults_.lost_blocks_in_million);
    contents_.write(file, block, content, lost);
    touched.insert(block);
    if (strays) {
      const std::uint64_t other = (block + 1 + random_.below(block_count - 1)) % block_count;
      contents_.write(file, other, content);
      touched.insert(other);
    }
    ++block;
  }
  return touched;
}

void SimulatedDisk::write_some(FileNumber file, std::uint64_t at, std::span<const BlockContent> contents) {
  for (const BlockContent& content : contents) {
    if (random_.chance(1, 2)) {
      contents_.write(file, at / store::block_bytes, content);
      if (auto name = contents_.name_of(file)) record(write_step(DiskStep::Kind::write, std::move(*name), at, {content}));
    }
    at += store::block_bytes;
  }
}

void SimulatedDisk::lose_track(FileNumber file) {
  std::vector<CrashOutcome::BlockFate> fates;
  for (const UnsyncedBlock& block : contents_.unsynced_blocks(file)) fates.push_back(drawn_fate(block, {}, random_));
  contents_.drop_unsynced(file, fates);
}

void SimulatedDisk::rot(FileNumber file) {
  if (!drawn(faults_.flipped_bits_in_million)) return;
  const auto name = contents_.name_of(file);
  const std::uint64_t blocks = contents_.bytes_of(file) / store::block_bytes;
  if (!name || blocks == 0) return;
  flip_bit(*name, random_.below(blocks) * store::block_bytes * 8 + random_.below(store::block_bytes * 8));
}

/// One file, until the next crash.
class SimulatedDisk::OpenFile final : public store::StoredFile {
 public:
  OpenFile(SimulatedDisk& disk, FileNumber file)
      : disk_(&disk), file_(file), crash_count_(disk.crash_count_), bytes_(disk.contents_.bytes_of(file)) {}

  std::uint64_t bytes() const noexcept override { return bytes_; }
  Result<void> read(std::uint64_t at, std::span<std::byte> to) override {
    return alive() ? disk_->read(file_, at, to) : failure("the process is gone", "");
  }
  Result<void> write(std::uint64_t at, std::span<const std::byte> from) override {
    return alive() ? disk_->write(file_, at, from) : failure("the process is gone", "");
  }
  Result<void> write_durably(std::uint64_t at, std::span<const std::byte> from) override {
    return alive() ? disk_->write_durably(file_, at, from) : failure("the process is gone", "");
  }
  // Until it is finished it is nowhere; a crash in the middle of it is one in the middle of a durable write.
  Result<void> begin_write(std::uint64_t at, std::span<const std::byte> from) override {
    SPINDRIFT_CHECK(begun_.empty());
    begun_ = from;
    begun_at_ = at;
    return {};
  }
  Result<void> finish_write() override {
    if (begun_.empty()) return {};
    return write_durably(begun_at_, std::exchange(begun_, {}));
  }
  Result<void> sync() override { return alive() ? disk_->sync(file_) : failure("the process is gone", ""); }

 private:
  [[nodiscard]] bool alive() const noexcept { return crash_count_ == disk_->crash_count_; }

  SimulatedDisk* disk_;
  FileNumber file_;
  std::uint64_t crash_count_;
  std::uint64_t bytes_;
  std::span<const std::byte> begun_;
  std::uint64_t begun_at_ = 0;
};

/// All files, until the next crash.
class SimulatedDisk::Directory final : public store::Storage {
 public:
  explicit Directory(SimulatedDisk& disk) : disk_(&disk), crash_count_(disk.crash_count_) {}

  Result<std::vector<std::string>> names() override {
    if (!alive() || disk_->fails(Operation::list)) return failure("the files could not be listed", "");
    std::vector<std::string> names;
    for (const auto& [name, file] : disk_->contents_.names()) names.push_back(name);
    return names;
  }
  Result<std::unique_ptr<store::StoredFile>> create(std::string_view name, std::uint64_t bytes) override {
    if (!alive()) return gone(name);
    return opened(disk_->create(name, bytes));
  }
  Result<std::unique_ptr<store::StoredFile>> open(std::string_view name) override {
    if (!alive()) return gone(name);
    return opened(disk_->open(name));
  }
  Result<void> rename(std::string_view from, std::string_view to) override {
    return alive() ? disk_->rename(from, to) : gone(from);
  }
  Result<void> remove(std::string_view name) override { return alive() ? disk_->remove(name) : gone(name); }
  Result<void> sync_names() override { return alive() ? disk_->sync_names() : gone(""); }
  std::string place(std::string_view name) const override { return place_of(name); }

 private:
  [[nodiscard]] bool alive() const noexcept { return crash_count_ == disk_->crash_count_; }
  [[nodiscard]] static Error gone(std::string_view name) { return failure("the process is gone", name); }
  Result<std::unique_ptr<store::StoredFile>> opened(Result<FileNumber> file) {
    if (!file) return std::move(file).error();
    return std::unique_ptr<store::StoredFile>(std::make_unique<OpenFile>(*disk_, *file));
  }

  SimulatedDisk* disk_;
  std::uint64_t crash_count_;
};

std::unique_ptr<store::Storage> SimulatedDisk::storage() { return std::make_unique<Directory>(*this); }

}  // namespace spindrift::sim
