// Calling, and judging the answers.
#include <spindrift/group/observer_search.hpp>

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <memory>

#include <spindrift/core/runtime_path.hpp>
#include <spindrift/fabric/host_sockets.hpp>

namespace spindrift::group {

Result<void> ObserverSearch::begin(Time now) {
  if (!fed_by_) {
    auto arrivals = fabric::watch_directory(directory_);
    if (arrivals && *arrivals) arrivals_ = *std::move(arrivals).value();  // or they are heard of with the next calls
  }
  return call_everybody(now);
}

Result<void> ObserverSearch::call_everybody(Time now) {
  next_calls_ = now + (fed_by_ ? 5 : 1) * between_calls;
  const int listing = ::openat(directory_.descriptor(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::unique_ptr<DIR, int (*)(DIR*)> files(listing < 0 ? nullptr : ::fdopendir(listing), ::closedir);
  if (!files) return system_error("open", errno).at(directory_.path());
  while (const dirent* entry = ::readdir(files.get())) {
    const auto node = node_of_file(entry->d_name, observers_suffix);
    if (!node || node == fed_by_ || (source_ && node != source_)) continue;
    Call& call = calls_[*node];
    if (call.socket) continue;
    const std::uint64_t fed_by = fed_by_ ? std::uint64_t{1} + fed_by_->value() : 0;
    auto called = call_member(directory_, entry->d_name, {ObserverCall::hello, fed_by, {}, subgroup_});
    if (!called) {
      call.answer = called.error().to_string();  // others may be well
      continue;
    }
    if (!*called) {
      calls_.erase(*node);
      continue;
    }
    call = {std::move(**called), "has not answered yet"};
  }
  return {};
}

void ObserverSearch::add_waits(std::vector<pollfd>& to) const {
  to.push_back({.fd = arrivals_.get(), .events = POLLIN, .revents = 0});
  for (const auto& [node, call] : calls_) {
    if (call.socket) to.push_back({.fd = call.socket.get(), .events = POLLIN, .revents = 0});
  }
}

Result<std::unique_ptr<LocalFeed>> ObserverSearch::look(Time now) {
  for (auto& [node, call] : calls_) {
    if (!call.socket) continue;
    SPINDRIFT_TRY_ASSIGN(auto found, on_answer(node, call));
    if (found != nullptr) return found;
  }
  std::array<std::byte, 4096> events;
  bool arrived = now >= next_calls_;
  while (::read(arrivals_.get(), events.data(), events.size()) > 0) arrived = true;
  if (arrived) SPINDRIFT_TRY(call_everybody(now));
  return std::unique_ptr<LocalFeed>();
}

Result<std::unique_ptr<LocalFeed>> ObserverSearch::on_answer(NodeId node, Call& call) {
  SPINDRIFT_TRY_ASSIGN(LocalAnswer said, take_answer(node, call.socket));
  switch (said.kind) {
    case LocalAnswer::Kind::nothing: break;
    case LocalAnswer::Kind::fed: return std::move(said.feed);
    case LocalAnswer::Kind::standing_by: call.answer = std::move(said.text); break;
    case LocalAnswer::Kind::refused:
      if (said.refusal == static_cast<std::uint64_t>(ObserverRefusal::unknown_subgroup))
        return Error(ErrorKind::bad_argument, said.text).fix("name one of those");
      [[fallthrough]];
    case LocalAnswer::Kind::ended: call = {FileDescriptor(), std::move(said.text)}; break;
  }
  return std::unique_ptr<LocalFeed>();
}

std::string ObserverSearch::answers() const {
  std::string text;
  for (const auto& [node, call] : calls_) {
    text += (text.empty() ? "node " : "; node ") + std::to_string(node.value()) + ": " + call.answer;
  }
  return text;
}

}  // namespace spindrift::group
