// How two processes come to have exactly one link, whoever called whom and when. Of two calls that cross, the one made by
// the lower node id counts; the called process alone decides, by answering with a welcome or turning the caller away. A call
// that ends without an answer reached a process that was dying, and is made again to whoever listens there now.
#include <spindrift/fabric/shm/watcher.hpp>

#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include <spindrift/core/log.hpp>

namespace spindrift::fabric::shm {
namespace {

constexpr unsigned calls_in_a_row_max = 8;
constexpr std::size_t news_max = 65536;

template <class Frame>
std::span<const std::byte> bytes_of(const Frame& frame) noexcept {
  return std::as_bytes(std::span<const Frame, 1>(&frame, 1));
}

FileDescriptor open_process(pid_t pid) noexcept {
  return FileDescriptor(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
}

}  // namespace

Watcher::Links::iterator Watcher::find(Link::State state, NodeId node) {
  return std::find_if(links_.begin(), links_.end(),
                      [&](const auto& entry) { return entry.second.state == state && entry.second.node == node; });
}

std::size_t Watcher::count(Link::State state) const {
  return static_cast<std::size_t>(
      std::count_if(links_.begin(), links_.end(), [&](const auto& entry) { return entry.second.state == state; }));
}

Result<void> Watcher::connect(NodeId node) {
  const std::lock_guard lock(mutex_);
  if (count(Link::State::linked) >= bells_max && find(Link::State::linked, node) == links_.end()) {
    return Error(ErrorKind::unsupported, "shm links a process with at most " + std::to_string(bells_max) + " others")
        .at("node " + std::to_string(node.value()))
        .fix("use fewer processes on this host");
  }
  wanted_[node] = calls_in_a_row_max;
  return call(node);
}

/// Calls the node unless it is linked or called already. That nobody listens there is no error: the directory tells when
/// somebody does.
Result<void> Watcher::call(NodeId node) {
  if (find(Link::State::linked, node) != links_.end() || find(Link::State::calling, node) != links_.end()) return {};
  auto socket = rendezvous_.call(node);
  if (!socket) return std::move(socket).error();
  if (!*socket) return {};
  const auto pid = trusted_process((*socket)->get());
  if (!pid) {
    return Error(ErrorKind::refused, "the process that listens there runs as another user")
        .at("node " + std::to_string(node.value()))
        .fix("run all processes of the group as one user");
  }
  const Greeting hello = make_greeting(FrameKind::hello, self_, ::getpid(), incarnation_);
  if (send_packet((*socket)->get(), bytes_of(hello), {}, bell_.descriptor()) != SendOutcome::sent && errno != EPIPE &&
      errno != ECONNRESET) {  // those two: it is dying; its end is noticed below
    return system_error("greet node " + std::to_string(node.value()), errno);
  }
  const Serial serial = next_serial_++;
  if (auto watched = watch((*socket)->get(), 2 * serial, EPOLLIN); !watched) return std::move(watched).error();
  Link& link = links_[serial];
  link.state = Link::State::calling;
  link.socket = std::move(**socket);
  link.node = node;
  link.pid = *pid;
  return {};
}

void Watcher::call_again(NodeId node) {
  const auto want = wanted_.find(node);
  if (want == wanted_.end()) return;
  want->second = calls_in_a_row_max;
  if (auto called = call(node); !called) {
    log::warn(log::Room::fabric, "call_failed", {{"node", node}, {"reason", called.error().to_string()}});
  }
}

bool Watcher::credible(Serial serial, const Link& link, const Greeting& greeting) {
  if (greeting.head.detail != wire_version) {
    log::warn(log::Room::fabric, "other_version",
              {{"pid", link.pid}, {"theirs", greeting.head.detail}, {"ours", wire_version}, {"fix", "run one version"}});
    answer_no(serial, TurnedAway::version);
    return false;
  }
  if (greeting.pid != static_cast<std::uint32_t>(link.pid)) {
    reject(serial, "it calls itself process " + std::to_string(greeting.pid) + " (another pid namespace?)");
    return false;
  }
  const NodeId node(greeting.node);
  if (node == self_ || (link.state == Link::State::calling && node != link.node)) {
    reject(serial, "it calls itself node " + std::to_string(greeting.node));
    return false;
  }
  return true;
}

/// Takes what an ended link with the node still holds, and reports its loss.
void Watcher::settle(NodeId node) {
  const auto at = find(Link::State::linked, node);
  if (at == links_.end()) return;
  const Serial serial = at->first;
  while (links_.contains(serial) && hung_up(links_.at(serial).socket.get())) read(serial, 1, true);
}

/// Whether nothing stands against a link with this incarnation of the node; ends what its predecessor left.
bool Watcher::make_way(NodeId node, std::uint64_t incarnation, TurnedAway& why) {
  settle(node);
  if (const auto old = find(Link::State::linked, node); old != links_.end()) {
    if (old->second.incarnation == incarnation) {
      why = TurnedAway::known;
      return false;
    }
    lose(old->first, Error(ErrorKind::member_lost, old->second.name() + " was replaced by a new process"), std::nullopt);
  }
  if (count(Link::State::linked) >= bells_max || news_.size() >= news_max) {
    why = TurnedAway::full;
    return false;
  }
  return true;
}

/// Whether the node is to be reached in another way than this one.
bool Watcher::elsewhere(NodeId node) {
  const auto why = turned_away_.find(node);
  if (why == turned_away_.end()) return false;
  if (told_.insert(node).second) log::warn(log::Room::fabric, "call turned away", {{"reason", why->second.to_string()}});
  return true;
}

void Watcher::on_hello(Serial serial, const Greeting& greeting, FileDescriptor bell) {
  const NodeId node(greeting.node);
  TurnedAway why{};
  if (elsewhere(node)) return answer_no(serial, TurnedAway::elsewhere);
  if (!make_way(node, greeting.incarnation, why)) return answer_no(serial, why);
  // Looked up only now: the end of an old link may have led to a new call.
  if (const auto ours = find(Link::State::calling, node); ours != links_.end()) {
    if (self_ < node) return answer_no(serial, TurnedAway::crossed);
    links_.erase(ours);
  }
  establish(serial, greeting, std::move(bell), true);
}

void Watcher::on_welcome(Serial serial, const Greeting& greeting, FileDescriptor bell) {
  TurnedAway why{};
  if (!make_way(NodeId(greeting.node), greeting.incarnation, why)) {
    return reject(serial, "it welcomed this process a second time");
  }
  establish(serial, greeting, std::move(bell), false);
}

void Watcher::establish(Serial serial, const Greeting& greeting, FileDescriptor bell, bool welcome) {
  Link& link = links_.at(serial);
  auto segment = PeerSegment::open(std::move(bell), bell_bytes, Access::read);
  if (!segment) return reject(serial, segment.error().message());
  link.process = open_process(link.pid);
  if (!link.process) {
    if (errno == ESRCH) return on_ended(serial);  // it died since it greeted
    return reject(serial, system_error("pidfd_open", errno).message());
  }
  if (auto watched = watch(link.process.get(), 2 * serial + 1, EPOLLIN); !watched)
    return reject(serial, watched.error().message());
  if (welcome) {
    const Greeting answer = make_greeting(FrameKind::welcome, self_, ::getpid(), incarnation_);
    if (send_packet(link.socket.get(), bytes_of(answer), {}, bell_.descriptor()) != SendOutcome::sent)
      return on_ended(serial);
  }
  link.state = Link::State::linked;
  link.node = NodeId(greeting.node);
  link.incarnation = greeting.incarnation;
  link.peer = next_peer_;
  ++next_peer_;
  serial_of_peer_[link.peer] = serial;
  log::info(log::Room::fabric, "peer_linked", {{"node", link.node}, {"pid", link.pid}});
  Event event;
  event.kind = Event::Kind::connected;
  report(link, std::move(event), std::move(segment).value());
}

void Watcher::answer_no(Serial serial, TurnedAway why) {
  const FrameHead head{static_cast<std::uint32_t>(FrameKind::turned_away), static_cast<std::uint32_t>(why)};
  static_cast<void>(send_packet(links_.at(serial).socket.get(), bytes_of(head), {}, -1));
  if (why != TurnedAway::crossed && refused_) refused_->add(1);
  links_.erase(serial);
}

void Watcher::on_turned_away(Serial serial, const FrameHead& head) {
  const Link& link = links_.at(serial);
  const auto why = static_cast<TurnedAway>(head.detail);
  const char* const reason = why == TurnedAway::full        ? "it has no place for another peer"
                             : why == TurnedAway::version   ? "other version"
                             : why == TurnedAway::elsewhere ? "it takes this node for one of another host"
                                                            : nullptr;
  if (reason != nullptr) log::warn(log::Room::fabric, "turned_away", {{"node", link.node}, {"reason", reason}});
  links_.erase(serial);  // crossed: the other side's call is under way
}

}  // namespace spindrift::fabric::shm
