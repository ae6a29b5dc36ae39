// The life of a run: starting, stepping, pausing, and going quiet.
#include "cluster.hpp"

#include <algorithm>
#include <cstdio>

namespace spindrift::sim {
namespace {

using views::MemberState;

constexpr std::size_t counters_per_node = 64;
constexpr std::uint32_t subgroup_bits = 8;
constexpr std::uint32_t wake_alone = 0xff;  ///< in place of a subgroup: only a wake-up is due

}  // namespace

Node::Node(Cluster& cluster, std::uint32_t rank)
    : cluster_(cluster),
      rank_(rank),
      counters_(CounterBlock::in_memory(counters_per_node +
                                        cluster.options_.view.subgroups.size() * smc::Multicast::counters_max)),
      accepting_(cluster.options_.view.subgroups.size(), true),
      refused_in_step_(cluster.options_.view.subgroups.size()) {}

void Node::on_delivery(SubgroupId id, std::span<const Delivery> batch) {
  // A pass asks once: what it hands over in several batches was accepted together.
  if (!accepting_[id.value()] && refused_in_step_[id.value()] < steps_) {
    cluster_.report_.violate("M11", "an upcall although the application takes none now");
  }
  if (batch.size() > cluster_.options_.policy.delivery_batch_max)
    cluster_.report_.violate("M11", "an upcall above the batch limit");
  cluster_.tampered_.assign(batch.begin(), batch.end());
  if (cluster_.tamper_) cluster_.tamper_(cluster_, rank_, id.value(), cluster_.tampered_);
  cluster_.checker_.on_delivery(Rank(rank_), id.value(), cluster_.tampered_);
  for (const Delivery& delivery : cluster_.tampered_) {
    cluster_.scheduler_.trace(delivery.index.value() << 16 ^ std::uint64_t{delivery.sender_rank.value()} << 8 ^ rank_);
  }
  if (!cluster_.report_.failed()) cluster_.workload_.on_upcall(rank_, id.value());

  const NodeOptions& options = cluster_.options_.nodes[rank_];
  if (!accepting_[id.value()] || !cluster_.schedule_.chance(options.refusals_in_1000, 1000)) return;
  refused_in_step_[id.value()] = steps_;
  accepting_[id.value()] = false;
  cluster_.report_.hit(Probe::sink_refused);
  const auto until = cluster_.schedule_.below(static_cast<std::uint64_t>(options.refusal_ns_max));
  cluster_.scheduler_.at(cluster_.scheduler_.now() + static_cast<Ticks>(until), cluster_, EventKind::timer,
                         rank_ << subgroup_bits | id.value());
}

void Node::on_space(SubgroupId id) { cluster_.workload_.on_space(rank_, id.value()); }

// The rows exist from here on.
void Node::on_view(const views::NewView& news) {
  if (attached_) return cluster_.report_.violate("V6", "the view changed, but nothing happened");
  attached_ = true;
  if (news.view.members != cluster_.options_.view.members) cluster_.report_.violate("V3", "another view than the founders'");
  cluster_.checker_.on_row(Rank(rank_), member_->epoch()->row().memory.data());
}

void Node::on_dropped(SubgroupId, std::uint64_t) {
  cluster_.report_.violate("M8", "messages were dropped, but the view did not change");
}

Cluster::Cluster(Options options)
    : options_(std::move(options)),
      schedule_(options_.seed, Purpose::schedule),
      faults_(options_.seed, Purpose::faults),
      network_(scheduler_, Random(options_.seed, Purpose::fabric), options_.fabric, report_, *this, options_.view.members),
      ledger_(options_.view, report_),
      checker_(options_.view, ledger_, report_),
      workload_(scheduler_, options_, ledger_, checker_, network_, report_) {
  checker_.set_network(network_);
  const auto count = static_cast<std::uint32_t>(options_.nodes.size());
  for (std::uint32_t i = 0; i < count; ++i) {
    nodes_.push_back(std::make_unique<Node>(*this, i));
    network_.set_host(i, options_.nodes[i].host);
  }
}

Cluster::~Cluster() = default;

void Cluster::run() {
  note_options();
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) scheduler_.at(options_.nodes[i].start_ns, *this, EventKind::start, i);
  run_until_quiet();
  if (!report_.failed()) judge_quiet();
  if (report_.violation()) {
    report_.violation()->event = events();
    report_.violation()->what += where();
  }
}

