// Members are forked from this process, which has one thread, and tell what they see through shared memory; so the one that
// is killed leaves its figures behind, and its successor is forked in its place.
#include <spindrift/bench/viewchange.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <istream>
#include <optional>
#include <ostream>
#include <thread>

#include <fmt/format.h>

#include <spindrift/bench/patience.hpp>
#include <spindrift/bench/processes.hpp>
#include <spindrift/bench/watched_fabric.hpp>
#include <spindrift/group/group.hpp>
#include <spindrift/group/probe.hpp>

namespace spindrift::bench {

namespace {

constexpr std::size_t views_max = 1024;
constexpr std::uint64_t patience_ns = 20'000'000'000;
constexpr Duration steady = std::chrono::milliseconds(100);

/// One change as a member saw it.
struct SeenChange {
  ConnectingLog log;            ///< from its first delivery in the view before on
  ConnectingLog::Instant told;  ///< of it, the first word of this change; of a newcomer nothing
  std::uint64_t cpu_ns = 0;     ///< of the poller since then; of a newcomer of its whole process
};

/// One member process tells the parent this. Written by its poller, but for `stop`.
struct alignas(cache_line_bytes) MemberWindow {
  std::atomic<std::uint64_t> views{0};   ///< the present view's id + 1
  std::atomic<std::uint64_t> leader{0};  ///< its first member
  std::atomic<std::uint64_t> delivered{0};
  std::atomic<std::uint64_t> longest_ns{0};  ///< longest gap since the parent set it to 0
  std::atomic<std::uint64_t> failed{0};      ///< ErrorKind + 1
  std::atomic<std::uint64_t> stop{0};
  std::array<std::atomic<std::uint64_t>, views_max> gap_ns{};        ///< by view; 0: nothing delivered in it yet
  std::array<std::atomic<std::uint64_t>, views_max> delivered_at{};  ///< by view: instant of the first delivery
  std::array<SeenChange, views_max> changes{};                       ///< by view; read after its `gap_ns`
};

class MeasuredMember {
 public:
  MeasuredMember(const ViewChangeRun& run, const std::string& directory, NodeId self, MemberWindow& window)
      : run_(run), window_(window), group_(member_config(run.shape, directory, self), options(), probe()) {}

  void run() {
    Subgroup& subgroup = group_.subgroup(subgroup_name);
    if (run_.state_bytes > 0) {
      subgroup.on_state(
          [this](std::ostream& to) {
            const std::string block(1 << 16, 's');
            for (std::uint64_t left = run_.state_bytes; left > 0; left -= std::min<std::uint64_t>(left, block.size()))
              to.write(block.data(), static_cast<std::streamsize>(std::min<std::uint64_t>(left, block.size())));
          },
          [](std::istream& from) { from.ignore(std::numeric_limits<std::streamsize>::max()); });
    }
    subgroup.on_delivery([this](std::span<const Delivery> batch) { on_delivery(batch.size()); });
    std::thread sending([&] { send_all(subgroup); });
    while (window_.stop.load(std::memory_order_acquire) == 0 && group_.open()) pause_for(std::chrono::milliseconds(5));
    try {
      group_.leave();
    } catch (const Exception& failure) {
      window_.failed.store(static_cast<std::uint64_t>(failure.error().kind()) + 1);
    }
    sending.join();
  }

 private:
  group::Probe probe() {
    group::Probe probe;
    if (run_.share) {
      probe.watch_fabric = [this](std::unique_ptr<fabric::Fabric> inner) {
        return watch_connecting(std::move(inner), log_);
      };
    }
    return probe;
  }

  GroupOptions options() {
    GroupOptions options;
    options.on_view = [this](const NewView& news) {
      told_by_ = views_seen_++ == 0 ? nullptr : news.failed.empty() ? &log_.connected : &log_.lost;
      window_.leader.store(news.view.members.front().value());
      window_.views.store(news.view.id.value() + 1, std::memory_order_release);
      first_of_view_ = true;
    };
    return options;
  }

  void on_delivery(std::uint64_t count) noexcept {
    const std::uint64_t now_ns = nanoseconds_now();
    const std::uint64_t gap_ns = last_ns_ == 0 ? 1 : now_ns - last_ns_;
    const std::uint64_t view = window_.views.load(std::memory_order_relaxed) - 1;
    if (std::exchange(first_of_view_, false)) {
      if (view < views_max) window_.delivered_at[view].store(now_ns);
      if (view < views_max && run_.share) note_change(window_.changes[view]);
      if (view < views_max) window_.gap_ns[view].store(gap_ns, std::memory_order_release);
    } else if (gap_ns > window_.longest_ns.load(std::memory_order_relaxed)) {
      window_.longest_ns.store(gap_ns, std::memory_order_relaxed);
    }
    window_.delivered.fetch_add(count, std::memory_order_relaxed);
    last_ns_ = now_ns;
  }

