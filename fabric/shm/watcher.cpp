// The thread and its sources.
#include <spindrift/fabric/shm/watcher.hpp>

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <cerrno>
#include <utility>

#include <spindrift/core/limits.hpp>
#include <spindrift/core/log.hpp>

namespace spindrift::fabric::shm {
namespace {

constexpr std::size_t callers_per_turn = 64;

}  // namespace

Watcher::Watcher(NodeId self, std::uint64_t incarnation, Bell& bell, Rendezvous rendezvous,
                 std::shared_ptr<AuditTrail> audit)
    : bell_(bell),
      beside_(readiness_, bell, tag_beside),
      news_(bell),
      rendezvous_(std::move(rendezvous)),
      refusals_(std::move(audit)),
      links_({readiness_, news_, refusals_, bell}),
      handshake_(self, incarnation, bell, rendezvous_, first_serial, {readiness_, news_, refusals_, bell}, links_) {}

Watcher::~Watcher() {
  if (thread_.joinable()) {
    const std::uint64_t one = 1;
    CHECK(::write(stop_.get(), &one, sizeof one) == sizeof one);
    thread_.join();
  }
  links_.lose_all(Error(ErrorKind::group_closed, "the endpoint was closed"));
}

Result<void> Watcher::start(NodeId self) {
  const std::lock_guard lock(mutex_);
  CHECK(!thread_.joinable());
  SPINDRIFT_TRY(rendezvous_.claim(self));
  SPINDRIFT_TRY(readiness_.open());
  SPINDRIFT_TRY(unmaps_.open(readiness_, tag_unmaps));
  stop_ = FileDescriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  spare_ = FileDescriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!stop_ || !spare_) return system_error("start the watcher", errno).fix("raise the limit of open files");
  SPINDRIFT_TRY(arrivals_.open(rendezvous_));
  SPINDRIFT_TRY_ASSIGN(listener_, rendezvous_.listen());
  SPINDRIFT_TRY(readiness_.watch(stop_.get(), tag_stop));
  SPINDRIFT_TRY(readiness_.watch(listener_.get(), tag_listener));
  SPINDRIFT_TRY(readiness_.watch(arrivals_.descriptor(), tag_arrivals));
  SPINDRIFT_TRY_ASSIGN(thread_, start_thread([this] { run(); }));
  return {};
}

void Watcher::on_owner_died(PeerId peer) {
  const std::lock_guard lock(mutex_);
  links_.on_owner_died(peer);
}

void Watcher::run() {
  const LifeMark life(bell_);  // this thread does little else, and lives as long as the endpoint
  for (;;) {
    for (const epoll_event& event : readiness_.wait()) {
      const std::uint64_t tag = event.data.u64;
      if (tag == tag_stop) return;
      if (tag == tag_unmaps) {
        unmaps_.on_timer();
      } else if (tag >= tag_beside && tag < 2 * first_serial) {
        beside_.on_ready(tag);
      } else {
        const std::lock_guard lock(mutex_);
        on_ready(tag, event.events);
        for (const NodeId node : links_.take_died()) handshake_.call_again(node);
      }
    }
  }
}

// The subject of a report may have ended by an earlier one.
void Watcher::on_ready(std::uint64_t tag, std::uint32_t readiness) {
  if (tag == tag_listener) return on_callers();
  if (tag == tag_arrivals) return on_arrivals();
  const PeerLinks::Serial serial = tag / 2;
  if (tag % 2 == 1) return links_.on_process_end(serial);
  if (!handshake_.on_socket(serial)) links_.on_socket(serial, readiness);
}

void Watcher::on_callers() {
  for (std::size_t i = 0; i < callers_per_turn; ++i) {
    FileDescriptor socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket) {
      if (errno != EMFILE && errno != ENFILE) return;
      constexpr const char* reason = "no file descriptors left";
      if (const auto times = refusals_.due(0, reason); times > 0)
        log::warn(log::Room::fabric, "caller_turned_away",
                  {{"reason", reason}, {"fix", "raise ulimit -n"}, {"times", times}});
      spare_.reset();
      FileDescriptor(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC)).reset();
      spare_ = FileDescriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC));
      return;
    }
    socket.keep_from_children();
    if (const auto pid = trusted_process(socket.get()))
      handshake_.on_caller(std::move(socket), *pid);
    else
      refusals_.tell_stranger(pid.error());
  }
}

void Watcher::on_arrivals() {
  const Arrivals::News news = arrivals_.take();
  for (const NodeId node : news.nodes) handshake_.on_arrival(node);
  if (news.others) handshake_.on_arrival(std::nullopt);
  // Others take out what the dead have left.
  if (news.directory_is_elsewhere || (news.taken_out && !rendezvous_.in_place()))
    news_.push_own_end(rendezvous_.displaced());
}

}  // namespace spindrift::fabric::shm
