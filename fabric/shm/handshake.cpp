// Calls, greetings, and what stands against a link.
#include <spindrift/fabric/shm/handshake.hpp>

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include <spindrift/core/bytes.hpp>
#include <spindrift/core/limits.hpp>
#include <spindrift/core/log.hpp>
#include <spindrift/core/process.hpp>

namespace spindrift::fabric::shm {
namespace {

constexpr unsigned calls_in_a_row_max = 8;
/// Callers that have not greeted: all members call a newcomer at once, and it may restart. Each takes a descriptor, of which
/// they have a part alone.
std::size_t callers_waiting_max() noexcept {
  rlimit limit{};
  const bool known = ::getrlimit(RLIMIT_NOFILE, &limit) == 0;
  return std::clamp<std::size_t>(known ? limit.rlim_cur / 4 : 0, 64, 2 * peers_max);
}

}  // namespace

Handshake::Calls::iterator Handshake::calling(NodeId node) {
  return std::find_if(calls_.begin(), calls_.end(), [node](const auto& each) {
    return each.second.state == Call::State::calling && each.second.node == node;
  });
}

Result<void> Handshake::connect(NodeId node) {
  if (links_.size() >= peers_max && links_.find(node) == nullptr) {
    return Error(ErrorKind::unsupported, "shm links a process with at most " + std::to_string(peers_max) + " others")
        .at("node " + std::to_string(node.value()))
        .fix("use fewer processes on this host");
  }
  wanted_[node] = calls_in_a_row_max;
  return call(node);
}

/// Calls the node unless it is linked or called already. That nobody listens there is no error: the directory tells when
/// somebody does.
Result<void> Handshake::call(NodeId node) {
  if (links_.find(node) != nullptr || calling(node) != calls_.end()) return {};
  if (!has_room()) return {};
  SPINDRIFT_TRY_ASSIGN(auto socket, rendezvous_.call(node));
  if (!socket) return {};
  const auto pid = trusted_process(socket->get());
  if (!pid) {
    return Error(ErrorKind::refused, "the process that listens there runs as another user")
        .at("node " + std::to_string(node.value()))
        .fix("run all processes of the group as one user");
  }
  const GreetingFrame hello = make_greeting(FrameKind::hello, self_, ::getpid(), incarnation_);
  if (send_packet(socket->get(), field_bytes(hello), {}, bell_.descriptor()) != SendOutcome::sent && errno != EPIPE &&
      errno != ECONNRESET) {  // those two: it is dying; its end is noticed below
    return system_error("greet node " + std::to_string(node.value()), errno);
  }
  const Serial serial = next_serial_++;
  SPINDRIFT_TRY(context_.readiness.watch(socket->get(), 2 * serial));
  calls_.emplace(serial, Call{Call::State::calling, std::move(*socket), *pid, node});
  return {};
}

void Handshake::call_again(NodeId node) {
  const auto want = wanted_.find(node);
  if (want == wanted_.end()) return;
  want->second = calls_in_a_row_max;
  if (auto called = call(node); !called) on_failed_call(node, called.error());
}

void Handshake::turn_away(NodeId node, std::optional<Error> why) {
  const std::string reason = why ? why->message() : "";
  const bool away = why.has_value();
  turned_away_.set(node, std::move(why));
  if (!away) return;
  wanted_.erase(node);
  if (links_.find(node) != nullptr) turned_away_.tell(node);
  links_.lose(node, reason, Goodbye::closed);
}

void Handshake::on_caller(FileDescriptor socket, pid_t pid) {
  const auto greets = [](const auto& each) { return each.second.state == Call::State::greeting; };
  if (std::count_if(calls_.begin(), calls_.end(), greets) >= static_cast<std::ptrdiff_t>(callers_waiting_max())) {
    reject(std::find_if(calls_.begin(), calls_.end(), greets)->first, "too many callers did not greet");
  }
  const Serial serial = next_serial_++;
  if (!context_.readiness.watch(socket.get(), 2 * serial)) return;
  calls_.emplace(serial, Call{Call::State::greeting, std::move(socket), pid});
}

void Handshake::on_arrival(std::optional<NodeId> node) {
  if (node) {
    links_.settle(*node);
    return call_again(*node);
  }
  for (const auto& [each, attempts] : wanted_) call_again(each);
}

bool Handshake::on_socket(Serial serial) {
  const auto at = calls_.find(serial);
  if (at == calls_.end()) return false;
  std::array<std::byte, sizeof(GreetingFrame) + 1> buffer{};
  Packet packet = receive_packet(at->second.socket.get(), buffer);
  switch (packet.outcome) {
    case Packet::Outcome::nothing: break;
    case Packet::Outcome::ended: on_ended(serial); break;
    case Packet::Outcome::broken: reject(serial, "it sent a packet that no peer sends"); break;
    case Packet::Outcome::starved: starve(serial, out_of_descriptors()); break;
    case Packet::Outcome::frame: on_frame(serial, at->second, std::move(packet)); break;
  }
  return true;
}

void Handshake::on_frame(Serial serial, Call& call, Packet packet) {
  const bool called = call.state == Call::State::calling;
  const auto head = parse_head(packet.bytes);
  const auto kind = head ? static_cast<FrameKind>(head->kind) : FrameKind{};
  if (called && kind == FrameKind::turned_away && packet.bytes.size() == sizeof *head) return on_turned_away(serial, *head);
  if (called && kind == FrameKind::goodbye && packet.bytes.size() == sizeof *head) return on_ended(serial);
  const auto greeting = parse_greeting(packet.bytes);
  if (kind != (called ? FrameKind::welcome : FrameKind::hello) || !greeting || !packet.descriptor)
    return reject(serial, "it did not greet as a peer does");
  if (!credible(serial, call, *greeting)) return;
  if (called) return on_welcome(serial, *greeting, std::move(packet.descriptor));
  on_hello(serial, *greeting, std::move(packet.descriptor));
}

bool Handshake::credible(Serial serial, const Call& call, const GreetingFrame& greeting) {
  if (greeting.head.detail != wire_version) {
    context_.refusals.tell(call.pid, "it speaks version " + std::to_string(greeting.head.detail) +
                                         " of the protocol, and this node " + std::to_string(wire_version) +
                                         "; run one version");
    answer_no(serial, TurnedAway::version);
    return false;
  }
  if (greeting.pid != static_cast<std::uint32_t>(call.pid)) {
    reject(serial, "it calls itself process " + std::to_string(greeting.pid) + " (another pid namespace?)");
    return false;
  }
  const NodeId node(greeting.node);
  if (node == self_ || (call.state == Call::State::calling && node != call.node)) {
    reject(serial, "it calls itself node " + std::to_string(greeting.node));
    return false;
  }
  return true;
}

/// The reason against a link with this incarnation of the node, if any, once all that its predecessor left has ended.
std::optional<TurnedAway> Handshake::make_way(NodeId node, std::uint64_t incarnation) {
  links_.settle(node);
  if (const PeerLink* const old = links_.find(node)) {
    if (old->incarnation == incarnation) return TurnedAway::known;
    links_.lose(node, old->name() + " was replaced by a new process", std::nullopt);
  }
  if (links_.size() >= peers_max || context_.news.full()) return TurnedAway::full;
  return std::nullopt;
}

/// A process without peers has nobody to lose: it takes what it gets, and ends with the error of what is missing.
bool Handshake::has_room() {
  if (links_.size() == 0) return true;
  const auto free = descriptors_free();
  if (!free || *free >= keep_free_) return true;
  constexpr const char* reason = "few file descriptors are left";
  if (const auto times = context_.refusals.due(0, reason); times > 0) {
    log::warn(log::Room::fabric, "peer_not_taken_in",
              {{"reason", reason}, {"left", *free}, {"needed", keep_free_}, {"fix", "raise ulimit -n"}, {"times", times}});
  }
  return false;
}

void Handshake::on_hello(Serial serial, const GreetingFrame& greeting, FileDescriptor bell) {
  const NodeId node(greeting.node);
  if (turned_away_.contains(node)) {
    turned_away_.tell(node);
    return answer_no(serial, TurnedAway::elsewhere);
  }
  if (const auto why = make_way(node, greeting.incarnation)) return answer_no(serial, *why);
  if (!has_room()) return answer_no(serial, TurnedAway::full);
  if (const auto ours = calling(node); ours != calls_.end()) {
    if (self_ < node) return answer_no(serial, TurnedAway::crossed);
    calls_.erase(ours);
  }
  establish(serial, greeting, std::move(bell));
}

void Handshake::on_welcome(Serial serial, const GreetingFrame& greeting, FileDescriptor bell) {
  if (make_way(NodeId(greeting.node), greeting.incarnation)) {
    return reject(serial, "it welcomed this process a second time");
  }
  establish(serial, greeting, std::move(bell));
}

void Handshake::establish(Serial serial, const GreetingFrame& greeting, FileDescriptor bell) {
  Call& call = calls_.at(serial);
  auto segment = PeerSegment::open(std::move(bell), bell_bytes, Access::read);
  if (!segment && segment.error().kind() == ErrorKind::resource) return starve(serial, std::move(segment).error());
  if (!segment) return reject(serial, segment.error().message());
  FileDescriptor process = open_process(call.pid);
  if (!process) {
    if (errno == ESRCH) return on_ended(serial);  // it died since it greeted
    const int cause = errno;
    if (auto limit = limit_behind(cause)) return starve(serial, *std::move(limit));
    return reject(serial, system_error("pidfd_open", cause).message());
  }
  if (auto watched = context_.readiness.watch(process.get(), 2 * serial + 1); !watched)
    return reject(serial, watched.error().message());
  if (call.state == Call::State::greeting) {
    const GreetingFrame answer = make_greeting(FrameKind::welcome, self_, ::getpid(), incarnation_);
    if (send_packet(call.socket.get(), field_bytes(answer), {}, bell_.descriptor()) != SendOutcome::sent)
      return on_ended(serial);
  }
  PeerLink link{std::move(call.socket), std::move(process), NodeId(greeting.node), call.pid, greeting.incarnation};
  calls_.erase(serial);
  links_.add(serial, std::move(link), std::move(segment).value());
}

void Handshake::answer_no(Serial serial, TurnedAway why) {
  const FrameHead head = head_of(FrameKind::turned_away, why);
  static_cast<void>(send_packet(calls_.at(serial).socket.get(), field_bytes(head), {}, -1));
  if (why != TurnedAway::crossed) context_.refusals.count();
  calls_.erase(serial);
}

void Handshake::on_turned_away(Serial serial, const FrameHead& head) {
  const auto why = static_cast<TurnedAway>(head.detail);
  const char* const reason = why == TurnedAway::full        ? "it has no place for another peer"
                             : why == TurnedAway::version   ? "other version"
                             : why == TurnedAway::elsewhere ? "it takes this node for one of another host"
                                                            : nullptr;
  const Call over = std::move(calls_.extract(serial).mapped());  // crossed: the other side's call is under way
  const std::uint64_t times = reason == nullptr ? 0 : context_.refusals.due(over.pid, reason);
  if (times > 0) log::warn(log::Room::fabric, "turned_away", {{"node", over.node}, {"reason", reason}, {"times", times}});
}

// The node that it had called is asked again, by a call to the process that listens there now.
void Handshake::on_ended(Serial serial) {
  const Call over = std::move(calls_.extract(serial).mapped());
  if (over.state == Call::State::greeting) return;
  const auto want = wanted_.find(over.node);
  if (want == wanted_.end() || want->second == 0) return;
  --want->second;
  if (auto called = call(over.node); !called) on_failed_call(over.node, called.error());
}

/// The other side is not to blame that this process has no room for it.
void Handshake::starve(Serial serial, Error why) {
  const Call call = std::move(calls_.extract(serial).mapped());
  static_cast<void>(send_packet(call.socket.get(), field_bytes(head_of(FrameKind::goodbye, Goodbye::starved)), {}, -1));
  context_.news.push_own_end(std::move(why));
}

void Handshake::on_failed_call(NodeId node, const Error& why) {
  log::warn(log::Room::fabric, "call_failed", {{"node", node}, {"reason", why.to_string()}});
  if (why.cause() != nullptr) context_.news.push_own_end(why);  // a limit is behind it
}

void Handshake::reject(Serial serial, const std::string& why) {
  const Call call = std::move(calls_.extract(serial).mapped());
  context_.refusals.reject(call.socket.get(), call.pid, why);
}

}  // namespace spindrift::fabric::shm
