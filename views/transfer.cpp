// Sending, taking and finishing states.
#include <spindrift/views/transfer.hpp>

#include <algorithm>
#include <utility>

#include <spindrift/core/check.hpp>
#include <spindrift/core/log.hpp>
#include <spindrift/views/member.hpp>

namespace spindrift::views {

void SavedState::read(std::uint64_t offset, std::span<std::byte> to) const {
  if (offset < state_bytes()) {
    const std::uint64_t count = std::min<std::uint64_t>(to.size(), state_bytes() - offset);
    reader->read(offset, to.first(count));
    to = to.subspan(count);
    offset += count;
  }
  if (to.empty()) return;
  std::copy_n(kept.begin() + static_cast<std::ptrdiff_t>(offset - state_bytes()), to.size(), to.begin());
}

// The lowest-ranked member that has a subgroup's state sends it to all that have not. Saved now, before anything of the new
// view is delivered. What an earlier view began is void: its newcomers get the state as of this boundary.
void Member::begin_transfers(Epoch& epoch, const std::vector<NodeId>& joined) {
  transfers_.outgoing.clear();
  transfers_.incoming.clear();
  inboxes_pass_ = false;
  const View& view = epoch.view();
  for (std::uint32_t s = 0; s < view.subgroups.size(); ++s) {
    Inbox& inbox = inboxes_[s];
    std::uint64_t& own = own_unloaded_[s];
    inbox.pass_boundaries(SubgroupId(s), upcalls_);  // of the view that ends, if a handler was at work until now
    if (inbox.loading()) {  // whoever has the state has these as well
      own += inbox.count_of(self());
      inbox.drop_deliveries();
    }
    inbox.end_loading();
    // With nobody left to have the state from, the subgroup begins anew, at once or when it can, without them.
    const RankSet& having = epoch.loaded()[s];
    if (own > 0 && (having.empty() || having.contains(epoch.self()))) {
      upcalls_.on_dropped(SubgroupId(s), std::exchange(own, 0));
    }
    inbox.keep(ObjectBoundary::of(view, SubgroupId(s), self(), joined));
    std::optional<NodeId> source;
    std::vector<NodeId> newcomers;
    for (const NodeId node : view.subgroups[s].members) {
      const bool loaded = epoch.loaded()[s].contains(*view.rank_of(node));
      if (!loaded) newcomers.push_back(node);
      if (loaded && (!source || *view.rank_of(node) < *view.rank_of(*source))) source = node;
    }
    if (newcomers.empty()) continue;
    CHECK(source.has_value());  // loaded_in and a checked notice see to it
    if (*source == self()) {
      auto state = std::make_shared<SavedState>(SavedState{upcalls_.save_state(SubgroupId(s)), inbox.encode()});
      for (const NodeId node : newcomers) transfers_.outgoing.push_back({node, view.id, SubgroupId(s), state});
    } else if (std::find(newcomers.begin(), newcomers.end(), self()) != newcomers.end()) {
      inbox.begin_loading();
      IncomingState& in = transfers_.incoming.emplace_back();
      in.from = *source;
      in.view = view.id;
      in.subgroup = SubgroupId(s);
    }
  }
}

bool Member::pump_transfers() {
  bool any = false;
  for (OutgoingState& out : transfers_.outgoing) {
    const Peer* const peer = peer_of(out.to);
    if (peer == nullptr || peer->state != Peer::State::agreed) continue;
    const auto rank = rank_of(*peer);
    if (!rank || !epoch()->change().ready(*rank)) continue;  // before, it may not know of this view
    const std::uint64_t total = out.state->total_bytes();
    while ((out.sent < total || !out.begun) && out.sent - out.acknowledged < Transfers::window_bytes) {
      std::vector<std::byte> bytes(std::min({Transfers::piece_bytes, total - out.sent, std::uint64_t{private_bytes_max()}}));
      out.state->read(out.sent, bytes);
      send_to(*peer, encode(StatePiece{out.view, out.subgroup, out.sent, out.state->state_bytes(), total, bytes}));
      out.sent += bytes.size();
      out.begun = true;
      any = true;
    }
  }
  std::erase_if(transfers_.outgoing,
                [](const OutgoingState& out) { return out.begun && out.acknowledged == out.state->total_bytes(); });
  return any;
}

void Member::on_state_ack(const Peer& peer, const StateAck& ack) {
  for (OutgoingState& out : transfers_.outgoing) {
    if (out.to != peer.address.node || out.view != ack.view || out.subgroup != ack.subgroup) continue;
    if (ack.offset >= out.acknowledged && ack.offset <= out.sent) out.acknowledged = ack.offset;
  }
}

// Pieces of another view than the present one are late and void; so are those of a view that is ending: the next one's
// transfer includes what this one delivers.
void Member::on_state_piece(Peer& peer, const StatePiece& piece) {
  if (epoch() == nullptr || epoch()->change().state() != ViewChange::State::steady) return;
  const auto found = std::find_if(transfers_.incoming.begin(), transfers_.incoming.end(), [&](const IncomingState& in) {
    return in.from == peer.address.node && in.view == piece.view && in.subgroup == piece.subgroup;
  });
  if (found == transfers_.incoming.end()) return;
  if (!std::exchange(found->begun, true)) {
    found->state_bytes = piece.state_bytes;
    found->total_bytes = piece.total_bytes;
  }
  const std::uint64_t arrived = found->taken + found->waiting.size();
  if (piece.offset != arrived || piece.state_bytes != found->state_bytes || piece.total_bytes != found->total_bytes ||
      found->waiting.size() + piece.bytes.size() > Transfers::window_bytes + Transfers::piece_bytes) {
    return accuse(peer, "it sent a piece of a state out of turn");
  }
  found->waiting.insert(found->waiting.end(), piece.bytes.begin(), piece.bytes.end());
}

// What has arrived goes to the application as soon as it is ready to take deliveries.
bool Member::take_states() {
  if (epoch() == nullptr || epoch()->change().state() != ViewChange::State::steady) return false;
  bool any = false;
  for (std::size_t i = 0; i < transfers_.incoming.size();) {
    IncomingState& in = transfers_.incoming[i];
    if (in.begun && upcalls_.accepts(in.subgroup) && (!in.waiting.empty() || in.total_bytes == 0)) {
      any = true;
      if (take_state(in)) {
        transfers_.incoming.erase(transfers_.incoming.begin() + static_cast<std::ptrdiff_t>(i));
        continue;
      }
    }
    ++i;
  }
  return any;
}

// True when it is complete.
bool Member::take_state(IncomingState& in) {
  if (!in.writer && in.state_bytes > 0) in.writer = upcalls_.load_state(in.subgroup);
  const std::uint64_t left = in.state_bytes > in.taken ? in.state_bytes - in.taken : 0;
  const std::span<const std::byte> bytes = in.waiting;
  const std::size_t of_state = std::min<std::uint64_t>(left, bytes.size());
  if (of_state > 0) in.writer->write(bytes.first(of_state));
  in.kept.insert(in.kept.end(), bytes.begin() + static_cast<std::ptrdiff_t>(of_state), bytes.end());
  in.taken += bytes.size();
  in.waiting.clear();
  Peer* const source = peer_of(in.from);
  if (source != nullptr && source->state == Peer::State::agreed) {
    send_to(*source, encode(StateAck{in.view, in.subgroup, in.taken}));
  }
  if (in.taken < in.total_bytes) return false;

  Inbox& inbox = inboxes_[in.subgroup.value()];
  if (!inbox.prepend(in.kept)) {
    if (source != nullptr) accuse(*source, "it sent impossible deliveries behind a state");
    return false;
  }
  inboxes_pass_ = false;
  own_unloaded_[in.subgroup.value()] = 0;
  if (in.writer) in.writer->finish();
  inbox.end_loading();
  epoch()->set_loaded(in.subgroup);
  log::info(log::Room::views, "state loaded",
            {{"node", self()}, {"subgroup", epoch()->view().subgroup(in.subgroup).name}, {"bytes", in.taken}});
  return true;
}

}  // namespace spindrift::views
