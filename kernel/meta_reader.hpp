// One lookup in another process's meta table, as a state machine without I/O: it says what to read, is given the bytes, and
// says what to read next or what came of it. (meta_layout.hpp has the form, meta_table.hpp the writer.)
//
// Remember: everything read is the peer's. Bytes with a wrong checksum are torn by a writer at work and read again; bytes
// with a right one are as the peer wanted them, and their numbers are checked before they become an offset. Whatever is
// there, a lookup asks for at most `reads_max` reads, each of a whole cluster or entry inside of the table.
//
// Threading: one thread. Copies are independent.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include <spindrift/kernel/meta_layout.hpp>

namespace spindrift::kernel {

struct MetaStep {
  enum class Kind : std::uint8_t {
    read,       ///< read `bytes` at `offset` of the table's region, then call `on_read` with them
    found,      ///< the key has `value`, in entry `entry`
    absent,     ///< the key is not there
    contended,  ///< reads_max reads were not enough: the writer died at work, or changes the table all the time
    bad_table,  ///< no correct writer wrote this: a peer fault; `fault` says what
  };
  Kind kind = Kind::read;
  std::uint64_t offset = 0;
  std::uint32_t bytes = 0;
  MetaValue value{};
  std::uint32_t entry = 0;
  const char* fault = nullptr;  ///< a literal
};

/// The answer of a lookup was true at some moment between the first read that it asked for and the bytes of the last. In a
/// table that is three quarters full and does not change 97 of 100 keys are found with two reads, and an absent key costs
/// one.
class MetaReader {
 public:
  static constexpr unsigned reads_max = 32;

  MetaReader(const MetaGeometry& geometry, std::uint64_t key) noexcept;

  /// Begins, or begins again. With the `entry` where the key was found before, one read is enough if it is still there.
  [[nodiscard]] MetaStep start(std::optional<std::uint32_t> entry = std::nullopt) noexcept;
  /// The bytes of the read that was last asked for: exactly as many, of a copy that nobody writes any more. Not after a step
  /// that is no `read`.
  [[nodiscard]] MetaStep on_read(std::span<const std::byte> bytes) noexcept;

  /// Since `start`: all reads asked for, and those of which the bytes were torn.
  [[nodiscard]] unsigned reads() const noexcept { return reads_; }
  [[nodiscard]] unsigned torn_reads() const noexcept { return torn_reads_; }

 private:
  enum class State : std::uint8_t { idle, hint, cluster, entry };

  [[nodiscard]] MetaStep on_cluster(std::span<const std::byte> bytes) noexcept;
  [[nodiscard]] MetaStep on_entry(std::span<const std::byte> bytes) noexcept;

  [[nodiscard]] MetaStep from_the_top() noexcept;
  [[nodiscard]] MetaStep next_candidate() noexcept;
  [[nodiscard]] MetaStep read_cluster() noexcept;
  [[nodiscard]] MetaStep read_entry(State state) noexcept;
  [[nodiscard]] MetaStep again() noexcept;
  [[nodiscard]] MetaStep read(std::uint64_t offset, std::size_t bytes) noexcept;
  [[nodiscard]] MetaStep end(MetaStep::Kind kind, const char* fault = nullptr) noexcept;

  MetaGeometry geometry_;
  std::uint64_t key_;
  MetaPlace place_;
  State state_ = State::idle;
  unsigned reads_ = 0;
  unsigned torn_reads_ = 0;

  std::uint32_t cluster_ = 0;     ///< the one being read, or that the candidates are of
  std::uint32_t generation_ = 0;  ///< that the link to it named
  unsigned chain_ = 0;            ///< clusters of the chain so far, that one included
  std::uint32_t next_ = 0;        ///< checked, as MetaCluster::next; and
  std::uint32_t next_generation_ = 0;
  std::uint32_t entry_ = 0;                                          ///< the one being read
  std::array<std::uint32_t, MetaCluster::slot_count> candidates_{};  ///< checked entries whose fingerprint is the key's
  unsigned candidate_count_ = 0;
  unsigned candidate_ = 0;  ///< the next one to read
};

}  // namespace spindrift::kernel
