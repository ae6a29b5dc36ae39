// The beginning of every connection, beside the poller: connecting, accepting, the proof of who is at the other end, and the
// greeting of a caller. What a stranger sends is looked at here, in a thread of its own that yields to others, and only who
// has proved himself gets further.
//
// Threading: the functions belong to the poller; what comes of calls is taken by it.
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include <spindrift/core/audit.hpp>
#include <spindrift/core/clock.hpp>
#include <spindrift/core/file_descriptor.hpp>
#include <spindrift/core/ids.hpp>
#include <spindrift/core/result.hpp>
#include <spindrift/fabric/connected/socket_address.hpp>
#include <spindrift/fabric/connected/wire.hpp>
#include <spindrift/fabric/tcp/byte_stream.hpp>
#include <spindrift/fabric/tcp/discovery_answer.hpp>
#include <spindrift/fabric/tcp/socket.hpp>

namespace spindrift::fabric::tls {
class Credentials;
}

namespace spindrift::fabric::tcp {

/// Names a call of this process until its outcome was taken.
using CallTicket = Strong<struct CallTicketTag, std::uint64_t>;

/// Somebody called, and may speak for the node that its greeting names; or wants to observe and is to be
/// judged by `may_observe`, or has passed `may_call`.
struct ReceivedCall {
  std::unique_ptr<ByteStream> stream;
  connected::GreetingBytes greeting{};
  std::string from;  ///< "10.0.0.1 port 7400"
};
/// The other end of a call is who was called, and was sent the greeting.
struct MadeCall {
  CallTicket ticket;
  std::unique_ptr<ByteStream> stream;
};
struct FailedCall {
  CallTicket ticket;
  Error why;  ///< refused: it did not prove itself, or took no proof of this end; member_lost, timed_out, resource
};
/// Other keys are in force: a sleeping poller is to look at those that are connected.
struct ChangedKeys {};
using HandshakeOutcome = std::variant<ReceivedCall, MadeCall, FailedCall, ChangedKeys>;

class Handshakes {
 public:
  enum class Purpose : std::uint8_t {
    fabric,    ///< members call each other
    observed,  ///< observers call a member, whose fabric looks after its keys
    observe,   ///< an observer calls members, and nobody calls it
    calls,     ///< clients of functions and processes that have some call each other
  };
  struct Options {
    std::shared_ptr<tls::Credentials> credentials;  ///< null: streams are in the clear
    SocketPatience patience;
    std::shared_ptr<AuditTrail> audit = std::make_shared<AuditTrail>();
    Purpose purpose = Purpose::fabric;
    /// The answer to callers that ask for the group; null: they are none of the fabric's.
    std::shared_ptr<const DiscoveryAnswer> discovery{};
  };
  struct Call {
    CallTicket ticket;
    std::optional<NodeId> node;  ///< nothing: some member of the group, whichever
    connected::SocketAddress address;
    connected::GreetingBytes greeting{};
  };

  /// Begins to accept; an empty listener: calls are made alone. Errors: resource.
  [[nodiscard]] static Result<std::unique_ptr<Handshakes>> start(FileDescriptor listener, Options options);
  /// Gives up all that has no outcome.
  ~Handshakes();

  void call(Call call);
  /// It is given up; an outcome may still come.
  void forget(CallTicket ticket);
  [[nodiscard]] std::optional<HandshakeOutcome> take();
  /// Readable when there are outcomes.
  [[nodiscard]] int descriptor() const noexcept { return outcomes_bell_.get(); }

 private:
  class Worker;
  using Order = std::variant<Call, CallTicket>;

  Handshakes(FileDescriptor orders_bell, FileDescriptor outcomes_bell)
      : orders_bell_(std::move(orders_bell)), outcomes_bell_(std::move(outcomes_bell)) {}
  void order(Order order);
  // For the worker.
  [[nodiscard]] std::vector<Order> take_orders();
  void tell(HandshakeOutcome outcome);

  const FileDescriptor orders_bell_;
  const FileDescriptor outcomes_bell_;
  std::mutex mutex_;
  std::vector<Order> orders_;
  std::deque<HandshakeOutcome> outcomes_;
  std::thread thread_;
};

}  // namespace spindrift::fabric::tcp
