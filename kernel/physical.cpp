// What may become of an operation, in words, and what every queue pair does alike.
#include <spindrift/kernel/physical.hpp>

namespace spindrift::kernel {

std::string_view to_string(Status status) noexcept {
  switch (status) {
    case Status::done: return "done";
    case Status::local_error: return "the own memory or operation was refused";
    case Status::access_refused: return "the peer refused the access";
    case Status::peer_lost: return "the peer is lost";
    case Status::not_ready: return "the peer had no buffer for the message";
    case Status::flushed: return "flushed by the failure of another operation";
  }
  return "unknown";
}

std::size_t PhysicalQueuePair::poll(std::span<PhysicalEvent> events) {
  if (const std::size_t count = take(events); count > 0) return count;
  device_.progress();
  return take(events);
}

Result<void> PhysicalQueuePair::reset() {
  return Error(ErrorKind::bad_argument, "a connected queue pair cannot be reset").fix("destroy it and connect anew");
}

}  // namespace spindrift::kernel
