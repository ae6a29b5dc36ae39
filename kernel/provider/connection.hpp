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
#include <spindrift/fabric/connected/transport.hpp>
#include <spindrift/kernel/provider/arena.hpp>
#include <spindrift/kernel/provider/finder.hpp>
#include <spindrift/kernel/pool.hpp>

namespace spindrift::kernel::vq {

/// A piece of an operation, as it is posted to the pool.
struct PostedPiece : connected::Transfer {
  kernel::Request::Kind kind = kernel::Request::Kind::write;
  bool news = false;    ///< of a write: the peer is told of it
  CopiedBytes owned{};  ///< of `local`; of a read that is not into a region: where it lands first
};

/// The pieces of a closed pair whose memory the pool may still touch.
struct Leaving {
  PairId pair;
  std::deque<PostedPiece> pieces;
};

/// The objects that all connections of an endpoint share.
struct PairContext {
  Pool& pool;
  RegionArena& arena;
  CopyStore& copies;
  std::deque<Leaving>& leaving;
  const Time& now;  ///< of the endpoint's last pass
};

class PairConnection final : public connected::Connection {
 public:
  /// How far it is.
  enum class Stage : std::uint8_t {
    calling,
    turned_away,  ///< by who answers there
    stale,        ///< another start than the route's record is of has answered
    answering,
    linked,  ///< the finder knows of it
    left,    ///< and knows that it is over
  };

  PairConnection(const connected::PeerCall& call, PairContext context, PairId pair)
      : Connection(call), context_(context), pair_(pair) {
    if (call.state == connected::PeerCall::State::answering) stage = Stage::answering;
  }
  ~PairConnection() override { close(); }

  [[nodiscard]] PairId pair() const noexcept { return pair_; }

  /// Lets the peer read memory of this process that is no region, until the connection is closed. Once. Errors: resource.
  [[nodiscard]] Result<MemoryKeys> let_read(std::span<std::byte> memory);

  // While a link begins: how this side calls, and what the other side has said.
  std::optional<Introduction> introduced;
  Route route{};
  Metadata reached_by{};  ///< what the pair is bound by
  Stage stage = Stage::calling;

  /// One that is over by this completion, which is that of it or of a later one; to be called until there is none.
  [[nodiscard]] std::optional<PostedPiece> take_finished(const Completion& completion);
  /// Breaks the connection down if the pool knows of its end.
  void look_for_failure();

  /// Waits to be offered by `ring` or `flush`.
  void send(std::span<const std::byte> message, bool signaled, std::uint64_t context) override;
  void transfer(const connected::Transfer& transfer) override;
  /// The last write of a list wakes the peer, which it may have put to sleep meanwhile.
  void ring() override;
  void flush() override;
  /// A peer that is stopped acknowledges nothing, so what the pool has taken is waited for for a moment only.
  [[nodiscard]] bool idle() const noexcept override;
  /// The pool may touch what was posted until the pair is gone, see Leaving.
  void close() override;

 private:
  void post(PostedPiece piece);
  [[nodiscard]] Result<PostedPiece> message_of(std::span<const std::byte> bytes);
  [[nodiscard]] Result<Right> give_right(connected::OwnRegion& region, spindrift::fabric::Access access) override;
  [[nodiscard]] std::size_t offer(std::deque<PostedPiece>::iterator first, std::size_t count);
  [[nodiscard]] kernel::Request request_of(const PostedPiece& piece) const;

  const PairContext context_;
  const PairId pair_;
  bool closed_ = false;
  std::unique_ptr<connected::Registration> readable_;  ///< see `let_read`
  std::deque<PostedPiece> flying_;                     ///< in the order of their posts, which is that of their completions
  Time last_post_{};
  std::uint64_t finished_ = 0;  ///< pieces before the first of these; their numbers count on from here
  connected::Backlog<PostedPiece> backlog_;
  std::vector<kernel::Request> list_;
};

}  // namespace spindrift::kernel::vq
