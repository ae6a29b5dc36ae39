// How far a subgroup has come, in words that one thread writes and others, of other processes too, read as a whole.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include <spindrift/group/observation.hpp>

namespace spindrift::group {

/// The end of what a member has delivered in a subgroup.
struct FeedEnd {
  std::uint64_t delivered = 0;  ///< messages
  MessagePlace last;            ///< of the last one, if there was one
};

/// A FeedEnd in four words: a version, odd while the others change, and behind it the end.
class SharedEnd {
 public:
  static constexpr std::size_t words = 4;

  /// Zeroed memory, which outlives this object; of a reader it may be mapped for reading alone.
  explicit SharedEnd(std::span<std::uint64_t, words> memory) noexcept : memory_(memory) {}

  /// The only writer. `beside` is done while readers find nothing, so that what it does belongs to the new end.
  template <class Beside>
  void write(const FeedEnd& end, Beside&& beside) noexcept {
    const std::uint64_t version = word(0).load(std::memory_order_relaxed);
    word(0).store(version + 1, std::memory_order_seq_cst);
    beside();
    word(1).store(end.delivered, std::memory_order_release);
    word(2).store(end.last.view.value(), std::memory_order_release);
    word(3).store(end.last.sequence.value(), std::memory_order_release);
    word(0).store(version + 2, std::memory_order_seq_cst);
  }
  /// `beside` is done in between: what it finds belongs to the end that is returned. Nothing: it changes just now.
  template <class Beside>
  [[nodiscard]] std::optional<FeedEnd> read(Beside&& beside) const noexcept {
    const std::uint64_t version = word(0).load(std::memory_order_seq_cst);
    beside();
    const FeedEnd end{word(1).load(std::memory_order_seq_cst),
                      {ViewId(word(2).load(std::memory_order_seq_cst)),
                       SequenceNumber(word(3).load(std::memory_order_seq_cst))}};
    if (version % 2 != 0 || word(0).load(std::memory_order_seq_cst) != version) return std::nullopt;
    return end;
  }
  [[nodiscard]] std::optional<FeedEnd> read() const noexcept {
    return read([] {});
  }

 private:
  [[nodiscard]] std::atomic_ref<std::uint64_t> word(std::size_t which) const noexcept {
    return std::atomic_ref(memory_[which]);
  }

  std::span<std::uint64_t, words> memory_;
};

}  // namespace spindrift::group
