// Calling, and judging the answers.
#include <spindrift/group/observer_search.hpp>

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <memory>
#include <string_view>

#include <spindrift/core/limits.hpp>
#include <spindrift/core/runtime_path.hpp>
#include <spindrift/fabric/host_sockets.hpp>
#include <spindrift/fabric/shm/packet.hpp>
#include <spindrift/group/observer_calls.hpp>

namespace spindrift::group {
namespace {

using fabric::shm::Packet;

std::optional<NodeId> node_of(std::string_view file_name) noexcept {
  if (!file_name.ends_with(observers_suffix)) return std::nullopt;
  const std::string_view digits = file_name.substr(0, file_name.size() - observers_suffix.size());
  std::uint32_t id = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), id);
  if (error != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
  return NodeId(id);
}

}  // namespace

Result<void> ObserverSearch::begin(Time now) {
  if (!fed_by_) {
    auto arrivals = fabric::watch_directory(directory_);
    if (arrivals) arrivals_ = std::move(arrivals).value();  // or they are heard of with the next calls
  }
  return call_everybody(now);
}

Result<void> ObserverSearch::call_everybody(Time now) {
  next_calls_ = now + (fed_by_ ? 5 : 1) * between_calls;
  const int listing = ::openat(directory_.descriptor(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::unique_ptr<DIR, int (*)(DIR*)> files(listing < 0 ? nullptr : ::fdopendir(listing), ::closedir);
  if (!files) return system_error("open", errno).at(directory_.path());
  while (const dirent* entry = ::readdir(files.get())) {
    const auto node = node_of(entry->d_name);
    if (!node || node == fed_by_ || (source_ && node != source_)) continue;
    Call& call = calls_[*node];
    if (call.socket) continue;
    auto called = fabric::call_in(directory_, entry->d_name);
    if (!called) {
      call.answer = called.error().to_string();  // others may be well
      continue;
    }
    auto& socket = *called;
    if (!socket) {
      calls_.erase(*node);
      continue;
    }
    const std::uint64_t fed_by = fed_by_ ? std::uint64_t{1} + fed_by_->value() : 0;
    const auto hello = encode({ObserverCall::hello, fed_by, {}, subgroup_});
    // One that has refused already takes nothing, and has said why.
    static_cast<void>(fabric::shm::send_packet(socket->get(), hello, {}, -1));
    call = {std::move(*socket), "has not answered yet"};
  }
  return {};
}

void ObserverSearch::add_waits(std::vector<pollfd>& to) const {
  to.push_back({.fd = arrivals_.get(), .events = POLLIN, .revents = 0});
  for (const auto& [node, call] : calls_) {
    if (call.socket) to.push_back({.fd = call.socket.get(), .events = POLLIN, .revents = 0});
  }
}

Result<std::optional<FoundFeed>> ObserverSearch::look(Time now) {
  for (auto& [node, call] : calls_) {
    if (!call.socket) continue;
    SPINDRIFT_TRY_ASSIGN(auto found, on_packet(node, call));
    if (found) return found;
  }
  std::array<std::byte, 4096> events;
  bool arrived = now >= next_calls_;
  while (::read(arrivals_.get(), events.data(), events.size()) > 0) arrived = true;
  if (arrived) SPINDRIFT_TRY(call_everybody(now));
  return std::optional<FoundFeed>();
}

Result<std::optional<FoundFeed>> ObserverSearch::on_packet(NodeId node, Call& call) {
  const auto impossible = [node] {
    return Error(ErrorKind::bad_input, "node " + std::to_string(node.value()) + " answered what no member does")
        .fix("use the same version of spindrift for members and observers");
  };
  std::array<std::byte, observer_packet_bytes_max> buffer;
  Packet packet = fabric::shm::receive_packet(call.socket.get(), buffer);
  if (packet.outcome == Packet::Outcome::nothing) return std::optional<FoundFeed>();
  if (packet.outcome == Packet::Outcome::starved) return out_of_descriptors();
  if (packet.outcome == Packet::Outcome::ended || packet.outcome == Packet::Outcome::broken) {
    call = {FileDescriptor(), "has ended"};
    return std::optional<FoundFeed>();
  }
  const auto said = decode_observer_packet(packet.bytes);
  if (!said) return impossible();
  switch (said->call) {
    case ObserverCall::welcome: {
      SPINDRIFT_TRY_ASSIGN(auto memory, fabric::shm::PeerSegment::open(std::move(packet.descriptor), said->number,
                                                                       fabric::Access::read));
      return std::optional<FoundFeed>(FoundFeed{node, said->mode, said->position, {said->delivered, said->last},
                                                std::move(call.socket), std::move(memory)});
    }
    case ObserverCall::refused:
      if (said->number == static_cast<std::uint64_t>(ObserverRefusal::unknown_subgroup))
        return Error(ErrorKind::bad_argument, said->text).fix("name one of those");
      call = {FileDescriptor(), said->text};
      return std::optional<FoundFeed>();
    case ObserverCall::standing_by: call.answer = said->text; return std::optional<FoundFeed>();
    case ObserverCall::ended: call = {FileDescriptor(), "has ended: " + said->text}; return std::optional<FoundFeed>();
    default: return impossible();
  }
}

std::string ObserverSearch::answers() const {
  std::string text;
  for (const auto& [node, call] : calls_) {
    text += (text.empty() ? "node " : "; node ") + std::to_string(node.value()) + ": " + call.answer;
  }
  return text;
}

}  // namespace spindrift::group
