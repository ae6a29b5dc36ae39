// Keeping private messages for the poller, and counting room.
#include <spindrift/group/private_messages.hpp>

#include <algorithm>
#include <string>
#include <utility>

#include <spindrift/core/bytes.hpp>
#include <spindrift/core/result.hpp>

namespace spindrift::group {

using Way = PrivateRoute::Way;

// A message that is larger than the window goes alone.
bool PrivateMessages::Peer::has_room(std::uint64_t room) const noexcept {
  const std::uint64_t used = waiting_room + posted_room;
  return used == 0 || used + room <= window_bytes;
}

void PrivateMessages::Peer::meet(fabric::PeerId now) noexcept {
  if (connection == now) return;
  connection = now;
  posted_room = 0;
  last = Last::unknown;
}

std::vector<std::byte> PrivateMessages::with_tag(std::uint64_t tag, std::span<const std::byte> message) const {
  if (message.size() > bytes_max_) {
    throw Exception(Error(ErrorKind::bad_argument, "a private message of " + std::to_string(message.size()) +
                                                       " bytes is larger than " + std::to_string(bytes_max_))
                        .fix("send it in parts"));
  }
  ByteWriter writer;
  writer.put(tag).put_bytes(message);
  return writer.take();
}

void PrivateMessages::push(Peer& peer, Waiting message) {
  peer.waiting_room += room_of(message.bytes.size());
  if (message.answer) answers_bytes_ += message.bytes.size();
  if (!message.answer) ++application_waiting_;
  peer.waiting.push_back(std::move(message));
  waiting_.store(true, std::memory_order_seq_cst);
}

PrivateMessages::Waiting PrivateMessages::pop(Peer& peer) {
  Waiting message = std::move(peer.waiting.front());
  peer.waiting.pop_front();
  peer.waiting_room -= room_of(message.bytes.size());
  if (message.answer) answers_bytes_ -= message.bytes.size();
  if (!message.answer) --application_waiting_;
  return message;
}

PrivateMessages::Outcome PrivateMessages::try_add(NodeId to, std::span<const std::byte> message, std::uint64_t tag) {
  std::vector<std::byte> bytes = with_tag(tag, message);
  const std::lock_guard lock(mutex_);
  if (closed_) return Outcome::closed;
  Peer& peer = peers_[to];
  if (!peer.has_room(room_of(bytes.size()))) return Outcome::full;
  push(peer, {std::move(bytes), false});
  return Outcome::taken;
}

PrivateMessages::Outcome PrivateMessages::add(NodeId to, std::span<const std::byte> message, std::uint64_t tag) {
  std::vector<std::byte> bytes = with_tag(tag, message);
  std::unique_lock lock(mutex_);
  Peer& peer = peers_[to];
  changed_.wait(lock, [&] { return closed_ || peer.has_room(room_of(bytes.size())); });
  if (closed_) return Outcome::closed;
  push(peer, {std::move(bytes), false});
  return Outcome::taken;
}

void PrivateMessages::add_answer(NodeId to, std::uint64_t tag, std::span<const std::byte> message) {
  std::vector<std::byte> bytes = with_tag(tag, message);
  const std::lock_guard lock(mutex_);
  if (!ended_) push(peers_[to], {std::move(bytes), true});
}

void PrivateMessages::close() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    waiting_.store(true, std::memory_order_seq_cst);
  }
  changed_.notify_all();
}

// Rows tell that a member leaves, and may be read before the messages that it sent.
void PrivateMessages::await_taken() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] {
    return application_waiting_ == 0 &&
           (ended_ || std::ranges::all_of(peers_, [](const auto& each) { return each.second.has_taken_all(); }));
  });
}

void PrivateMessages::end() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    ended_ = true;
    for (auto& [node, peer] : peers_) drop(peer);
    waiting_.store(false, std::memory_order_seq_cst);
  }
  changed_.notify_all();
}

// A peer stays in the map, for a thread may be waiting for room to it.
void PrivateMessages::drop(Peer& peer) {
  while (!peer.waiting.empty()) static_cast<void>(pop(peer));
  peer.connection.reset();
  peer.posted_room = 0;
  peer.last = Peer::Last::unknown;
}

