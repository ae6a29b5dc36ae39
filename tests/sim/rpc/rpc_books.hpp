// The books of a run of calls: every call by its number, and the first rule that was broken. The books know
// the contract of `rpc/calls.hpp`, and nothing of the protocol's inside, but for packets on the wire, by which credits are
// judged.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <spindrift/rpc/calls.hpp>
#include <spindrift/rpc/wire.hpp>

#include "rpc_plan.hpp"

namespace spindrift::sim {

using CallNumber = std::uint64_t;

/// The server's task, in the first bytes of a request. A word that both sides compute vouches for it.
struct RpcOrder {
  enum class Work : std::uint32_t { now, later, nested, fail };
  CallNumber call = 0;
  std::uint32_t response_bytes = 0;
  Work work = Work::now;

  static constexpr std::size_t bytes = 24;
  void write(std::span<std::byte> request) const;  ///< and fills the rest
  /// Nothing if the bytes were changed.
  [[nodiscard]] static std::optional<RpcOrder> read(std::span<const std::byte> request);
};

/// Bytes that only this call's message has, and whether they are that.
void fill(std::span<std::byte> bytes, std::uint64_t key);
[[nodiscard]] bool filled(std::span<const std::byte> bytes, std::uint64_t key);

struct BookedCall {
  std::uint32_t caller = 0;
  std::uint32_t server = 0;
  std::uint32_t response_bytes = 0;
  std::uint32_t response_room = 0;
  bool handled_type = true;
  bool fails = false;
  bool canceled = false;
  bool closed = false;          ///< its caller closed the session
  bool without_room = false;    ///< there was no memory for its response
  Time deadline = never;
  std::uint32_t handled = 0;
  std::optional<rpc::CallStatus> ended{};
  bool orphan = false;              ///< its caller crashed, or it was never taken
  bool has_to_be_answered = false;  ///< made when all was well
};

class RpcBooks {
 public:
  explicit RpcBooks(const RpcPlan& plan) : plan_(plan) {}

  [[nodiscard]] CallNumber begin(const BookedCall& call);
  [[nodiscard]] BookedCall& of(CallNumber call) { return calls_.at(call); }
  void on_handled(std::uint32_t server, std::span<const std::byte> request);
  void on_answered(CallNumber call, const rpc::CallAnswer& answer, Time now);
  void on_crash(std::uint32_t node);
  /// A session that nobody has ended is lost.
  void on_lost(std::uint32_t client, std::uint32_t server);
  /// A packet as an endpoint sends it, and as one takes it. A client that went back, or has given a call up, may have more
  /// under way than credits.
  void on_sent(std::uint32_t node, const rpc::ReceivedPacket& packet, bool went_back);
  void on_taken(const rpc::ReceivedPacket& packet);
  /// A server keeps so many bytes of messages.
  void check_kept(std::uint32_t server, std::uint64_t bytes);
  void check_credits(std::uint32_t credits, std::size_t open_calls, std::uint32_t agreed);
  void check_all_ended();
  [[nodiscard]] bool all_ended() const;

  void violated(const std::string& invariant, const std::string& what);
  [[nodiscard]] bool clean() const noexcept { return invariant_.empty(); }
  [[nodiscard]] const std::string& invariant() const noexcept { return invariant_; }
  [[nodiscard]] const std::string& what() const noexcept { return what_; }
  [[nodiscard]] std::uint64_t count() const noexcept { return calls_.size(); }
  [[nodiscard]] std::uint64_t with_status(rpc::CallStatus status) const;
  [[nodiscard]] bool hostile(std::uint32_t node) const noexcept {
    return plan_.packets.hostile == static_cast<std::int32_t>(node);
  }

 private:
  [[nodiscard]] bool has_cause(const BookedCall& call, rpc::CallStatus status, Time now) const;

  const RpcPlan& plan_;
  std::vector<BookedCall> calls_;
  std::set<std::uint32_t> gave_up_;  ///< nodes
  /// The newest request of a slot: what was sent of it, and taken of its answers.
  struct SlotOnWire {
    std::uint64_t request = 0;
    std::uint32_t sent = 0;
    std::uint32_t taken = 0;
  };
  std::map<std::uint64_t, std::array<SlotOnWire, rpc::slots_per_session>> wire_;  ///< by the server's token
  std::map<std::uint64_t, std::uint64_t> server_token_;                           ///< by the client's
  std::string invariant_;
  std::string what_;
};

}  // namespace spindrift::sim
