// Reads by pairs that their users never see.
#include <spindrift/kernel/large_fetches.hpp>

#include <utility>

#include <spindrift/core/check.hpp>

namespace spindrift::kernel {

using Way = VirtualPair::MessageWay;

Result<PairId> LargeFetches::fetcher_of(VirtualPair& pair) {
  if (pair.fetcher != PairId{} && pairs_.failure(pair.fetcher)) pairs_.close(std::exchange(pair.fetcher, PairId{}));
  if (pair.fetcher != PairId{}) return pair.fetcher;
  SPINDRIFT_TRY_ASSIGN(pair.fetcher, pairs_.create(done_, 0, 0));
  peers_.join(*pair.peer);
  const auto bound = pairs_.bind(pair.fetcher, *pair.peer, 0, true);
  CHECK(bound.ok());
  return pair.fetcher;
}

std::optional<std::uint8_t> LargeFetches::begin(VirtualPair& pair, const vq_message& message, std::span<std::byte> to,
                                                const MemoryKeys& memory, Time now) {
  const auto fetcher = fetcher_of(pair);
  if (!fetcher) {
    if (pair.way == Way::none) pair.way = Way::postponed;
    postponed_.insert(pair.id);
    return std::nullopt;
  }
  const vq_request request{.wr_id = pair.id.value(),
                           .local = reinterpret_cast<std::uint64_t>(to.data()),
                           .remote = message.address,
                           .local_key = memory.local_key,
                           .remote_key = message.key,
                           .bytes = message.bytes,
                           .operation = VQ_READ,
                           .flags = VQ_SIGNALED};
  const std::int32_t posted = vq_post(&pairs_.core(), fetcher->value(), &request, 1, nullptr);
  if (posted == 0 || posted == VQ_LOOK_UP) postponed_.insert(pair.id);
  if (posted == VQ_LOOK_UP) {
    if (std::exchange(pair.way, Way::looking_up) != Way::looking_up) pair.looking_since = now;
    return std::nullopt;
  }
  pair.way = posted == 1 ? Way::fetching : posted == 0 ? Way::postponed : Way::none;
  if (posted >= 0) return std::nullopt;
  return posted == VQ_BAD_LOCAL ? VQ_LOCAL_ERROR : VQ_ACCESS_REFUSED;
}

std::optional<LargeFetches::Fetched> LargeFetches::take() {
  vq_completion done{};
  while (vq_take(&done_.core(), &done, 1) == 1) {
    VirtualPair* const pair = pairs_.find(PairId(done.wr_id));
    if (pair == nullptr) continue;
    pair->way = Way::none;
    return Fetched{pair, static_cast<std::uint8_t>(done.status)};
  }
  return std::nullopt;
}

std::set<PairId> LargeFetches::take_postponed() { return std::exchange(postponed_, {}); }

bool LargeFetches::is_overdue(const VirtualPair& pair, Time now) const noexcept {
  return pair.way == Way::looking_up && now - pair.looking_since > look_up_max_;
}

}  // namespace spindrift::kernel
