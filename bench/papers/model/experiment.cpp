// The systems that are compared, and the run of one experiment: members stepped in the order of virtual time.
#include <spindrift/bench/papers/model/experiment.hpp>

#include <algorithm>
#include <bit>
#include <queue>

#include <spindrift/bench/papers/model/member.hpp>
#include <spindrift/bench/papers/model/network.hpp>

namespace spindrift::bench::model {

namespace {

constexpr std::uint64_t real_record_bytes = 16;  ///< header and 8 bytes, see member.cpp

View view_of(const Experiment& experiment) {
  View view;
  for (std::uint32_t i = 0; i < experiment.members; ++i) view.members.emplace_back(i);
  const std::vector<NodeId> senders(view.members.begin(), view.members.begin() + experiment.senders);
  Profile profile{.ring_bytes = std::bit_ceil((experiment.window + 1) * real_record_bytes),
                  .window_messages = experiment.window,
                  .message_bytes_max = real_record_bytes - smc::header_bytes};
  if (experiment.large) {
    profile.ring_bytes = std::bit_ceil((experiment.window + 1) * smc::record_bytes(smc::descriptor_bytes));
    profile.message_bytes_max = real_large_bytes;
    profile.bulk_ring_bytes = std::bit_ceil((experiment.window + 1) * real_large_bytes);
    profile.large_message_bytes = smc::descriptor_bytes;
  }
  for (std::uint32_t s = 0; s < experiment.subgroups; ++s) {
    view.subgroups.push_back({.name = "s" + std::to_string(s),
                              .members = view.members,
                              .senders = senders,
                              .mode = experiment.mode,
                              .profile = profile,
                              .topics = {}});
  }
  return view;
}

/// The parts of a row that are used: activity, each subgroup's line and, in unordered mode, counts, and the rings.
std::vector<MirrorLayout::Interval> used_of(const View& view, const sst::RowLayout& layout) {
  std::vector<MirrorLayout::Interval> used{{layout.activity_word(0), cache_line_bytes}};
  for (std::uint32_t s = 0; s < view.subgroups.size(); ++s) {
    const sst::SubgroupBlock& block = *layout.subgroup(SubgroupId(s));
    used.push_back({block.control_line(), cache_line_bytes});
    if (view.subgroups[s].mode == DeliveryMode::unordered) {
      used.push_back({block.received_of, view.subgroups[s].senders.size() * sst::word_bytes + cache_line_bytes});
    }
    if (block.forwarded != 0) {
      used.push_back({block.forwarded, view.subgroups[s].senders.size() * sst::word_bytes + cache_line_bytes});
    }
    used.push_back({block.ring, block.ring_bytes});
  }
  return used;
}

/// All members of one run and the order in which they are stepped.
class Run {
 public:
  explicit Run(const Experiment& experiment)
      : experiment_(experiment),
        view_(view_of(experiment_)),
        layout_(view_, view_.members.front()),
        network_(experiment.members, network_options(), {layout_.bytes(), used_of(view_, layout_)},
                 [this](std::uint32_t member) { on_post(member); }),
        wakes_(experiment.members, for_ever) {
    const std::uint32_t silent = experiment.delay_ns == for_ever ? experiment.delayed : 0;
    messages_ = experiment.rounds * (experiment.senders - silent) * experiment.active_subgroups;
    for (std::uint32_t rank = 0; rank < experiment.members; ++rank) {
      members_.push_back(std::make_unique<ModeledMember>(view_, experiment_, network_, rank, messages_));
    }
  }

  Outcome run();

 private:
  struct Wake {
    Ticks when;
    std::uint64_t order;
    std::uint32_t member;
    [[nodiscard]] bool operator<(const Wake& other) const noexcept {
      return when != other.when ? when > other.when : order > other.order;
    }
  };

  [[nodiscard]] Network::Options network_options() const {
    const System& system = experiment_.system;
    return {.link = experiment_.link,
            .software = system.software,
            .message_bytes = experiment_.message_bytes,
            .slot_bytes = system.in_turn ? experiment_.message_bytes + sst::word_bytes : 0,
            .rings_at = layout_.subgroup(SubgroupId(0))->ring,
            .activity_words = !system.in_turn,
            .activity = {layout_.activity_word(0), layout_.activity_words() * sst::word_bytes}};
  }
  void wake(std::uint32_t member, Ticks when) {
    if (when >= wakes_[member]) return;
    wakes_[member] = when;
    queue_.push({when, order_++, member});
  }
  void on_post(std::uint32_t member) {
    if (!experiment_.system.in_turn) wake(member, std::max(network_.next_landing(member), members_[member]->busy_until()));
  }
  /// Nothing takes this long in a group that goes on: a few times what all windows need on the wire, and then some.
  [[nodiscard]] Ticks stalled_after_ns() const noexcept {
    const auto bytes = static_cast<double>(experiment_.message_bytes * experiment_.window * experiment_.members);
    return 20e6 + 4 * bytes * experiment_.active_subgroups / experiment_.link.bytes_per_ns;
  }
  [[nodiscard]] Outcome judge(bool stalled) const;

