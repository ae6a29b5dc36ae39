// The thread that feeds observers of other hosts.
#include <spindrift/group/remote_observers.hpp>

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include <spindrift/core/limits.hpp>
#include <spindrift/core/log.hpp>
#include <spindrift/fabric/tcp/socket.hpp>
#include <spindrift/fabric/tls/credentials.hpp>
#include <spindrift/group/observers.hpp>

namespace spindrift::group {
namespace {

constexpr int yields = 10;  // to the poller and the application, as nice(1) counts it
/// A host that is gone is noticed by silence; a reader that stands still keeps its place, and what it misses is counted.
constexpr fabric::tcp::SocketPatience patience{std::chrono::seconds(10), std::chrono::seconds(60)};

}  // namespace

Result<void> RemoteObservers::start(const std::string& endpoint) {
  const auto at_port = [&](Error why) { return std::move(why).at("[SPINDRIFT] observer_port, " + endpoint); };
  auto address = fabric::connected::resolve(endpoint, false);
  if (!address) return at_port(std::move(address).error());
  auto listener = fabric::tcp::listen_at(*address);
  if (!listener) return at_port(std::move(listener).error());
  if (credentials_ == nullptr) {
    log::warn(log::Room::group, "observers of other hosts prove nothing, and what they are sent is not encrypted",
              {{"listens", endpoint}});
  } else {
    keys_revision_ = credentials_->revision();
  }
  ends_ = FileDescriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!ends_) return system_error("eventfd", errno);
  SPINDRIFT_TRY_ASSIGN(handshakes_,
                       fabric::tcp::Handshakes::start(std::move(*listener), {credentials_, patience, member_.audit,
                                                                             fabric::tcp::Handshakes::Purpose::observed}));
  SPINDRIFT_TRY_ASSIGN(thread_, start_thread([this] {
                         static_cast<void>(::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), yields));
                         run();
                       }));
  return {};
}

RemoteObservers::~RemoteObservers() {
  if (!thread_.joinable()) return;
  ::eventfd_write(ends_.get(), 1);
  thread_.join();
}

void RemoteObservers::run() {
  std::vector<pollfd> waits;
  while (true) {
    waits = {{.fd = ends_.get(), .events = POLLIN, .revents = 0},
             {.fd = handshakes_->descriptor(), .events = POLLIN, .revents = 0}};
    for (const RemoteObserver& each : observers_) each.add_waits(waits);
    if (::poll(waits.data(), waits.size(), milliseconds_to_wait()) < 0) continue;  // a signal
    const bool ends = waits[0].revents != 0;
    accept_callers();
    look_at_keys();
    const Time now = clock_.now();
    for (RemoteObserver& each : observers_) {
      each.step(scratch_, now);
      if (!ends) continue;
      each.end("its process ends", now);
      each.step(scratch_, now);
    }
    std::erase_if(observers_, [](const RemoteObserver& each) { return each.over(); });
    if (ends) return;
  }
}

void RemoteObservers::accept_callers() {
  const Time now = clock_.now();
  for (auto outcome = handshakes_->take(); outcome; outcome = handshakes_->take()) {
    auto* const call = std::get_if<fabric::tcp::ReceivedCall>(&*outcome);
    if (call == nullptr) continue;
    RemoteObserver& caller = observers_.emplace_back(member_, std::move(call->stream), std::move(call->from), now);
    if (const std::string why = full(); !why.empty()) caller.refuse(ObserverRefusal::full, why, now);
  }
}

std::string RemoteObservers::full() const {
  if (observers_.size() > callers_max)
    return "it has " + std::to_string(callers_max) + " observers of other hosts, as many as it may";
  if (descriptors_free().value_or(Observers::descriptors_kept + 1) <= Observers::descriptors_kept)
    return "its process can open hardly any more files";
  const std::string identity = observers_.back().identity();
  const auto same = [&](const RemoteObserver& each) { return each.identity() == identity; };
  if (identity.empty() || std::count_if(observers_.begin(), observers_.end(), same) <= std::ptrdiff_t{callers_per_identity})
    return {};
  return "it has " + std::to_string(callers_per_identity) + " observers that are " + identity + ", as many as one may have";
}

// The fabric's threads look at the files, and hear what other members say of them.
void RemoteObservers::look_at_keys() {
  if (credentials_ == nullptr || credentials_->revision() == keys_revision_) return;
  keys_revision_ = credentials_->revision();
  for (RemoteObserver& each : observers_) each.recheck();
}

int RemoteObservers::milliseconds_to_wait() const {
  Time next = never;
  for (const RemoteObserver& each : observers_) next = std::min(next, each.busy() ? Time{} : each.deadline());
  if (next == never) return -1;
  const Duration left = std::max(next - clock_.now(), Duration(0));
  return static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(left).count());
}

}  // namespace spindrift::group
