// The parts of which sessions of both sides are made: whom they are with, where they are kept, and the credits that all
// share.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <spindrift/core/check.hpp>
#include <spindrift/core/clock.hpp>
#include <spindrift/rpc/calls.hpp>
#include <spindrift/rpc/options.hpp>
#include <spindrift/rpc/packet_transport.hpp>
#include <spindrift/rpc/send_burst.hpp>

namespace spindrift::rpc {

/// The two ends of a session. A packet is of it if it comes from `route` with `token`.
struct SessionEnds {
  PacketRoute route;
  SessionId id;             ///< here
  std::uint64_t token = 0;  ///< this side's, in what comes
  std::uint32_t peer_session = 0;
  std::uint64_t peer_token = 0;  ///< the other side's, in what goes
  std::uint32_t credits = 0;     ///< as agreed

  [[nodiscard]] bool proves(const PacketHeader& header, const PacketRoute& from) const noexcept {
    return header.token == token && from == route;
  }
  /// The header of a packet to the peer.
  [[nodiscard]] PacketHeader header(PacketKind kind) const noexcept {
    return {.kind = kind, .session = peer_session, .token = peer_token};
  }
};

/// Bytes that may be kept for peers, out of those that the owner allows.
class ByteBudget {
 public:
  explicit ByteBudget(std::uint64_t most) noexcept : most_(most) {}
  [[nodiscard]] std::uint64_t used() const noexcept { return used_; }
  [[nodiscard]] bool take(std::uint64_t bytes) noexcept {
    if (bytes > most_ - used_) return false;
    used_ += bytes;
    return true;
  }
  void give_back(std::uint64_t bytes) noexcept {
    SPINDRIFT_CHECK(bytes <= used_);
    used_ -= bytes;
  }

 private:
  std::uint64_t most_;
  std::uint64_t used_ = 0;
};

/// Things that all sessions of an endpoint use, and that outlive them.
struct SessionWorld {
  const RpcOptions& options;
  std::size_t payload_bytes;
  SendBurst& burst;
  RpcCounts& counts;
  ByteBudget& kept;
};

/// Packets that a peer may send are promised to it, out of those for which the transport has room: |RQ| / C sessions (eRPC,
/// section 4.3.1).
class SessionBudget {
 public:
  explicit SessionBudget(std::uint32_t most) noexcept : most_(most) {}
  [[nodiscard]] bool take() noexcept {
    if (used_ == most_) return false;
    ++used_;
    return true;
  }
  void give_back() noexcept {
    SPINDRIFT_CHECK(used_ > 0);
    --used_;
  }

 private:
  std::uint32_t most_;
  std::uint32_t used_ = 0;
};

/// Sessions by number. A number is used again under the next generation.
template <class Session>
class SessionTable {
 public:
  /// The id of the session that is put next.
  [[nodiscard]] SessionId next_id() {
    if (free_.empty()) {
      free_.push_back(static_cast<std::uint32_t>(entries_.size()));
      entries_.emplace_back();
    }
    return {free_.back(), entries_[free_.back()].generation};
  }
  Session& put(std::unique_ptr<Session> session) {
    const SessionId id = next_id();
    free_.pop_back();
    entries_[id.number].session = std::move(session);
    return *entries_[id.number].session;
  }
  void erase(std::uint32_t number) {
    Entry& entry = entries_[number];
    SPINDRIFT_CHECK(entry.session != nullptr);
    entry.session.reset();
    if (++entry.generation != 0) free_.push_back(number);
  }

  /// Null if there is none.
  [[nodiscard]] Session* at(std::uint32_t number) const noexcept {
    return number < entries_.size() ? entries_[number].session.get() : nullptr;
  }
  [[nodiscard]] Session* find(SessionId id) const noexcept {
    Session* const session = at(id.number);
    return session != nullptr && entries_[id.number].generation == id.generation ? session : nullptr;
  }
  /// All numbers, in use or not, are below.
  [[nodiscard]] std::uint32_t numbers() const noexcept { return static_cast<std::uint32_t>(entries_.size()); }

 private:
  struct Entry {
    std::unique_ptr<Session> session;
    std::uint32_t generation = 1;
  };
  std::vector<Entry> entries_;
  std::vector<std::uint32_t> free_;
};

/// Numbers of sessions that something is to be done about, each once, in the order in which they were added.
class SessionList {
 public:
  void add(std::uint32_t number) {
    if (number >= listed_.size()) listed_.resize(number + 1);
    if (listed_[number]) return;
    listed_[number] = true;
    numbers_.push_back(number);
  }
  [[nodiscard]] bool empty() const noexcept { return numbers_.empty(); }

  /// Calls `visit` with each number that is listed now, and keeps those for which it returns true. `visit` may add others.
  template <class Visit>
  void visit(Visit&& visit) {
    const std::size_t count = numbers_.size();
    std::size_t kept = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint32_t number = numbers_[i];
      listed_[number] = false;
      if (!visit(number)) continue;
      if (listed_[number]) continue;  // it was added again meanwhile, behind
      listed_[number] = true;
      numbers_[kept++] = number;
    }
    numbers_.erase(numbers_.begin() + static_cast<std::ptrdiff_t>(kept),
                   numbers_.begin() + static_cast<std::ptrdiff_t>(count));
  }

 private:
  std::vector<std::uint32_t> numbers_;
  std::vector<bool> listed_;
};

}  // namespace spindrift::rpc