void Cluster::run_until_quiet() {
  while (!scheduler_.empty() && !report_.failed()) {
    scheduler_.run_one();
    // M10: a group with nothing to do does nothing.
    if (scheduler_.events() > options_.events_max) report_.violate("M10", "the group does not go quiet");
  }
}

void Cluster::on_event(EventKind kind, std::uint32_t which) {
  switch (kind) {
    case EventKind::start: start_node(which); break;
    case EventKind::step: step_node(which); break;
    case EventKind::timer:
      if ((which & wake_alone) != wake_alone) nodes_[which >> subgroup_bits]->accepting_[which & wake_alone] = true;
      on_news(which >> subgroup_bits);
      break;
    default: break;
  }
}

void Cluster::start_node(std::uint32_t rank) {
  Node& node = *nodes_[rank];
  views::MemberOptions options;
  options.self = options_.view.members[rank];
  for (const NodeId member : options_.view.members) options.roster.nodes.push_back({member, {}});
  options.founders = options_.view.members;
  options.identity = {"simulated", {options_.seed, 1}};
  options.incarnation = rank + 1;
  options.layout = [this](const std::vector<NodeId>&, const View*) { return options_.view.subgroups; };
  options.multicasting.policy = options_.policy;
  options.multicasting.stepper = smc::stepper_of(options_.policy);
  SimFabric& endpoint = network_.endpoint(rank);
  node.member_ = std::make_unique<views::Member>(std::move(options), endpoint, node, node.counters_);
  if (auto listening = endpoint.listen({options_.view.members[rank], {}}); !listening) {
    return report_.violate("L1", listening.error().to_string());
  }
  if (auto started = node.member_->start(); !started) return report_.violate("L1", started.error().to_string());
  workload_.set_member(rank, *node.member_);
  node.running_ = true;
  on_news(rank);
}

void Cluster::on_news(std::uint32_t rank) {
  nodes_[rank]->dirty_ = true;
  schedule_step(rank);
}

void Cluster::on_landed(const Write& write, std::uint64_t offset, std::size_t size) {
  scheduler_.trace(write.offset << 24 ^ offset << 8 ^ std::uint64_t{write.to} << 4 ^ write.from ^ size);
  checker_.on_landed(write, offset, size);
}

void Cluster::schedule_step(std::uint32_t rank) {
  Node& node = *nodes_[rank];
  if (node.step_scheduled_ || !node.running_) return;
  node.step_scheduled_ = true;
  const auto delay = 1 + schedule_.below(static_cast<std::uint64_t>(options_.nodes[rank].step_ns_max));
  scheduler_.at(std::max(scheduler_.now() + static_cast<Ticks>(delay), node.paused_until_), *this, EventKind::step, rank);
}

void Cluster::step_node(std::uint32_t rank) {
  Node& node = *nodes_[rank];
  node.step_scheduled_ = false;
  if (!node.running_) return;
  if (node.resumed_) note_pause_over_window(rank);
  node.dirty_ = false;
  const views::Member::Step step = node.member_->step(scheduler_.time());
  note_beside(rank);
  ++node.steps_;
  const views::Epoch* const epoch = node.member_->epoch();
  if (epoch != nullptr && epoch->holds_back()) report_.hit(Probe::held_back);
  if (meddler_) meddler_(*this, rank);
  checker_.after_step(Rank(rank));
  if (report_.failed()) return;
  if (!step.progress && !node.dirty_ && schedule_.chance(1, 8)) step_again(rank);
  note_state(rank);
  if (step.progress) node.dirty_ = true;
  if (step.wake_at != never && step.wake_at != node.wake_at_) {
    node.wake_at_ = step.wake_at;
    scheduler_.at(step.wake_at.time_since_epoch().count(), *this, EventKind::timer, rank << subgroup_bits | wake_alone);
  }
  maybe_pause(rank);
  if (node.dirty_) schedule_step(rank);
}

