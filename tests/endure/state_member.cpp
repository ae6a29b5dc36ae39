// A member with a state of any size, for tools/endure: one subgroup has the state and ticks, the other one ticks only, and
// how long the ticks stand still says what the state costs those who do not save or load it.
//
//   state_member CONFIG ID STATE_BYTES
//
// Prints a JSON line for each event (view, saving, saved, loading, loaded, left) and, four times a second, the longest time
// between two deliveries of ticks in each subgroup since the line before, with the memory that this process has in use.
// SIGTERM: leaves.
// Exit codes: 0 left; 1 anything else.
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <istream>
#include <ostream>
#include <stdexcept>
#include <string>
#include <thread>

#include <spindrift/core/config/config.hpp>
#include <spindrift/core/log.hpp>
#include <spindrift/group/group.hpp>

namespace spindrift::endure {
namespace {

using std::chrono::milliseconds;

constexpr std::chrono::microseconds tick_every(1000);
constexpr milliseconds told_every(250);
constexpr std::size_t piece_words = 8192;

double now_ms() noexcept {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Prints a line that begins with when and who.
void tell(NodeId self, const std::string& what) {
  std::printf("{\"at_ms\":%.3f,\"node\":%u,%s}\n", now_ms(), self.value(), what.c_str());
  std::fflush(stdout);
}

/// Memory of this process alone that is resident, in bytes: neither files nor what is shared with other processes.
std::uint64_t resident_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    if (word != "RssAnon:") continue;
    std::uint64_t kilobytes = 0;
    status >> kilobytes;
    return kilobytes * 1024;
  }
  throw std::runtime_error("/proc/self/status has no RssAnon");
}

/// The word at that place of a state; no two places of a state have the same.
constexpr std::uint64_t word_at(std::uint64_t place) noexcept { return (place + 1) * 0x9e3779b97f4a7c15ULL; }

/// The longest time between two of its calls.
class LongestGap {
 public:
  /// One thread at a time.
  void note() noexcept {
    const double now = now_ms();
    const double before = std::exchange(last_ms_, now);
    if (before == 0) return;
    double longest = longest_ms_.load(std::memory_order_relaxed);
    while (now - before > longest && !longest_ms_.compare_exchange_weak(longest, now - before)) {
    }
  }
  /// Since it was last asked; any thread. In milliseconds.
  double take() noexcept { return longest_ms_.exchange(0); }

 private:
  double last_ms_ = 0;
  std::atomic<double> longest_ms_{0};
};

class Member {
 public:
  Member(NodeId self, std::uint64_t state_bytes) : self_(self), words_(state_bytes / sizeof(std::uint64_t)) {}

  void attend(Subgroup& big, Subgroup& ticks) {
    big.on_state([this](std::ostream& to) { save(to); }, [this](std::istream& from) { load(from); });
    big.on_delivery([this](std::span<const Delivery>) { big_.note(); });
    ticks.on_delivery([this](std::span<const Delivery>) { ticks_.note(); });
  }

  /// Until the group is left or lost. A thread's.
  void tick(Subgroup& ticks) const {
    try {
      for (;;) {
        ticks.send("tick");
        std::this_thread::sleep_for(tick_every);
      }
    } catch (const Exception&) {  // what it was, the main thread learns from `wait`
    }
  }

  /// Until `over`. A thread's.
  void report(const std::atomic<bool>& over) {
    while (!over.load()) {
      std::this_thread::sleep_for(told_every);
      tell(self_, "\"event\":\"ticks\",\"longest_ms\":" + std::to_string(ticks_.take()) +
                      ",\"longest_beside_state_ms\":" + std::to_string(big_.take()) +
                      ",\"resident_bytes\":" + std::to_string(resident_bytes()));
    }
  }

  void on_view(const NewView& news) const {
    tell(self_, "\"event\":\"view\",\"members\":" + std::to_string(news.view.members.size()));
    if (!news.state_lost.empty()) throw std::runtime_error("the state is lost");
  }

 private:
  void save(std::ostream& to) const {
    tell(self_, "\"event\":\"saving\"");
    std::array<std::uint64_t, piece_words> piece{};
    for (std::uint64_t done = 0; done < words_;) {
      const std::uint64_t count = std::min<std::uint64_t>(piece.size(), words_ - done);
      for (std::uint64_t i = 0; i < count; ++i) piece[i] = word_at(done + i);
      to.write(reinterpret_cast<const char*>(piece.data()), static_cast<std::streamsize>(count * sizeof piece[0]));
      done += count;
    }
    tell(self_, "\"event\":\"saved\"");
  }

  void load(std::istream& from) const {
    tell(self_, "\"event\":\"loading\"");
    std::array<std::uint64_t, piece_words> piece{};
    for (std::uint64_t done = 0; done < words_;) {
      const std::uint64_t count = std::min<std::uint64_t>(piece.size(), words_ - done);
      from.read(reinterpret_cast<char*>(piece.data()), static_cast<std::streamsize>(count * sizeof piece[0]));
      if (!from) throw std::runtime_error("the state is too short");
      for (std::uint64_t i = 0; i < count; ++i) {
        if (piece[i] == word_at(done + i)) continue;
        throw std::runtime_error("the state is wrong at word " + std::to_string(done + i));
      }
      done += count;
    }
    if (from.get() != std::istream::traits_type::eof()) throw std::runtime_error("the state is too long");
    tell(self_, "\"event\":\"loaded\"");
  }

  NodeId self_;
  std::uint64_t words_;
  LongestGap big_;
  LongestGap ticks_;
};

int run(const Config& config, std::uint64_t state_bytes) {
  sigset_t asked;
  ::sigemptyset(&asked);
  ::sigaddset(&asked, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &asked, nullptr);
  Member member(config.local_id(), state_bytes);
  GroupOptions options;
  options.on_view = [&](const NewView& news) { member.on_view(news); };
  Group group(config, options);
  Subgroup& ticks = group.subgroup("ticks");
  Subgroup& big = group.subgroup("big");
  member.attend(big, ticks);
  std::atomic<bool> over{false};
  std::thread ticking([&] { member.tick(ticks); });
  std::thread beside([&] { member.tick(big); });
  std::thread reporting([&] { member.report(over); });
  std::thread obeying([&] {
    int signal = 0;
    ::sigwait(&asked, &signal);
    try {
      group.leave();
    } catch (const Exception&) {  // the main thread hears of it
    }
  });
  std::string failure;
  try {
    group.wait();
  } catch (const Exception& why) {
    failure = why.what();
    ::kill(::getpid(), SIGTERM);  // lets the obeying thread go
  }
  over.store(true);
  for (std::thread* each : {&ticking, &beside, &reporting, &obeying}) each->join();
  if (failure.empty()) tell(config.local_id(), "\"event\":\"left\"");
  if (!failure.empty()) std::fprintf(stderr, "ended: %s\n", failure.c_str());
  return failure.empty() ? 0 : 1;
}

}  // namespace
}  // namespace spindrift::endure

int main(int argument_count, char** arguments) {
  using namespace spindrift;
  if (argument_count != 4) {
    std::fprintf(stderr, "usage: state_member CONFIG ID STATE_BYTES\n");
    return 2;
  }
  const auto config = Config::read(arguments[1], {{"DERECHO/local_id", arguments[2], "argument"}});
  if (!config) {
    std::fprintf(stderr, "%s\n", config.error().to_string().c_str());
    return 2;
  }
  try {
    return endure::run(*config, std::strtoull(arguments[3], nullptr, 10));
  } catch (const Exception& failure) {
    std::fprintf(stderr, "ended: %s\n", failure.what());
    return 1;
  }
}
