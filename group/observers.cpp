// The thread that answers observers.
#include <spindrift/group/observers.hpp>

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <utility>
#include <vector>

#include <spindrift/core/limits.hpp>
#include <spindrift/core/log.hpp>
#include <spindrift/core/runtime_path.hpp>
#include <spindrift/fabric/host_sockets.hpp>
#include <spindrift/fabric/shm/packet.hpp>

namespace spindrift::group {
namespace {

using fabric::shm::Packet;

pollfd readable(const FileDescriptor& descriptor) noexcept {
  return {.fd = descriptor.get(), .events = POLLIN, .revents = 0};
}

}  // namespace

Observers::Observers(NodeId self, const GuardedDirectory& directory, const std::vector<SubgroupView>& shapes,
                     std::uint64_t bytes_per_second, std::function<View()> view)
    : self_(self), directory_(directory), view_(std::move(view)), feeds_(shapes, bytes_per_second) {}

Observers::~Observers() {
  if (!thread_.joinable()) return;
  end("its process ends");
  thread_.join();
}

Result<void> Observers::start() {
  event_ = FileDescriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!event_) return system_error("eventfd", errno);
  spare_ = FileDescriptor(::fcntl(event_.get(), F_DUPFD_CLOEXEC, 0));
  SPINDRIFT_TRY_ASSIGN(listening_, fabric::listen_in(directory_, node_file_name(self_, observers_suffix)));
  SPINDRIFT_TRY_ASSIGN(thread_, start_thread([this] { run(); }));
  return {};
}

void Observers::wake() noexcept {
  ::eventfd_write(event_.get(), 1);  // a full count wakes, too
}

void Observers::on_view() noexcept {
  view_changed_.store(true, std::memory_order_release);
  wake();
}

void Observers::end(const std::string& why) noexcept {
  {
    const std::lock_guard lock(mutex_);
    if (!end_) end_ = why;
  }
  wake();
}

void Observers::run() {
  std::vector<pollfd> waits;
  while (true) {
    waits = {readable(event_), readable(listening_)};
    for (const Caller& caller : callers_) waits.push_back(readable(caller.socket));
    if (::poll(waits.data(), waits.size(), milliseconds_to_wake()) < 0) continue;  // a signal
    auto wait = waits.begin() + 2;
    for (Caller& caller : callers_) {
      if ((wait++)->revents != 0) on_packet(caller);
    }
    if (waits[1].revents != 0) accept_callers();
    if (waits[0].revents != 0 && !on_woken()) return;
    if (wake_due_ && clock_.now() >= next_wake_) wake_waiting();
    tidy();
  }
}

bool Observers::on_woken() {
  eventfd_t count = 0;
  ::eventfd_read(event_.get(), &count);
  std::optional<std::string> end;
  {
    const std::lock_guard lock(mutex_);
    end = end_;
  }
  if (end) {
    for (Caller& caller : callers_) say(caller, {ObserverCall::ended, 0, {}, *end});
    callers_.clear();
    ::unlinkat(directory_.descriptor(), node_file_name(self_, observers_suffix).c_str(), 0);  // absent is as good
    listening_.reset();
    return false;
  }
  if (view_changed_.exchange(false, std::memory_order_acquire)) {
    feeds_.take_new();
    look_at_view();
  }
  wake_due_ = true;
  return true;
}

void Observers::accept_callers() {
  while (true) {
    FileDescriptor socket(::accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket && (errno == EMFILE || errno == ENFILE)) {  // or it would call for ever
      spare_.reset();
      FileDescriptor(::accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC)).reset();
      spare_ = FileDescriptor(::fcntl(event_.get(), F_DUPFD_CLOEXEC, 0));
    }
    if (!socket) return;
    socket.keep_from_children();
    if (!fabric::is_own_or_root(socket.get())) continue;
    Caller& caller = callers_.emplace_back(Caller{std::move(socket)});
    const std::size_t free = descriptors_free().value_or(descriptors_kept + 1);
    if (callers_.size() > callers_max || free <= descriptors_kept) {
      refuse(caller, ObserverRefusal::full,
             callers_.size() > callers_max ? "it has " + std::to_string(callers_max) + " observers, as many as it may"
                                           : "its process can open hardly any more files");
      tidy();
    }
  }
}

void Observers::on_packet(Caller& caller) {
  std::array<std::byte, observer_packet_bytes_max> buffer;
  const Packet packet = fabric::shm::receive_packet(caller.socket.get(), buffer);
  if (packet.outcome == Packet::Outcome::nothing) return;
  if (packet.outcome != Packet::Outcome::frame) {
    caller.state = State::over;
    return;
  }
  const auto said = decode_observer_packet(packet.bytes);
  if (!said && is_other_version(packet.bytes)) return refuse(caller, ObserverRefusal::version, "it runs another version");
  if (said && said->call == ObserverCall::hello && caller.state == State::greeting) return on_hello(caller, *said);
  if (said && said->call == ObserverCall::reading && caller.state == State::reading) {
    return feeds_[caller.subgroup].on_position(said->number);
  }
  if (said && said->call == ObserverCall::await && caller.state == State::reading) {
    feeds_[caller.subgroup].on_position(said->number);
    caller.position = said->number;
    caller.delivered = said->delivered;
    caller.state = State::waiting;
    wake_due_ = true;
    return;
  }
  caller.state = State::over;
  const Time now = clock_.now();
  if (now < next_line_) return;
  next_line_ = now + std::chrono::seconds(1);
  log::warn(log::Room::group, "an observer sent what none sends, and is cut off", {});
}

