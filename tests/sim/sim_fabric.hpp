// The simulated fabric: any number of endpoints in one thread of virtual time. It keeps exactly the promises of
// fabric/fabric.hpp and uses every freedom that they leave.
//
// The invariant to remember: of the writes on one connection, no line of a later one is visible before all lines of the
// earlier; within one write, 64-byte lines become visible in random order with gaps in time, and each is read from the
// source only then unless it was copied at post. Messages are ordered among themselves, not with writes, and two connections
// not at all.
#pragma once

#include <array>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <spindrift/fabric/fabric.hpp>

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
  Ticks died_ns_max = 500'000;  ///< from there to `died`, on one host
  std::uint64_t unsaid_in_8 = 1;  ///< crashes on one host at which messages still waited for room with the sender
  Ticks clog_ns_max = 200'000;
  std::size_t message_bytes_max = 4096;
  std::uint64_t clogs_in_1000 = 0;   ///< posts at which the link stops for a while
  std::uint64_t torn_in_4 = 3;       ///< writes of several lines whose lines appear one by one
  bool mappable = true;              ///< processes of one host map each other
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
    bool late = false;  ///< the target has ended the connection since it was posted
  };
  /// The endpoint may now see something that it did not see before.
  virtual void on_news(std::uint32_t endpoint) = 0;
  /// The endpoint's process is about to act on the outside. What this throws goes through: the process got no further.
  virtual void on_action(std::uint32_t) {}
  /// A write was accepted.
  virtual void on_posted(const Write&) {}
  /// These bytes (part of one line of `write`) are about to replace what the target holds.
  virtual void on_landing(const Write&, std::uint64_t, const std::byte*, std::size_t) {}
  /// They have.
  virtual void on_landed(const Write&, std::uint64_t, std::size_t) {}
  /// Bytes that were posted before the target ended the connection landed after it.
  virtual void on_zombie(const Write&) {}
  /// A connection broke: what was on its way over it is lost, and takes no room any more.
  virtual void on_broken() {}

 protected:
  ~NetworkListener() = default;
};

/// The traffic that a partition stops, from one node to another.
enum class Cut : std::uint8_t { nothing = 0, writes = 1, messages = 2, everything = 3 };

class SimFabric;

class Network final : public Handler {
 public:
  /// Most nodes that processes of it ever are.
  static constexpr std::uint32_t nodes_max = 64;

  /// Everything outlives the network. An endpoint for each of `nodes`, each on a host of its own.
  Network(Scheduler& scheduler, Random random, const FabricOptions& options, Report& report, NetworkListener& listener,
          const std::vector<NodeId>& nodes = {});
  ~Network();
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  /// A process starts. One that ran under the same id before must be dead.
  std::uint32_t add_endpoint(NodeId node);
  [[nodiscard]] SimFabric& endpoint(std::uint32_t index) { return *endpoints_[index]; }
  /// Processes of one host map each other's regions. Before they connect.
  void set_host(std::uint32_t index, std::uint32_t host);

  /// The process dies now. What it posted lands in full, as a prefix, or as a prefix and some lines of the next write.
  /// Returns whether a write was cut in the middle.
  bool crash(std::uint32_t index);
  /// Whether a write of several parts is on its way from there.
  [[nodiscard]] bool mid_write(std::uint32_t index) const;
  /// The process exits in order: what it posted lands, then its peers see `lost`.
  void close(std::uint32_t index);

  /// From now on nothing of this sort gets from one node to the other; what is on its way waits. After `breaks_after`, if
  /// given and the cut is still there, both sides lose the connection. Hosts are not cut in themselves.
  void cut(NodeId from, NodeId to, Cut what, std::optional<Ticks> breaks_after);
  /// The same for the connections that are there now, and for no later one.
  void cut_present(NodeId from, NodeId to, Cut what);
  /// Ends both sorts of cuts.
  void heal(NodeId from, NodeId to);
  [[nodiscard]] std::size_t message_bytes_max() const noexcept { return options_.message_bytes_max; }
  /// Operations that the process posts from now on go out so much later.
  void stall(std::uint32_t index, Ticks ticks);
  /// For so long the process waits for its machine, as its neighbors can see.
  void starve(std::uint32_t index, Ticks ticks);
  /// From now on links are quiet: no clogs.
  void calm() { options_.clogs_in_1000 = 0; }
  /// Both processes have the same connection, and neither is about to learn otherwise.
  [[nodiscard]] bool connected(std::uint32_t a, std::uint32_t b) const;

  /// Whether the reader has taken a message of the speaker, on any of their connections.
  [[nodiscard]] bool heard(std::uint32_t reader, std::uint32_t speaker) const;
  /// Connections that this process knows of and has not ended.
  [[nodiscard]] std::size_t connections_of(std::uint32_t endpoint) const;

