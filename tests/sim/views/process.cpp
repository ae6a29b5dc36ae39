// The member's upcalls into its application. Every upcall is a point at which the process may die.
#include "process.hpp"

#include "fleet.hpp"

namespace spindrift::sim {
namespace {

constexpr std::size_t counters_per_process = 64;

class SavedState final : public views::StateReader {
 public:
  SavedState(History& history, std::vector<std::byte> bytes, std::shared_ptr<const bool> saved,
             std::function<void()> on_failure)
      : history_(history), bytes_(std::move(bytes)), saved_(std::move(saved)), on_failure_(std::move(on_failure)) {}
  [[nodiscard]] bool ready() const noexcept override { return *saved_; }
  [[nodiscard]] std::optional<std::string> failure() const override {
    if (!on_failure_) return std::nullopt;
    on_failure_();
    return "it failed";
  }
  [[nodiscard]] std::uint64_t bytes() const noexcept override { return bytes_.size(); }
  void read(std::uint64_t offset, std::span<std::byte> to) override {
    history_.check_sent(ready());
    std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(offset), to.size(), to.begin());
  }

 private:
  History& history_;
  std::vector<std::byte> bytes_;
  std::shared_ptr<const bool> saved_;
  std::function<void()> on_failure_;
};

}  // namespace

/// Collects a state; without `finish` nothing has changed.
class StateSink final : public views::StateWriter {
 public:
  StateSink(Process& process, std::uint32_t subgroup, ViewId view) : process_(process), subgroup_(subgroup), view_(view) {}
  void write(std::span<const std::byte> piece) override {
    process_.fleet_.history_.check_transfer(process_.index_, view_);
    bytes_.insert(bytes_.end(), piece.begin(), piece.end());
  }
  void finish() override {
    process_.fleet_.upcall(process_);
    process_.fleet_.history_.check_transfer(process_.index_, view_);
    process_.fleet_.history_.load_state(process_.index_, subgroup_, bytes_);
    process_.work_on_state(subgroup_, std::make_shared<bool>(false));
  }

 private:
  Process& process_;
  std::uint32_t subgroup_;
  ViewId view_;
  std::vector<std::byte> bytes_;
};

Process::Process(Fleet& fleet, std::uint32_t index, std::uint32_t node, std::uint64_t incarnation)
    : fleet_(fleet),
      index_(index),
      node_(node),
      incarnation_(incarnation),
      counters_(CounterBlock::in_memory(counters_per_process +
                                        fleet.plan_.subgroups.size() * smc::Multicast::counters_max)),
      accepting_(fleet.plan_.subgroups.size(), true),
      at_work_(fleet.plan_.subgroups.size()),
      state_works_(fleet.plan_.subgroups.size()),
      replays_to_(fleet.plan_.subgroups.size()),
      replay_waits_(fleet.plan_.subgroups.size()),
      saves_(fleet.plan_.subgroups.size()) {}

void Process::on_delivery(SubgroupId id, std::span<const Delivery> batch) {
  ++told_;
  fleet_.upcall(*this);
  const NodePlan& plan = fleet_.plan_.nodes[node_];
  if (!accepting_[id.value()] || busy(id) || state_at_work(id)) {
    fleet_.report_.violate("M11", "an upcall although the application takes none now");
  }
  if (batch.empty()) return fleet_.report_.violate("M11", "an upcall without messages");
  if (plan.throws_after > 0 && !fleet_.calm_ && index_ < fleet_.plan_.nodes.size() && ++upcalls_ == plan.throws_after) {
    fleet_.blame(node_);
    fleet_.report_.hit(Probe::upcall_threw);
    throw ApplicationFailed{};
  }
  if (!fleet_.schedule_.chance(plan.busy_in_1000, 1000)) return take(id.value(), batch);
  fleet_.report_.hit(Probe::handler_at_work);
  for (const Delivery& delivery : batch) {
    Work& work = at_work_[id.value()].emplace_back(Work{delivery, {delivery.payload.begin(), delivery.payload.end()}});
    work.delivery.payload = work.bytes;
  }
  stay_away(id.value(), plan.busy_ns_max);
}

