// Private messages between the application's threads and the poller, which alone sends them. Each begins with a tag, one
// word that says whose it is: the application's, or a replicated object's.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include <spindrift/core/ids.hpp>

namespace spindrift::group {

class PrivateMessages {
 public:
  static constexpr std::size_t tag_bytes = 8;
  static constexpr std::uint64_t of_application = 0;
  [[nodiscard]] static std::uint64_t of_replica(SubgroupId id) noexcept { return std::uint64_t{id.value()} + 1; }

  struct Outgoing {
    NodeId to;
    std::vector<std::byte> bytes;
  };
  struct Incoming {
    std::uint64_t tag;
    std::span<const std::byte> bytes;  ///< points into the message
  };

  /// The largest that the member sends, tag included. Once, before any other call.
  void limit(std::size_t message_bytes_max) noexcept { bytes_max_ = message_bytes_max - tag_bytes; }
  [[nodiscard]] std::size_t bytes_max() const noexcept { return bytes_max_; }

  /// Any thread; then wake the poller. Throws bad_argument: too large.
  void add(NodeId to, std::uint64_t tag, std::span<const std::byte> message);
  /// The poller: all that wait, in the order in which they were added.
  [[nodiscard]] bool any() const noexcept { return waiting_.load(std::memory_order_seq_cst); }
  [[nodiscard]] std::vector<Outgoing> take();

  /// Nothing: it has no tag.
  [[nodiscard]] static std::optional<Incoming> parse(std::span<const std::byte> message) noexcept;

 private:
  std::size_t bytes_max_ = 0;
  std::atomic<bool> waiting_{false};
  std::mutex mutex_;
  std::vector<Outgoing> messages_;  // behind the mutex
};

}  // namespace spindrift::group