  // A member that hears of a change only by the others' agreement has no earlier word of it than the new view.
  void note_change(SeenChange& seen) noexcept {
    const bool newcomer = told_by_ == nullptr;
    const bool told_before = !newcomer && told_by_->at_ns != 0 && told_by_->at_ns < log_.carved.at_ns;
    seen.log = log_;
    if (!newcomer) seen.told = told_before ? *told_by_ : log_.carved;
    seen.cpu_ns = newcomer ? process_cpu_ns() : thread_cpu_ns() - seen.told.cpu_ns;
    log_ = {};
  }

  void send_all(Subgroup& subgroup) const {
    if (!subgroup.is_sender()) return;
    const std::vector<std::byte> payload(run_.message_bytes, std::byte{1});
    try {
      for (;;) subgroup.send(payload);
    } catch (const Exception&) {  // leaving, or lost; the main thread tells which
    }
  }

  const ViewChangeRun& run_;
  MemberWindow& window_;
  bool first_of_view_ = true;  // the poller's
  std::uint64_t last_ns_ = 0;  // the poller's
  ConnectingLog log_;          // the poller's, once there is one
  std::uint64_t views_seen_ = 0;
  const ConnectingLog::Instant* told_by_ = nullptr;  // of the present view; null: it is this member's first
  Group group_;
};

class MeasuredGroup {
 public:
  MeasuredGroup(const ViewChangeRun& run, std::string directory, std::span<MemberWindow> windows)
      : run_(run), directory_(std::move(directory)), windows_(windows), processes_(windows.size()) {}

  void start(std::size_t node) {
    new (&windows_[node]) MemberWindow();
    processes_.start(node, [this, node] { return run_member(node); });
  }

  void end(std::size_t node, int signal) noexcept { processes_.end(node, signal); }

  /// Waits until every member but `except` has delivered in `view`.
  void await_deliveries(std::uint64_t view, std::optional<std::size_t> except) {
    Patience patience(patience_ns, nanoseconds_now());
    for (std::size_t node = 0; node < windows_.size();) {
      const MemberWindow& window = windows_[node];
      if (node == except || window.gap_ns[view].load(std::memory_order_acquire) > 0) {
        ++node;
        continue;
      }
      nobody_failed(view, except);
      if (patience.over(nanoseconds_now())) throw Exception(nothing_delivered(view, except));
      pause_for(std::chrono::milliseconds(1));
    }
  }

  /// The first that failed, whoever is waited for: the others may go on without it.
  void nobody_failed(std::uint64_t view, std::optional<std::size_t> except) const {
    for (std::size_t node = 0; node < windows_.size(); ++node) {
      const std::uint64_t failed = windows_[node].failed.load();
      if (node == except || failed == 0) continue;
      throw Exception(Error(static_cast<ErrorKind>(failed - 1), fmt::format("member {} failed before view {}", node, view)));
    }
  }

  /// Names all of those that are waited for, and how far they are.
  [[nodiscard]] Error nothing_delivered(std::uint64_t view, std::optional<std::size_t> except) const {
    std::string who;
    for (std::size_t node = 0; node < windows_.size(); ++node) {
      const MemberWindow& window = windows_[node];
      if (node == except || window.gap_ns[view].load() > 0) continue;
      const std::uint64_t views = window.views.load();
      who += fmt::format("{}{} ({})", who.empty() ? "" : ", ", node,
                         views == 0 ? std::string("in no view yet") : fmt::format("in view {}", views - 1));
    }
    return Error(ErrorKind::timed_out, fmt::format("nothing was delivered in view {} by member {}", view, who));
  }

  void stop_all() {
    for (MemberWindow& window : windows_) window.stop.store(1);
    for (std::size_t node = 0; node < windows_.size(); ++node) end(node, 0);
  }

 private:
  [[nodiscard]] int run_member(std::size_t node) noexcept {
    try {
      log_errors_only();
      MeasuredMember(run_, directory_, NodeId(static_cast<std::uint32_t>(node)), windows_[node]).run();
      return 0;
    } catch (const Exception& failure) {
      windows_[node].failed.store(static_cast<std::uint64_t>(failure.error().kind()) + 1);
      fmt::print(stderr, "member {}: {}\n", node, failure.what());
    } catch (const std::exception& failure) {
      fmt::print(stderr, "member {}: {}\n", node, failure.what());
    }
    return 1;
  }