void Cluster::note_beside(std::uint32_t rank) {
  views::Epoch* const epoch = nodes_[rank]->member_->epoch();
  if (epoch == nullptr || nodes_[rank]->state_ == MemberState::active) return;
  for (std::uint32_t s = 0; s < options_.view.subgroups.size(); ++s) {
    const views::Epoch::Beside& beside = epoch->beside(SubgroupId(s));
    if (beside.ring) checker_.on_ring(Rank(rank), s, beside.ring->memory.data());
    if (beside.bulk_ring) checker_.on_bulk(Rank(rank), s, true, beside.bulk_ring->memory);
    if (beside.bulk_mirrors) checker_.on_bulk(Rank(rank), s, false, beside.bulk_mirrors->memory);
  }
}

// S6: the same table gives the same triggers: after a step without progress, with nothing new, a step does nothing.
void Cluster::step_again(std::uint32_t rank) {
  Node& node = *nodes_[rank];
  const std::uint64_t actions = network_.endpoint(rank).actions();
  const std::uint64_t deliveries = checker_.deliveries();
  const bool progress = node.member_->step(scheduler_.time()).progress;
  if (progress || actions != network_.endpoint(rank).actions() || deliveries != checker_.deliveries()) {
    report_.violate("S6",
                    "node " + std::to_string(options_.view.members[rank].value()) + " acted again although nothing changed");
  }
}

void Cluster::note_state(std::uint32_t rank) {
  Node& node = *nodes_[rank];
  const MemberState state = node.member_->state();
  if (state == node.state_) return;
  if (verbose_) {
    std::printf("%12lld ns  node %-3u %-10s step %-6llu delivered", static_cast<long long>(scheduler_.now()),
                options_.view.members[rank].value(), std::string(views::to_string(state)).c_str(),
                static_cast<unsigned long long>(node.steps_));
    for (std::uint32_t s = 0; s < options_.view.subgroups.size(); ++s) {
      std::printf(" %llu", static_cast<unsigned long long>(checker_.delivered_count(Rank(rank), s)));
    }
    std::printf("%s%s\n", node.member_->failure() ? "  " : "",
                node.member_->failure() ? node.member_->failure()->to_string().c_str() : "");
  }
  if (state < node.state_) report_.violate("S2", "a member's state fell");
  node.state_ = state;
  if (state == MemberState::active) workload_.begin(rank);
  if (state == MemberState::failed) {
    report_.violate("L1", "node " + std::to_string(options_.view.members[rank].value()) +
                              " failed without a cause: " + node.member_->failure()->to_string());
  }
}

void Cluster::maybe_pause(std::uint32_t rank) {
  const NodeOptions& options = options_.nodes[rank];
  if (!faults_.chance(options.pauses_in_1000, 1000)) return;
  Node& node = *nodes_[rank];
  node.paused_until_ =
      scheduler_.now() + static_cast<Ticks>(faults_.below(static_cast<std::uint64_t>(options.pause_ns_max)));
  node.resumed_ = true;
  workload_.pause(rank, node.paused_until_);
  report_.hit(Probe::paused);
}

void Cluster::note_pause_over_window(std::uint32_t rank) {
  nodes_[rank]->resumed_ = false;
  for (std::uint32_t s = 0; s < options_.view.subgroups.size(); ++s) {
    if (!options_.view.subgroups[s].member_position(options_.view.members[rank])) continue;
    for (const SenderBook& book : ledger_.books(s)) {
      if (book.records.size() - book.records_released >= options_.view.subgroups[s].profile.window_messages) {
        report_.hit(Probe::paused_over_a_whole_window);
      }
    }
  }
}

}  // namespace spindrift::sim
