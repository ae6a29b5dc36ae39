// The parent has one thread, from which it forks members, and wants each change of the roster as `spindrift group add` does:
// through the socket of a member. Members tell it how far they are through shared memory.
#include <spindrift/bench/roster_changes.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstring>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <spindrift/bench/delivered_record.hpp>
#include <spindrift/bench/group_config.hpp>
#include <spindrift/bench/patience.hpp>
#include <spindrift/bench/processes.hpp>
#include <spindrift/core/guarded_directory.hpp>
#include <spindrift/group/group.hpp>
#include <spindrift/group/roster_service.hpp>

namespace spindrift::bench {

namespace {

constexpr std::uint64_t patience_ns = 30'000'000'000;
constexpr Duration change_patience = std::chrono::seconds(30);
constexpr std::string_view group_name = "bench";
constexpr std::size_t said_max = 5;  ///< of all that is wrong
static_assert(roster_nodes_max <= recorded_nodes_max);

/// One member process tells the parent this; `stop` and the zeros of `longest_ns` come from there.
struct alignas(cache_line_bytes) RosterWindow {
  std::atomic<std::uint64_t> delivering{0};  ///< id + 1 of the newest view in which it has delivered
  std::atomic<std::uint64_t> delivered{0};   ///< batches
  std::atomic<std::uint64_t> longest_ns{0};  ///< between two batches
  std::atomic<std::uint64_t> failed{0};      ///< ErrorKind + 1
  std::atomic<std::uint64_t> left{0};        ///< 1: in order
  std::atomic<std::uint64_t> stop{0};
  std::array<std::atomic<std::uint64_t>, recorded_views_max> view_gap_ns{};  ///< by view; 0: nothing delivered in it yet
  DeliveredRecord record;                                                    ///< read in whole when the process has ended
};

/// Founders name each other alone; whoever is added names them and itself, and is told of the rest.
Config config_of(const RosterRun& run, const std::string& directory, std::uint32_t node) {
  std::string founders = "0";
  for (std::uint32_t founder = 1; founder < run.members; ++founder) founders += fmt::format(", {}", founder);
  const std::string members = node < run.members ? founders : fmt::format("{}, {}", founders, node);
  const std::string text = fmt::format(
      "[DERECHO]\nlocal_id = {}\n[SPINDRIFT]\ngroup_name = {}\nruntime_directory = {}\nmembers = {}\nfounders = {}\n\n"
      "[LAYOUT]\njson_layout = '[{{\"name\": \"{}\"}}]'\n\n[SUBGROUP/DEFAULT]\nmax_smc_payload_size = {}\n"
      "window_size = {}\nring_size = {}\n",
      node, group_name, directory, members, founders, subgroup_name, run.profile.message_bytes_max,
      run.profile.window_messages, run.profile.ring_bytes);
  return value_or_throw(Config::parse(text, "the bench's configuration", run.settings));
}

class RosterMember {
 public:
  RosterMember(const RosterRun& run, const Config& config, RosterWindow& window)
      : run_(run), window_(window), group_(config, options()) {}

  void run() {
    Subgroup& subgroup = group_.subgroup(subgroup_name);
    subgroup.on_delivery([this](std::span<const Delivery> batch) { on_delivery(batch); });
    send_all(subgroup);
    group_.leave();
  }

 private:
  GroupOptions options() {
    GroupOptions options;
    options.on_view = [this](const NewView& news) {
      if (!window_.record.begin_view(news.view.id, news.view.members))
        throw Exception(Error(ErrorKind::unsupported, "the group has more views or members than a bench records"));
      first_of_view_ = true;
    };
    return options;
  }

  void on_delivery(std::span<const Delivery> batch) noexcept {
    const std::uint64_t now_ns = nanoseconds_now();
    const std::uint64_t gap_ns = last_ns_ == 0 ? 1 : now_ns - last_ns_;
    last_ns_ = now_ns;
    for (const Delivery& message : batch) window_.record.add(message);
    if (gap_ns > window_.longest_ns.load(std::memory_order_relaxed))
      window_.longest_ns.store(gap_ns, std::memory_order_relaxed);
    if (std::exchange(first_of_view_, false)) {
      window_.view_gap_ns[window_.record.view].store(gap_ns, std::memory_order_relaxed);
      window_.delivering.store(window_.record.view + 1, std::memory_order_release);
    }
    window_.delivered.fetch_add(1, std::memory_order_release);
  }

  /// Until it is to stop, or its node is removed.
  void send_all(Subgroup& subgroup) {
    const std::vector<std::byte> payload(run_.message_bytes, std::byte{1});
    std::uint64_t& sent = window_.record.sent;
    const auto build = [&](std::span<std::byte> to) {
      std::memcpy(to.data(), payload.data(), to.size());
      stamp(to, group_.self(), sent + 1);
    };
    try {
      for (; window_.stop.load(std::memory_order_relaxed) == 0; ++sent) subgroup.send(payload.size(), build);
    } catch (const Exception&) {  // leaving, or lost; `leave` tells which
    }
  }

