// The endpoint of a connection-based fabric as its poller sees it: own regions, connections to peers, operations, events and
// sleep. It owns the transport that it drives. It stands alone, or is the part of a fabric that has another way to some
// peers.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <spindrift/core/clock.hpp>
#include <spindrift/core/ids.hpp>
#include <spindrift/core/result.hpp>
#include <spindrift/fabric/connected/peer_connections.hpp>
#include <spindrift/fabric/connected/region.hpp>
#include <spindrift/fabric/connected/sleeper.hpp>
#include <spindrift/fabric/connected/small_writes.hpp>
#include <spindrift/fabric/connected/transport.hpp>
#include <spindrift/fabric/fabric.hpp>
#include <spindrift/fabric/part.hpp>
#include <spindrift/fabric/rendezvous.hpp>

namespace spindrift::fabric::connected {

/// The memory that the sockets of one connection take at least, those of both sides together.
inline constexpr std::uint64_t socket_bytes = std::uint64_t{1} << 20;

/// Which fabric it is, and what is told of it.
struct Character {
  std::string name;
  bool needs_target_progress = false;
  bool gathers_small_writes = false;          ///< they travel together in a message, see SmallWrites
  bool prepares_memory = false;               ///< Connection::prepare comes before operations that use a region
  std::uint64_t buffered_bytes = 0;           ///< see Traits
  std::uint64_t remote_key_max = UINT64_MAX;  ///< under which a peer may expose a region
};

/// The owner of the endpoint, and its keys.
struct EndpointOptions {
  NodeId self;
  Duration silence_max{};
  /// The keys by which the members prove themselves. Null: nobody proves anything.
  std::shared_ptr<tls::Credentials> credentials{};
  /// The audit that is told of callers, proved and refused.
  std::shared_ptr<AuditTrail> audit = std::make_shared<AuditTrail>();
  ProvedBy proved_by = ProvedBy::session;
};

class Endpoint final : public Part {
 public:
  /// `memory` is of regions. Errors: resource.
  [[nodiscard]] static Result<std::unique_ptr<Endpoint>> make(EndpointOptions options, Character character,
                                                              std::unique_ptr<Transport> transport,
                                                              std::unique_ptr<MemorySource> memory = private_mappings(),
                                                              const Clock& clock = system_clock);
  /// The last words are still handed over, if the peers take them; a caller is turned away from now on.
  ~Endpoint() override;

  /// A part that stands alone: in that directory and group the processes of one host see that its node's id is taken.
  /// Errors: as Rendezvous::open.
  [[nodiscard]] static Result<std::unique_ptr<Fabric>> alone(Result<std::unique_ptr<Endpoint>> part,
                                                             const std::string& runtime_directory,
                                                             const std::string& group_name);

  // For a part, to which another part lends memory and sleep.
  /// As OwnRegions::adopt.
  [[nodiscard]] Result<void> adopt(RegionKey key, std::span<std::byte> memory, std::unique_ptr<Registration> keeper) {
    return regions_.adopt(key, memory, std::move(keeper));
  }
  /// Whether there is such a region, and it is not released.
  [[nodiscard]] bool has(RegionKey key) noexcept { return regions_.find(key) != nullptr; }
  void turn_away(NodeId node, std::optional<Error> why) override { connections_.turn_away(node, std::move(why)); }
  /// Readable when something has come: of calls always, of all else after `prepare_sleep`. None: -1.
  [[nodiscard]] std::array<int, 3> descriptors() const noexcept { return sleeper_.descriptors(); }
  /// Takes what made the first of them, or the second, readable; the next `poll` looks for what it means.
  void take_signals(bool bell, bool completions) noexcept;
  /// Whether there are connections, or events: then every pass has to `poll`.
  [[nodiscard]] bool busy() const noexcept { return !connections_.all().empty() || connections_.has_events(); }
  /// Whether nobody is called either: then nothing comes that no descriptor tells.
  [[nodiscard]] bool idle() const noexcept { return !busy() && next_timer() == never; }
  /// When it has to be polled even if nothing comes.
  [[nodiscard]] Time next_timer() const noexcept { return listening_ ? connections_.next_time() : never; }
  /// After `prepare_sleep` and a last look: nothing is here that a descriptor would not tell.
  [[nodiscard]] bool may_sleep() noexcept { return (!listening_ || connections_.may_block()) && !connections_.has_events(); }

  [[nodiscard]] const Traits& traits() const noexcept override { return traits_; }
  [[nodiscard]] Result<Region> allocate(std::size_t bytes, std::string_view name) override;
  void release(RegionKey region) override;
  [[nodiscard]] Result<void> listen(const Address& self) override;
  [[nodiscard]] Result<void> connect(const Address& peer) override;
  void disconnect(PeerId peer) override { connections_.disconnect(peer, clock_.now()); }
  [[nodiscard]] Result<void> expose(PeerId peer, RegionKey region, Access access) override;
  [[nodiscard]] Result<std::span<const std::byte>> map(PeerId peer, RegionKey region) override;
  void unmap(PeerId peer, RegionKey region) override;
  [[nodiscard]] std::uint64_t unsent_bytes(PeerId peer) const noexcept override;
  [[nodiscard]] Result<void> check(std::span<const Operation> operations) override;
  [[nodiscard]] Result<void> post(std::span<const Operation> operations) override;
  void count_in(CounterBlock* block) override { transport_->count_in(block); }
  [[nodiscard]] std::size_t poll(std::span<Event> events) override;
  void notify() noexcept override {}  // nobody maps a region of this process
  void prepare_sleep() noexcept override;
  void sleep(Time deadline) noexcept override;
  void cancel_sleep() noexcept override;
  void wake() noexcept override { sleeper_.wake(); }

 private:
  static const SystemClock system_clock;

  Endpoint(EndpointOptions options, Character character, std::uint64_t incarnation, FileDescriptor bell,
           std::unique_ptr<Transport> transport, std::unique_ptr<MemorySource> memory, const Clock& clock);

  [[nodiscard]] Result<void> check_one(const Operation& operation);
  void execute(Connection& connection, const Operation& operation, bool more);

  const NodeId self_;
  const std::uint64_t incarnation_;
  const Character character_;
  const Traits traits_;
  const Clock& clock_;
  std::optional<Rendezvous> rendezvous_;  ///< nothing: somebody else in this process claims the id
  Sleeper sleeper_;
  std::unique_ptr<Transport> transport_;
  OwnRegions regions_;
  PeerConnections connections_;
  bool listening_ = false;
  SmallWrites small_writes_;
  std::vector<Connection*> rung_;  ///< while a list is posted: the connections that it is for
};

}  // namespace spindrift::fabric::connected