  /// The memory in which `reader` sees the region that `owner` writes or lets it map; null if neither.
  [[nodiscard]] const std::byte* row_copy(std::uint32_t reader, std::uint32_t owner) const;
  [[nodiscard]] bool mappable(std::uint32_t a, std::uint32_t b) const;
  /// Those whom the owner lets at the region in which this place lies.
  [[nodiscard]] std::vector<NodeId> readers_of(std::uint32_t owner, const std::byte* place) const;
  /// Released memory is as it was left.
  void check_released();
  /// Memory that a process holds: own regions that it has not released, and those that live peers let it use and that it has
  /// not given back.
  struct Holdings {
    std::uint64_t own = 0;
    std::uint64_t lent = 0;
  };
  [[nodiscard]] Holdings holdings(std::uint32_t endpoint) const;

  void on_event(EventKind kind, std::uint32_t which) override;

 private:
  friend class SimFabric;

  struct InFlight {
    NetworkListener::Write write{};
    std::uint32_t connection = 0;
    fabric::RegionKey target;
    bool captured = false;     ///< the source is not read any more
    std::uint32_t groups = 0;  ///< moments at which some lines become visible
    std::uint32_t groups_left = 0;
    std::uint32_t next_group = 0;
    std::uint32_t groups_dropped = 0;  ///< a bit per group
    std::vector<std::byte> data;       ///< the source as it was at post
    std::vector<std::uint32_t> lines;  ///< in order of visibility
  };
  struct PendingEvent {
    std::uint32_t connection = 0;
    std::uint32_t to = 0;  ///< end
    bool dropped = false;
    fabric::Event event;
  };
  /// From one end of a connection to the other.
  struct Direction {
    Ticks delay = 0;
    Ticks writes_last = 0;  ///< nothing posted later is visible before
    Ticks messages_last = 0;
    std::deque<std::uint32_t> writes;           ///< in flight, in order
    std::deque<std::uint32_t> messages;         ///< in flight, in order
    std::vector<std::uint32_t> held_writes;     ///< due, stopped by a cut; a write once per group
    std::vector<std::uint32_t> held_messages;   ///< likewise
    Cut cut = Cut::nothing;                     ///< of this connection alone
    bool access = true;                         ///< the receiving side has not ended the connection
    bool open = true;                           ///< the sending side may post
    bool heard = false;                         ///< the receiving side took a message of the sender's
    bool unsaid = false;                        ///< the sending side died with messages that did not get out
    const std::byte* written_region = nullptr;  ///< that the receiver exposed for writing
    const std::byte* mapped_region = nullptr;   ///< of the receiver, that the sender mapped
  };
  struct Connection {
    std::array<std::uint32_t, 2> ends{};
    std::array<fabric::PeerId, 2> ids{};  ///< the other end, as each end numbers it
    std::array<Direction, 2> ways;        ///< away from each end
    std::array<bool, 2> ended{};          ///< each end knows that it is over, or is dead
    bool broken = false;                  ///< nothing waits for a cut any more
  };

  [[nodiscard]] std::uint32_t end_of(const Connection& connection, std::uint32_t endpoint) const {
    return connection.ends[0] == endpoint ? 0 : 1;
  }
  [[nodiscard]] Direction& way_of(const InFlight& write);
  [[nodiscard]] bool stopped(const Connection& connection, std::uint32_t from_end, Cut what) const;
  [[nodiscard]] Cut cut_between(std::uint32_t from, std::uint32_t to) const;
  [[nodiscard]] std::uint32_t slot_of(NodeId node);

  // sim_links.cpp
  [[nodiscard]] std::uint32_t newest(NodeId node) const;
  /// Whether `from` looks for the node of `to` where that listens.
  [[nodiscard]] bool wants(std::uint32_t from, std::uint32_t to) const;
  void establish_wanted(std::uint32_t index);
  void establish_if_possible(std::uint32_t a, std::uint32_t b);
  void end_connection(std::uint32_t connection, std::uint32_t gone_end, Ticks earliest, const char* why,
                      bool dying = false);
  void break_connection(std::uint32_t connection);
  void mark_ended(std::uint32_t connection, std::uint32_t end);
  bool cut_in_flight(Direction& way, bool messages_too);
  void capture_from(const std::byte* memory, std::size_t bytes);