  const ViewChangeRun& run_;
  std::string directory_;
  std::span<MemberWindow> windows_;
  StartedProcesses processes_;
};

double ms_between(std::uint64_t start_ns, std::uint64_t end_ns) noexcept {
  return static_cast<double>(end_ns - start_ns) * 1e-6;
}
double ms(std::uint64_t nanoseconds) noexcept { return static_cast<double>(nanoseconds) * 1e-6; }

ChangeShare share_since(std::uint64_t told_at, const SeenChange& seen, std::uint64_t delivered_at) {
  const ConnectingLog& log = seen.log;
  ChangeShare share;
  share.change_ms = ms_between(told_at, delivered_at);
  share.agree_ms = ms_between(told_at, log.carved.at_ns);
  // Members that were ahead may all have shown theirs before.
  share.exchange_ms = ms_between(log.carved.at_ns, std::max(log.carved.at_ns, log.exposed_at_ns));
  share.open_ms = ms(log.open.ns);
  share.connecting_ms = ms(log.links.ns + log.regions.ns);
  share.connecting_cpu_ms = ms(log.links.cpu_ns + log.regions.cpu_ns);
  share.connecting_waits = static_cast<double>(log.links.waits + log.regions.waits);
  share.links_ms = ms(log.links.ns);
  share.cpu_ms = ms(seen.cpu_ns);
  return share;
}

void add_shares(std::span<const MemberWindow> windows, std::size_t victim, std::uint64_t view, std::uint64_t started_ns,
                ViewChangeResult& result) {
  for (std::size_t node = 0; node < windows.size(); ++node) {
    const MemberWindow& window = windows[node];
    const SeenChange& join = window.changes[view + 2];
    const std::uint64_t joined_at = window.delivered_at[view + 2].load();
    if (node == victim) {
      result.newcomer_shares.push_back(share_since(started_ns, join, joined_at));
      result.newcomer_shares.back().agree_ms = ms_between(started_ns, join.log.last_connected_at_ns);
      continue;
    }
    const SeenChange& kill = window.changes[view + 1];
    result.kill_shares.push_back(share_since(kill.told.at_ns, kill, window.delivered_at[view + 1].load()));
    result.join_shares.push_back(share_since(join.told.at_ns, join, joined_at));
  }
}

/// One member is killed and started again; the views that this makes are `view` + 1 and `view` + 2. Returns it: the newest.
std::size_t run_round(const ViewChangeRun& run, MeasuredGroup& group, std::span<MemberWindow> windows, std::uint64_t view,
                      std::size_t newest, ViewChangeResult& result) {
  for (MemberWindow& window : windows) window.longest_ns.store(0);
  pause_for(steady);
  const auto leader = static_cast<std::size_t>(windows[0].leader.load());
  // The newest member has the highest rank.
  const std::size_t victim = run.kill_leader ? leader : newest;
  for (std::size_t node = 0; node < windows.size(); ++node) {
    if (node != victim) result.steady_gaps_ms.push_back(ms(windows[node].longest_ns.load()));
  }
  group.end(victim, SIGKILL);
  group.await_deliveries(view + 1, victim);
  pause_for(steady);
  const std::uint64_t started_ns = nanoseconds_now();
  group.start(victim);
  group.await_deliveries(view + 2, std::nullopt);
  for (std::size_t node = 0; node < windows.size(); ++node) {
    if (node == victim) continue;
    result.kill_gaps_ms.push_back(ms(windows[node].gap_ns[view + 1].load()));
    result.join_gaps_ms.push_back(ms(windows[node].gap_ns[view + 2].load()));
  }
  result.catch_up_ms.push_back(ms(windows[victim].delivered_at[view + 2].load() - started_ns));
  if (run.share) add_shares(windows, victim, view, started_ns, result);
  return victim;
}

}  // namespace

ViewChangeResult run_view_changes(const ViewChangeRun& run) {
  CHECK(run.shape.members >= 3 && run.rounds * 2 < views_max);
  static_cast<void>(member_config(run.shape, "/dev/shm/spindrift-bench",
                                  NodeId(0)));  // a wrong setting is an error before the first process
  auto memory = SharedMemory::make(run.shape.members * sizeof(MemberWindow));
  auto directory = PrivateDirectory::make();
  const std::span<MemberWindow> windows = memory.make_objects<MemberWindow>(0, run.shape.members);
  MeasuredGroup group(run, directory.path(), windows);
  for (std::size_t node = 0; node < windows.size(); ++node) group.start(node);
  group.await_deliveries(0, std::nullopt);
  ViewChangeResult result;
  std::size_t newest = windows.size() - 1;
  for (std::uint32_t round = 0; round < run.rounds; ++round) {
    newest = explained([&] { return fmt::format("round {} of {} members failed", round, run.shape.members); },
                       [&] { return run_round(run, group, windows, 2 * round, newest, result); });
  }
  group.stop_all();
  return result;
}

}  // namespace spindrift::bench
