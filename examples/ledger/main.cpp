// A replicated ledger: every teller sends transfers at once, all apply them in the same order, so that all refuse the same
// ones for lack of funds and end with the same balances. State changes in the delivery handler and nowhere else.
//
//   ledger ledger.cfg 0 &  ledger ledger.cfg 1 &  ledger ledger.cfg 2
#include <spindrift/config.hpp>
#include <spindrift/group.hpp>

#include <array>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <mutex>
#include <random>

namespace {

constexpr std::size_t account_count = 8;
constexpr int transfers_per_teller = 10'000;

/// What travels: moves `cents` between two accounts. Cents of zero: this teller has no more.
struct Transfer {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  std::uint64_t cents = 0;
};

/// One replica. The poller thread writes it; the main thread waits for the end.
class Ledger {
 public:
  explicit Ledger(std::size_t tellers) : tellers_(tellers) { balances_.fill(100'000); }

  void apply(std::span<const spindrift::Delivery> batch) {
    std::lock_guard lock(mutex_);
    for (const spindrift::Delivery& delivery : batch) apply(delivery.payload);
    if (tellers_done_ == tellers_) all_done_.notify_all();
  }

  void wait_until_all_are_done() {
    std::unique_lock lock(mutex_);
    all_done_.wait(lock, [&] { return tellers_done_ == tellers_ || stopped_; });
  }

  /// The group has failed; nothing more will come.
  void stop() {
    std::lock_guard lock(mutex_);
    stopped_ = true;
    all_done_.notify_all();
  }

  void print(spindrift::NodeId teller) {
    std::lock_guard lock(mutex_);
    std::printf("teller %u: %lu applied, %lu refused; balances", teller.value(), static_cast<unsigned long>(applied_),
                static_cast<unsigned long>(refused_));
    for (const std::uint64_t balance : balances_) std::printf(" %lu", static_cast<unsigned long>(balance));
    std::printf("\n");
  }

 private:
  void apply(std::span<const std::byte> message) {
    Transfer transfer;
    if (message.size() != sizeof transfer) return;
    std::memcpy(&transfer, message.data(), sizeof transfer);
    if (transfer.cents == 0) {
      ++tellers_done_;
    } else if (transfer.from >= account_count || transfer.to >= account_count || balances_[transfer.from] < transfer.cents) {
      ++refused_;
    } else {
      balances_[transfer.from] -= transfer.cents;
      balances_[transfer.to] += transfer.cents;
      ++applied_;
    }
  }

  std::mutex mutex_;
  std::condition_variable all_done_;
  std::array<std::uint64_t, account_count> balances_{};
  std::size_t tellers_;
  std::size_t tellers_done_ = 0;
  std::uint64_t applied_ = 0;
  std::uint64_t refused_ = 0;
  bool stopped_ = false;
};

void send(spindrift::Subgroup& subgroup, const Transfer& transfer) { subgroup.send(std::as_bytes(std::span(&transfer, 1))); }

void run(const char* config_path, const char* id) {
  const auto config =
      spindrift::value_or_throw(spindrift::Config::read(config_path, {{"DERECHO/local_id", id, "argument"}}));
  Ledger ledger(spindrift::value_or_throw(config.view()).members.size());  // outlives the group, whose handlers use it
  spindrift::Group group{config};
  spindrift::Subgroup& transfers = group.subgroup("transfers");
  transfers.on_delivery([&](std::span<const spindrift::Delivery> batch) { ledger.apply(batch); });
  group.on_failure([&](const spindrift::Error&) { ledger.stop(); });

  std::mt19937 random(group.self().value());
  std::uniform_int_distribution<std::uint32_t> account(0, account_count - 1);
  std::uniform_int_distribution<std::uint64_t> cents(1, 50'000);
  for (int i = 0; i < transfers_per_teller; ++i)
    send(transfers, {.from = account(random), .to = account(random), .cents = cents(random)});
  send(transfers, Transfer{});

  ledger.wait_until_all_are_done();  // leaving earlier would end the group while others still send
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
