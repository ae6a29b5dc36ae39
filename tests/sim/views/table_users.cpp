// Processes that use tables.
#include "table_users.hpp"

#include <algorithm>
#include <utility>

#include <spindrift/sst/table.hpp>

#include "../../smc/null_fabric.hpp"

namespace spindrift::sim {
namespace {

using views::MemberState;

/// The way from an application's thread to the poller, and nothing else of a fabric.
class Caller final : public smc::NullFabric {
 public:
  explicit Caller(std::function<void()> wake) : wake_(std::move(wake)) {}
  void wake() noexcept override { wake_(); }

 private:
  std::function<void()> wake_;
};

}  // namespace

struct TableUsers::User {
  User(NodeId node, std::function<void()> wake, std::uint64_t table_bytes)
      : self(node), environment(node, nullptr), tables(environment) {
    environment.fabric = std::make_unique<Caller>(std::move(wake));
    tables.begin(node, table_bytes);
  }
  NodeId self;
  group::Environment environment;
  group::Tables tables;
  View view{};
  std::vector<std::uint32_t> uses{};
  bool active = false;  ///< was, once
  bool gone = false;
};

TableUsers::TableUsers(Scheduler& scheduler, const Plan& plan, Report& report, Wake wake)
    : scheduler_(scheduler), plan_(plan), random_(plan.seed, Purpose::rows), checks_(plan, report), wake_(std::move(wake)) {}

TableUsers::~TableUsers() = default;

void TableUsers::begin(std::uint32_t process, std::uint32_t node) {
  if (plan_.tables.empty()) return;
  users_.resize(std::max<std::size_t>(users_.size(), process + 1));
  users_[process] = std::make_unique<User>(NodeId(node), [this, process] { wake_(process); }, plan_.table_bytes);
  for (std::uint32_t table = 0; table < plan_.tables.size(); ++table) {
    const TablePlan& plan = plan_.tables[table];
    if ((plan.nodes >> node & 1) == 0) continue;
    users_[process]->uses.push_back(static_cast<std::uint32_t>(uses_.size()));
    uses_.push_back({.process = process, .table = table, .sets_left = plan.sets, .rounds_left = plan.rounds});
    if (last_rounds_.empty()) continue;
    // The others may wait for it, up to their last round.
    uses_.back().rounds_left = 0;
    uses_.back().last_round = last_rounds_[table];
  }
}

void TableUsers::end(std::uint32_t process) {
  if (plan_.tables.empty()) return;
  users_[process]->gone = true;
  checks_.on_end(process);
}

void TableUsers::on_state(std::uint32_t process, MemberState state, const std::optional<Error>& failure) {
  if (plan_.tables.empty() || users_[process] == nullptr) return;
  User& user = *users_[process];
  static_cast<void>(user.environment.state.on_state(state, failure));
  if (state == MemberState::left || state == MemberState::failed) {
    user.gone = true;
    return user.tables.on_end(Error(ErrorKind::group_closed, "it has ended"));
  }
  if (state != MemberState::active || std::exchange(user.active, true)) return;
  for (const std::uint32_t which : user.uses) schedule(which, plan_.tables[uses_[which].table].late_ns_max);
}

void TableUsers::on_view(std::uint32_t process, const View& view, std::vector<std::uint32_t> members, sst::Table& own) {
  if (plan_.tables.empty()) return;
  checks_.on_view(process, view.id, std::move(members));
  users_[process]->view = view;
  users_[process]->tables.on_view(view, own);
  for (const std::uint32_t which : users_[process]->uses) look_whether_over(which);
}

bool TableUsers::write(std::uint32_t process, sst::Table& own) {
  return !plan_.tables.empty() && users_[process]->tables.any() && users_[process]->tables.write(own);
}

bool TableUsers::read(std::uint32_t process, const sst::Table& table, bool begun) {
  if (plan_.tables.empty() || users_[process]->gone || !users_[process]->tables.any()) return false;
  User& user = *users_[process];
  const group::Tables::Look found = user.tables.read(table, begun);
  for (const group::Tables::Fault& fault : found.faults) checks_.on_fault(process, fault.what);
  for (const auto* const handler : found.handlers) (*handler)();
  if (!found.any) return false;
  for (const std::uint32_t which : user.uses) {
    if (!plan_.tables[uses_[which].table].watched) look(uses_[which]);
    look_whether_over(which);
    if (std::exchange(uses_[which].blind, false)) schedule(which, plan_.tables[uses_[which].table].think_ns_max);
  }
  return true;
}

// All rows, as the application sees them.
void TableUsers::look(const Use& use) {
  if (use.core == nullptr) return;
  const User& user = *users_[use.process];
  const std::vector<std::uint32_t>& members = checks_.view_of(use.process);
  std::vector<std::uint64_t> words(plan_.tables[use.table].words);
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (user.view.members[i] == user.self) continue;
    const bool any = use.core->read(user.view.members[i], std::as_writable_bytes(std::span(words)));
    checks_.on_read(use.process, members[i], use.table,
                    any ? std::optional(std::span<const std::uint64_t>(words)) : std::nullopt);
  }
}