void Process::take(std::uint32_t subgroup, std::span<const Delivery> batch) {
  const NodePlan& plan = fleet_.plan_.nodes[node_];
  const SubgroupId id(subgroup);
  if (member_->state() == views::MemberState::changing) fleet_.report_.hit(Probe::delivered_by_trim);
  fleet_.tampered_.assign(batch.begin(), batch.end());
  if (fleet_.tamper_) fleet_.tamper_(fleet_, index_, id.value(), fleet_.tampered_);
  const bool ordered = fleet_.plan_.subgroups[id.value()].mode == DeliveryMode::ordered;
  const bool logged = fleet_.plan_.subgroups[subgroup].logged;
  for (const Delivery& delivery : fleet_.tampered_) {
    fleet_.history_.check_place(index_, id.value(), delivery);
    fleet_.history_.on_delivery(index_, id.value(), delivery);
    if (logged) fleet_.log_books_.on_given(index_, subgroup, delivery.version, delivery.payload);
    if (fleet_.report_.failed()) return;
    if (!logged) fleet_.objects_.on_delivery(index_, id.value(), delivery);
  }
  // While the view is active, and the application never kept anybody waiting, deliveries are this view's and stable.
  const bool judged = ordered && !logged && plan.refusals_in_1000 == 0;
  if (judged && member_->state() == views::MemberState::active && member_->epoch()->begun() &&
      !fleet_.history_.lags(index_, id.value())) {
    fleet_.rows_.on_delivered(*fleet_.history_.view(member_->epoch()->id()), index_, id.value(),
                              batch.back().sequence.value());
  }
  fleet_.senders_.on_upcall(index_, id.value());
  if (!fleet_.schedule_.chance(plan.refusals_in_1000, 1000)) return;
  accepting_[id.value()] = false;
  fleet_.report_.hit(Probe::sink_refused);
  stay_away(subgroup, plan.refusal_ns_max);
}

void Process::comes_late() {
  const Ticks most = fleet_.plan_.nodes[node_].late_ns_max;
  if (most == 0 || fleet_.calm_) return;
  for (std::uint32_t s = 0; s < accepting_.size(); ++s) {
    accepting_[s] = false;
    stay_away(s, most);
  }
}

void Process::refuse(Ticks ticks) {
  fleet_.report_.hit(Probe::sink_refused);
  for (std::uint32_t s = 0; s < accepting_.size(); ++s) {
    accepting_[s] = false;
    fleet_.scheduler_.at(fleet_.now() + ticks, fleet_, EventKind::timer, index_ << 8U | s);
  }
}

void Process::stay_away(std::uint32_t subgroup, Ticks most) {
  const auto until = fleet_.schedule_.below(static_cast<std::uint64_t>(fleet_.calm_ ? 1000 : most));
  fleet_.scheduler_.at(fleet_.now() + static_cast<Ticks>(until), fleet_, EventKind::timer, index_ << 8U | subgroup);
}

void Process::resume(std::uint32_t subgroup) {
  accepting_[subgroup] = true;
  if (at_work_[subgroup].empty() || !running_) return;
  const std::vector<Work> work = std::exchange(at_work_[subgroup], {});
  std::vector<Delivery> batch;
  for (const Work& one : work) batch.push_back(one.delivery);
  const bool stops = member_->state() == views::MemberState::failed || member_->state() == views::MemberState::left;
  if (!stops) take(subgroup, batch);
}

std::vector<bool> Process::loading() const {
  std::vector<bool> loading;
  for (std::uint32_t s = 0; s < accepting_.size(); ++s) loading.push_back(member_->deliveries().loading(SubgroupId(s)));
  return loading;
}

bool Process::state_at_work(SubgroupId id) const {
  const std::uint32_t s = id.value();
  return state_works_[s].left > 0 || replays_to_[s] > fleet_.log_books_.given(index_, s);
}

// In a view that begins with the log that is told before the view is, and goes on behind that.
void Process::replay(SubgroupId id, std::uint64_t to) {
  fleet_.upcall(*this);
  const std::uint32_t s = id.value();
  fleet_.log_books_.on_loaded(index_, s);
  replays_to_[s] = std::max(replays_to_[s], to);
  replay_waits_[s] = fleet_.history_.view_of(index_) != member_->epoch()->id();
  if (!replay_waits_[s]) go_on_replaying(s);
}

