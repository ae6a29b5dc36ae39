// How connections are made and bytes travel, as an endpoint drives it: libfabric's connected endpoints, queue pairs of
// rdma-core, virtual queue pairs. A transport decides nothing about whom to talk to, and never calls the endpoint but to
// tell, when it is asked to look, what it has found.
//
// Threading: the poller's. Lifetime: connections go before their transport.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include <spindrift/core/clock.hpp>
#include <spindrift/core/counters.hpp>
#include <spindrift/core/ids.hpp>
#include <spindrift/core/result.hpp>
#include <spindrift/fabric/connected/connection.hpp>
#include <spindrift/fabric/connected/socket_address.hpp>
#include <spindrift/fabric/connected/wire.hpp>

namespace spindrift::fabric::connected {

/// This side's beginning of a connection. The call outlives the connection.
struct Opening {
  const PeerCall& call;
  GreetingBytes greeting;
};
using ConnectionPointer = std::unique_ptr<Connection>;

/// The findings of a transport; spans are valid during the call. That a connection ended is noted at it: `break_down`.
class TransportEvents {
 public:
  /// The other side has answered this side's call, with its greeting; or has heard this side's answer.
  virtual void on_established(Connection& connection, std::span<const std::byte> greeting) = 0;
  /// The first word of a caller, on a connection that answers, if no other sign tells that it heard the answer. Any but a
  /// goodbye says that the answer was heard; a goodbye gives the call up, which then never was a connection. Then comes
  /// `on_message`.
  virtual void on_first_word(Connection& connection, std::span<const std::byte> word) = 0;
  /// Something came, if only a sign of life.
  virtual void on_heard(Connection& connection) = 0;
  virtual void on_message(Connection& connection, std::span<const std::byte> message) = 0;
  /// An own signaled operation is over.
  virtual void on_completed(Connection& connection, std::uint64_t context) = 0;
  /// One that used the region does so no more.
  virtual void on_unused(OwnRegion& region) = 0;
  /// Reports may be there: they are looked for in the next pass.
  virtual void on_reports_due() = 0;

 protected:
  ~TransportEvents() = default;
};

class Transport {
 public:
  /// The descriptors that a sleeper waits for; none: -1.
  struct Descriptors {
    int completions = -1;
    int reports = -1;
  };
  /// How a node is to be called.
  enum class Reach : std::uint8_t {
    by_address,
    by_record,  ///< the transport knows how, better than by its address
    later,      ///< `next_reachable` says when
  };

  Transport() = default;
  virtual ~Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;

  /// Opens it at that address, and listens there; `self` and `incarnation` are the endpoint's. Once. Errors: as
  /// Fabric::listen.
  [[nodiscard]] virtual Result<Descriptors> open(const SocketAddress& at, NodeId self, std::uint64_t incarnation) = 0;

  // Calls.
  /// Asked of each node that is about to be called, before its address is looked up.
  [[nodiscard]] virtual Reach reach(NodeId) { return Reach::by_address; }
  /// A node that is to be asked about anew. Nothing: there is none.
  [[nodiscard]] virtual std::optional<NodeId> next_reachable() { return std::nullopt; }
  /// A connection that calls; `address` is null after `Reach::by_record`. Errors: resource.
  [[nodiscard]] virtual Result<ConnectionPointer> call(const Opening& opening, const SocketAddress* address) = 0;
  /// The greeting of the oldest call that came and waits to be answered or turned away, one of which has to follow.
  [[nodiscard]] virtual std::optional<std::span<const std::byte>> waiting_call() = 0;
  /// Errors: resource; the call is then over.
  [[nodiscard]] virtual Result<ConnectionPointer> answer(const Opening& opening) = 0;
  virtual void turn_away() = 0;
  /// The connection is about to be closed, and then to go.
  virtual void on_gone(Connection&) {}

  // Progress.
  /// Takes what is known of calls and of connections that end.
  virtual void take_reports(TransportEvents& to) = 0;
  /// Takes what is over, and what came. Whether there was any.
  virtual bool take_completions(TransportEvents& to, Time now) = 0;
  /// From here on what comes makes a descriptor readable.
  virtual void arm() noexcept {}
  /// Takes what made the descriptor of completions readable.
  virtual void disarm() noexcept {}
  /// Nothing has come that the descriptors would not tell.
  [[nodiscard]] virtual bool may_block(TransportEvents& to) noexcept = 0;
  /// When there is something to do though the descriptors tell nothing. After `open`.
  [[nodiscard]] virtual Time next_look() const noexcept { return never; }
  /// All connections are closed, and memory is about to go.
  virtual void shut() noexcept {}

  /// The address by which peers know the first byte of an own region.
  [[nodiscard]] virtual std::uint64_t address_of(const OwnRegion& region) const noexcept = 0;
  /// As Fabric::count_in.
  virtual void count_in(CounterBlock*) {}
};

}  // namespace spindrift::fabric::connected
