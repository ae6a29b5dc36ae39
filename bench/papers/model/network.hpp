// The modeled network: ports with a rate, links with a latency, and the fabric that a member's table posts to.
//
// This is modeled: a push is one list of writes for each peer. The lists leave through the member's port, each not before
// the poller has posted it, in turns of some bytes, as a card serves its connections; a later push waits behind them. The
// peer's port takes no more than its rate from all senders together. A list becomes visible when its last byte is in, all at
// once, in order. What is not modeled: loss, failures, congestion in the switch, limits of the card's caches.
//
// The invariant to remember: an arrival is later than the post, so a member that is stepped at t knows every arrival up to
// t.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <queue>
#include <span>
#include <utility>
#include <vector>

#include <spindrift/bench/papers/model/costs.hpp>
#include <spindrift/fabric/fabric.hpp>
#include <spindrift/core/view.hpp>
#include <spindrift/smc/record.hpp>

namespace spindrift::bench::model {

/// The places of the mirrors of one reader: one behind another, so close that only bytes that are used have memory of their
/// own.
class MirrorLayout {
 public:
  struct Interval {
    std::uint64_t offset;
    std::uint64_t bytes;
  };
  /// Mirrors of `row_bytes` of which only `used` is ever written or read; no two of them overlap.
  MirrorLayout(std::uint64_t row_bytes, std::span<const Interval> used);

  [[nodiscard]] std::uint64_t row_bytes() const noexcept { return row_bytes_; }
  [[nodiscard]] std::uint64_t stride() const noexcept { return stride_; }

 private:
  std::uint64_t row_bytes_;
  std::uint64_t stride_;
};

/// The bytes that a large message really carries here: one piece of the smallest size.
inline constexpr std::uint64_t real_large_bytes = smc::bulk_alignment;

class Network;

/// One member's endpoint. Connected to all others from the start; it only writes, and `poll` has nothing to say.
class ModeledEndpoint final : public fabric::Fabric {
 public:
  ModeledEndpoint(Network& network, std::uint32_t index, std::uint32_t members)
      : network_(network), index_(index), last_to_(members) {}

  [[nodiscard]] const fabric::Traits& traits() const noexcept override { return traits_; }
  [[nodiscard]] Result<void> post(std::span<const fabric::Operation> operations) override;
  /// A peer's share of what waits for the port.
  [[nodiscard]] std::uint64_t unsent_bytes(fabric::PeerId) const noexcept override;
  /// When fewer than so many bytes in all will wait.
  [[nodiscard]] Ticks unsent_below(std::uint64_t bytes) const noexcept;
  [[nodiscard]] std::size_t poll(std::span<fabric::Event>) override { return 0; }
  void notify() noexcept override {}

  // Connections and memory are given: whoever asks for more is refused.
  [[nodiscard]] Result<fabric::Region> allocate(std::size_t bytes, std::string_view name) override;
  void release(fabric::RegionKey) override {}
  [[nodiscard]] Result<void> listen(const fabric::Address& self) override;
  [[nodiscard]] Result<void> connect(const fabric::Address& peer) override;
  void disconnect(fabric::PeerId) override {}
  [[nodiscard]] Result<void> expose(fabric::PeerId peer, fabric::RegionKey region, fabric::Access access) override;
  [[nodiscard]] Result<std::span<const std::byte>> map(fabric::PeerId peer, fabric::RegionKey region) override;
  void unmap(fabric::PeerId, fabric::RegionKey) override {}
  void prepare_sleep() noexcept override {}
  void sleep(Time) noexcept override {}
  void cancel_sleep() noexcept override {}
  void wake() noexcept override {}

  /// The poller's own clock: a pass sets it, posting moves it on.
  Ticks clock = 0;
  std::uint64_t lists_posted = 0;  ///< one per peer and push
  std::uint64_t writes_posted = 0;
  Ticks posting_ns = 0;
  double egress_bytes = 0;  ///< that left through the port, headers included