void Process::await_replay(std::uint32_t subgroup, Ticks most) {
  const auto until = static_cast<Ticks>(fleet_.schedule_.below(static_cast<std::uint64_t>(fleet_.calm_ ? 1000 : most)));
  fleet_.scheduler_.at(fleet_.now() + until, fleet_, EventKind::timer, index_ << 8U | Fleet::replay_due | subgroup);
}

void Process::go_on_replaying(std::uint32_t subgroup) {
  const bool stops = member_->state() == views::MemberState::failed || member_->state() == views::MemberState::left;
  std::uint64_t given = fleet_.log_books_.given(index_, subgroup);
  if (!running_ || stops || given >= replays_to_[subgroup]) return;
  if (!accepting_[subgroup] || busy(SubgroupId(subgroup))) return await_replay(subgroup, 10'000);
  load_checkpoint(subgroup);
  given = fleet_.log_books_.given(index_, subgroup);
  if (fleet_.report_.failed() || given >= replays_to_[subgroup]) return;
  const Ticks most = fleet_.plan_.disks[node_].replay_ns_max;
  std::uint64_t count = replays_to_[subgroup] - given;
  if (most > 0) count = fleet_.schedule_.between(1, count);
  const LogEntries& log = fleet_.node_logs_.log(node_, subgroup).entries();
  for (std::uint64_t version = given; version < given + count && !fleet_.report_.failed(); ++version)
    fleet_.log_books_.on_given(index_, subgroup, version, log[version]->payload);
  fleet_.report_.hit(Probe::log_replayed);
  if (most == 0) return;
  fleet_.report_.hit(Probe::log_replay_took_long);
  if (given + count < replays_to_[subgroup]) await_replay(subgroup, most);
}

// An object whose log lacks messages that it was not given begins with what they led to.
void Process::load_checkpoint(std::uint32_t subgroup) {
  const views::LogPoint& begin = fleet_.node_logs_.log(node_, subgroup).now.begin;
  if (!fleet_.plan_.subgroups[subgroup].object || fleet_.log_books_.given(index_, subgroup) >= begin.version) return;
  fleet_.report_.hit(Probe::object_from_checkpoint);
  fleet_.log_books_.on_state(index_, subgroup);
}

void Process::on_durable(SubgroupId id, std::uint64_t version) {
  fleet_.upcall(*this);
  if (fleet_.report_.failed()) return;  // of a view that is not judged nothing is known
  fleet_.log_books_.on_durable(index_, id.value(), version);
  fleet_.node_logs_.may_trim(index_, id.value(), version, fleet_.log_books_.given(index_, id.value()));
}

void Process::work_on_state(std::uint32_t subgroup, std::shared_ptr<bool> done) {
  const Ticks most = fleet_.calm_ ? std::min<Ticks>(fleet_.plan_.nodes[node_].state_ns_max, 1000)
                                  : fleet_.plan_.nodes[node_].state_ns_max;
  if (most == 0 && state_works_[subgroup].left == 0) {
    *done = true;
    return;
  }
  StateWorks& works = state_works_[subgroup];
  ++works.left;
  saves_[subgroup].push_back(std::move(done));
  works.until = std::max(works.until, fleet_.now()) + 1 +
                static_cast<Ticks>(fleet_.schedule_.below(static_cast<std::uint64_t>(most) + 1));
  fleet_.scheduler_.at(works.until, fleet_, EventKind::timer, index_ << 8U | Fleet::state_done | subgroup);
}

void Process::end_state_work(std::uint32_t subgroup) {
  --state_works_[subgroup].left;
  *saves_[subgroup].front() = true;
  saves_[subgroup].erase(saves_[subgroup].begin());
  fleet_.report_.hit(Probe::state_took_long);
}

void Process::on_space(SubgroupId id) {
  ++told_;
  fleet_.upcall(*this);
  fleet_.senders_.on_space(index_, id.value());
}

bool Process::accepts(SubgroupId id) const {
  const bool takes = accepting_[id.value()] && !state_at_work(id);
  if (!takes) fleet_.history_.on_refused(index_, id.value());
  if (!takes || busy(id)) kept_waiting_ = true;
  return takes && !busy(id);
}

void Process::on_view(const views::NewView& news) {
  fleet_.upcall(*this);
  View view = news.view;
  if (fleet_.view_tamper_) fleet_.view_tamper_(fleet_, index_, view);
  if (fleet_.founds_beside_strangers(view) || fleet_.founds_beside_the_revived(view))
    return fleet_.report_.end_unjudged();
  fleet_.note_founded(view);
  fleet_.blame_for_promises(news.failed);
  const std::vector<bool> loading = this->loading();
  const std::uint32_t generation = fleet_.history_.generation();
  const View* before = fleet_.history_.right_before(view.id);
  const bool first = fleet_.history_.view(view.id) == nullptr;
  fleet_.history_.on_view(index_, {view, news.joined, news.left, news.failed, news.state_lost}, loading);
  if (fleet_.history_.generation() != generation) {
    fleet_.rows_.forget();
    before = nullptr;  // everybody has forgotten it: what was founded since came to nothing, and this is behind that
  }
  if (!fleet_.report_.failed()) fleet_.log_books_.on_view(index_, view, loading);
  fleet_.rosters_.on_view(index_, view, fleet_.known_before(view, before));
  fleet_.blame_misplaced(view);
  const bool decided = before != nullptr && !fleet_.history_.is_first(view.id);
  fleet_.ring_files_.on_view(index_, view, decided ? before : nullptr);
  fleet_.releases_.on_view(index_, view, decided ? before : nullptr);
  const bool revived = decided && views::era_of(view.id) > views::era_of(before->id);
  if (first && decided && !revived && fleet_.plan_.partition_safety && !fleet_.report_.failed())
    fleet_.rows_.check_quorum(*before);
  fleet_.note_view(*this, news);
  std::vector<std::uint32_t> members;
  for (const std::uint64_t incarnation : news.view.incarnations) {
    if (const auto member = fleet_.history_.process_of(incarnation)) members.push_back(*member);
  }
  if (members.size() == news.view.members.size())
    fleet_.tables_.on_view(index_, news.view, std::move(members), member_->epoch()->table());
  for (std::uint32_t s = 0; s < accepting_.size(); ++s) {
    const bool waits = replay_waits_[s];
    replay_waits_[s] = false;
    if (waits && state_at_work(SubgroupId(s))) go_on_replaying(s);
  }
}

// No point at which the process dies: what it has told is as in the upcall before.
void Process::on_boundary(SubgroupId id, const ObjectBoundary& boundary) {
  if (busy(id)) fleet_.report_.violate("M11", "a view begins before the deliveries of the one before are handled");
  if (!fleet_.plan_.subgroups[id.value()].logged) fleet_.objects_.on_boundary(index_, id.value(), boundary);
}

void Process::on_dropped(SubgroupId id, std::uint64_t messages) {
  fleet_.upcall(*this);
  fleet_.history_.on_dropped(index_, id.value(), messages);
}

std::unique_ptr<views::StateReader> Process::save_state(SubgroupId id) {
  fleet_.upcall(*this);
  if (fleet_.plan_.subgroups[id.value()].state_bytes == 0) return nullptr;
  auto saved = std::make_shared<bool>(false);
  std::function<void()> on_failure;
  const std::uint64_t failing = fleet_.calm_ ? 0 : fleet_.plan_.nodes[node_].failing_saves_in_1000;
  if (failing > 0 && fleet_.schedule_.chance(failing, 1000)) {
    on_failure = [this, id] { fleet_.blame_for_save(*this, id); };
  }
  auto state = std::make_unique<SavedState>(fleet_.history_, fleet_.history_.save_state(index_, id.value()), saved,
                                            std::move(on_failure));
  work_on_state(id.value(), std::move(saved));
  return state;
}

std::unique_ptr<views::StateWriter> Process::load_state(SubgroupId id) {
  fleet_.upcall(*this);
  return std::make_unique<StateSink>(*this, id.value(), *fleet_.history_.view_of(index_));
}

}  // namespace spindrift::sim
