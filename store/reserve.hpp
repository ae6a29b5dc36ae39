// Room beside a journal that is set aside as long as the journal is there, for one payload that has to be durable while the
// disk is full: what was put there counts until the journal has an entry of that position.
//
// The invariant to remember: a put overwrites the copy that does not count first, so one that counts is there at any moment.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <spindrift/core/digest.hpp>
#include <spindrift/core/result.hpp>
#include <spindrift/store/format.hpp>
#include <spindrift/store/storage.hpp>

namespace spindrift::store {

struct ReservedPayload {
  JournalPosition position;  ///< of the entry that it was to be
  std::vector<std::byte> bytes;
  Digest before;             ///< of the one in whose place it came; of none: zeros
};

/// Not thread-safe; but the storage's other files may be another thread's.
class Reserve {
 public:
  /// The largest payload that it takes.
  static constexpr std::size_t payload_bytes_max = std::size_t{124} << 10U;
  /// Both copies, a block of each for its head.
  static constexpr std::uint64_t file_bytes = 2 * (block_bytes + payload_bytes_max);

  enum class Journal { begins, goes_on };
  /// The reserve of the journal of that name, made if there is none; whatever lies there if the journal begins is of one
  /// that was there before. Errors: bad_input (it is damaged), refused (it is another journal's), unsupported, disk_full,
  /// resource.
  [[nodiscard]] static Result<Reserve> open(Storage& storage, const Digest& journal, Journal is);
  /// Reads the same, whatever runs. Nothing: there is none, or it is empty. Errors: likewise.
  [[nodiscard]] static Result<std::optional<ReservedPayload>> read(Storage& storage, const Digest& journal);

  /// It is durable when it returns, in place of the one before, which is there until then. The entry that it was to be has
  /// to come into the journal yet, at that position or behind it. Errors: bad_argument (it is too large), resource (for
  /// good).
  [[nodiscard]] Result<void> put(JournalPosition position, std::span<const std::byte> payload);
  /// The journal has what an earlier process has put there. Errors: resource (for good).
  [[nodiscard]] Result<void> forget_earlier();

 private:
  static constexpr std::array<std::uint64_t, 2> copy_at{0, file_bytes / 2};

  /// As a file has it.
  struct Found {
    ReserveHead head;                 ///< number 0: nothing was put there
    std::vector<std::byte> payload;
    std::size_t copy = 1;             ///< where
  };
  Reserve(Digest journal, std::unique_ptr<StoredFile> file, const Found& found)
      : journal_(journal), file_(std::move(file)), last_(found.head), copy_(found.copy), earlier_(found.head.bytes != 0) {}

  [[nodiscard]] static Result<std::unique_ptr<StoredFile>> make(Storage& storage);
  [[nodiscard]] static Result<Found> find(StoredFile& file, const Digest& journal, const std::string& place);
  [[nodiscard]] Result<void> write(ReserveHead head, std::span<const std::byte> payload);

  Digest journal_;
  std::unique_ptr<StoredFile> file_;
  ReserveHead last_;
  std::size_t copy_;  // the one that counts; of two alike the second
  bool earlier_;      // that is of an earlier process
};

}  // namespace spindrift::store