void TableUsers::look_whether_over(std::uint32_t which) {
  Use& use = uses_[which];
  if (!use.waits || !use.core->is_over(use.round)) return;
  use.waits = false;
  look(use);
  checks_.on_pass(use.process, use.table, use.round);
  if (wants(use)) schedule(which, plan_.tables[use.table].think_ns_max);
}

bool TableUsers::wants(const Use& use) const {
  return use.sets_left > 0 || (!use.waits && !use.blind && (use.rounds_left > 0 || use.round < use.last_round));
}

void TableUsers::schedule(std::uint32_t which, Ticks at_most) {
  if (std::exchange(uses_[which].due, true)) return;
  const auto most = static_cast<std::uint64_t>(hurry_ ? std::min<Ticks>(at_most, 5'000) : at_most);
  scheduler_.at(scheduler_.now() + 1 + static_cast<Ticks>(random_.below(most)), *this, EventKind::thread, which);
}

void TableUsers::on_event(EventKind, std::uint32_t which) {
  Use& use = uses_[which];
  use.due = false;
  if (users_[use.process]->gone) return;
  use.core == nullptr ? make(use) : act(use);
  if (wants(use)) schedule(which, plan_.tables[use.table].think_ns_max);
}

void TableUsers::make(Use& use) {
  const TablePlan& plan = plan_.tables[use.table];
  User& user = *users_[use.process];
  // A handler that makes a table waits for no look at the rows.
  const group::HandlerThreads::Entry entry(*user.environment.handler_threads, group::HandlerThreads::Kind::own);
  use.core = &user.tables.attach("t" + std::to_string(use.table),
                                 {"words", plan.words * 8, plan.monotone ? TableRows::monotone : TableRows::latest, true});
  checks_.on_made(use.process, use.table);
  if (plan.watched) use.core->watch([this, which = &use - uses_.data()] { look(uses_[static_cast<std::size_t>(which)]); });
}

void TableUsers::act(Use& use) {
  if (use.sets_left > 0) {
    --use.sets_left;
    const std::vector<std::uint64_t> words = checks_.set_next(use.process, use.table);
    use.core->set(std::as_bytes(std::span(words)));
  }
  if (use.waits || use.blind || !random_.chance(1, 2)) return;
  if (use.rounds_left > 0 || use.round < use.last_round) come(use);
}

void TableUsers::come(Use& use) {
  const auto round = use.core->come();
  use.blind = !round.has_value();
  if (use.blind) return;
  if (use.rounds_left > 0) --use.rounds_left;
  use.round = *round;
  use.waits = true;
  checks_.on_come(use.process, use.table, use.round);
  look_whether_over(static_cast<std::uint32_t>(&use - uses_.data()));
}

void TableUsers::finish(const std::vector<std::uint32_t>& core) {
  for (std::uint32_t table = 0; table < plan_.tables.size(); ++table) {
    const bool any = plan_.tables[table].rounds > 0;
    last_rounds_.push_back(any ? checks_.last_round(table, core) + 1 : 0);
  }
  for (std::uint32_t which = 0; which < uses_.size(); ++which) {
    Use& use = uses_[which];
    // One that is still to come into a view is waited for there.
    use.rounds_left = 0;
    use.last_round = last_rounds_[use.table];
    if (std::find(core.begin(), core.end(), use.process) == core.end()) continue;
    use.sets_left = std::min<std::uint32_t>(use.sets_left, 1);
    if (use.core == nullptr || wants(use)) schedule(which, 1'000);
  }
}

std::optional<TableUsers::Unfinished> TableUsers::unfinished(const std::vector<std::uint32_t>& core) {
  for (const Use& use : uses_) {
    if (std::find(core.begin(), core.end(), use.process) == core.end()) continue;
    // One that comes when the others have had their last round waits in vain.
    const bool too_late = use.round > use.last_round;
    if (use.core != nullptr && use.sets_left == 0 && (too_late || (use.round >= use.last_round && !use.waits))) continue;
    return Unfinished{"T5", "process " + std::to_string(use.process) + " waits for round " + std::to_string(use.round) +
                                " of the barrier of table " + std::to_string(use.table)};
  }
  if (const auto what = checks_.unseen(core)) return Unfinished{"T3", *what};
  return std::nullopt;
}

}  // namespace spindrift::sim
