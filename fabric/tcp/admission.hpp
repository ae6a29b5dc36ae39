// How many strangers may try to get in at a time, in all and from one address, and how often: so that none of them takes
// this process's descriptors, memory or time. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include <spindrift/core/clock.hpp>
#include <spindrift/fabric/connected/socket_address.hpp>

namespace spindrift::fabric::tcp {

/// Where a call came from, as it is counted: an IPv4 address, or an IPv6 network of 64 bits, for a host has a whole one.
struct Source {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  [[nodiscard]] static Source of(const connected::SocketAddress& from) noexcept;
  friend auto operator<=>(const Source&, const Source&) = default;
};

class Admission {
 public:
  struct Limits {
    std::size_t pending_max = 64;  ///< callers that have not proved themselves yet
    std::size_t pending_per_source = 16;
    std::uint32_t calls_per_second = 50;  ///< from one source, in the long run
    std::uint32_t calls_at_once = 100;    ///< from one source, after a rest
  };

  explicit Admission(Limits limits) : limits_(limits) {}

  /// A call came. Whether it may try to prove itself; if so, `leave` follows.
  [[nodiscard]] bool enter(const Source& source, Time now);
  /// It has proved itself, or was given up.
  void leave(const Source& source);

  /// Callers that were not let try, since the beginning.
  [[nodiscard]] std::uint64_t turned_away() const noexcept { return turned_away_; }
  [[nodiscard]] std::size_t pending() const noexcept { return pending_; }

 private:
  struct Caller {
    std::size_t pending = 0;
    double calls_left = 0;  ///< that it may make now
    Time counted{};         ///< when that was so
  };
  static constexpr std::size_t sources_max = 4096;

  [[nodiscard]] double calls_left(const Caller& caller, Time now) const noexcept;
  void forget_rested(Time now);

  const Limits limits_;
  std::size_t pending_ = 0;
  std::uint64_t turned_away_ = 0;
  std::map<Source, Caller> callers_;
};

}  // namespace spindrift::fabric::tcp
