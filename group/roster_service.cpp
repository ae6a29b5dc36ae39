// The thread that answers, and the call.
#include <spindrift/group/roster_service.hpp>

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <spindrift/core/limits.hpp>
#include <spindrift/core/runtime_path.hpp>
#include <spindrift/fabric/host_sockets.hpp>
#include <spindrift/fabric/shm/packet.hpp>

namespace spindrift::group {
namespace {

using fabric::shm::Packet;

/// The patience that is left to a member: its answer, also that it was not done in time, comes within the caller's.
Duration told_patience(Duration patience) noexcept {
  constexpr Duration answers_within = std::chrono::seconds(1);
  return std::chrono::duration_cast<std::chrono::milliseconds>(patience - std::min<Duration>(patience / 2, answers_within));
}

pollfd readable(const FileDescriptor& descriptor) noexcept {
  return {.fd = descriptor.get(), .events = POLLIN, .revents = 0};
}

std::string_view text_of(std::span<const std::byte> bytes) noexcept {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

bool send_text(int socket, const std::string& text) noexcept {
  const auto bytes = std::as_bytes(std::span(text));
  return fabric::shm::send_packet(socket, bytes, {}, -1) == fabric::shm::SendOutcome::sent;
}

/// The answer of a member, on a socket that has something to read. Nothing: it has ended.
std::optional<Result<Roster>> outcome_from(int socket) {
  std::vector<std::byte> buffer(roster_packet_bytes_max);
  const Packet packet = fabric::shm::receive_packet(socket, buffer);
  if (packet.outcome != Packet::Outcome::frame) return std::nullopt;
  return decode_roster_outcome(text_of(packet.bytes));
}

/// False: there is nothing to read within this time.
bool await_readable(const FileDescriptor& socket, Duration patience) noexcept {
  const SystemClock clock;
  const Time limit = clock.now() + patience;
  pollfd wait = readable(socket);
  int ready = 0;
  do {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(std::max(limit - clock.now(), Duration::zero()));
    ready = ::poll(&wait, 1, static_cast<int>(left.count()));
  } while (ready < 0 && errno == EINTR);
  return ready != 0;
}

/// Those of these nodes that have a member here, each asked for its roster.
std::vector<FileDescriptor> ask_for_rosters(const GuardedDirectory& directory, std::span<const NodeId> nodes) {
  std::vector<FileDescriptor> members;
  for (const NodeId node : nodes) {
    auto socket = fabric::call_in(directory, node_file_name(node, roster_suffix));
    if (socket && *socket && send_text((*socket)->get(), encode(RosterCall{}))) members.push_back(*std::move(*socket));
  }
  return members;
}

}  // namespace

std::string RosterService::socket_name(NodeId self) { return node_file_name(self, roster_suffix); }

RosterService::~RosterService() {
  if (!thread_.joinable()) return;
  ::eventfd_write(end_.get(), 1);
  thread_.join();
}

Result<void> RosterService::start() {
  end_ = FileDescriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!end_) return system_error("eventfd", errno);
  SPINDRIFT_TRY_ASSIGN(listening_, fabric::listen_in(directory_, name_));
  SPINDRIFT_TRY_ASSIGN(thread_, start_thread([this] { run(); }));
  return {};
}

void RosterService::run() {
  std::vector<pollfd> waits;
  while (true) {
    waits = {readable(end_), readable(listening_)};
    for (const FileDescriptor& caller : callers_) waits.push_back(readable(caller));
    if (::poll(waits.data(), waits.size(), -1) < 0) continue;  // a signal
    if (waits[0].revents != 0) break;
    auto wait = waits.begin() + 2;
    std::erase_if(callers_, [&](const FileDescriptor& caller) { return (wait++)->revents != 0 && !serve(caller); });
    if (waits[1].revents != 0) accept_callers();
  }
  callers_.clear();
  ::unlinkat(directory_.descriptor(), name_.c_str(), 0);  // absent is as good
}

// The first of too many callers go: they have said nothing for longest.
void RosterService::accept_callers() {
  while (true) {
    FileDescriptor socket(::accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket) {
      if (errno == EMFILE || errno == ENFILE) callers_.clear();
      return;
    }
    socket.keep_from_children();
    if (!fabric::is_own_or_root(socket.get())) continue;
    if (callers_.size() == callers_max) callers_.pop_front();
    callers_.push_back(std::move(socket));
  }
}

bool RosterService::serve(const FileDescriptor& caller) const {
  std::vector<std::byte> buffer(roster_packet_bytes_max);
  const Packet packet = fabric::shm::receive_packet(caller.get(), buffer);
  if (packet.outcome == Packet::Outcome::nothing) return true;
  if (packet.outcome != Packet::Outcome::frame) return false;
  const auto call = decode_roster_call(text_of(packet.bytes));
  const Result<Roster> outcome = call ? change_(*call) : Result<Roster>(call.error());
  std::string text = encode(outcome);
  if (text.size() > roster_packet_bytes_max) {  // hundreds of subgroups with long lists of members
    text = encode(Result<Roster>(Error(ErrorKind::unsupported, "the roster is too long for an answer; the change is made")
                                     .fix("see the subgroups in the group's status: spindrift group status")));
  }
  static_cast<void>(send_text(caller.get(), text));  // or it has gone
  return false;
}

Result<Roster> change_roster_through(const GuardedDirectory& directory, NodeId node, const RosterCall& call) {
  const std::string name = "node " + std::to_string(node.value());
  const auto gone = [&](const std::string& what) {
    return Error(ErrorKind::member_lost, name + " " + what)
        .at(directory.path())
        .fix("see which nodes run: spindrift group status");
  };
  SPINDRIFT_TRY_ASSIGN(const auto socket, fabric::call_in(directory, node_file_name(node, roster_suffix)));
  if (!socket) return gone("does not run here");
  RosterCall told = call;
  told.patience = told_patience(call.patience);
  const std::string text = encode(told);
  if (text.size() > roster_packet_bytes_max) {
    return Error(ErrorKind::bad_argument, "these are too many changes for one call").fix("make fewer in each");
  }
  if (!send_text(socket->get(), text)) return gone("does not listen");
  if (!await_readable(*socket, call.patience)) {
    return Error(ErrorKind::timed_out, name + " does not answer: it is stopped, at work on another call, or its machine is "
                                              "busy")
        .at(directory.path())
        .fix("let it go on (kill -CONT), say it again when it has answered others, or ask another member with --through");
  }
  auto outcome = outcome_from(socket->get());
  return outcome ? *std::move(outcome) : gone("ended before it answered");
}

std::optional<Roster> newest_roster(const GuardedDirectory& directory, std::span<const NodeId> nodes, Duration patience) {
  std::vector<FileDescriptor> members = ask_for_rosters(directory, nodes);
  const SystemClock clock;
  const Time limit = clock.now() + patience;
  std::optional<Roster> newest;
  std::vector<pollfd> waits;
  while (!members.empty()) {
    waits.clear();
    for (const FileDescriptor& member : members) waits.push_back(readable(member));
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(std::max(limit - clock.now(), Duration::zero()));
    const int ready = ::poll(waits.data(), waits.size(), static_cast<int>(left.count()));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) break;
    auto wait = waits.begin();
    std::erase_if(members, [&](const FileDescriptor& member) {
      if ((wait++)->revents == 0) return false;
      const auto told = outcome_from(member.get());
      if (told && told->ok() && (!newest || newest->edition < told->value().edition)) newest = told->value();
      return true;
    });
  }
  return newest;
}

}  // namespace spindrift::group
