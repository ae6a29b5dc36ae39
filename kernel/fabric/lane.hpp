// One link to one peer: a virtual queue pair, what is under way on it, and what waits until the pool takes it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <spindrift/fabric/connected/backlog.hpp>
#include <spindrift/fabric/connected/lane.hpp>
#include <spindrift/kernel/fabric/arena.hpp>
#include <spindrift/kernel/fabric/finder.hpp>
#include <spindrift/kernel/pool.hpp>

namespace spindrift::kernel::vq {

namespace connected = spindrift::fabric::connected;

/// What is asked of the pool, piece by piece.
struct Transfer {
  kernel::Request::Kind kind = kernel::Request::Kind::write;
  bool signaled = false;             ///< the caller wants a `completed`
  bool news = false;                 ///< of a write: the peer is told of it
  const std::byte* local = nullptr;  ///< written to by a read
  std::size_t bytes = 0;
  std::uint64_t address = 0;
  std::uint64_t remote_key = 0;
  std::uint64_t context = 0;
  Copy owned;                              ///< of `local`; of a read that is not into a region: where it lands first
  connected::OwnRegion* region = nullptr;  ///< that `local` is in, counted in its `reading`
};

/// What the pool may still touch for a pair that is closed.
struct Leaving {
  PairId pair;
  std::deque<Transfer> transfers;
};

/// What all lanes of an endpoint share.
struct Ways {
  Pool& pool;
  Arena& arena;
  Staging& staging;
  std::deque<Leaving>& leaving;
  const Time& now;  ///< of the endpoint's last pass
};

class Lane final : public connected::Lane {
 public:
  Lane(State first, NodeId of, Ways ways, PairId pair) : connected::Lane(first, of), ways_(ways), pair_(pair) {}
  ~Lane() override { close(); }

  [[nodiscard]] PairId pair() const noexcept { return pair_; }

  /// Lets the peer read memory of this process that is no region, until the lane is closed. Once. Errors: resource.
  [[nodiscard]] Result<MemoryKeys> let_read(std::span<std::byte> memory);

  // Of a link that begins: how this side calls, and what the other side has said.
  std::optional<Introduction> introduced;
  Route route{};
  Metadata reached_by{};     ///< what the pair is bound by
  bool turned_away = false;  ///< by who answers there
  bool stale = false;        ///< another start than the route's record is of has answered
  bool linked = false;       ///< the finder knows of it

  /// Behind what waits, to be offered by `ring` or `flush`.
  void post(Transfer transfer);
  /// The same of a message, which is copied.
  void post_message(std::span<const std::byte> message, bool signaled, std::uint64_t context);
  /// A list has ended: its last write wakes the peer, which it may have put to sleep meanwhile.
  void ring();
  /// One that is over by this completion, which is that of it or of a later one; to be called until there is none.
  [[nodiscard]] std::optional<Transfer> take_finished(const Completion& completion);
  /// What the pool knows of its end.
  void look_for_failure();

  void say(std::span<const std::byte> message, bool signaled) override;
  void flush() override;
  /// A peer that is stopped acknowledges nothing, so what the pool has taken is waited for for a moment only.
  [[nodiscard]] bool idle() const noexcept override;
  /// The pool may touch what was posted until the pair is gone, see Leaving.
  void close() override;
  void resume() override {}

 private:
  [[nodiscard]] Result<Transfer> message_of(std::span<const std::byte> bytes);
  [[nodiscard]] Result<Right> give_right(connected::OwnRegion& region, spindrift::fabric::Access access) override;
  [[nodiscard]] std::size_t offer(std::deque<Transfer>::iterator first, std::size_t count);
  [[nodiscard]] kernel::Request request_of(const Transfer& transfer) const;

  const Ways ways_;
  const PairId pair_;
  bool closed_ = false;
  std::unique_ptr<connected::Registration> readable_;  ///< see `let_read`
  std::deque<Transfer> flying_;                        ///< in the order of their posts, which is that of their completions
  Time last_post_{};
  std::uint64_t finished_ = 0;  ///< transfers before the first of these; their numbers count on from here
  connected::Backlog<Transfer> backlog_;
  std::vector<kernel::Request> list_;
};

}  // namespace spindrift::kernel::vq
