// Posting and counting.
#include <spindrift/group/private_post.hpp>

#include <string>
#include <utility>

#include <spindrift/core/log.hpp>

namespace spindrift::group {

void PrivatePost::begin(views::Member& member, std::size_t bytes_max) {
  member_ = &member;
  messages_.limit(bytes_max);
}

bool PrivatePost::was_taken(PrivateMessages::Outcome outcome) {
  if (outcome == PrivateMessages::Outcome::closed) environment_.state.check_open();
  if (outcome != PrivateMessages::Outcome::taken) return false;
  environment_.fabric->wake();
  return true;
}

bool PrivatePost::try_send(NodeId to, std::span<const std::byte> message) {
  return was_taken(messages_.try_add(to, message));
}

void PrivatePost::send(NodeId to, std::span<const std::byte> message, std::uint64_t tag) {
  if (was_taken(messages_.try_add(to, message, tag))) return;
  if (environment_.handler_threads->is_one()) {
    throw Exception(Error(ErrorKind::would_block, "node " + std::to_string(to.value()) + " takes no more private messages "
                                                  "now, and a handler cannot wait for what only its own return brings")
                        .fix("use try_send_private in handlers, and query on another thread"));
  }
  static_cast<void>(was_taken(messages_.add(to, message, tag)));
}

void PrivatePost::send_answer(NodeId to, std::uint64_t tag, std::span<const std::byte> message) {
  messages_.add_answer(to, tag, message);
  environment_.fabric->wake();
}

void PrivatePost::wind_up() {
  messages_.close();
  environment_.fabric->wake();
  messages_.await_taken();
}

// To itself a member has one connection for good.
PrivateRoute PrivatePost::route(NodeId to) const {
  if (to == member_->self()) return {PrivateRoute::Way::open, fabric::PeerId{}};
  return private_route(*member_, to);
}

PrivatePost::Posted PrivatePost::post() {
  Posted posted;
  for (auto& [to, bytes] : messages_.take([this](NodeId node) { return route(node); })) {
    posted.any = true;
    if (to == member_->self()) {
      posted.to_self.push_back(std::move(bytes));
    } else if (auto sent = member_->send_private(to, bytes); !sent) {
      log::warn(log::Room::group, "private message", {{"reason", sent.error().to_string()}});
    }
  }
  return posted;
}

std::optional<PrivateMessages::Incoming> PrivatePost::open(NodeId from, std::span<const std::byte> message) {
  const auto parsed = PrivateMessages::parse(message);
  if (!parsed) {
    member_->accuse(from, "it sent a private message without a head");
    return std::nullopt;
  }
  if (parsed->tag != PrivateMessages::of_flow) return parsed;
  if (parsed->bytes.empty()) {
    messages_.on_asked(from, route(from));
    return std::nullopt;
  }
  if (!messages_.on_told(from, route(from), parsed->bytes))
    member_->accuse(from, "it told that it had taken private messages which it was not sent");
  return std::nullopt;
}

void PrivatePost::on_taken(NodeId from, std::span<const std::byte> message) {
  messages_.on_taken(from, route(from), message.size());
}

}  // namespace spindrift::group
