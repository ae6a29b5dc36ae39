// Short ways for tests to use a storage: blocks that are filled with one character, and what a file holds of such.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <spindrift/store/storage.hpp>

#include "simulated_disk.hpp"

namespace spindrift::sim {

/// Blocks that are each filled with one character of the text; of '.', zeros.
[[nodiscard]] store::Blocks blocks_of(std::string_view text);
/// The text of which `bytes` are the blocks; '?' where a block is not filled with one character.
[[nodiscard]] std::string text_of(std::span<const std::byte> bytes);

/// The bytes of a file; CHECKs that they can be read.
[[nodiscard]] store::Blocks bytes_of(store::Storage& storage, std::string_view name);
/// The text of a file; "none": there is no such file.
[[nodiscard]] std::string text_of(store::Storage& storage, std::string_view name);
/// Every file with its text: "a=xy b=z".
[[nodiscard]] std::string text_of(store::Storage& storage);

/// Makes a file that holds that, of which nothing is durable.
std::unique_ptr<store::StoredFile> put_file(store::Storage& storage, std::string_view name, std::string_view text);
/// Makes a file that holds that durably.
std::unique_ptr<store::StoredFile> put_file_durably(store::Storage& storage, std::string_view name, std::string_view text);

/// Writes blocks behind so many others.
[[nodiscard]] Result<void> put_blocks(store::StoredFile& file, std::uint64_t block, std::string_view text);
[[nodiscard]] Result<void> put_blocks_durably(store::StoredFile& file, std::uint64_t block, std::string_view text);

/// A disk whose file "a" durably holds "abcd".
[[nodiscard]] SimulatedDisk disk_with_file(std::uint64_t seed = 1);

}  // namespace spindrift::sim
