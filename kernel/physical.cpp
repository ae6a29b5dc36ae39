// The statuses of operations are put into words here, and every queue pair is polled and refused a reset alike.
#include <spindrift/kernel/physical.hpp>

namespace spindrift::kernel {

std::string_view to_string(OperationStatus status) noexcept {
  switch (status) {
    case OperationStatus::done: return "done";
    case OperationStatus::local_error: return "the own memory or operation was refused";
    case OperationStatus::access_refused: return "the peer refused the access";
    case OperationStatus::peer_lost: return "the peer is lost";
    case OperationStatus::not_ready: return "the peer had no buffer for the message";
    case OperationStatus::flushed: return "flushed by the failure of another operation";
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
