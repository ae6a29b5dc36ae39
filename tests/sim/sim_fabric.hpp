// The simulated fabric: any number of endpoints in one thread of virtual time. It keeps exactly the promises of
// core/fabric/fabric.hpp and uses every freedom that they leave.
//
// The invariant to remember: of the writes from one endpoint to another, no line of a later one is visible before all lines
// of the earlier; within one write, 64-byte lines become visible in random order with gaps in time, and each is read from
// the source only then unless it was copied at post. Messages are ordered among themselves, not with writes.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <spindrift/core/fabric/fabric.hpp>

#include "random.hpp"
#include "report.hpp"
#include "scheduler.hpp"

namespace spindrift::sim {

struct FabricOptions {
  Ticks delay_ns_max = 5'000;     ///< each directed link draws its own between 100 ns and this
  Ticks jitter_ns_max = 2'000;    ///< on top, per operation
  Ticks line_gap_ns_max = 1'000;  ///< between the lines of one write
  Ticks connect_ns_max = 50'000;
  Ticks lost_ns_max = 100'000;  ///< from a crash to the peers' `lost`
  Ticks clog_ns_max = 200'000;
  std::uint64_t clogs_in_1000 = 0;   ///< posts at which the link stops for a while
  std::uint64_t torn_in_4 = 3;       ///< writes of several lines whose lines appear one by one
  bool hello_before_memory = false;  ///< exposing a region to a peer of which no message was taken is a violation (J5)
};

/// Sees what no endpoint can see. Called in the middle of the fabric's work: must not call the fabric.
class NetworkListener {
 public:
  struct Write {
    std::uint32_t from;
    std::uint32_t to;
    const std::byte* local;  ///< in the writer's memory
    std::byte* region;       ///< first byte of the target region
    std::uint64_t offset;    ///< in the target region
    std::uint64_t bytes;
    bool copied;
  };
  /// The endpoint may now see something that it did not see before.
  virtual void on_news(std::uint32_t endpoint) = 0;
  /// A write was accepted.
  virtual void on_posted(const Write&) {}
  /// These bytes (part of one line of `write`) are about to replace what the target holds.
  virtual void on_landing(const Write&, std::uint64_t, const std::byte*, std::size_t) {}
  /// They have.
  virtual void on_landed(const Write&, std::uint64_t, std::size_t) {}

 protected:
  ~NetworkListener() = default;
};

class SimFabric;

class Network final : public Handler {
 public:
  /// Everything outlives the network. `mappable(a, b)` says which pairs share a host.
  Network(Scheduler& scheduler, Random random, const FabricOptions& options, Report& report, NetworkListener& listener,
          const std::vector<NodeId>& nodes);
  ~Network();
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  [[nodiscard]] SimFabric& endpoint(std::uint32_t index) { return *endpoints_[index]; }
  /// Before anybody connects.
  void set_mappable(std::uint32_t a, std::uint32_t b, bool mappable);

  /// The process dies now. What it posted lands in full, as a prefix, or as a prefix and some lines of the next write.
  /// Returns whether a write was cut in the middle.
  bool crash(std::uint32_t index);
  /// Whether a write of several parts is on its way from there.
  [[nodiscard]] bool mid_write(std::uint32_t index) const;
  /// The process exits in order: what it posted lands, then its peers see `lost`.
  void close(std::uint32_t index);

  /// The memory in which `reader` sees the region that `owner` writes or lets it map; null if neither.
  [[nodiscard]] const std::byte* row_copy(std::uint32_t reader, std::uint32_t owner) const;
  [[nodiscard]] bool mappable(std::uint32_t a, std::uint32_t b) const { return link(a, b).mappable; }

  void on_event(EventKind kind, std::uint32_t which) override;

 private:
  friend class SimFabric;

  struct InFlight {
    NetworkListener::Write write{};
    bool captured = false;     ///< the source is not read any more
    std::uint32_t groups = 0;  ///< moments at which some lines become visible
    std::uint32_t groups_left = 0;
    std::uint32_t next_group = 0;
    std::uint32_t groups_dropped = 0;  ///< a bit per group
    std::uint64_t context = 0;
    std::vector<std::byte> data;       ///< the source as it was at post
    std::vector<std::uint32_t> lines;  ///< in order of visibility
  };
  struct PendingEvent {
    std::uint32_t from = 0;
    std::uint32_t to = 0;
    bool dropped = false;
    fabric::Event event;
  };
  /// From one endpoint to another.
  struct Direction {
    Ticks delay = 0;
    Ticks writes_last = 0;  ///< nothing posted later is visible before
    Ticks messages_last = 0;
    std::deque<std::uint32_t> writes;           ///< in flight, in order
    std::deque<std::uint32_t> messages;         ///< in flight, in order
    bool access = false;                        ///< the receiving side has not ended the connection
    bool open = false;                          ///< the sending side may post
    bool heard = false;                         ///< the receiving side took a message of the sender's
    fabric::PeerId peer;                        ///< the receiver, as the sender numbers it
    const std::byte* written_region = nullptr;  ///< that the receiver exposed for writing
    const std::byte* mapped_region = nullptr;   ///< of the receiver, that the sender mapped
  };
  struct Link {
    bool mappable = false;
    bool wanted = false;
    bool established = false;
  };

