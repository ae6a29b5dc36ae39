// The place in the order up to which a replica has applied what was delivered. The poller writes it, any thread reads it.
#pragma once

#include <atomic>
#include <cstdint>

#include <spindrift/group/observation.hpp>

namespace spindrift::replicated {

class ReplicaPlace {
 public:
  /// The message has been applied. The poller, in the order.
  void advance(const MessagePlace& applied) noexcept;
  /// The last message that was applied here; nothing but zeros: none was since this replica began. Any thread.
  [[nodiscard]] MessagePlace now() const noexcept;
  /// All up to that message is applied here. False: or it is not known, for a state that came says nothing of places. Any
  /// thread.
  [[nodiscard]] bool has(const MessagePlace& place) const noexcept;

 private:
  struct Applied {
    std::uint64_t view;
    std::uint64_t below;  // so many sequence numbers of that view; 0: nothing was applied
  };
  [[nodiscard]] Applied read() const noexcept;

  std::atomic<std::uint64_t> version_{0};  // odd while the others change
  std::atomic<std::uint64_t> view_{0};
  std::atomic<std::uint64_t> below_{0};
};

}  // namespace spindrift::replicated