  const Experiment experiment_;
  View view_;
  sst::RowLayout layout_;
  Network network_;
  std::uint64_t messages_ = 0;
  std::vector<std::unique_ptr<ModeledMember>> members_;
  std::vector<Ticks> wakes_;
  std::priority_queue<Wake> queue_;
  std::uint64_t order_ = 0;
  Ticks now_ = 0;
};

Outcome Run::run() {
  for (std::uint32_t rank = 0; rank < members_.size(); ++rank) wake(rank, members_[rank]->start());
  std::size_t done = 0;
  Ticks last_delivery = 0;
  while (done < members_.size()) {
    if (queue_.empty()) return judge(true);
    const Wake next = queue_.top();
    queue_.pop();
    if (next.when != wakes_[next.member]) continue;
    now_ = next.when;
    wakes_[next.member] = for_ever;
    ModeledMember& member = *members_[next.member];
    const bool was_done = member.done();
    const std::uint64_t delivered_before = member.delivered();
    const Ticks again = member.step(now_);
    if (member.delivered() != delivered_before) last_delivery = std::max(last_delivery, member.busy_until());
    if (!was_done && member.done()) ++done;
    if (now_ - last_delivery > stalled_after_ns()) return judge(true);
    const Ticks landing = experiment_.system.in_turn ? for_ever : network_.next_landing(next.member);
    if (const Ticks when = std::min(again, std::max(landing, member.busy_until())); when != for_ever)
      wake(next.member, when);
  }
  return judge(false);
}

Outcome Run::judge(bool stalled) const {
  Outcome outcome{.stalled = stalled, .simulated_seconds = now_ / 1e9};
  const auto count = static_cast<double>(members_.size());
  const std::uint32_t continuous = experiment_.senders - experiment_.delayed;
  double own_messages = 0;
  double delivered = 0;
  for (std::uint32_t rank = 0; rank < members_.size(); ++rank) {
    const ModeledMember& member = *members_[rank];
    const ModeledMember::Account account = member.account(now_);
    const ModeledEndpoint& endpoint = member.endpoint();
    if (!stalled) {
      outcome.messages_per_second +=
          static_cast<double>(account.measured) / (account.done_at - account.quarter_at) * 1e9 / count;
    }
    outcome.latency_us += account.latency / 1e3;
    own_messages += static_cast<double>(account.own_messages);
    delivered += static_cast<double>(member.delivered());
    outcome.writes += static_cast<double>(endpoint.writes_posted);
    outcome.lists += static_cast<double>(endpoint.lists_posted);
    outcome.wire_bytes += endpoint.egress_bytes;
    outcome.posting += endpoint.posting_ns / now_ / count;
    outcome.active += account.active / account.busy / count;
    if (rank < continuous) outcome.waiting += account.waiting / now_ / continuous;
    if (rank < continuous) outcome.null_runs_continuous += static_cast<double>(account.null_runs) / continuous;
    if (rank >= continuous && rank < experiment_.senders)
      outcome.null_runs_delayed += static_cast<double>(account.null_runs) / experiment_.delayed;
    outcome.sent.add(account.sent);
    outcome.received.add(account.received);
    outcome.delivered.add(account.delivered);
  }
  outcome.gigabytes_per_second = outcome.messages_per_second * static_cast<double>(experiment_.message_bytes) / 1e9;
  if (own_messages > 0) outcome.latency_us /= own_messages;
  if (delivered > 0) {
    for (double* each : {&outcome.writes, &outcome.lists, &outcome.wire_bytes}) *each /= delivered;
    outcome.null_runs_continuous *= 1000 * count / delivered;
    outcome.null_runs_delayed *= 1000 * count / delivered;
  }
  return outcome;
}

}  // namespace

void Batches::add(std::uint64_t size) {
  ++count;
  messages += size;
  ++histogram[std::min<std::uint64_t>(size, histogram.size() - 1)];
}

void Batches::add(const Batches& other) {
  count += other.count;
  messages += other.messages;
  for (std::size_t i = 0; i < histogram.size(); ++i) histogram[i] += other.histogram[i];
}

double Batches::mean() const noexcept { return count == 0 ? 0 : static_cast<double>(messages) / static_cast<double>(count); }

System baseline() {
  System system{.name = "before Spindle",
                .policy = smc::Ablation::of_batches(1, 1, 1),
                .software = derecho_software(),
                .lock = Lock::held_while_posting,
                .in_turn = true};
  system.policy.turn = {.messages = 1};
  system.policy.null_sends = false;
  system.policy.unsent_bytes_max = ~std::uint64_t{0};
  return system;
}

System spindle(int stages) {
  const smc::Ablation unbounded;
  System system = baseline();
  if (stages >= 1) {
    system.policy.delivery_batch_max = unbounded.delivery_batch_max;
    system.policy.turn = smc::no_limits;
  }
  if (stages >= 2) system.policy.receive_batch_max = unbounded.receive_batch_max;
  if (stages >= 3) system.policy.send_batch_max = unbounded.send_batch_max;
  if (stages >= 4) system.policy.null_sends = true;
  if (stages >= 5) system.lock = Lock::released_to_post;
  system.name = std::array{"before Spindle",    "delivery batching",     "+ receive batching",
                           "Spindle, batching", "Spindle, + null-sends", "Spindle"}[static_cast<std::size_t>(stages)];
  return system;
}

System product() { return {.name = "Spindrift", .policy = {}, .software = spindrift_software()}; }

Outcome run(const Experiment& experiment) { return Run(experiment).run(); }

}  // namespace spindrift::bench::model