  [[nodiscard]] Direction& direction(std::uint32_t from, std::uint32_t to) { return directions_[from * count_ + to]; }
  [[nodiscard]] const Direction& direction(std::uint32_t from, std::uint32_t to) const {
    return directions_[from * count_ + to];
  }
  [[nodiscard]] Link& link(std::uint32_t a, std::uint32_t b) { return links_[std::min(a, b) * count_ + std::max(a, b)]; }
  [[nodiscard]] const Link& link(std::uint32_t a, std::uint32_t b) const {
    return links_[std::min(a, b) * count_ + std::max(a, b)];
  }

  void want(std::uint32_t from, std::uint32_t to);
  void establish_if_possible(std::uint32_t a, std::uint32_t b);
  void finish_if_over(std::uint32_t a, std::uint32_t b);
  void send_event(std::uint32_t from, std::uint32_t to, fabric::Event event);
  void schedule_event(Ticks when, std::uint32_t from, std::uint32_t to, fabric::Event event);
  void post_write(std::uint32_t from, std::uint32_t to, const fabric::Operation& operation, std::byte* region);
  void choose_visibility(InFlight& write);
  void land_group(std::uint32_t slot);
  void land_line(InFlight& write, std::uint32_t line);
  void deliver_event(std::uint32_t slot);
  void end_connection(std::uint32_t gone, std::uint32_t peer, Ticks earliest, const char* why);
  bool cut_in_flight(Direction& way);
  [[nodiscard]] std::uint64_t line_count(const NetworkListener::Write& write) const noexcept;

  Scheduler& scheduler_;
  Random random_;
  FabricOptions options_;
  Report& report_;
  NetworkListener& listener_;
  std::uint32_t count_;
  std::vector<std::unique_ptr<SimFabric>> endpoints_;
  std::vector<Direction> directions_;
  std::vector<Link> links_;
  std::deque<InFlight> in_flight_;
  std::vector<std::uint32_t> in_flight_unused_;
  std::deque<PendingEvent> pending_;
  std::vector<std::uint32_t> pending_unused_;
  std::vector<fabric::Operation> checked_;
};

/// One process's endpoint.
class SimFabric final : public fabric::Fabric {
 public:
  SimFabric(Network& network, std::uint32_t index, NodeId node) : network_(network), index_(index), node_(node) {}
  ~SimFabric() override;

  [[nodiscard]] const fabric::Traits& traits() const noexcept override { return traits_; }
  [[nodiscard]] Result<fabric::Region> allocate(std::size_t bytes, std::string_view name) override;
  void release(fabric::RegionKey region) override;
  [[nodiscard]] Result<void> listen(const fabric::Address& self) override;
  [[nodiscard]] Result<void> connect(const fabric::Address& peer) override;
  void disconnect(fabric::PeerId peer) override;
  [[nodiscard]] Result<void> expose(fabric::PeerId peer, fabric::RegionKey region, fabric::Access access) override;
  [[nodiscard]] Result<std::span<const std::byte>> map(fabric::PeerId peer, fabric::RegionKey region) override;
  void unmap(fabric::PeerId peer, fabric::RegionKey region) override;
  [[nodiscard]] Result<void> post(std::span<const fabric::Operation> operations) override;
  [[nodiscard]] std::size_t poll(std::span<fabric::Event> events) override;
  void notify() noexcept override;
  void prepare_sleep() noexcept override {}
  void sleep(Time) noexcept override {}
  void cancel_sleep() noexcept override {}
  void wake() noexcept override { network_.listener_.on_news(index_); }

  [[nodiscard]] NodeId node() const noexcept { return node_; }
  [[nodiscard]] bool alive() const noexcept { return alive_; }
  [[nodiscard]] bool has_events() const noexcept { return !events_.empty(); }
  /// Posts and notifications so far: what the outside can notice of this process.
  [[nodiscard]] std::uint64_t actions() const noexcept { return actions_; }

 private:
  friend class Network;

  struct OwnRegion {
    fabric::RegionKey key;
    std::byte* memory = nullptr;
    std::size_t bytes = 0;
    bool released = false;  ///< the memory stays, since writes may be on their way to it and peers may map it
    std::vector<std::pair<std::uint32_t, fabric::Access>> exposed_to;
  };

  /// What `map` gave out, also when the connection is gone.
  struct Mapped {
    fabric::PeerId peer;
    fabric::RegionKey region;
    std::uint32_t owner = 0;
    const std::byte* memory = nullptr;
  };

  [[nodiscard]] std::optional<std::uint32_t> endpoint_of(fabric::PeerId peer) const;
  /// Whether `peer` is the connection of now to that endpoint, and this side may still post to it.
  [[nodiscard]] bool open_to(fabric::PeerId peer, std::uint32_t other) const;
  [[nodiscard]] OwnRegion* region(fabric::RegionKey key);
  [[nodiscard]] Result<std::byte*> target_of(const fabric::Operation& operation, std::uint32_t to);

  Network& network_;
  std::uint32_t index_;
  NodeId node_;
  fabric::Traits traits_{.name = "sim",
                         .ordered_writes = true,
                         .needs_target_progress = false,
                         .visible_on_completion = false,
                         .mappable = true,
                         .connectionless = false,
                         .copied_bytes_max = 64,
                         .message_bytes_max = 4096,
                         .peers_max = 63};
  bool alive_ = true;
  bool listening_ = false;
  std::uint64_t actions_ = 0;
  std::vector<std::uint32_t> peers_;  // by PeerId
  std::vector<OwnRegion> regions_;
  std::vector<Mapped> mapped_;
  std::deque<fabric::Event> events_;
};

}  // namespace spindrift::sim
