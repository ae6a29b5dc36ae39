// Saving, sending and taking states.
#include <spindrift/views/transfer.hpp>

#include <algorithm>
#include <utility>

#include <spindrift/core/check.hpp>

namespace spindrift::views {

TransferPlan transfer_plan(const View& view, SubgroupId id, const RankSet& loaded) {
  TransferPlan plan;
  for (const NodeId node : view.subgroup(id).members) {
    const Rank rank = *view.rank_of(node);
    if (!loaded.contains(rank)) plan.newcomers.push_back(node);
    if (loaded.contains(rank) && (!plan.source || rank < *view.rank_of(*plan.source))) plan.source = node;
  }
  return plan;
}

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

void Transfers::begin_view(const View& view, const std::vector<RankSet>& loaded, const Deliveries& deliveries) {
  outgoing_.clear();
  incoming_.clear();
  durable_next_.clear();
  for (std::uint32_t s = 0; s < view.subgroups.size(); ++s) {
    const SubgroupId id(s);
    const TransferPlan plan = transfer_plan(view, id, loaded[s]);
    if (plan.newcomers.empty()) continue;
    CHECK(plan.source.has_value());  // loaded_in and a checked notice see to it
    if (*plan.source == self_ && is_log(id)) {
      const std::uint64_t end = log_->logs()->end(id).version;
      for (const NodeId node : plan.newcomers) outgoing_.push_back({node, view.id, id, nullptr, 0, 0, false, end});
    } else if (*plan.source == self_) {
      auto state = std::make_shared<SavedState>(SavedState{upcalls_.save_state(id), deliveries.kept(id)});
      for (const NodeId node : plan.newcomers) outgoing_.push_back({node, view.id, id, state});
    } else if (deliveries.loading(id)) {
      incoming_.push_back({.from = *plan.source, .view = view.id, .subgroup = id});
    }
  }
}

std::vector<Transfers::Unsaved> Transfers::take_unsaved() {
  std::vector<Unsaved> unsaved;
  std::erase_if(outgoing_, [&](const Outgoing& out) {
    auto why = out.state && out.state->ready() ? out.state->failure() : std::nullopt;
    if (why) unsaved.push_back({out.to, out.subgroup, std::move(*why)});
    return why.has_value();
  });
  return unsaved;
}

std::vector<Addressed> Transfers::next_pieces(const View& view, const RankSet& ready, std::size_t bytes_max) {
  std::vector<Addressed> pieces;
  for (Outgoing& out : outgoing_) {
    const auto rank = view.rank_of(out.to);
    if (rank && ready.contains(*rank) && out.state && out.state->saved()) send_next(out, bytes_max, pieces);
  }
  return pieces;
}

void Transfers::send_next(Outgoing& out, std::size_t bytes_max, std::vector<Addressed>& to) {
  const std::uint64_t total = out.state->total_bytes();
  while ((out.sent < total || !out.begun) && out.sent - out.acknowledged < window_bytes) {
    std::vector<std::byte> bytes(std::min({piece_bytes, total - out.sent, std::uint64_t{bytes_max}}));
    out.state->read(out.sent, bytes);
    to.push_back({out.to, encode(StatePiece{out.view, out.subgroup, out.sent, out.state->state_bytes(), total, bytes})});
    out.sent += bytes.size();
    out.begun = true;
  }
}

// An acknowledgement of the whole state says that the newcomer counts as loaded.
void Transfers::on_ack(NodeId from, const StateAck& ack) {
  std::erase_if(outgoing_, [&](Outgoing& out) {
    if (out.to != from || out.view != ack.view || out.subgroup != ack.subgroup || !out.state) return false;
    if (ack.offset >= out.acknowledged && ack.offset <= out.sent) out.acknowledged = ack.offset;
    return out.begun && ack.offset == out.state->total_bytes() && out.acknowledged == ack.offset;
  });
}

std::vector<Transfers::Receiver> Transfers::receivers() const {
  std::vector<Receiver> all;
  for (const Outgoing& out : outgoing_) all.push_back({out.to, out.subgroup});
  return all;
}

// Pieces of another view than the present one are late and void.
bool Transfers::on_piece(NodeId from, const StatePiece& piece) {
  const auto found = std::find_if(incoming_.begin(), incoming_.end(), [&](const Incoming& in) {
    return in.from == from && in.view == piece.view && in.subgroup == piece.subgroup;
  });
  if (found == incoming_.end()) return true;
  if (!std::exchange(found->begun, true)) {
    found->state_bytes = piece.state_bytes;
    found->total_bytes = piece.total_bytes;
  }
  const std::uint64_t arrived = found->taken + found->waiting.size();
  if (piece.offset != arrived || piece.state_bytes != found->state_bytes || piece.total_bytes != found->total_bytes ||
      found->waiting.size() + piece.bytes.size() > window_bytes + piece_bytes) {
    return false;
  }
  found->waiting.insert(found->waiting.end(), piece.bytes.begin(), piece.bytes.end());
  return true;
}

std::optional<Transfers::Taken> Transfers::take() {
  const auto found = std::find_if(incoming_.begin(), incoming_.end(), [&](const Incoming& in) {
    return in.begun && (in.total_bytes == 0 || (!in.waiting.empty() && takes(in.subgroup)));
  });
  if (found == incoming_.end()) return std::nullopt;
  Taken taken = take(*found);
  if (taken.complete) incoming_.erase(found);
  return taken;
}

void Transfers::open(Incoming& in) {
  if (!is_log(in.subgroup)) {
    in.writer = upcalls_.load_state(in.subgroup);
    return;
  }
  auto log = log_->logs()->write(in.subgroup);
  in.log = log.get();
  in.writer = std::move(log);
}

void Transfers::on_log_request(NodeId from, const LogRequest& request) {
  for (Outgoing& out : outgoing_) {
    if (out.to != from || out.view != request.view || out.subgroup != request.subgroup || out.state) continue;
    if (!is_log(out.subgroup)) continue;
    out.state = std::make_shared<SavedState>(SavedState{log_->logs()->read(out.subgroup, request.end, out.log_end), {}});
  }
}

std::vector<Addressed> Transfers::log_requests(const View& view, const RankSet& ready) {
  std::vector<Addressed> requests;
  for (Incoming& in : incoming_) {
    const auto rank = view.rank_of(in.from);
    if (in.asked || !is_log(in.subgroup) || !rank || !ready.contains(*rank)) continue;
    in.asked = true;
    requests.push_back({in.from, encode(LogRequest{in.view, in.subgroup, log_->logs()->end(in.subgroup)})});
  }
  return requests;
}

std::vector<Addressed> Transfers::take_durable(std::vector<SubgroupId>& loaded) {
  std::vector<Addressed> acks;
  std::erase_if(durable_next_, [&](const Complete& each) {
    if (is_log(each.ack.subgroup) && !log_->begun_is_durable(each.ack.subgroup)) return false;
    loaded.push_back(each.ack.subgroup);
    acks.push_back({each.from, encode(each.ack)});
    return true;
  });
  return acks;
}

Transfers::Taken Transfers::take(Incoming& in) {
  if (!in.writer && in.state_bytes > 0) open(in);
  const std::uint64_t left = in.state_bytes > in.taken ? in.state_bytes - in.taken : 0;
  const std::span<const std::byte> bytes = in.waiting;
  const std::size_t of_state = std::min<std::uint64_t>(left, bytes.size());
  if (of_state > 0) in.writer->write(bytes.first(of_state));
  in.kept.insert(in.kept.end(), bytes.begin() + static_cast<std::ptrdiff_t>(of_state), bytes.end());
  in.taken += bytes.size();
  in.waiting.clear();
  Taken taken{.from = in.from, .ack = {in.view, in.subgroup, in.taken}, .writer = nullptr, .kept = {}};
  taken.impossible = in.log != nullptr && !in.log->valid();
  if (in.taken < in.total_bytes) return taken;
  taken.complete = true;
  if (in.log != nullptr) in.log->finish();
  taken.impossible = in.log != nullptr ? !in.log->valid() : is_log(in.subgroup);
  if (in.log == nullptr) taken.writer = std::move(in.writer);
  taken.kept = std::move(in.kept);
  return taken;
}

}  // namespace spindrift::views
