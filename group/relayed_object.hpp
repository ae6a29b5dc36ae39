// A replica as clients outside of the group are given it. What they send is checked here before it becomes a message, for
// the members would accuse this one of what none of them can read.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <spindrift/group/client_messages.hpp>
#include <spindrift/group/replica_channel.hpp>
#include <spindrift/group/replica_place.hpp>
#include <spindrift/group/replica_state.hpp>
#include <spindrift/group/replicated_call.hpp>
#include <spindrift/group/replicated_methods.hpp>

namespace spindrift::replicated {

class RelayedCall;

/// The methods of an object of some type. `method` is in the list.
class MethodTable {
 public:
  /// Whether it changes nothing.
  [[nodiscard]] virtual bool is_query(std::uint32_t method) const noexcept = 0;
  /// Whether its arguments can be read from these bytes. Any thread.
  [[nodiscard]] virtual bool are_arguments(std::uint32_t method, std::span<const std::byte> bytes) const = 0;
  /// Runs one that changes nothing, beside the poller; appends the answer's bytes, and returns whether it threw. Throws
  /// BadBytes. Any thread.
  [[nodiscard]] virtual bool read_bytes(std::uint32_t method, std::span<const std::byte> arguments,
                                        std::vector<std::byte>& reply) const = 0;

 protected:
  ~MethodTable() = default;
};

/// Any thread; nothing here waits. Requests were decoded, and ask for a method or a session.
class RelayedObject {
 public:
  /// The replica's; they outlive it.
  struct Parts {
    const MethodTable& methods;
    const MethodLists& lists;
    const ReplicaState& state;
    const ReplicaPlace& place;
    ReplicaChannel& channel;
    OpenCalls& calls;
  };
  explicit RelayedObject(const Parts& parts) : parts_(parts) {}

  /// The program lets clients in.
  void offer() noexcept { offered_.store(true, std::memory_order_release); }
  [[nodiscard]] bool offered() const noexcept { return offered_.load(std::memory_order_acquire); }

  /// A call that tells its answer by `on_answer`. Its caller holds it so long.
  [[nodiscard]] std::shared_ptr<RelayedCall> make_call(clients::Ask ask, std::function<void()> on_answer) const;
  /// Nothing: the call is on its way.
  [[nodiscard]] std::optional<clients::MemberAnswer> begin(const clients::CallerRequest& request,
                                                           const std::shared_ptr<RelayedCall>& call);
  /// Why the replica cannot be asked that now. Nothing: it can.
  [[nodiscard]] std::optional<clients::MemberAnswer> hindrance_of(const clients::CallerRequest& request) const;
  /// This replica has applied all up to that message.
  [[nodiscard]] bool has(const MessagePlace& place) const noexcept { return parts_.place.has(place); }
  /// Runs a query, and holds up updates meanwhile.
  [[nodiscard]] clients::MemberAnswer read(const clients::CallerRequest& request) const;

 private:
  [[nodiscard]] std::vector<std::byte> message_of(const clients::CallerRequest& request) const;
  [[nodiscard]] clients::MemberAnswer answer(clients::CallerOutcome outcome, const std::string& words) const;

  const Parts parts_;
  std::atomic<bool> offered_{false};
};

}  // namespace spindrift::replicated
