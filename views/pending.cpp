// Keeping what pending connections say, and choosing among them.
#include <spindrift/views/pending.hpp>

#include <algorithm>
#include <utility>

namespace spindrift::views {
namespace {

constexpr std::size_t connections_max = 4;
constexpr std::size_t events_max = 64;

}  // namespace

bool PendingConnection::keep(fabric::Event&& event, const Decoder& decode) {
  if (event.kind == fabric::Event::Kind::message) {
    const auto message = decode(event.bytes, words);
    if (const auto* part = message ? std::get_if<MessagePart>(&*message) : nullptr) {
      const auto state = parts.add(*part, greeted ? parted_message_bytes_max : stranger_message_bytes_max);
      if (state != PartedMessage::State::whole) return state == PartedMessage::State::incomplete;
      event.bytes = parts.take();
    } else if (!spoke()) {
      greeted = message && std::holds_alternative<Hello>(*message);
    }
  }
  bytes += event.bytes.size();
  if (events.size() == events_max || bytes > parted_message_bytes_max) return false;
  events.push_back(std::move(event));
  return true;
}

std::optional<fabric::PeerId> PendingConnections::add(PendingConnection connection) {
  std::optional<fabric::PeerId> oldest;
  if (list_.size() == connections_max) {
    oldest = list_.front().id;
    list_.erase(list_.begin());
  }
  list_.push_back(std::move(connection));
  return oldest;
}

PendingConnection* PendingConnections::find(fabric::PeerId id) noexcept {
  const auto found = std::find_if(list_.begin(), list_.end(), [&](const PendingConnection& each) { return each.id == id; });
  return found == list_.end() ? nullptr : &*found;
}

void PendingConnections::remove(fabric::PeerId id) {
  std::erase_if(list_, [&](const PendingConnection& each) { return each.id == id; });
}

void PendingConnections::end_all(fabric::Fabric& fabric) {
  for (const PendingConnection& each : std::exchange(list_, {})) fabric.disconnect(each.id);
}

bool PendingConnections::prefer(const std::function<bool(const PendingConnection&)>& better) {
  const auto found = std::find_if(list_.begin(), list_.end(), better);
  if (found == list_.end()) return false;
  std::rotate(found, found + 1, list_.end());
  return true;
}

PendingConnection PendingConnections::adopt() {
  const auto spoke = std::find_if(list_.rbegin(), list_.rend(), [](const PendingConnection& each) { return each.spoke(); });
  const auto chosen = spoke == list_.rend() ? list_.end() - 1 : spoke.base() - 1;
  PendingConnection connection = std::move(*chosen);
  list_.erase(chosen);
  return connection;
}

}  // namespace spindrift::views
