// How members find each other: hello, agreement, rows. No memory is exposed to a peer before its hello was checked.
#include <spindrift/core/check.hpp>
#include <spindrift/core/log.hpp>
#include <spindrift/views/member.hpp>

namespace spindrift::views {

bool Member::take_events() {
  bool any = false;
  while (state_ != MemberState::failed) {
    const std::size_t count = fabric_.poll(events_);
    for (std::size_t i = 0; i < count && state_ != MemberState::failed; ++i) on_event(events_[i]);
    any |= count > 0;
    if (count < events_.size()) break;
  }
  return any;
}

std::optional<Rank> Member::rank_of(fabric::PeerId peer) const {
  for (std::uint32_t i = 0; i < links_.size(); ++i) {
    if (links_[i].state != Link::State::none && links_[i].peer == peer) return Rank(i);
  }
  return std::nullopt;
}

void Member::on_event(fabric::Event& event) {
  if (event.kind == fabric::Event::Kind::connected) return on_connected(event);
  const auto rank = rank_of(event.peer);
  if (!rank) return;  // a peer that was refused; its last words do not matter
  switch (event.kind) {
    case fabric::Event::Kind::connected:
    case fabric::Event::Kind::completed: break;
    case fabric::Event::Kind::message: on_message(*rank, event.bytes); break;
    case fabric::Event::Kind::exposed: on_exposed(*rank, event); break;
    case fabric::Event::Kind::lost: on_lost(*rank, event); break;
  }
}

void Member::on_connected(const fabric::Event& event) {
  const auto rank = options_.view.rank_of(event.node);
  if (!rank || *rank == rank_) return refuse(event.peer, "this group has no other member with your node id");
  if (state_ != MemberState::connecting) return refuse(event.peer, "the group is already running");
  Link& link = links_[rank->value()];
  if (link.state != Link::State::none) return refuse(event.peer, "your node id is already connected");

  link = Link{};
  link.state = Link::State::greeted;
  link.peer = event.peer;
  link.mappable = event.mappable;
  send_to(link.peer, encode_hello(options_.identity, {options_.self, options_.incarnation}));
}

void Member::on_message(Rank rank, std::span<const std::byte> bytes) {
  const auto greeting = decode_greeting(bytes, options_.identity);
  if (!greeting) {
    return fail(Error(ErrorKind::member_lost, name_of(rank) + " sent a message that is none of this protocol"), true);
  }
  if (greeting->hello) return on_hello(rank, *greeting->hello);
  if (greeting->mismatch) {
    const Error& mismatch = *greeting->mismatch;
    send_to(links_[rank.value()].peer, encode_refusal(mismatch.message()));
    return fail(Error(ErrorKind::refused, "refused " + name_of(rank)).because(mismatch), false);
  }
  if (greeting->refusal) {
    return fail(Error(ErrorKind::refused, name_of(rank) + " refused this node: " + *greeting->refusal)
                    .fix("compare `spindrift config show --effective` of both nodes"), false);
  }
  fail(Error(ErrorKind::member_lost, name_of(rank) + " stopped the group: " + *greeting->stop), false);
}

// The peer agrees: let it read this row in place, or give it a mirror to write its own row into.
void Member::on_hello(Rank rank, const Hello& hello) {
  Link& link = links_[rank.value()];
  if (link.state != Link::State::greeted || hello.node != options_.view.members[rank.value()]) {
    return fail(Error(ErrorKind::member_lost, name_of(rank) + " sent a hello out of turn or under another node id"), true);
  }
  fabric::RegionKey offered = own_row_.key;
  if (!link.mappable) {
    auto mirror = fabric_.allocate(table_->layout(rank).bytes(), "mirror");
    if (!mirror) return fail(std::move(mirror).error(), true);
    link.mirror = *mirror;
    offered = link.mirror.key;
  }
  const auto access = link.mappable ? fabric::Access::read : fabric::Access::write;
  if (auto exposed = fabric_.expose(link.peer, offered, access); !exposed) return fail(std::move(exposed).error(), true);
  link.state = Link::State::agreed;
}

void Member::on_exposed(Rank rank, const fabric::Event& event) {
  Link& link = links_[rank.value()];
  const auto access = link.mappable ? fabric::Access::read : fabric::Access::write;
  const std::uint64_t expected = table_->layout(link.mappable ? rank : rank_).bytes();
  if (link.state != Link::State::agreed || event.access != access || event.region_bytes < expected) {
    return fail(Error(ErrorKind::member_lost, name_of(rank) + " exposed memory out of turn or of the wrong size"), true);
  }
  link.remote = event.region;
  link.state = Link::State::exposed;
}

void Member::on_lost(Rank rank, const fabric::Event& event) {
  Link& link = links_[rank.value()];
  const std::string reason = event.reason ? event.reason->to_string() : "connection lost";
  if (state_ == MemberState::connecting) {
    log::info(log::Room::views, "lost while starting; waiting for it again",
              {{"peer", options_.view.members[rank.value()]}, {"reason", reason}});
    link = Link{};
    return;
  }
  if (phase_ == Phase::flushed || link.phase == Phase::flushed) {
    link.lost = true;  // everything was delivered everywhere: it has merely left first
    return;
  }
  Error error(ErrorKind::member_lost, name_of(rank) + " was lost");
  fail(event.reason ? std::move(error).because(*event.reason) : std::move(error), true);
}

bool Member::attach_when_complete() {
  for (std::uint32_t i = 0; i < links_.size(); ++i) {
    if (Rank(i) != rank_ && links_[i].state != Link::State::exposed) return false;
  }
  if (state_ != MemberState::connecting) return false;
  for (std::uint32_t i = 0; i < links_.size(); ++i) {
    if (Rank(i) == rank_) continue;
    Link& link = links_[i];
    if (!link.mappable) {
      table_->attach_mirrored(Rank(i), link.mirror.memory, link.peer, link.remote);
      continue;
    }
    auto row = fabric_.map(link.peer, link.remote);
    if (!row) {
      fail(std::move(row).error(), true);
      return true;
    }
    table_->attach_mapped(Rank(i), *row);
  }
  for (const auto& multicast : multicasts_) {
    if (multicast) multicast->start();
  }
  enter(MemberState::ready);
  set_phase(Phase::ready);
  return true;
}

void Member::refuse(fabric::PeerId peer, std::string_view reason) {
  send_to(peer, encode_refusal(reason));
  fabric_.disconnect(peer);
}

void Member::send_to(fabric::PeerId peer, std::vector<std::byte> message) {
  const fabric::Operation operation{.kind = fabric::Operation::Kind::send,
                                    .copied = true,
                                    .signaled = false,
                                    .peer = peer,
                                    .local = message.data(),
                                    .bytes = message.size(),
                                    .region = {},
                                    .offset = 0,
                                    .context = 0};
  if (auto posted = fabric_.post(std::span(&operation, 1)); !posted) {
    log::warn(log::Room::views, "could not send", {{"reason", posted.error().to_string()}});
  }
}

}  // namespace spindrift::views
