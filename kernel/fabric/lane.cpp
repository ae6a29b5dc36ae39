// Posting lists to one virtual queue pair, and leaving it.
#include <spindrift/kernel/fabric/lane.hpp>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <memory>
#include <string>
#include <utility>

#include <spindrift/core/check.hpp>

namespace spindrift::kernel::vq {
namespace {

using Kind = kernel::Request::Kind;

constexpr std::size_t list_max = 64;
constexpr auto acknowledgement_max = std::chrono::milliseconds(20);

/// A region as one peer knows it, under a key of its own.
class RegisteredMemory final : public connected::Registration {
 public:
  RegisteredMemory(Pool& pool, const MemoryKeys& keys) : pool_(pool), keys_(keys) {}
  ~RegisteredMemory() override {
    const auto gone = pool_.deregister(keys_);
    CHECK(gone.ok());  // no own request names it
  }

 private:
  Pool& pool_;
  const MemoryKeys keys_;
};

}  // namespace

void Lane::post(Transfer transfer) {
  backlog_.post(*this, std::move(transfer), [](const Transfer&) { return false; });
}

// A message wakes the peer by itself. A write that lands while the provider makes sure that a sleep may begin would not.
void Lane::ring() {
  if (!backlog_.empty()) {
    Transfer& last = *std::prev(backlog_.end());
    last.news = last.kind == Kind::write;
  }
  flush();
}

Result<Transfer> Lane::message_of(std::span<const std::byte> bytes) {
  auto copy = ways_.staging.copy(bytes);
  if (!copy) return std::move(copy).error();
  Transfer transfer;
  transfer.kind = Kind::send;
  transfer.bytes = bytes.size();
  transfer.owned = std::move(copy).value();
  return transfer;
}

void Lane::post_message(std::span<const std::byte> message, bool signaled, std::uint64_t context) {
  auto transfer = message_of(message);
  if (!transfer) return break_down(transfer.error().message());
  transfer->signaled = signaled;
  transfer->context = context;
  post(std::move(transfer).value());
}

void Lane::say(std::span<const std::byte> message, bool signaled) {
  post_message(message, signaled, 0);
  flush();
}

void Lane::flush() {
  backlog_.flush_lists(
      *this, list_max, [this](std::deque<Transfer>::iterator first, std::size_t count) { return offer(first, count); },
      [this](Transfer&& transfer) {
        if (transfer.region != nullptr) unsent_bytes += transfer.bytes;
        flying_.push_back(std::move(transfer));
      });
}

// Those that nobody asks about are over with the next one that somebody does: fewer acknowledgements.
kernel::Request Lane::request_of(const Transfer& transfer) const {
  auto* const local = const_cast<std::byte*>(transfer.owned.empty() ? transfer.local : transfer.owned.data());
  return {.kind = transfer.kind,
          .signaled = transfer.signaled || transfer.kind == Kind::read,
          .news = transfer.news,
          .context = 0,
          .local = {local, transfer.bytes},
          .local_memory = transfer.bytes == 0 ? MemoryKeys{} : ways_.arena.keys_of(local),
          .remote_address = transfer.address,
          .remote_key = transfer.remote_key};
}

bool Lane::idle() const noexcept {
  return backlog_.empty() && (flying_.empty() || ways_.now - last_post_ > acknowledgement_max);
}

std::size_t Lane::offer(std::deque<Transfer>::iterator first, std::size_t count) {
  list_.clear();
  for (std::size_t i = 0; i < count; ++i) {
    list_.push_back(request_of(first[static_cast<std::ptrdiff_t>(i)]));
    list_.back().context = finished_ + flying_.size() + i;
  }
  list_.back().signaled = true;
  const auto taken = ways_.pool.post(pair_, list_);
  last_post_ = ways_.now;
  if (taken) return *taken;
  break_down(taken.error().message());
  return 0;
}

std::optional<Transfer> Lane::take_finished(const Completion& completion) {
  if (flying_.empty() || completion.context < finished_) return std::nullopt;
  Transfer transfer = std::move(flying_.front());
  flying_.pop_front();
  ++finished_;
  if (transfer.region != nullptr) {
    --transfer.region->reading;
    unsent_bytes -= transfer.bytes;
  }
  if (completion.status != Status::done) {
    break_down("an operation failed: " + std::string(to_string(completion.status)));
    return std::nullopt;
  }
  const bool lands = transfer.kind == Kind::read && !transfer.owned.empty();
  if (lands) std::memcpy(const_cast<std::byte*>(transfer.local), transfer.owned.data(), transfer.bytes);
  return transfer;
}

void Lane::look_for_failure() {
  if (broken()) return;
  const auto failed = ways_.pool.failure(pair_);
  if (!failed) return;
  const std::string why = *failed == Status::peer_lost ? "" : ": " + std::string(to_string(*failed));
  break_down("the connection broke" + why);
}

Result<connected::Lane::Right> Lane::give_right(connected::OwnRegion& region, spindrift::fabric::Access access) {
  auto keys = ways_.pool.register_memory(region.memory, access);
  if (!keys) return std::move(keys).error();
  return Right{keys->remote_key, keys->remote_base, std::make_unique<RegisteredMemory>(ways_.pool, *keys)};
}

Result<MemoryKeys> Lane::let_read(std::span<std::byte> memory) {
  auto keys = ways_.pool.register_memory(memory, spindrift::fabric::Access::read);
  if (keys) readable_ = std::make_unique<RegisteredMemory>(ways_.pool, *keys);
  return keys;
}

// Who is left at the other end hears of it, if the pair is well: no connection breaks that would tell it.
void Lane::close() {
  if (std::exchange(closed_, true)) return;
  revoke_all();
  readable_.reset();
  backlog_.drop();
  unsent_bytes = 0;
  if (state != State::closing && !goodbye && !ways_.pool.failure(pair_)) {
    // No memory or no room: then it finds out by itself.
    if (auto last = message_of(connected::encode(connected::Kind::goodbye, 0))) {
      const kernel::Request request = request_of(*last);
      flying_.push_back(std::move(last).value());
      static_cast<void>(ways_.pool.post(pair_, {&request, 1}));
    }
  }
  ways_.pool.close(pair_);
  ways_.leaving.push_back({pair_, std::move(flying_)});
  flying_.clear();
}

}  // namespace spindrift::kernel::vq
