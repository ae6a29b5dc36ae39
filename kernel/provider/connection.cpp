// Posting lists to one virtual queue pair, and leaving it.
#include <spindrift/kernel/provider/connection.hpp>

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
/// One that the device copies, so that a peer which does not answer leaves it with nothing of this process's.
constexpr std::size_t piece_max = 65536;
constexpr auto acknowledgement_max = std::chrono::milliseconds(20);

/// Memory as one peer knows it, under a key of its own.
class PeerMemory final : public connected::Registration {
 public:
  PeerMemory(Pool& pool, const MemoryKeys& keys) : pool_(pool), keys_(keys) {}
  ~PeerMemory() override {
    const auto gone = pool_.deregister(keys_);
    CHECK(gone.ok());  // no own request names it
  }

 private:
  Pool& pool_;
  const MemoryKeys keys_;
};

}  // namespace

void PairConnection::post(PostedPiece piece) {
  backlog_.post(*this, std::move(piece), [](const PostedPiece&) { return false; });
}

void PairConnection::transfer(const connected::Transfer& whole) {
  connected::cut(whole, piece_max, [this](const connected::Transfer& part) {
    if (broken()) return;
    PostedPiece piece{part, part.reads ? Kind::read : Kind::write};
    // Memory that lies in no region is not registered; its bytes go by a copy in either direction.
    if (piece.region == nullptr) {
      auto copy = context_.copies.copy({piece.local, piece.bytes});
      if (!copy) return break_down(copy.error().message());
      piece.owned = std::move(copy).value();
    }
    post(std::move(piece));
  });
}

// A message wakes the peer by itself. A write that lands while the provider makes sure that a sleep may begin would not.
void PairConnection::ring() {
  if (!backlog_.empty()) {
    PostedPiece& last = *std::prev(backlog_.end());
    last.news = last.kind == Kind::write;
  }
  flush();
}

Result<PostedPiece> PairConnection::message_of(std::span<const std::byte> bytes) {
  SPINDRIFT_TRY_ASSIGN(auto copy, context_.copies.copy(bytes));
  PostedPiece piece;
  piece.kind = Kind::send;
  piece.bytes = bytes.size();
  piece.owned = std::move(copy);
  return piece;
}

void PairConnection::send(std::span<const std::byte> message, bool signaled, std::uint64_t context) {
  auto piece = message_of(message);
  if (!piece) return break_down(piece.error().message());
  piece->signaled = signaled;
  piece->context = context;
  post(std::move(piece).value());
}

void PairConnection::flush() {
  backlog_.flush_lists(
      *this, list_max, [this](std::deque<PostedPiece>::iterator first, std::size_t count) { return offer(first, count); },
      [this](PostedPiece&& piece) {
        if (piece.region != nullptr) unsent_bytes += piece.bytes;
        flying_.push_back(std::move(piece));
      });
}

// Those that nobody asks about are over with the next one that somebody does: fewer acknowledgements.
kernel::Request PairConnection::request_of(const PostedPiece& piece) const {
  std::byte* const local = piece.owned.empty() ? piece.local : piece.owned.data();
  return {.kind = piece.kind,
          .signaled = piece.signaled || piece.kind == Kind::read,
          .news = piece.news,
          .context = 0,
          .local = {local, piece.bytes},
          .local_memory = piece.bytes == 0 ? MemoryKeys{} : context_.arena.keys_of(local),
          .remote_address = piece.address,
          .remote_key = piece.remote_key};
}

bool PairConnection::idle() const noexcept {
  return backlog_.empty() && (flying_.empty() || context_.now - last_post_ > acknowledgement_max);
}

std::size_t PairConnection::offer(std::deque<PostedPiece>::iterator first, std::size_t count) {
  list_.clear();
  for (std::size_t i = 0; i < count; ++i) {
    list_.push_back(request_of(first[static_cast<std::ptrdiff_t>(i)]));
    list_.back().context = finished_ + flying_.size() + i;
  }
  list_.back().signaled = true;
  const auto taken = context_.pool.post(pair_, list_);
  last_post_ = context_.now;
  if (taken) return *taken;
  break_down(taken.error().message());
  return 0;
}

std::optional<PostedPiece> PairConnection::take_finished(const Completion& completion) {
  if (flying_.empty() || completion.context < finished_) return std::nullopt;
  PostedPiece piece = std::move(flying_.front());
  flying_.pop_front();
  ++finished_;
  if (piece.region != nullptr) {
    --piece.region->reading;
    unsent_bytes -= piece.bytes;
  }
  if (completion.status != OperationStatus::done) {
    break_down("an operation failed: " + std::string(to_string(completion.status)));
    return std::nullopt;
  }
  const bool lands = piece.kind == Kind::read && !piece.owned.empty();
  if (lands) std::memcpy(piece.local, piece.owned.data(), piece.bytes);
  return piece;
}

void PairConnection::look_for_failure() {
  if (broken()) return;
  const auto failed = context_.pool.failure(pair_);
  if (!failed) return;
  const std::string why = *failed == OperationStatus::peer_lost ? "" : ": " + std::string(to_string(*failed));
  break_down("the connection broke" + why);
}

Result<PairConnection::Right> PairConnection::give_right(connected::OwnRegion& region, spindrift::fabric::Access access) {
  SPINDRIFT_TRY_ASSIGN(auto keys, context_.pool.register_memory(region.memory, access));
  return Right{keys.remote_key, keys.remote_base, std::make_unique<PeerMemory>(context_.pool, keys)};
}

Result<MemoryKeys> PairConnection::let_read(std::span<std::byte> memory) {
  auto keys = context_.pool.register_memory(memory, spindrift::fabric::Access::read);
  if (keys) readable_ = std::make_unique<PeerMemory>(context_.pool, *keys);
  return keys;
}

// The process at the other end is told, if the pair is well: no connection breaks that would tell it.
void PairConnection::close() {
  if (std::exchange(closed_, true)) return;
  revoke_all();
  readable_.reset();
  backlog_.drop();
  unsent_bytes = 0;
  if (call().state != connected::PeerCall::State::closing && !goodbye && !context_.pool.failure(pair_)) {
    // No memory or no room: then it finds out by itself.
    if (auto last = message_of(connected::encode(connected::Kind::goodbye, 0))) {
      const kernel::Request request = request_of(*last);
      flying_.push_back(std::move(last).value());
      static_cast<void>(context_.pool.post(pair_, {&request, 1}));
    }
  }
  context_.pool.close(pair_);
  context_.leaving.push_back({pair_, std::move(flying_)});
  flying_.clear();
}

}  // namespace spindrift::kernel::vq
