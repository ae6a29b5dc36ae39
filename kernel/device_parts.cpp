// Checks with what to do about it, and an epoll instance.
#include <spindrift/kernel/device_parts.hpp>

#include <sys/epoll.h>

#include <cerrno>

#include <fmt/format.h>

#include <spindrift/kernel/host_address.hpp>

namespace spindrift::kernel {

Result<void> check_sizes(const DeviceSizes& sizes, std::uint32_t depth_max, Duration answer_max) {
  const auto wrong = [](const char* what, std::string fix) {
    return Error(ErrorKind::bad_argument, what).fix(std::move(fix));
  };
  for (const std::uint32_t depth : {sizes.send_depth, sizes.receive_buffers}) {
    if (depth == 0 || depth > depth_max)
      return wrong("queues without room, or with too much", fmt::format("choose depths of 1 to {}", depth_max));
  }
  if (sizes.peers_max == 0 || sizes.message_bytes_max == 0) return wrong("no room for a peer or a message", "choose more");
  if (answer_max <= Duration{}) return wrong("no time to answer in", "choose answer_max above 0");
  return {};
}

Result<fabric::connected::SocketAddress> interface_at(const std::string& listen) {
  SPINDRIFT_TRY_ASSIGN(const auto at, fabric::connected::resolve(listen, false));
  if (names_one_host(address_of(at))) return at;
  return Error(ErrorKind::bad_argument, "peers cannot reach a wildcard").at(listen).fix("name one interface");
}

Result<void> WaitSet::open() {
  epoll_ = FileDescriptor(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll_) return system_error("epoll_create1", errno);
  return {};
}

Result<void> WaitSet::add(int descriptor) const {
  epoll_event event{};
  event.events = EPOLLIN;
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, descriptor, &event) != 0 && errno != EEXIST)  // another queue's as well
    return system_error("epoll_ctl", errno);
  return {};
}

OperationStatus judge(const PhysicalOperation& operation, const OwnMemory& memory, std::size_t message_bytes_max) {
  const bool fits = operation.kind == PhysicalOperation::Kind::send
                        ? operation.header.size() + std::size_t{operation.bytes} <= message_bytes_max
                        : operation.header.empty();
  return fits && memory.hold(operation.local_key, operation.local, operation.bytes) ? OperationStatus::done
                                                                                    : OperationStatus::local_error;
}

}  // namespace spindrift::kernel
