// Parts in their order, and how many.
#include <spindrift/fabric/connected/heard_lists.hpp>

#include <algorithm>
#include <chrono>
#include <utility>

#include <spindrift/fabric/connected/wire.hpp>

namespace spindrift::fabric::connected {

bool HeardLists::may_begin(Time now) noexcept {
  const auto rested = std::chrono::duration_cast<std::chrono::seconds>(now - counted_);
  if (rested.count() > 0) {
    left_ = static_cast<std::uint32_t>(std::min<std::int64_t>(at_once_max, left_ + rested.count()));
    counted_ += rested;
  }
  if (left_ == 0) return false;
  --left_;
  return true;
}

Result<std::optional<std::vector<std::byte>>> HeardLists::take(std::span<const std::byte> part, std::uint64_t rest,
                                                               Time now) {
  if (rest_ == 0) {
    if (!may_begin(now)) return Error(ErrorKind::refused, "it hands lists of revoked certificates on too often");
  } else if (part.size() + rest != rest_) {
    return Error(ErrorKind::refused, "it hands on other parts of a list of revoked certificates than it announced");
  }
  if (bytes_.size() + part.size() + rest > revoked_bytes_max)
    return Error(ErrorKind::refused, "it hands on a list of revoked certificates that is too large");
  bytes_.insert(bytes_.end(), part.begin(), part.end());
  rest_ = rest;
  if (rest_ > 0) return std::optional<std::vector<std::byte>>();
  return std::optional(std::exchange(bytes_, {}));
}

}  // namespace spindrift::fabric::connected
