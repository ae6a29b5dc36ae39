// The descriptors that the watcher's thread sleeps on, each under the tag by which it is told that one is ready.
#pragma once

#include <sys/epoll.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <span>

#include <spindrift/core/check.hpp>
#include <spindrift/core/file_descriptor.hpp>
#include <spindrift/core/result.hpp>

namespace spindrift::fabric::shm {

class Readiness {
 public:
  /// Errors: resource.
  [[nodiscard]] Result<void> open() {
    epoll_ = FileDescriptor(::epoll_create1(EPOLL_CLOEXEC));
    return epoll_ ? Result<void>() : system_error("epoll_create", errno).fix("raise the limit of open files");
  }
  /// Any thread, like `change`. A descriptor that is closed is watched no more. Errors: resource.
  [[nodiscard]] Result<void> watch(int descriptor, std::uint64_t tag, std::uint32_t interest = EPOLLIN) const {
    if (control(EPOLL_CTL_ADD, descriptor, tag, interest)) return {};
    return system_error("epoll_ctl", errno).fix("raise the sysctl fs.epoll.max_user_watches");
  }
  void change(int descriptor, std::uint64_t tag, std::uint32_t interest) const {
    CHECK(control(EPOLL_CTL_MOD, descriptor, tag, interest));
  }
  /// Sleeps until some are ready, and says which. Valid until the next call.
  [[nodiscard]] std::span<const epoll_event> wait() {
    const int count = ::epoll_wait(epoll_.get(), ready_.data(), static_cast<int>(ready_.size()), -1);
    CHECK(count >= 0 || errno == EINTR);
    return std::span(ready_).first(count < 0 ? 0 : static_cast<std::size_t>(count));
  }

 private:
  [[nodiscard]] bool control(int operation, int descriptor, std::uint64_t tag, std::uint32_t interest) const {
    epoll_event event{};
    event.events = interest;
    event.data.u64 = tag;
    return ::epoll_ctl(epoll_.get(), operation, descriptor, &event) == 0;
  }

  FileDescriptor epoll_;
  std::array<epoll_event, 32> ready_{};
};

}  // namespace spindrift::fabric::shm
