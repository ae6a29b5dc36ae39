// Reports of inotify, or a timer in their place.
#include <spindrift/fabric/shm/arrivals.hpp>

#include <sys/inotify.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include <spindrift/core/log.hpp>

namespace spindrift::fabric::shm {
namespace {

constexpr long seconds_between_looks = 1;

Result<FileDescriptor> timer_for_looks() {
  FileDescriptor timer(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  itimerspec when{};
  when.it_value.tv_sec = when.it_interval.tv_sec = seconds_between_looks;
  if (!timer || ::timerfd_settime(timer.get(), 0, &when, nullptr) != 0)
    return system_error("timerfd_create", errno).fix("raise the limit of open files");
  return timer;
}

}  // namespace

Result<void> Arrivals::open(const Rendezvous& rendezvous) {
  SPINDRIFT_TRY_ASSIGN(std::optional<FileDescriptor> reports, rendezvous.watch_arrivals());
  if (reports) {
    by_ = By::reports;
    source_ = std::move(*reports);
    return {};
  }
  log::warn(log::Room::fabric, "directory_looked_at",
            {{"reason", "this user has as many instances of inotify as it may"}, {"every_s", seconds_between_looks},
             {"fix", "raise the sysctl fs.inotify.max_user_instances"}});
  SPINDRIFT_TRY_ASSIGN(source_, timer_for_looks());
  by_ = By::looks;
  return {};
}

Arrivals::News Arrivals::take() const {
  if (by_ == By::reports) return reported();
  std::uint64_t count = 0;
  const ssize_t bytes = ::read(source_.get(), &count, sizeof count);
  const bool due = bytes == sizeof count;
  return {.others = due, .taken_out = due};
}

Arrivals::News Arrivals::reported() const {
  News news;
  alignas(inotify_event) std::array<char, 4096> buffer;
  const ssize_t bytes = ::read(source_.get(), buffer.data(), buffer.size());
  std::uint32_t happened = 0;
  for (std::size_t at = 0; bytes > 0 && at < static_cast<std::size_t>(bytes);) {
    inotify_event event;
    std::memcpy(&event, buffer.data() + at, sizeof event);
    happened |= event.mask;
    const char* const name = buffer.data() + at + sizeof event;
    const auto node = Rendezvous::node_of_socket(std::string_view(name, ::strnlen(name, event.len)));
    if (node && (event.mask & IN_MOVED_TO) != 0) news.nodes.push_back(*node);
    at += sizeof event + event.len;
  }
  news.others = (happened & IN_Q_OVERFLOW) != 0;
  news.directory_is_elsewhere = (happened & IN_MOVE_SELF) != 0;
  news.taken_out = (happened & (IN_DELETE | IN_MOVED_FROM | IN_Q_OVERFLOW)) != 0;
  return news;
}

}  // namespace spindrift::fabric::shm
