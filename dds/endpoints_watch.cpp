// Looking at the files when one is replaced, and when the process whose file counts has ended.
#include <spindrift/dds/endpoints_watch.hpp>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include <spindrift/core/limits.hpp>
#include <spindrift/core/process.hpp>
#include <spindrift/dds/status_board.hpp>
#include <spindrift/fabric/host_sockets.hpp>

namespace spindrift::topics {
namespace {

/// For a user who has no more instances of inotify.
constexpr int between_looks_ms = 200;

FileDescriptor made_event() {
  FileDescriptor event(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!event) throw Exception(system_error("eventfd", errno));
  return event;
}

void write_event(int event) {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(event, &one, sizeof one);
}

}  // namespace

EndpointsWatch::EndpointsWatch(const Config& config)
    : directory_(value_or_throw(open_endpoints_directory(config))), over_(made_event()) {
  if (auto changes = value_or_throw(fabric::watch_directory(directory_))) changes_ = std::move(*changes);
  look();
  thread_ = value_or_throw(start_thread([this] { run(); }));
}

EndpointsWatch::~EndpointsWatch() {
  write_event(over_.get());
  thread_.join();
}

std::shared_ptr<const ShownDomain> EndpointsWatch::newest() const {
  const std::lock_guard lock(mutex_);
  return newest_;
}
std::optional<Error> EndpointsWatch::fault() const {
  const std::lock_guard lock(mutex_);
  return fault_;
}
void EndpointsWatch::tell(int event) {
  const std::lock_guard lock(mutex_);
  events_.insert(event);
}
void EndpointsWatch::forget(int event) {
  const std::lock_guard lock(mutex_);
  events_.erase(event);
}

void EndpointsWatch::look() {
  auto here = look_at_endpoints(directory_);
  std::shared_ptr<const ShownDomain> newest = here ? std::move(here->newest) : nullptr;
  std::optional<Error> fault = here ? std::move(here->fault) : std::move(here).error();
  if (newest) fault.reset();
  if (!newest) newest = std::make_shared<const ShownDomain>();
  shower_ = newest->by.process == 0 ? FileDescriptor() : open_process(static_cast<pid_t>(newest->by.process));
  const std::lock_guard lock(mutex_);
  fault_ = std::move(fault);
  if (newest_ && *newest_ == *newest) return;
  newest_ = std::move(newest);
  for (const int event : events_) write_event(event);
  ProcessBell::of_process().ring();
}

void EndpointsWatch::run() {
  for (;;) {
    std::array<pollfd, 3> waits{{{.fd = over_.get(), .events = POLLIN, .revents = 0},
                                 {.fd = changes_.get(), .events = POLLIN, .revents = 0},
                                 {.fd = shower_.get(), .events = POLLIN, .revents = 0}}};
    if (::poll(waits.data(), waits.size(), changes_ ? -1 : between_looks_ms) < 0 && errno != EINTR) return;
    if (waits[0].revents != 0) return;
    std::array<std::byte, 4096> events;
    while (changes_ && ::read(changes_.get(), events.data(), events.size()) > 0) {
    }
    look();
  }
}

}  // namespace spindrift::topics
