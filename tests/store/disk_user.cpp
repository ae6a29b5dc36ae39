// Texts as blocks, and blocks as texts.
#include "disk_user.hpp"

#include <cstring>

#include <spindrift/core/check.hpp>

namespace spindrift::sim {

store::Blocks blocks_of(std::string_view text) {
  store::Blocks blocks(text.size() * store::block_bytes);
  std::byte* at = blocks.data();
  for (const char fill : text) {
    std::memset(at, fill == '.' ? 0 : fill, store::block_bytes);
    at += store::block_bytes;
  }
  return blocks;
}

std::string text_of(std::span<const std::byte> bytes) {
  std::string text;
  for (std::size_t at = 0; at < bytes.size(); at += store::block_bytes) {
    const auto block = bytes.subspan(at, store::block_bytes);
    const bool even = std::memcmp(block.data(), block.data() + 1, store::block_bytes - 1) == 0;
    const char fill = block.front() == std::byte{0} ? '.' : static_cast<char>(block.front());
    text += even ? fill : '?';
  }
  return text;
}

store::Blocks bytes_of(store::Storage& storage, std::string_view name) {
  const auto file = storage.open(name);
  store::Blocks bytes((*file)->bytes());
  if (!bytes.empty()) SPINDRIFT_CHECK((*file)->read(0, bytes).ok());
  return bytes;
}

std::string text_of(store::Storage& storage, std::string_view name) {
  if (!storage.open(name)) return "none";
  return text_of(bytes_of(storage, name));
}

std::string text_of(store::Storage& storage) {
  const auto names = storage.names();
  std::string text;
  for (const std::string& name : *names) text += (text.empty() ? "" : " ") + name + "=" + text_of(storage, name);
  return text;
}

std::unique_ptr<store::StoredFile> put_file(store::Storage& storage, std::string_view name, std::string_view text) {
  auto file = storage.create(name, text.size() * store::block_bytes);
  SPINDRIFT_CHECK((*file)->write(0, blocks_of(text)).ok());
  return std::move(*file);
}

std::unique_ptr<store::StoredFile> put_file_durably(store::Storage& storage, std::string_view name, std::string_view text) {
  auto file = put_file(storage, name, text);
  SPINDRIFT_CHECK(file->sync().ok() && storage.sync_names().ok());
  return file;
}

Result<void> put_blocks(store::StoredFile& file, std::uint64_t block, std::string_view text) {
  return file.write(block * store::block_bytes, blocks_of(text));
}

Result<void> put_blocks_durably(store::StoredFile& file, std::uint64_t block, std::string_view text) {
  return file.write_durably(block * store::block_bytes, blocks_of(text));
}

SimulatedDisk disk_with_file(std::uint64_t seed) {
  SimulatedDisk disk(seed);
  put_file_durably(*disk.storage(), "a", "abcd");
  return disk;
}

}  // namespace spindrift::sim
