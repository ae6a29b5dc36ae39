// How many strangers may try to prove themselves at a time, in all and from one address, and how often: so that none of them
// takes this process's descriptors, memory or time. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include <spindrift/core/clock.hpp>
#include <spindrift/core/ids.hpp>
#include <spindrift/fabric/connected/socket_address.hpp>

namespace spindrift::fabric::tcp {

/// The source of a call, as it is counted: an IPv4 address, or an IPv6 network of 64 bits, for a host has a whole one; or,
/// among nodes that are proved, which of them called.
struct Source {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  [[nodiscard]] static Source of(const connected::SocketAddress& from) noexcept;
  [[nodiscard]] static Source of(NodeId node) noexcept { return {0, node.value()}; }
  friend auto operator<=>(const Source&, const Source&) = default;
};

class Admission {
 public:
  enum class Verdict : std::uint8_t {
    admitted,
    crowded,      ///< all places are taken; that is all that speaks against it
    turned_away,  ///< its address has made enough calls
  };
  struct Limits {
    std::size_t pending_max = 64;  ///< callers that have not proved themselves yet
    std::size_t pending_per_source = 16;
    std::uint32_t calls_per_second = 50;  ///< from one source, in the long run
    std::uint32_t calls_at_once = 100;    ///< from one source, after a rest
  };

  explicit Admission(Limits limits) : limits_(limits) {}

  /// A call came. Whether it may try to prove itself; if it is admitted, `leave` follows.
  [[nodiscard]] Verdict enter(const Source& source, Time now);
  /// It has proved itself, or was given up.
  void leave(const Source& source);

  /// Callers that were not let try, since the beginning.
  [[nodiscard]] std::uint64_t turned_away() const noexcept { return turned_away_; }
  [[nodiscard]] std::size_t pending() const noexcept { return pending_; }
  [[nodiscard]] std::size_t pending_of(const Source& source) const noexcept;

 private:
  struct Caller {
    std::size_t pending = 0;
    double calls_left = 0;  ///< that it may make now
    Time counted{};         ///< when that was so
  };
  static constexpr std::size_t sources_max = 4096;

  [[nodiscard]] double calls_left(const Caller& caller, Time now) const noexcept;
  [[nodiscard]] Verdict verdict(const Source& source, Time now);
  void forget_rested(Time now);

  const Limits limits_;
  std::size_t pending_ = 0;
  std::uint64_t turned_away_ = 0;
  std::map<Source, Caller> callers_;
};

}  // namespace spindrift::fabric::tcp
