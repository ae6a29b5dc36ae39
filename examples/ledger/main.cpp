// A replicated ledger: every teller sends transfers at once, all apply them in the same order, so that all refuse the same
// ones for lack of funds and end with the same balances. State changes in the delivery handler and nowhere else; a teller
// that starts late, or again, is given it as of the view in which it joins.
//
//   ledger ledger.cfg 0 &  ledger ledger.cfg 1 &  ledger ledger.cfg 2
#include <spindrift/config.hpp>
#include <spindrift/group.hpp>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <istream>
#include <mutex>
#include <ostream>
#include <random>
#include <stdexcept>
#include <vector>

namespace {

constexpr std::size_t account_count = 8;
constexpr int transfers_per_teller = 10'000;

/// A message: it moves `cents` between two accounts. Cents of zero: this teller has no more.
struct Transfer {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  std::uint64_t cents = 0;
};

/// One replica. The poller thread writes it; the main thread waits for the end.
class Ledger {
 public:
  Ledger() { state_.balances.fill(100'000); }

  void apply(std::span<const spindrift::Delivery> batch) {
    std::lock_guard lock(mutex_);
    for (const spindrift::Delivery& delivery : batch) apply(delivery);
    changed_.notify_all();
  }

  void on_view(const spindrift::NewView& news) {
    std::lock_guard lock(mutex_);
    tellers_ = news.view.members;
    for (const spindrift::NodeId node : news.joined) std::erase(state_.done, node.value());  // it has not even begun
    changed_.notify_all();
  }

  /// Every teller that is there has sent all its transfers; those that died will not.
  void wait_until_all_are_done() {
    std::unique_lock lock(mutex_);
    changed_.wait(
        lock, [&] { return stopped_ || std::all_of(tellers_.begin(), tellers_.end(), [&](auto t) { return is_done(t); }); });
  }

  void save(std::ostream& to) {
    std::lock_guard lock(mutex_);
    for (const std::uint64_t balance : state_.balances) to << balance << ' ';
    to << state_.applied << ' ' << state_.refused << ' ' << state_.done.size();
    for (const std::uint32_t teller : state_.done) to << ' ' << teller;
  }

  void load(std::istream& from) {
    std::lock_guard lock(mutex_);
    std::size_t done = 0;
    for (std::uint64_t& balance : state_.balances) from >> balance;
    from >> state_.applied >> state_.refused >> done;
    state_.done.assign(std::min(done, spindrift::member_count_max), 0);
    for (std::uint32_t& teller : state_.done) from >> teller;
    if (!from) throw std::runtime_error("the ledger's state is broken");
    changed_.notify_all();
  }

  /// The group has failed; nothing more will come.
  void stop() {
    std::lock_guard lock(mutex_);
    stopped_ = true;
    changed_.notify_all();
  }

  void print(spindrift::NodeId teller) {
    std::lock_guard lock(mutex_);
    std::printf("teller %u: %lu applied, %lu refused; balances", teller.value(), static_cast<unsigned long>(state_.applied),
                static_cast<unsigned long>(state_.refused));
    for (const std::uint64_t balance : state_.balances) std::printf(" %lu", static_cast<unsigned long>(balance));
    std::printf("\n");
  }

 private:
  /// The state on which all tellers agree.
  struct State {
    std::array<std::uint64_t, account_count> balances{};
    std::uint64_t applied = 0;
    std::uint64_t refused = 0;
    std::vector<std::uint32_t> done;  // tellers that have no more
  };

  [[nodiscard]] bool is_done(spindrift::NodeId teller) const {
    return std::find(state_.done.begin(), state_.done.end(), teller.value()) != state_.done.end();
  }

  void apply(const spindrift::Delivery& delivery) {
    Transfer transfer;
    if (delivery.payload.size() != sizeof transfer) return;
    std::memcpy(&transfer, delivery.payload.data(), sizeof transfer);
    auto& balances = state_.balances;
    if (transfer.cents == 0) {
      if (!is_done(delivery.sender)) state_.done.push_back(delivery.sender.value());
    } else if (transfer.from >= account_count || transfer.to >= account_count || balances[transfer.from] < transfer.cents) {
      ++state_.refused;
    } else {
      balances[transfer.from] -= transfer.cents;
      balances[transfer.to] += transfer.cents;
      ++state_.applied;
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  State state_;
  std::vector<spindrift::NodeId> tellers_;  // in the present view
  bool stopped_ = false;
};

void send(spindrift::Subgroup& subgroup, const Transfer& transfer) { subgroup.send(std::as_bytes(std::span(&transfer, 1))); }

void run(const char* config_path, const char* id) {
  const auto config =
      spindrift::value_or_throw(spindrift::Config::read(config_path, {{"DERECHO/local_id", id, "argument"}}));
  Ledger ledger;  // outlives the group, whose handlers use it
  spindrift::GroupOptions options;
  options.on_view = [&](const spindrift::NewView& news) { ledger.on_view(news); };
  spindrift::Group group{config, std::move(options)};
  spindrift::Subgroup& transfers = group.subgroup("transfers");
  transfers.on_state([&](std::ostream& to) { ledger.save(to); }, [&](std::istream& from) { ledger.load(from); });
  transfers.on_delivery([&](std::span<const spindrift::Delivery> batch) { ledger.apply(batch); });
  group.on_failure([&](const spindrift::Error&) { ledger.stop(); });

  std::mt19937 random(group.self().value());
  std::uniform_int_distribution<std::uint32_t> account(0, account_count - 1);
  std::uniform_int_distribution<std::uint64_t> cents(1, 50'000);
  for (int i = 0; i < transfers_per_teller; ++i)
    send(transfers, {.from = account(random), .to = account(random), .cents = cents(random)});
  send(transfers, Transfer{});

  ledger.wait_until_all_are_done();
  group.leave();
  ledger.print(group.self());
}

}  // namespace

int main(int argument_count, char** arguments) {
  if (argument_count != 3) {
    std::fprintf(stderr, "usage: ledger CONFIG ID\n");
    return 2;
  }
  try {
    run(arguments[1], arguments[2]);
    return 0;
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "ledger: %s\n", failure.what());
    return 1;
  }
}
