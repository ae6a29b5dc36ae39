// One promise's view of a storage under test: files of its own, that are read as texts of one character for each block.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <spindrift/store/conformance.hpp>

namespace spindrift::store {

/// The character of a block that nobody has written, and of one that nobody has written so. All others are a promise's
/// own, of "abcdefgh".
inline constexpr char zero_mark = '0';
inline constexpr char damaged_mark = '?';

/// The files of one promise. Their names are short here; the storage has them behind "trial-".
class Trial {
 public:
  using File = std::unique_ptr<StoredFile>;
  using Names = std::vector<std::string>;
  /// A file's content; nothing: there is no such file.
  using Text = std::optional<std::string>;

  explicit Trial(CrashableStorage& subject) : subject_(subject) {}

  [[nodiscard]] Result<File> create(std::string_view name, std::uint64_t blocks);
  [[nodiscard]] Result<File> open(std::string_view name);
  [[nodiscard]] Result<void> rename(std::string_view from, std::string_view to);
  [[nodiscard]] Result<void> remove(std::string_view name);
  [[nodiscard]] Result<void> sync_names();
  /// No file may be open.
  void crash();

  /// In the order in which the storage has them.
  [[nodiscard]] Result<Names> names();
  [[nodiscard]] Result<Text> text(std::string_view name);
  /// A new file with that content, which is durable; its name is not.
  [[nodiscard]] Result<File> make(std::string_view name, std::string_view content);
  /// The same with a durable name.
  [[nodiscard]] Result<File> make_durable(std::string_view name, std::string_view content);
  /// Removes all files of trials.
  [[nodiscard]] Result<void> clear();

 private:
  CrashableStorage& subject_;
};

/// The bytes for a text from that block of a file on.
[[nodiscard]] Blocks blocks_of(std::string_view text, std::uint64_t first_block);
[[nodiscard]] Result<std::string> text_of(StoredFile& file);
[[nodiscard]] Result<void> write(StoredFile& file, std::uint64_t block, std::string_view text);
[[nodiscard]] Result<void> write_durably(StoredFile& file, std::uint64_t block, std::string_view text);

struct StoragePromise {
  const char* sentence;  ///< how it is broken
  Result<bool> (*holds)(Trial& trial);
};

/// Those on what is in a file, and those on names.
[[nodiscard]] std::span<const StoragePromise> promises_of_contents() noexcept;
[[nodiscard]] std::span<const StoragePromise> promises_of_names() noexcept;

}  // namespace spindrift::store