// Without it a thread would wait for ever for room to a receiver for which nothing waits to be posted.
void PrivateMessages::on_gone(NodeId node) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto peer = peers_.find(node); peer != peers_.end()) drop(peer->second);
  }
  changed_.notify_all();
}

std::vector<PrivateMessages::Outgoing> PrivateMessages::take(const Routes& routes) {
  std::vector<Outgoing> taken;
  {
    const std::lock_guard lock(mutex_);
    waiting_.store(false, std::memory_order_seq_cst);
    tell(routes, taken);
    for (auto& [node, peer] : peers_) {
      if (peer.waiting.empty() && !(closed_ && peer.is_to_be_asked())) continue;
      const PrivateRoute route = routes(node);
      if (route.way == Way::gone) drop(peer);
      if (route.connection) peer.meet(*route.connection);
      if (route.way == Way::open) take_from(node, peer, taken);
      if (closed_ && route.connection && peer.is_to_be_asked()) {
        peer.last = Peer::Last::asked;
        taken.push_back({node, with_tag(of_flow, {})});
      }
      if (!peer.waiting.empty()) waiting_.store(true, std::memory_order_seq_cst);
    }
  }
  changed_.notify_all();
  return taken;
}

// Room on a connection that is over is nobody's.
void PrivateMessages::tell(const Routes& routes, std::vector<Outgoing>& to) {
  for (auto& [node, taken] : taken_) {
    if (taken.room < tell_bytes && !taken.asked) continue;
    const std::uint64_t room = std::exchange(taken.room, 0);
    const std::uint64_t asked = std::exchange(taken.asked, false) ? 1 : 0;
    const PrivateRoute route = routes(node);
    if (route.connection == taken.connection) to.push_back({node, with_tag(of_flow, field_bytes(room, asked))});
  }
}

void PrivateMessages::take_from(NodeId node, Peer& peer, std::vector<Outgoing>& to) {
  while (!peer.waiting.empty()) {
    const std::uint64_t room = room_of(peer.waiting.front().bytes.size());
    if (peer.posted_room > 0 && peer.posted_room + room > window_bytes) return;
    peer.posted_room += room;
    to.push_back({node, pop(peer).bytes});
  }
}

void PrivateMessages::on_taken(NodeId from, const PrivateRoute& route, std::size_t bytes) {
  if (!route.connection) return;
  Taken& taken = taken_[from];
  if (taken.connection != route.connection) taken = {route.connection, 0, false};
  taken.room += room_of(bytes);
  if (taken.room >= tell_bytes) waiting_.store(true, std::memory_order_seq_cst);
}

void PrivateMessages::on_asked(NodeId from, const PrivateRoute& route) {
  if (!route.connection) return;
  Taken& taken = taken_[from];
  if (taken.connection != route.connection) taken = {route.connection, 0, false};
  taken.asked = true;
  waiting_.store(true, std::memory_order_seq_cst);
}

bool PrivateMessages::on_told(NodeId from, const PrivateRoute& route, std::span<const std::byte> message) {
  ByteReader reader(message);
  const auto room = reader.get<std::uint64_t>();
  const auto asked = reader.get<std::uint64_t>();
  if (!reader.complete() || asked > 1) return false;
  if (!route.connection) return true;
  {
    const std::lock_guard lock(mutex_);
    Peer& peer = peers_[from];
    peer.meet(*route.connection);
    if (room > peer.posted_room || (asked == 1 && peer.last != Peer::Last::asked)) return false;
    peer.posted_room -= room;
    if (asked == 1) peer.last = Peer::Last::taken;
  }
  changed_.notify_all();
  return true;
}

std::optional<PrivateMessages::Incoming> PrivateMessages::parse(std::span<const std::byte> message) noexcept {
  ByteReader reader(message);
  const auto tag = reader.get<std::uint64_t>();
  if (!reader.ok()) return std::nullopt;
  return Incoming{tag, reader.rest()};
}

}  // namespace spindrift::group