  const RosterRun& run_;
  RosterWindow& window_;
  bool first_of_view_ = true;  // the poller's
  std::uint64_t last_ns_ = 0;  // the poller's
  Group group_;
};

double ms(std::uint64_t nanoseconds) noexcept { return static_cast<double>(nanoseconds) * 1e-6; }

/// The group while its roster changes.
class ChangingGroup {
 public:
  ChangingGroup(const RosterRun& run, std::string directory, std::span<RosterWindow> windows)
      : run_(run), directory_(std::move(directory)), windows_(windows), processes_(windows.size()) {}

  void found() {
    for (std::uint32_t node = 0; node < run_.members; ++node) start(node);
    await_view("the founders' first view");
  }

  void add(std::uint32_t node, RosterChangeTimes& times) {
    const std::string what = fmt::format("the view with node {}", node);
    const NodeId id(node);
    const RosterChange change{RosterChange::Kind::add, id, config_of(run_, directory_, node).address_of(id)};
    measure(present_, times, [&] {
      want(change);
      start(node);
      await_view(what);
    });
  }

  void remove(std::uint32_t node, RosterChangeTimes& times) {
    present_ &= ~member_bit(node);
    measure(present_, times, [&] {
      want({RosterChange::Kind::remove, NodeId(node)});
      await_view(fmt::format("the view without node {}", node));
    });
    await_end(node);
  }

  void stop_all() {
    for (RosterWindow& window : windows_) window.stop.store(1);
    for (std::size_t node = 0; node < windows_.size(); ++node) {
      if (is_present(node)) await_end(node);
    }
  }

 private:
  [[nodiscard]] bool is_present(std::size_t node) const noexcept { return (present_ & member_bit(node)) != 0; }

  [[nodiscard]] std::uint32_t lowest() const noexcept { return static_cast<std::uint32_t>(std::countr_zero(present_)); }

  void start(std::uint32_t node) {
    processes_.start(node, [this, node] { return run_member(node); });
    present_ |= member_bit(node);
  }

  [[nodiscard]] int run_member(std::uint32_t node) noexcept {
    RosterWindow& window = windows_[node];
    try {
      log_errors_only();
      RosterMember(run_, config_of(run_, directory_, node), window).run();
      window.left.store(1, std::memory_order_release);
      return 0;
    } catch (const Exception& failure) {
      window.failed.store(static_cast<std::uint64_t>(failure.error().kind()) + 1);
      fmt::print(stderr, "member {}: {}\n", node, failure.what());
    } catch (const std::exception& failure) {
      fmt::print(stderr, "member {}: {}\n", node, failure.what());
    }
    return 1;
  }

  /// Through the lowest member, as `spindrift group` asks.
  void want(const RosterChange& change) const {
    const auto directory = value_or_throw(GuardedDirectory::open(directory_, std::string(group_name)));
    static_cast<void>(
        value_or_throw(group::change_roster_through(directory, NodeId(lowest()), {{change}, change_patience})));
  }

  template <class Change>
  void measure(MemberSet staying, RosterChangeTimes& times, Change change) {
    const std::uint64_t view_before = windows_[lowest()].delivering.load();
    forget_longest();
    const std::uint64_t start_ns = nanoseconds_now();
    change();
    const std::uint64_t took_ns = nanoseconds_now() - start_ns;
    times.changes_ms.push_back(ms(took_ns));
    add_longest(staying, times.gaps_ms);
    add_view_gaps(staying, view_before, times.view_gaps_ms);
    pause_for(run_.between);
    forget_longest();
    pause_for(Duration(took_ns));
    add_longest(staying, times.quiet_gaps_ms);
  }

  void forget_longest() noexcept {
    for (RosterWindow& window : windows_) window.longest_ns.store(0);
  }

  /// Behind each member's next delivery, for that ends a gap that lasts.
  void add_longest(MemberSet staying, std::vector<double>& gaps_ms) {
    for (std::size_t node = 0; node < windows_.size(); ++node) {
      if ((staying & member_bit(node)) == 0) continue;
      const RosterWindow& window = windows_[node];
      const std::uint64_t seen = window.delivered.load();
      await(fmt::format("a delivery at node {}", node),
            [&] { return window.delivered.load() != seen && window.longest_ns.load() > 0; });
      gaps_ms.push_back(ms(window.longest_ns.load()));
    }
  }