void Observers::on_hello(Caller& caller, const ObserverPacket& hello) {
  feeds_.take_new();
  const View view = view_();
  const std::size_t found = feeds_.seek(hello.text, view);
  if (found == feeds_.count()) {
    return refuse(caller, ObserverRefusal::unknown_subgroup,
                  "the group has no subgroup \"" + hello.text + "\"; there are " + feeds_.names(view));
  }
  caller.subgroup = SubgroupId(static_cast<std::uint32_t>(found));
  caller.fed_by = hello.number;
  if (to_be_fed(caller, view)) return feed(caller);
  caller.state = State::standing_by;
  say(caller, {ObserverCall::standing_by,
               0,
               {},
               caller.fed_by != 0 ? "another member feeds it" : "it is not in the subgroup at present"});
}

bool Observers::to_be_fed(const Caller& caller, const View& view) const {
  if (caller.subgroup.value() >= view.subgroups.size()) return false;  // before the first one
  const std::vector<NodeId>& members = view.subgroup(caller.subgroup).members;
  const auto among = [&members](std::uint64_t node) {
    return std::any_of(members.begin(), members.end(), [node](NodeId each) { return each.value() == node; });
  };
  return among(self_.value()) && (caller.fed_by == 0 || !among(caller.fed_by - 1));
}

void Observers::feed(Caller& caller) {
  Feed& feed = feeds_[caller.subgroup];
  if (const auto begun = feed.begin(); !begun) {
    return refuse(caller, ObserverRefusal::full, "it has no memory for a feed: " + begun.error().to_string());
  }
  caller.state = State::reading;
  caller.fed_by = 0;
  const Feed::Snapshot now = feed.snapshot();
  feed.on_position(now.written);
  ObserverPacket welcome{ObserverCall::welcome, feed.bytes(), feed.mode(), {}, now.written, now.end.delivered};
  welcome.last = now.end.last;
  say(caller, welcome, feed.descriptor());
}

void Observers::look_at_view() {
  const View view = view_();
  for (Caller& caller : callers_) {
    if (caller.subgroup.value() < view.subgroups.size() && view.subgroup(caller.subgroup).dropped &&
        caller.state == State::standing_by) {
      refuse(caller, ObserverRefusal::unknown_subgroup, "the subgroup was dropped");
    }
    const bool fed = caller.state == State::reading || caller.state == State::waiting;
    if (caller.state == State::standing_by && to_be_fed(caller, view)) feed(caller);
    if (!fed || to_be_fed(caller, view)) continue;
    say(caller, {ObserverCall::ended, 0, {}, "it is not in the subgroup any more"});
    caller.state = State::over;
  }
}

int Observers::milliseconds_to_wake() const {
  if (!wake_due_) return -1;
  const Duration left = std::max(next_wake_ - clock_.now(), Duration(0));
  return static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(left).count());
}

void Observers::wake_waiting() {
  wake_due_ = false;
  next_wake_ = clock_.now() + between_wakes;
  for (Caller& caller : callers_) {
    if (caller.state != State::waiting) continue;
    if (!feeds_[caller.subgroup].passed(caller.position, caller.delivered)) continue;
    caller.state = State::reading;
    say(caller, {ObserverCall::woken, 0, {}, {}});
  }
}

void Observers::refuse(Caller& caller, ObserverRefusal why, std::string text) {
  say(caller, {ObserverCall::refused, static_cast<std::uint64_t>(why), {}, std::move(text)});
  caller.state = State::over;
}

// A correct observer has at most one answer on its way, which a socket always takes.
void Observers::say(Caller& caller, const ObserverPacket& packet, int descriptor) {
  const std::vector<std::byte> bytes = encode(packet);
  if (fabric::shm::send_packet(caller.socket.get(), bytes, {}, descriptor) != fabric::shm::SendOutcome::sent)
    caller.state = State::over;
}

void Observers::tidy() {
  std::erase_if(callers_, [](const Caller& each) { return each.state == State::over; });
  for (std::uint32_t i = 0; i < feeds_.count(); ++i) {
    const auto reads = [i](const Caller& each) {
      return each.subgroup == SubgroupId(i) && (each.state == State::reading || each.state == State::waiting);
    };
    if (feeds_.at(i) == nullptr) continue;
    feeds_.at(i)->on_readers(static_cast<std::uint64_t>(std::count_if(callers_.begin(), callers_.end(), reads)));
  }
}

}  // namespace spindrift::group
