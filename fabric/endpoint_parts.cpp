// Random words, and the ranges that an operation must keep to.
#include <spindrift/fabric/endpoint_parts.hpp>

#include <sys/random.h>

#include <cerrno>
#include <string>

namespace spindrift::fabric {

Result<std::uint64_t> random_word() {
  std::uint64_t word = 0;
  while (word == 0) {
    if (::getrandom(&word, sizeof word, 0) != sizeof word) return system_error("getrandom", errno);
  }
  return word;
}

Error not_exposed(std::string_view use) {
  return Error(ErrorKind::bad_argument, "the peer did not expose this region for " + std::string(use))
      .fix("wait for its `exposed` event, and use the region as that says");
}

Result<void> check_operation(const Operation& operation, const Traits& traits, const std::optional<ExposedRegion>& target) {
  if (operation.local == nullptr && operation.bytes > 0) return Error(ErrorKind::bad_argument, "an operation without bytes");
  if (operation.kind == Operation::Kind::send) {
    if (operation.bytes <= traits.message_bytes_max) return {};
    return Error(ErrorKind::bad_argument, "a message of " + std::to_string(operation.bytes) + " bytes; " +
                                              std::string(traits.name) + " sends at most " +
                                              std::to_string(traits.message_bytes_max));
  }
  const bool writes = operation.kind == Operation::Kind::write;
  if (!target || target->access != (writes ? Access::write : Access::read))
    return not_exposed(writes ? "writing" : "reading");
  if (operation.offset > target->bytes || operation.bytes > target->bytes - operation.offset) {
    return Error(ErrorKind::bad_argument, std::to_string(operation.bytes) + " bytes at " + std::to_string(operation.offset) +
                                              " reach out of a region of " + std::to_string(target->bytes));
  }
  return {};
}

Result<void> check_absent(PeerId peer, PeerId newest) {
  if (peer > newest) return Error(ErrorKind::bad_argument, "there never was such a peer");
  return {};
}

}  // namespace spindrift::fabric
