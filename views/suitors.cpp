// A node's later connections, which wait until its present one is over or proves of no use; and messages that come in parts.
#include <algorithm>
#include <utility>

#include <spindrift/views/member.hpp>

namespace spindrift::views {
namespace {

constexpr std::size_t early_events_max = 64;
constexpr std::size_t stranger_message_bytes_max = 1024;  // in parts, before its hello: a refusal

// Adds one more part of a message to those that are here; false: it would be too large.
bool put_together(std::vector<std::byte>& parts, const Part& part, std::size_t most) {
  if (parts.size() + part.bytes.size() + part.left > most) return false;
  parts.insert(parts.end(), part.bytes.begin(), part.bytes.end());
  return true;
}

}  // namespace

void Member::on_part(Peer& peer, const Part& part) {
  const std::size_t most = peer.state == Peer::State::agreed ? parted_message_bytes_max : stranger_message_bytes_max;
  if (!put_together(peer.parts, part, most)) return accuse(peer, "it sent a part of a message that is too large");
  if (part.left > 0) return;
  const std::vector<std::byte> whole = std::exchange(peer.parts, {});
  on_message(peer, whole);
}

// Whether the event was one of a node's later connections. They wait until the present one is over, or proves of no use.
bool Member::on_suitor(fabric::Event& event) {
  for (Peer& peer : peers_) {
    const auto suitor = std::find_if(peer.suitors.begin(), peer.suitors.end(),
                                     [&](const Peer::Suitor& candidate) { return candidate.id == event.peer; });
    if (suitor == peer.suitors.end()) continue;
    const bool lost = event.kind == fabric::Event::Kind::lost;
    if (!lost && keep_early(*suitor, std::move(event))) {
      prefer_suitor(peer);
      return true;
    }
    if (!lost) fabric_.disconnect(suitor->id);
    peer.suitors.erase(suitor);
    return true;
  }
  return false;
}

// What a later connection says is kept, whole and within bounds, until its time comes. False: it says too much.
bool Member::keep_early(Peer::Suitor& suitor, fabric::Event&& event) {
  if (event.kind == fabric::Event::Kind::message) {
    const auto message = decode(event.bytes, options_.identity, shapes_);
    if (const auto* part = message ? std::get_if<Part>(&*message) : nullptr) {
      if (!put_together(suitor.parts, *part, suitor.greeted ? parted_message_bytes_max : stranger_message_bytes_max))
        return false;
      if (part->left > 0) return true;
      event.bytes = std::exchange(suitor.parts, {});
    } else if (suitor.events.empty()) {
      suitor.greeted = message && std::holds_alternative<Hello>(*message);
    }
  }
  suitor.bytes += event.bytes.size();
  if (suitor.events.size() == early_events_max || suitor.bytes > parted_message_bytes_max) return false;
  suitor.events.push_back(std::move(event));
  return true;
}

// Whether a later connection is worth more than the present one by what it said: it speaks for the incarnation in the view,
// which the present one does not, or it tells of a view with this process.
bool Member::outranks(const Peer& peer, const Peer::Suitor& suitor) const {
  std::uint64_t incarnation = 0;
  return std::any_of(suitor.events.begin(), suitor.events.end(), [&](const fabric::Event& event) {
    const auto message = decode(event.bytes, options_.identity, shapes_);
    if (!message) return false;
    if (const auto* notice = std::get_if<ViewNotice>(&*message)) {
      return state_ == MemberState::looking && concerns_self(*notice) && may_follow(peer.address.node, incarnation);
    }
    const auto* hello = std::get_if<Hello>(&*message);
    if (hello == nullptr) return false;
    incarnation = hello->incarnation;
    if (epoch() == nullptr || rank_of(peer)) return false;
    const auto rank = epoch()->view().rank_of(peer.address.node);
    const bool meant = rank && epoch()->view().incarnations[rank->value()] == incarnation;
    return meant && incarnation > peer.incarnation;
  });
}

// Which of a node's connections is of use cannot be told from their order. One that speaks comes before one that is silent;
// one that outranks the present one ends it.
void Member::prefer_suitor(Peer& peer) {
  auto& suitors = peer.suitors;
  const bool silent = peer.state == Peer::State::greeted && !peer.spoke;
  const auto better = std::find_if(suitors.begin(), suitors.end(), [&](const Peer::Suitor& suitor) {
    return silent ? !suitor.events.empty() : outranks(peer, suitor);
  });
  if (better == suitors.end()) return;
  std::rotate(better, better + 1, suitors.end());  // the next to be adopted
  if (!silent) return on_lost(peer, "its node has connected anew");
  const Peer::Suitor present{peer.id, peer.mappable};
  adopt_suitor(peer);
  suitors.push_back(present);
}

void Member::drop_suitors(Peer& peer) {
  for (const Peer::Suitor& suitor : peer.suitors) fabric_.disconnect(suitor.id);
  peer.suitors.clear();
}

// The last of those that have spoken, or the last.
void Member::adopt_suitor(Peer& peer) {
  const auto spoke = std::find_if(peer.suitors.rbegin(), peer.suitors.rend(),
                                  [](const Peer::Suitor& suitor) { return !suitor.events.empty(); });
  const auto chosen = spoke == peer.suitors.rend() ? peer.suitors.end() - 1 : spoke.base() - 1;
  Peer::Suitor suitor = std::move(*chosen);
  peer.suitors.erase(chosen);
  peer.state = Peer::State::greeted;
  peer.id = suitor.id;
  peer.mappable = suitor.mappable;
  peer.spoke = !suitor.events.empty();
  peer.parts = std::move(suitor.parts);
  for (fabric::Event& event : suitor.events) early_.push_back(std::move(event));
}

}  // namespace spindrift::views
