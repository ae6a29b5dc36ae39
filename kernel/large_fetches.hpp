// Messages that are too large to be sent: their bytes are read from the sender's memory, one message of a pair at a time.
//
// Remember: each receiving pair reads by a pair of its own, so that a sender that names memory which it does not have fails
// itself alone.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>

#include <spindrift/core/clock.hpp>
#include <spindrift/kernel/virtual_pairs.hpp>

namespace spindrift::kernel {

class LargeFetches {
 public:
  /// `look_up_max`: how long may be asked whether a sender has the memory that it names.
  LargeFetches(VirtualPairs& pairs, PoolPeers& peers, std::uint32_t pairs_max, Duration look_up_max)
      : pairs_(pairs), peers_(peers), look_up_max_(look_up_max), done_(pairs_max) {}

  /// Reads the pair's next message, or notes that this is to be tried again. Returns why the pair has to fail, if it has to.
  [[nodiscard]] std::optional<std::uint8_t> begin(VirtualPair& pair, const vq_message& message, std::span<std::byte> to,
                                                  const MemoryKeys& memory, Time now);
  struct Fetched {
    VirtualPair* pair = nullptr;  ///< it is fetching nothing any more
    std::uint8_t status = VQ_DONE;
  };
  /// The next read that is over, of a pair that is open.
  [[nodiscard]] std::optional<Fetched> take();
  /// The pairs whose read is to be tried again; those that wait on are noted anew by `begin`.
  [[nodiscard]] std::set<PairId> take_postponed();
  [[nodiscard]] bool is_overdue(const VirtualPair& pair, Time now) const noexcept;

 private:
  /// Errors: resource.
  [[nodiscard]] Result<PairId> fetcher_of(VirtualPair& pair);

  VirtualPairs& pairs_;
  PoolPeers& peers_;
  const Duration look_up_max_;
  CompletionQueue done_;
  std::set<PairId> postponed_;
};

}  // namespace spindrift::kernel