 private:
  friend class Network;
  static constexpr fabric::Traits traits_{
      .name = "model", .ordered_writes = true, .copied_bytes_max = cache_line_bytes, .peers_max = 1u << 20};
  Network& network_;
  std::uint32_t index_;
  Ticks egress_free_ = 0;
  std::vector<Ticks> last_to_;  // by peer: when the last list is in
};

class Network {
 public:
  struct Options {
    Link link;
    Software software;
    std::uint64_t message_bytes = 0;  ///< that a record stands for, whatever it really carries
    std::uint64_t slot_bytes = 0;     ///< if not 0, every record, nulls too, takes as much on the wire
    std::uint64_t rings_at = 0;       ///< offsets from here are ring bytes
    bool activity_words = true;       ///< false: what is written to `activity` is neither posted nor charged
    MirrorLayout::Interval activity{};
  };
  /// Called when a member that was idle may have something to read at that time or later.
  using Waker = std::function<void(std::uint32_t member)>;

  Network(std::uint32_t members, Options options, MirrorLayout mirrors, Waker waker);

  [[nodiscard]] ModeledEndpoint& endpoint(std::uint32_t member) { return endpoints_[member]; }
  [[nodiscard]] std::span<const std::byte> mirror(std::uint32_t reader, std::uint32_t owner) const;
  /// Memory for large messages, zeroed, that others write as the returned region.
  [[nodiscard]] fabric::Region allocate_bulk(std::uint64_t bytes);
  /// A member's mirrors of the others' bulk rings; always the same.
  [[nodiscard]] const fabric::Region& bulk_mirrors(const SubgroupView& shape, std::uint32_t subgroup, std::uint32_t member);

  /// Makes everything visible at `member` that is so at `now`; returns how many lines of words changed.
  std::uint64_t land(std::uint32_t member, Ticks now);
  /// When the next write becomes visible there; infinity if none is on its way.
  [[nodiscard]] Ticks next_landing(std::uint32_t member) const;

 private:
  friend class ModeledEndpoint;
  struct Part {
    const std::byte* local;  ///< the source, read when it lands; null: `line`
    std::uint64_t offset;
    std::uint64_t bytes;
    std::byte* bulk;  ///< where it goes, of a large message; null: to `offset` of the row
    std::array<std::byte, cache_line_bytes> line;
  };
  /// The writes of one push, the same to every peer that gets it.
  struct Push {
    std::vector<Part> parts;
    double bytes = 0;  ///< on the wire
    std::uint32_t on_the_way = 0;
  };
  /// One push to one peer, on its way out.
  struct Leaving {
    std::uint32_t to;
    std::uint32_t push;
    Ticks posted;
    Ticks left;  ///< still to leave, as time that the port needs
    Ticks first = 0;
    Ticks last = 0;
  };
  struct Arrival {
    Ticks first;  ///< bytes at the port
    Ticks last;
    std::uint64_t order;
    std::uint32_t push;
    std::uint32_t from;
    [[nodiscard]] bool operator<(const Arrival& other) const noexcept {  // for a heap with the earliest on top
      return last != other.last ? last > other.last : order > other.order;
    }
  };
  struct Port {
    std::priority_queue<Arrival> arrivals;
    Ticks taken = 0;  ///< when everything that landed so far would be in if it had come without a break
    std::unique_ptr<std::byte[], decltype(&std::free)> memory{nullptr, &std::free};
  };

  [[nodiscard]] std::uint32_t new_push();
  void drop_unsent(std::uint32_t push);
  void fill(std::uint32_t push, std::span<const fabric::Operation> list);
  void add_part(Push& push, const fabric::Operation& operation);
  [[nodiscard]] std::byte* bulk_of(fabric::RegionKey key);
  [[nodiscard]] double wire_bytes(const std::byte* ring, std::uint64_t bytes) const;
  [[nodiscard]] bool posted(const fabric::Operation& operation) const noexcept;
  void charge(ModeledEndpoint& from, std::uint32_t to, std::uint32_t push);
  void send(ModeledEndpoint& from);
  void land(std::uint32_t member, const Arrival& arrival, std::uint64_t& lines);
  [[nodiscard]] Ticks taken_after(const Port& port, const Arrival& arrival) const;

  Options options_;
  MirrorLayout mirrors_;
  Waker waker_;
  std::deque<ModeledEndpoint> endpoints_;
  std::vector<Port> ports_;
  std::vector<Leaving> leaving_;  // of the push that is being posted
  std::deque<Push> pushes_;
  std::deque<std::vector<std::uint64_t>> bulk_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, fabric::Region> bulk_mirrors_;  // by subgroup, by member
  std::vector<std::uint32_t> pushes_unused_;
  std::uint64_t next_order_ = 0;
};

}  // namespace spindrift::bench::model
