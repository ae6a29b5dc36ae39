// The connections of an endpoint: it steps the rules of calls with what its transport finds, does what they say, and turns
// what peers send into events.
//
// The invariant to remember: a connection goes in `sweep` alone, so a caller that is handed one may use it until the pass
// ends.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include <spindrift/core/absence.hpp>
#include <spindrift/core/clock.hpp>
#include <spindrift/core/ids.hpp>
#include <spindrift/core/result.hpp>
#include <spindrift/fabric/connected/call_rules.hpp>
#include <spindrift/fabric/connected/callees.hpp>
#include <spindrift/fabric/connected/connection.hpp>
#include <spindrift/fabric/connected/proofs.hpp>
#include <spindrift/fabric/connected/region.hpp>
#include <spindrift/fabric/connected/transport.hpp>
#include <spindrift/fabric/fabric.hpp>
#include <spindrift/fabric/turned_away.hpp>

namespace spindrift::fabric::connected {

/// When others' silence counts: not while this process did not look itself.
class PassTimes {
 public:
  /// Time that counts for nobody.
  struct Excuse {
    Time since;
    bool away = false;  ///< for so long that nothing of what others did meanwhile was seen
  };

  explicit PassTimes(Duration silence_max) noexcept : absence_(silence_max) {}

  /// Begins a pass. What was not seen since the one before, if it matters.
  [[nodiscard]] std::optional<Excuse> on_pass(Time now) noexcept;
  /// The poller has slept until now.
  void on_awake(Time now) noexcept { awake_ = now; }

 private:
  Absence absence_;
  Time awake_{};  ///< since then, without a look
};

class PeerConnections final : private TransportEvents {
 public:
  struct Limits {
    std::size_t connections_max = 0;
    std::uint64_t remote_key_max = UINT64_MAX;  ///< under which a peer may expose a region
    Duration silence_max{};
  };

  /// Transport and regions outlive its use. `ring` ends a sleep of the poller; any thread.
  PeerConnections(NodeId self, std::uint64_t incarnation, Limits limits, Proofs proofs, Transport& transport,
                  OwnRegions& regions, std::function<void()> ring);

  void connect(const Address& peer, Time now);
  /// The last words are said; nothing of the peer is told from here on.
  void disconnect(PeerId peer, Time now);
  void turn_away(NodeId node, std::optional<Error> why);
  /// Everybody is disconnected, and nobody called or answered from here on.
  void finish(Time now);
  /// Ends what is left at once; then the transport's last calls are turned away.
  void close_all();

  /// The transport is open.
  void begin(Time now) noexcept {
    pass_times_.on_awake(now);
    static_cast<void>(pass_times_.on_pass(now));
  }
  /// Takes what has come, and does what is due. After `begin`.
  void progress(Time now);
  /// Reports are looked for in the next progress.
  void expect_reports() noexcept { passes_ = passes_between_looks; }
  void on_awake(Time now) noexcept { pass_times_.on_awake(now); }
  /// When there is something to do even if nothing comes. After `begin`.
  [[nodiscard]] Time next_time() const noexcept { return std::min(next_timer(), transport_.next_look()); }
  [[nodiscard]] bool may_block() noexcept { return transport_.may_block(*this); }

  [[nodiscard]] Connection* find(PeerId peer) const noexcept;
  [[nodiscard]] PeerId newest_peer() const noexcept { return newest_peer_; }
  [[nodiscard]] const std::vector<ConnectionPointer>& all() const noexcept { return connections_; }
  [[nodiscard]] bool has_events() const noexcept { return !events_.empty(); }
  /// Up to as many as there is space for; returns how many.
  [[nodiscard]] std::size_t take(std::span<Event> events);

 private:
  static constexpr std::uint32_t passes_between_looks = 16;

  // The findings of the transport.
  void on_established(Connection& connection, std::span<const std::byte> greeting) override;
  void on_first_word(Connection& connection, std::span<const std::byte> word) override;
  void on_heard(Connection& connection) override { connection.heard = now_; }
  void on_message(Connection& connection, std::span<const std::byte> message) override;
  void on_completed(Connection& connection, std::uint64_t context) override;
  void on_unused(OwnRegion& region) override { regions_.settle(region); }
  void on_reports_due() override { expect_reports(); }

  [[nodiscard]] Time next_timer() const noexcept;
  void look_at_reports();
  void answer_calls();
  void reach(NodeId node);
  void place(NodeId node, const SocketAddress* address);
  void act();
  void add(ConnectionPointer connection);
  void up(Connection& connection);
  void introduce(Connection& connection);
  void on_sealed(Connection& connection, std::span<const std::byte> records);
  void on_control(Connection& connection, const Control& control);
  void on_other_keys();
  void cut_off(Connection& connection, const Error& why);
  void tell(Connection& connection, Event event);
  void sweep();
  void keep_time();

  const Limits limits_;
  Transport& transport_;
  OwnRegions& regions_;
  CallRules rules_;
  Proofs proofs_;
  PassTimes pass_times_;
  Time now_{};
  Time next_alive_ = never;
  std::uint32_t passes_ = 0;  ///< since reports were looked for
  bool unsettled_ = false;    ///< somebody is being called, answers or closes: reports are looked for in every pass
  std::vector<ConnectionPointer> connections_;
  std::unordered_map<PeerId, Connection*> peers_;
  PeerId newest_peer_;
  Callees callees_;
  TurnedAwayNodes turned_away_;
  std::deque<Event> events_;
};

}  // namespace spindrift::fabric::connected
