// Versions of blocks and names: written, made durable, dropped, and settled by a crash.
#include "disk_contents.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include <spindrift/core/check.hpp>

#include "../sim/random.hpp"

namespace spindrift::sim {
namespace {

std::string_view word_of(DiskStep::Kind kind) noexcept {
  switch (kind) {
    case DiskStep::Kind::create: return "create";
    case DiskStep::Kind::write: return "write";
    case DiskStep::Kind::write_durably: return "write durably";
    case DiskStep::Kind::sync: return "sync";
    case DiskStep::Kind::rename: return "rename";
    case DiskStep::Kind::remove: return "remove";
    case DiskStep::Kind::sync_names: return "sync names";
  }
  return "unknown";
}

void copy_sector(const BlockContent& from, std::size_t sector, BlockBytes& to) {
  if (from != nullptr) std::memcpy(to.data() + sector * sector_bytes, from->data() + sector * sector_bytes, sector_bytes);
}

void fill_sector(std::uint64_t garbage, std::size_t sector, BlockBytes& to) {
  for (std::size_t at = sector * sector_bytes; at < (sector + 1) * sector_bytes; at += sizeof garbage) {
    const std::uint64_t word = mix(garbage + at);
    std::memcpy(to.data() + at, &word, sizeof word);
  }
}

}  // namespace

BlockContent content_of(std::span<const std::byte> block) {
  SPINDRIFT_CHECK(block.size() == store::block_bytes);
  const auto content = std::make_shared<BlockBytes>();
  std::memcpy(content->data(), block.data(), block.size());
  return content;
}

std::vector<BlockContent> contents_of(std::span<const std::byte> blocks) {
  std::vector<BlockContent> contents;
  for (std::size_t at = 0; at < blocks.size(); at += store::block_bytes)
    contents.push_back(content_of(blocks.subspan(at, store::block_bytes)));
  return contents;
}

BlockContent torn_block(const BlockContent& older, const BlockContent& newer, std::uint8_t sectors, std::uint64_t garbage) {
  const auto torn = std::make_shared<BlockBytes>();
  for (std::size_t sector = 0; sector < sectors_per_block; ++sector) {
    if ((sectors >> sector & 1) != 0) {
      copy_sector(newer, sector, *torn);
    } else if (garbage != 0) {
      fill_sector(garbage, sector, *torn);
    } else {
      copy_sector(older, sector, *torn);
    }
  }
  return torn;
}

std::string to_string(const DiskStep& step) {
  std::string text(word_of(step.kind));
  if (!step.name.empty()) text += " " + step.name;
  if (!step.other_name.empty()) text += " to " + step.other_name;
  if (!step.blocks.empty()) text += " at " + std::to_string(step.at);
  if (step.bytes != 0) text += ", " + std::to_string(step.bytes) + " bytes";
  return text;
}

void apply(const NameOperation& operation, DiskNames& names) {
  if (operation.kind == NameOperation::Kind::create) {
    names.emplace(operation.name, operation.file);
    return;
  }
  const auto found = names.find(operation.name);
  if (found == names.end() || found->second != operation.file) return;
  names.erase(found);
  if (operation.kind == NameOperation::Kind::rename) names[operation.other_name] = operation.file;
}

std::string to_string(const CrashOutcome& outcome) {
  std::string text = "names:";
  for (const auto& [name, file] : outcome.names) text += " " + name + "=" + std::to_string(file);
  for (const FileNumber file : outcome.emptied) text += "; " + std::to_string(file) + " is empty";
  for (const CrashOutcome::BlockFate& fate : outcome.blocks) {
    text += "; " + std::to_string(fate.file) + "[" + std::to_string(fate.block) + "]";
    text += " version " + std::to_string(fate.version);
    if (fate.sectors != all_sectors) text += " in sectors " + std::to_string(fate.sectors);
  }
  return text;
}

void DiskContents::apply(const DiskStep& step) {
  using Kind = DiskStep::Kind;
  const FileNumber file = file_named(step.name);
  SPINDRIFT_CHECK(file != 0 || step.kind == Kind::create || step.kind == Kind::sync_names);
  std::set<std::uint64_t> written;
  for (const BlockContent& content : step.blocks) {
    const std::uint64_t block = step.at / store::block_bytes + written.size();
    write(file, block, content);
    written.insert(written.end(), block);
  }
  switch (step.kind) {
    case Kind::create: create(step.name, step.bytes); return;
    case Kind::write: return;
    case Kind::write_durably: sync(file, written); return;
    case Kind::sync: sync(file); return;
    case Kind::rename: rename(step.name, step.other_name); return;
    case Kind::remove: remove(step.name); return;
    case Kind::sync_names: sync_names(); return;
  }
}

FileNumber DiskContents::create(std::string_view name, std::uint64_t bytes) {
  if (file_named(name) != 0) remove(name);
  const FileNumber file = ++last_file_;
  files_[file] = std::make_shared<FileState>(FileState{.bytes = bytes});
  operate({NameOperation::Kind::create, std::string(name), {}, file});
  return file;
}

void DiskContents::write(FileNumber file, std::uint64_t block, BlockContent content, bool lost) {
  FileState& state = changed(file);
  SPINDRIFT_CHECK(block < state.bytes / store::block_bytes);
  StoredBlock& stored = block_in(state, block);
  stored.before = std::exchange(stored.seen, content);
  state.unsynced.push_back({block, std::move(content), ++last_order_, lost});
}

void DiskContents::sync(FileNumber file, const std::set<std::uint64_t>& blocks) {
  FileState& state = changed(file);
  state.size_durable = true;
  for (const UnsyncedWrite& write : state.unsynced)
    if (!write.lost && blocks.contains(write.block)) state.blocks[write.block].durable = write.content;
  std::erase_if(state.unsynced, [&](const UnsyncedWrite& write) { return blocks.contains(write.block); });
  for (const std::uint64_t block : blocks) state.blocks[block].seen = state.blocks[block].durable;
}

void DiskContents::sync(FileNumber file) {
  std::set<std::uint64_t> blocks;
  for (const UnsyncedWrite& write : state_of(file).unsynced) blocks.insert(write.block);
  sync(file, blocks);
}

void DiskContents::drop_unsynced(FileNumber file, std::span<const CrashOutcome::BlockFate> fates) {
  FileState& state = changed(file);
  state.size_durable = true;
  state.dropped = true;
  for (const CrashOutcome::BlockFate& fate : fates) block_in(state, fate.block).durable = fate.content;
  state.unsynced.clear();
}

void DiskContents::rename(std::string_view from, std::string_view to) {
  operate({NameOperation::Kind::rename, std::string(from), std::string(to), file_named(from)});
}

void DiskContents::remove(std::string_view name) {
  operate({NameOperation::Kind::remove, std::string(name), {}, file_named(name)});
}

void DiskContents::sync_names() {
  durable_names_ = names_;
  unsynced_names_.clear();
}

void DiskContents::damage(FileNumber file, std::uint64_t block, BlockContent content) {
  StoredBlock& stored = block_in(changed(file), block);
  if (!is_unsynced(file, block)) stored.seen = content;
  stored.durable = std::move(content);
}

void DiskContents::lose_write(FileNumber file, std::uint64_t block) {
  FileState& state = changed(file);
  StoredBlock& stored = block_in(state, block);
  stored.seen = stored.before;
  const auto last = std::find_if(state.unsynced.rbegin(), state.unsynced.rend(),
                                 [&](const UnsyncedWrite& write) { return write.block == block; });
  if (last == state.unsynced.rend()) stored.durable = stored.before;
  else state.unsynced.erase(std::next(last).base());
}

FileNumber DiskContents::file_named(std::string_view name) const {
  const auto found = names_.find(name);
  return found == names_.end() ? 0 : found->second;
}

std::optional<std::string> DiskContents::name_of(FileNumber file) const {
  for (const auto& [name, named] : names_)
    if (named == file) return name;
  return std::nullopt;
}

std::uint64_t DiskContents::bytes_of(FileNumber file) const { return state_of(file).bytes; }

std::uint64_t DiskContents::bytes_used() const {
  std::uint64_t used = 0;
  for (const auto& [name, file] : names_) used += bytes_of(file);
  return used;
}

BlockContent DiskContents::block_of(FileNumber file, std::uint64_t block) const {
  const FileState& state = state_of(file);
  return block < state.blocks.size() ? state.blocks[block].seen : nullptr;
}

BlockContent DiskContents::durable_block_of(FileNumber file, std::uint64_t block) const {
  const FileState& state = state_of(file);
  return block < state.blocks.size() ? state.blocks[block].durable : nullptr;
}

bool DiskContents::is_unsynced(FileNumber file, std::uint64_t block) const {
  const FileState& state = state_of(file);
  return std::any_of(state.unsynced.begin(), state.unsynced.end(),
                     [&](const UnsyncedWrite& write) { return write.block == block; });
}

std::vector<UnsyncedBlock> DiskContents::unsynced_blocks(const DiskNames& names) const {
  std::set<FileNumber> named;
  for (const auto& [name, file] : names) named.insert(file);
  std::vector<UnsyncedBlock> blocks;
  for (const FileNumber file : named) append_unsynced(state_of(file), file, blocks);
  return blocks;
}

std::vector<UnsyncedBlock> DiskContents::unsynced_blocks(FileNumber file) const {
  std::vector<UnsyncedBlock> blocks;
  append_unsynced(state_of(file), file, blocks);
  return blocks;
}

std::vector<FileNumber> DiskContents::unsized_files(const DiskNames& names) const {
  std::vector<FileNumber> unsized;
  for (const auto& [name, file] : names)
    if (!state_of(file).size_durable) unsized.push_back(file);
  std::sort(unsized.begin(), unsized.end());
  return unsized;
}

DiskContents DiskContents::after_crash(const CrashOutcome& outcome) const {
  DiskContents after;
  after.names_ = after.durable_names_ = outcome.names;
  after.last_file_ = last_file_;
  after.last_order_ = last_order_;
  for (const auto& [name, file] : outcome.names) after.files_[file] = files_.at(file);
  for (const auto& [name, file] : outcome.names) {
    const FileState& before = state_of(file);
    if (before.size_durable && !before.dropped && before.unsynced.empty()) continue;
    FileState& state = after.changed(file);
    if (outcome.emptied.contains(file)) state.bytes = 0;
    if (outcome.emptied.contains(file)) state.blocks.clear();
    state.size_durable = true;
    state.dropped = false;
    state.unsynced.clear();
    for (StoredBlock& block : state.blocks) block.seen = block.durable;
  }
  for (const CrashOutcome::BlockFate& fate : outcome.blocks) {
    if (!after.files_.contains(fate.file) || outcome.emptied.contains(fate.file)) continue;
    StoredBlock& block = block_in(after.changed(fate.file), fate.block);
    block.seen = block.durable = fate.content;
  }
  return after;
}

const DiskContents::FileState& DiskContents::state_of(FileNumber file) const {
  const auto found = files_.find(file);
  SPINDRIFT_CHECK(found != files_.end());
  return *found->second;
}

DiskContents::FileState& DiskContents::changed(FileNumber file) {
  const auto found = files_.find(file);
  SPINDRIFT_CHECK(found != files_.end());
  if (found->second.use_count() > 1) found->second = std::make_shared<FileState>(*found->second);
  return *found->second;
}

DiskContents::StoredBlock& DiskContents::block_in(FileState& state, std::uint64_t block) {
  SPINDRIFT_CHECK(block < state.bytes / store::block_bytes);
  if (state.blocks.size() <= block) state.blocks.resize(block + 1);
  return state.blocks[block];
}

void DiskContents::append_unsynced(const FileState& state, FileNumber file, std::vector<UnsyncedBlock>& to) {
  std::map<std::uint64_t, std::vector<UnsyncedBlock::Version>> versions;
  for (const UnsyncedWrite& write : state.unsynced)
    if (!write.lost) versions[write.block].push_back({write.content, write.order});
  for (auto& [block, written] : versions) {
    written.insert(written.begin(), {state.blocks[block].durable, 0});
    to.push_back({file, block, std::move(written)});
  }
}

void DiskContents::operate(NameOperation operation) {
  sim::apply(operation, names_);
  unsynced_names_.push_back(std::move(operation));
}

}  // namespace spindrift::sim