  void add_view_gaps(MemberSet staying, std::uint64_t view_before, std::vector<double>& gaps_ms) const {
    for (std::size_t node = 0; node < windows_.size(); ++node) {
      const RosterWindow& window = windows_[node];
      if ((staying & member_bit(node)) == 0) continue;
      for (std::uint64_t view = view_before; view < window.delivering.load(); ++view) {
        if (const std::uint64_t gap_ns = window.view_gap_ns[view].load(); gap_ns > 0) gaps_ms.push_back(ms(gap_ns));
      }
    }
  }

  void await_end(std::size_t node) {
    await(fmt::format("the end of node {}", node), [&] { return windows_[node].left.load() != 0; });
    processes_.end(node, 0);
  }

  /// Until all that are there, and nobody else, are in one view, and each has delivered in it.
  void await_view(const std::string& what) {
    await(what, [&] {
      const std::uint64_t view = windows_[lowest()].delivering.load(std::memory_order_acquire);
      for (std::size_t node = 0; node < windows_.size(); ++node) {
        const RosterWindow& window = windows_[node];
        if (!is_present(node)) continue;
        if (view == 0 || window.delivering.load(std::memory_order_acquire) != view) return false;
        if (window.record.views[view - 1].members != present_) return false;
      }
      return true;
    });
  }

  template <class Done>
  void await(const std::string& what, Done done) {
    Patience patience(patience_ns, nanoseconds_now());
    while (!done()) {
      nobody_failed(what);
      if (patience.over(nanoseconds_now()))
        throw Exception(Error(ErrorKind::timed_out, fmt::format("{} does not come: {}", what, where_they_are())));
      pause_for(std::chrono::milliseconds(1));
    }
  }

  void nobody_failed(const std::string& awaited) {
    for (std::size_t node = 0; node < windows_.size(); ++node) {
      if (const std::uint64_t failed = windows_[node].failed.load(); failed != 0)
        throw Exception(Error(static_cast<ErrorKind>(failed - 1), fmt::format("member {} failed before {}", node, awaited)));
      if (processes_.take_ended(node) && windows_[node].left.load(std::memory_order_acquire) == 0)
        throw Exception(
            Error(ErrorKind::member_lost, fmt::format("the process of member {} ended before {}", node, awaited)));
    }
  }

  [[nodiscard]] std::string where_they_are() const {
    std::vector<std::string> places;
    for (std::size_t node = 0; node < windows_.size(); ++node) {
      const std::uint64_t delivering = windows_[node].delivering.load();
      if (!is_present(node)) continue;
      places.push_back(delivering == 0 ? fmt::format("member {} has delivered nothing", node)
                                       : fmt::format("member {} delivers in view {}", node, delivering - 1));
    }
    return fmt::format("{}", fmt::join(places, ", "));
  }

  const RosterRun& run_;
  std::string directory_;
  std::span<RosterWindow> windows_;
  MemberSet present_ = 0;
  StartedProcesses processes_;
};

void judge(std::span<const RosterWindow> windows, RosterResult& result) {
  std::vector<const DeliveredRecord*> records;
  for (const RosterWindow& window : windows) records.push_back(&window.record);
  for (const DeliveredRecord* record : records) {
    result.sent += record->sent;
    result.delivered += record->delivered();
  }
  for (std::size_t view = 0; view < recorded_views_max; ++view) {
    const auto was_there = [&](const DeliveredRecord* record) { return record->views[view].members != 0; };
    result.views += std::ranges::count_if(records, was_there) > 1 ? 1 : 0;
  }
  auto words = broken_promises(records);
  if (words.empty()) return;
  const std::size_t unsaid = words.size() - std::min(words.size(), said_max);
  words.resize(words.size() - unsaid);
  if (unsaid > 0) words.push_back(fmt::format("and {} more", unsaid));
  throw Exception(
      Error(ErrorKind::bad_input, fmt::format("members broke what a group promises: {}", fmt::join(words, "; "))));
}

}  // namespace

RosterResult run_roster_changes(const RosterRun& run) {
  CHECK(run.members >= 2 && run.members < run.most && run.most <= roster_nodes_max);
  CHECK(run.message_bytes >= stamped_bytes_min);
  static_cast<void>(config_of(run, "/dev/shm/spindrift-bench", 0));  // a wrong setting is an error before the first process
  auto memory = SharedMemory::make(run.most * sizeof(RosterWindow));
  auto directory = PrivateDirectory::make();
  const std::span<RosterWindow> windows = memory.make_objects<RosterWindow>(0, run.most);
  ChangingGroup group(run, directory.path(), windows);
  RosterResult result;
  group.found();
  for (std::uint32_t node = run.members; node < run.most; ++node) group.add(node, result.added);
  for (std::uint32_t node = 0; node < run.most - run.members; ++node) group.remove(node, result.removed);
  group.stop_all();
  judge(windows, result);
  return result;
}

}  // namespace spindrift::bench
