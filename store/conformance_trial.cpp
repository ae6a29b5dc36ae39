// Blocks that say which mark they have, and where they belong.
#include <spindrift/store/conformance_trial.hpp>

#include <algorithm>
#include <cstring>
#include <utility>

namespace spindrift::store {
namespace {

constexpr std::string_view marks = "abcdefgh";
constexpr std::string_view prefix = "trial-";

std::string full(std::string_view name) { return std::string(prefix) + std::string(name); }

/// Words that no other mark has, nor the same mark at another place: a block that is moved, or half there, is damaged.
std::uint64_t word_of(char mark, std::uint64_t at) noexcept {
  return ((at + 1) * 0x9e37'79b9'7f4a'7c15U) ^ (static_cast<std::uint64_t>(mark) * 0x0101'0101'0101'0101U);
}

char mark_of(std::span<const std::byte> block, std::uint64_t index) {
  if (std::ranges::all_of(block, [](std::byte byte) { return byte == std::byte(); })) return zero_mark;
  for (const char mark : marks) {
    if (std::ranges::equal(block, blocks_of(std::string_view(&mark, 1), index))) return mark;
  }
  return damaged_mark;
}

}  // namespace

Result<Trial::File> Trial::create(std::string_view name, std::uint64_t blocks) {
  return subject_.storage().create(full(name), blocks * block_bytes);
}

Result<Trial::File> Trial::open(std::string_view name) { return subject_.storage().open(full(name)); }

Result<void> Trial::rename(std::string_view from, std::string_view to) {
  return subject_.storage().rename(full(from), full(to));
}

Result<void> Trial::remove(std::string_view name) { return subject_.storage().remove(full(name)); }

Result<void> Trial::sync_names() { return subject_.storage().sync_names(); }

void Trial::crash() { subject_.crash(); }

Result<Trial::Names> Trial::names() {
  SPINDRIFT_TRY_ASSIGN(Names all, subject_.storage().names());
  std::erase_if(all, [](const std::string& name) { return !name.starts_with(prefix); });
  for (std::string& name : all) name.erase(0, prefix.size());
  return all;
}

Result<Trial::Text> Trial::text(std::string_view name) {
  SPINDRIFT_TRY_ASSIGN(const Names all, names());
  if (std::ranges::find(all, name) == all.end()) return Text();
  SPINDRIFT_TRY_ASSIGN(const File file, open(name));
  SPINDRIFT_TRY_ASSIGN(std::string text, text_of(*file));
  return Text(std::move(text));
}

Result<Trial::File> Trial::make(std::string_view name, std::string_view content) {
  SPINDRIFT_TRY_ASSIGN(File file, create(name, content.size()));
  SPINDRIFT_TRY(write(*file, 0, content));
  SPINDRIFT_TRY(file->sync());
  return file;
}

Result<Trial::File> Trial::make_durable(std::string_view name, std::string_view content) {
  SPINDRIFT_TRY_ASSIGN(File file, make(name, content));
  SPINDRIFT_TRY(sync_names());
  return file;
}

Result<void> Trial::clear() {
  SPINDRIFT_TRY_ASSIGN(const Names all, names());
  for (const std::string& name : all) SPINDRIFT_TRY(remove(name));
  return sync_names();
}

Blocks blocks_of(std::string_view text, std::uint64_t first_block) {
  Blocks bytes(text.size() * block_bytes);
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(std::uint64_t)) {
    const std::uint64_t word = word_of(text[at / block_bytes], first_block * block_bytes + at);
    std::memcpy(&bytes[at], &word, sizeof word);
  }
  return bytes;
}

Result<std::string> text_of(StoredFile& file) {
  Blocks bytes(file.bytes(), std::byte(damaged_mark));
  SPINDRIFT_TRY(file.read(0, bytes));
  std::string text;
  for (std::size_t block = 0; block < bytes.size() / block_bytes; ++block)
    text += mark_of(std::span(bytes).subspan(block * block_bytes, block_bytes), block);
  return text;
}

Result<void> write(StoredFile& file, std::uint64_t block, std::string_view text) {
  return file.write(block * block_bytes, blocks_of(text, block));
}

Result<void> write_durably(StoredFile& file, std::uint64_t block, std::string_view text) {
  return file.write_durably(block * block_bytes, blocks_of(text, block));
}

}  // namespace spindrift::store