  // sim_network.cpp
  void send_event(std::uint32_t connection, std::uint32_t from_end, fabric::Event event);
  void schedule_event(Ticks when, std::uint32_t connection, std::uint32_t from_end, fabric::Event event);
  void post_write(std::uint32_t connection, std::uint32_t from_end, const fabric::Operation& operation, std::byte* region);
  void choose_visibility(InFlight& write);
  void land_group(std::uint32_t slot, bool may_wait);
  void land_line(InFlight& write, std::uint32_t line);
  void deliver_event(std::uint32_t slot, bool may_wait);
  void schedule_death(std::uint32_t connection, std::uint32_t to);
  [[nodiscard]] std::uint64_t line_count(const NetworkListener::Write& write) const noexcept;

  Scheduler& scheduler_;
  Random random_;
  FabricOptions options_;
  Report& report_;
  NetworkListener& listener_;
  std::vector<std::unique_ptr<SimFabric>> endpoints_;
  std::deque<Connection> connections_;
  std::vector<NodeId> slots_;  // of the nodes, for `cuts_`
  std::array<Cut, nodes_max * nodes_max> cuts_{};
  bool cut_alone_ = false;  // some connection is or was cut by itself
  std::deque<InFlight> in_flight_;
  std::vector<std::uint32_t> in_flight_unused_;
  std::deque<PendingEvent> pending_;
  std::vector<std::uint32_t> pending_unused_;
};

/// One process's endpoint.
class SimFabric final : public fabric::Fabric {
 public:
  SimFabric(Network& network, std::uint32_t index, NodeId node, std::uint32_t slot)
      : network_(network), index_(index), node_(node), slot_(slot), host_(~index) {
    traits_.message_bytes_max = network.message_bytes_max();
    traits_.mappable = network.options_.mappable;
  }
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
  [[nodiscard]] std::uint64_t unsent_bytes(fabric::PeerId peer) const noexcept override;
  [[nodiscard]] bool starved(fabric::PeerId peer) override;
  [[nodiscard]] Result<std::vector<NodeId>> present() const override;
  [[nodiscard]] std::size_t poll(std::span<fabric::Event> events) override;
  void notify() noexcept override;
  void prepare_sleep() noexcept override {}
  void sleep(Time) noexcept override {}
  void cancel_sleep() noexcept override {}
  void wake() noexcept override { network_.listener_.on_news(index_); }

  [[nodiscard]] NodeId node() const noexcept { return node_; }
  [[nodiscard]] bool alive() const noexcept { return alive_; }
  /// A region that was not released begins there.
  [[nodiscard]] bool holds(const std::byte* memory) const;
  [[nodiscard]] const std::string& listens_at() const noexcept { return listens_at_; }
  [[nodiscard]] bool has_events() const noexcept { return !events_.empty(); }
  /// Posts and notifications so far: what the outside can notice of this process.
  [[nodiscard]] std::uint64_t actions() const noexcept { return actions_; }

 private:
  friend class Network;

  struct Exposure {
    std::uint32_t connection;
    fabric::Access access;
  };
  struct OwnRegion {
    fabric::RegionKey key;
    std::byte* memory = nullptr;
    std::size_t bytes = 0;
    std::vector<Exposure> exposed_to;
    std::vector<std::uint32_t> mapped_by;  ///< connections
    bool released = false;
    bool poisoned = false;
  };

  void act();
  [[nodiscard]] std::optional<std::uint32_t> connection_of(fabric::PeerId peer) const;
  [[nodiscard]] OwnRegion* region(fabric::RegionKey key);
  [[nodiscard]] Result<std::byte*> target_of(const fabric::Operation& operation, std::uint32_t connection);
  void poison_if_unused(OwnRegion& own);

  std::vector<std::pair<std::uint32_t, fabric::RegionKey>> lent_;  // by peers, over which connection; until given back
  Network& network_;
  std::uint32_t index_;
  NodeId node_;
  std::uint32_t slot_;
  std::uint32_t host_;
  fabric::Traits traits_{.name = "sim",
                         .ordered_writes = true,
                         .needs_target_progress = false,
                         .visible_on_completion = false,
                         .mappable = true,
                         .connectionless = false,
                         .copied_bytes_max = 64,
                         .message_bytes_max = 4096,
                         .peers_max = roster_count_max - 1};
  Ticks starved_until_ = 0;
  bool alive_ = true;
  bool listening_ = false;
  std::uint64_t actions_ = 0;
  std::vector<std::uint32_t> connections_;  // by PeerId
  std::vector<std::uint32_t> unended_;      // of them, those that not both ends have ended
  std::vector<bool> known_;                 // by PeerId: it was told
  std::vector<fabric::Address> wanted_;
  std::string listens_at_;
  std::vector<std::uint32_t> watchers_;  // endpoints that map a region of this one, once per region
  std::vector<OwnRegion> regions_;
  std::deque<fabric::Event> events_;
};

}  // namespace spindrift::sim
