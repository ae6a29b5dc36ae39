// Sending, taking and finishing states.
#include <spindrift/views/transfer.hpp>

#include <algorithm>

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
  std::copy_n(kept.begin() + static_cast<std::ptrdiff_t>(offset - state_bytes()), to.size(), to.begin());
}

// The lowest-ranked member that has a subgroup's state sends it to all that have not. Saved now, before anything of the new
// view is delivered. What an earlier view began is void: its newcomers get the state as of this boundary.
void Member::begin_transfers(Epoch& epoch) {
  transfers_.outgoing.clear();
  transfers_.incoming.clear();
  const View& view = epoch.view();
  for (std::uint32_t s = 0; s < view.subgroups.size(); ++s) {
    Inbox& inbox = inboxes_[s];
    if (inbox.loading()) inbox.clear();
    inbox.end_loading();
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
      transfers_.incoming.push_back({*source, view.id, SubgroupId(s), nullptr, {}});
    }
  }
}

bool Member::pump_transfers() {
  bool any = false;
  for (OutgoingState& out : transfers_.outgoing) {
    const Peer* const peer = peer_of(out.to);
    if (peer == nullptr || peer->state != Peer::State::agreed) continue;
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
  std::erase_if(transfers_.outgoing, [](const OutgoingState& out) {
    return out.begun && out.acknowledged == out.state->total_bytes();
  });
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
  if (piece.offset != found->received) return accuse(peer, "it sent a piece of a state out of turn");

  if (!found->writer && piece.state_bytes > 0) found->writer = upcalls_.load_state(piece.subgroup);
  const std::uint64_t left = piece.state_bytes > piece.offset ? piece.state_bytes - piece.offset : 0;
  const std::size_t of_state = std::min<std::uint64_t>(left, piece.bytes.size());
  if (of_state > 0 && found->writer) found->writer->write(piece.bytes.first(of_state));
  const auto kept = piece.bytes.subspan(of_state);
  found->kept.insert(found->kept.end(), kept.begin(), kept.end());
  found->received += piece.bytes.size();
  send_to(peer, encode(StateAck{piece.view, piece.subgroup, found->received}));
  if (found->received < piece.total_bytes) return;

  IncomingState done = std::move(*found);
  transfers_.incoming.erase(found);
  Inbox& inbox = inboxes_[done.subgroup.value()];
  if (!inbox.prepend(done.kept)) return accuse(peer, "it sent impossible deliveries behind a state");
  if (done.writer) done.writer->finish();
  inbox.end_loading();
  epoch()->set_loaded(done.subgroup);
  log::info(log::Room::views, "state loaded",
            {{"node", self()}, {"subgroup", epoch()->view().subgroup(done.subgroup).name}, {"bytes", done.received}});
}

}  // namespace spindrift::views
