// The life of a member after the handshake: phases, passes over the predicates, the orderly end and the disorderly one.
#include <spindrift/views/member.hpp>

#include <spindrift/core/check.hpp>
#include <spindrift/core/log.hpp>

namespace spindrift::views {
namespace {

constexpr Duration unclaimed_patience = std::chrono::seconds(1);

}  // namespace

std::string_view to_string(MemberState state) noexcept {
  switch (state) {
    case MemberState::idle: return "idle";
    case MemberState::connecting: return "connecting";
    case MemberState::ready: return "ready";
    case MemberState::in_view: return "in view";
    case MemberState::closing: return "closing";
    case MemberState::left: return "left";
    case MemberState::failed: return "failed";
  }
  return "unknown";
}

Member::Member(MemberOptions options, fabric::Fabric& fabric, smc::DeliverySink& sink, CounterBlock& counters)
    : options_(std::move(options)), fabric_(fabric), sink_(sink), counters_(counters) {
  const auto rank = options_.view.rank_of(options_.self);
  CHECK(rank.has_value() && options_.addresses.size() == options_.view.members.size());
  rank_ = *rank;
  links_.resize(options_.view.members.size());
  active_.resize(options_.view.subgroups.size());
  multicasts_.resize(options_.view.subgroups.size());
}

Result<void> Member::start() {
  CHECK(state_ == MemberState::idle);
  const fabric::Traits& traits = fabric_.traits();
  if (!traits.ordered_writes) {
    return Error(ErrorKind::unsupported, "fabric " + std::string(traits.name) +
                                             " does not order writes to one peer, which the shared state table rests on")
        .fix("choose another [SPINDRIFT] fabric");
  }
  if (traits.peers_max + 1 < options_.view.members.size()) {
    return Error(ErrorKind::unsupported, "fabric " + std::string(traits.name) + " connects at most " +
                                             std::to_string(traits.peers_max + 1) + " members")
        .fix("configure fewer members");
  }

  const sst::RowLayout layout(options_.view, options_.self);
  auto row = fabric_.allocate(layout.bytes(), "row");
  if (!row) return std::move(row).error();
  own_row_ = *row;
  table_ = std::make_unique<sst::Table>(options_.view, options_.self, own_row_.memory);
  activity_seen_.assign(links_.size(), std::vector<std::uint64_t>(layout.activity_words()));
  for (std::uint32_t i = 0; i < multicasts_.size(); ++i) {
    if (!options_.view.subgroups[i].member_position(options_.self)) continue;
    multicasts_[i] = std::make_unique<smc::Multicast>(SubgroupId(i), *table_, options_.policy, sink_, counters_);
  }

  for (std::uint32_t i = 0; i < links_.size(); ++i) {
    if (Rank(i) == rank_) continue;
    if (auto connecting = fabric_.connect(options_.addresses[i]); !connecting) return connecting;
  }
  enter(MemberState::connecting);
  return {};
}

Member::Step Member::step(Time now) {
  bool progress = take_events();
  switch (state_) {
    case MemberState::idle: CHECK(false); break;
    case MemberState::connecting: progress |= attach_when_complete(); break;
    case MemberState::ready:
      progress |= read_phases();
      if (state_ == MemberState::ready && everybody_at_least(Phase::ready)) {
        enter(MemberState::in_view);
        accepts_sends_.store(true, std::memory_order_seq_cst);
        progress = true;
      }
      break;
    case MemberState::in_view:
    case MemberState::closing:
      progress |= read_phases();
      if (state_ != MemberState::failed) progress |= run_predicates();
      break;
    case MemberState::left:
    case MemberState::failed: return {};
  }
  push();
  return {.progress = progress, .wake_at = report_unclaimed(now)};
}

// Messages that no handler takes hold up the senders, and in the end the leave of everybody: say so once. Returns when to
// look again.
Time Member::report_unclaimed(Time now) {
  const auto unclaimed = [&](std::size_t s) {
    return multicasts_[s] && multicasts_[s]->deliverable() && !sink_.accepts(SubgroupId(static_cast<std::uint32_t>(s)));
  };
  std::size_t s = 0;
  while (s < multicasts_.size() && !unclaimed(s)) ++s;
  if (s == multicasts_.size()) {
    unclaimed_since_ = never;
    return never;
  }
  if (unclaimed_since_ == never) unclaimed_since_ = now;
  if (unclaimed_reported_) return never;
  if (now < unclaimed_since_ + unclaimed_patience) return unclaimed_since_ + unclaimed_patience;
  unclaimed_reported_ = true;
  log::warn(log::Room::views, "messages wait for a handler: call on_delivery",
            {{"node", options_.self}, {"subgroup", options_.view.subgroups[s].name}});
  return never;
}

// Reads every member's phase before this pass reads their counters: a phase guards the counts that it calls final.
bool Member::read_phases() {
  bool changed = false;
  for (std::uint32_t i = 0; i < links_.size(); ++i) {
    Link& link = links_[i];
    if (Rank(i) == rank_) continue;
    const auto phase = table_->read(Rank(i), table_->layout(Rank(i)).phase())
                           .within(static_cast<std::uint64_t>(link.phase), static_cast<std::uint64_t>(Phase::flushed));
    if (!phase) {
      fail(Error(ErrorKind::member_lost, name_of(Rank(i)) + " wrote an impossible phase"), true);
      return true;
    }
    if (*phase == static_cast<std::uint64_t>(link.phase)) continue;
    const auto epoch = table_->read(Rank(i), table_->layout(Rank(i)).epoch());
    if (!epoch.equals(options_.view.id.value())) {
      fail(Error(ErrorKind::member_lost, name_of(Rank(i)) + " speaks for another view"), true);
      return true;
    }
    link.phase = static_cast<Phase>(*phase);
    if (link.phase >= Phase::closing && !leaver_) leaver_ = options_.view.members[i];
    changed = true;
  }
  return changed;
}

bool Member::everybody_at_least(Phase phase) const {
  for (std::uint32_t i = 0; i < links_.size(); ++i) {
    const Link& link = links_[i];
    if (Rank(i) != rank_ && link.phase < phase && !link.lost) return false;
  }
  return true;
}

void Member::set_phase(Phase phase) {
  CHECK(phase > phase_);
  phase_ = phase;
  const sst::RowLayout& layout = table_->layout(rank_);
  if (phase == Phase::ready) table_->store(layout.epoch(), options_.view.id.value(), sst::Table::everybody);
  table_->store(layout.phase(), static_cast<std::uint64_t>(phase), sst::Table::everybody);
}

// Which subgroups have news: an activity counter of theirs moved, the own application committed, or the last pass left
// something to do.
void Member::mark_active() {
  for (std::uint32_t i = 0; i < links_.size(); ++i) {
    if (Rank(i) == rank_) continue;
    std::vector<std::uint64_t>& seen = activity_seen_[i];
    for (std::uint32_t word = 0; word < seen.size(); ++word) {
      const auto counter = table_->read(Rank(i), table_->layout(Rank(i)).activity_word(word));
      if (counter.equals(seen[word])) continue;
      // Any value means "look": the counter bounds nothing, so there is nothing to validate beyond its being different.
      seen[word] = counter.within(0, ~std::uint64_t{0}).value();
      const std::size_t first = word * sst::subgroups_per_activity;
      for (std::size_t s = first; s < first + sst::subgroups_per_activity && s < active_.size(); ++s) active_[s] = true;
    }
  }
  for (std::size_t s = 0; s < active_.size(); ++s) {
    if (!multicasts_[s]) {
      active_[s] = false;
    } else if (state_ == MemberState::closing || multicasts_[s]->has_news() || multicasts_[s]->deliverable()) {
      active_[s] = true;
    }
  }
}

// One pass. Acknowledgements are pushed before the upcalls, so that a slow handler holds up nobody's stability; what the
// upcalls advance goes out with the next pass, which follows at once.
bool Member::run_predicates() {
  if (state_ == MemberState::in_view && (leaver_ || leave_requested_.load(std::memory_order_seq_cst))) {
    if (!leaver_) leaver_ = options_.self;
    accepts_sends_.store(false, std::memory_order_seq_cst);
    enter(MemberState::closing);
  }
  mark_active();

  bool progress = false;
  for (std::size_t s = 0; s < active_.size(); ++s) {
    if (!active_[s]) continue;
    active_[s] = multicasts_[s]->send_and_receive();
    progress |= active_[s];
  }
  push();
  if (state_ == MemberState::failed) return true;
  for (std::size_t s = 0; s < active_.size(); ++s) {
    if (!multicasts_[s] || !multicasts_[s]->deliver()) continue;
    active_[s] = true;
    progress = true;
  }
  for (const auto& multicast : multicasts_) {
    if (!multicast || !multicast->fault()) continue;
    const smc::PeerFault& fault = *multicast->fault();
    const std::string node = "node " + std::to_string(fault.node.value());
    fail(Error(ErrorKind::member_lost, node + " wrote impossible bytes: " + fault.what), true);
    return true;
  }
  if (state_ == MemberState::closing) progress |= advance_closing();
  return progress;
}

bool Member::advance_closing() {
  const auto all = [&](auto&& holds) {
    for (const auto& multicast : multicasts_) {
      if (multicast && !holds(*multicast)) return false;
    }
    return true;
  };
  if (phase_ == Phase::ready && all([](smc::Multicast& m) { return m.ring() == nullptr || m.ring()->drained(); })) {
    set_phase(Phase::closing);
    return true;
  }
  if (phase_ == Phase::closing && everybody_at_least(Phase::closing) &&
      all([](smc::Multicast& m) { return m.quiescent() && !m.deliverable(); })) {
    set_phase(Phase::flushed);
    return true;
  }
  if (phase_ == Phase::flushed && everybody_at_least(Phase::flushed)) {
    push();
    enter(MemberState::left);
    return true;
  }
  return false;
}

void Member::push() {
  if (!table_ || state_ == MemberState::failed) return;
  if (auto pushed = table_->push(fabric_); !pushed) fail(std::move(pushed).error(), true);
}

void Member::enter(MemberState state) {
  log::debug(log::Room::views, "state", {{"node", options_.self}, {"from", to_string(state_)}, {"to", to_string(state)}});
  state_ = state;
  // Whoever waits for space learns from the state whether waiting still makes sense.
  if (state == MemberState::closing || state == MemberState::failed) {
    for (std::uint32_t s = 0; s < multicasts_.size(); ++s) {
      if (multicasts_[s]) sink_.on_space(SubgroupId(s));
    }
  }
}

void Member::stop(Error reason) {
  if (state_ != MemberState::failed && state_ != MemberState::left) fail(std::move(reason), true);
}

void Member::fail(Error error, bool tell_others) {
  CHECK(state_ != MemberState::failed);
  log::warn(log::Room::views, "group stops", {{"node", options_.self}, {"reason", error.to_string()}});
  if (tell_others) {
    for (const Link& link : links_) {
      if (link.state != Link::State::none && !link.lost) send_to(link.peer, encode_stop(error.to_string()));
    }
  }
  failure_ = std::move(error);
  accepts_sends_.store(false, std::memory_order_seq_cst);
  enter(MemberState::failed);
}

std::string Member::name_of(Rank rank) const {
  return "node " + std::to_string(options_.view.members[rank.value()].value());
}

std::vector<NodeId> Member::missing() const {
  std::vector<NodeId> nodes;
  for (std::uint32_t i = 0; i < links_.size(); ++i) {
    if (Rank(i) != rank_ && links_[i].state != Link::State::exposed) nodes.push_back(options_.view.members[i]);
  }
  return nodes;
}

}  // namespace spindrift::views
