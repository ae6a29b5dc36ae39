// How long it takes until a peer of another host can be used: by a connectionless queue pair, which needs its metadata, and
// by a connection, which must be made. Over loopback, between two threads of this process. (KRCore, figure 8a: with the
// metadata cached, and asked for at a meta server.)
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <spindrift/core/result.hpp>

namespace spindrift::bench {

/// All times in nanoseconds, one per sample and peer.
struct ReachTimes {
  std::vector<std::uint64_t> endpoint;         ///< a connectionless queue pair opened on a device that is there
  std::vector<std::uint64_t> resolve;          ///< metadata taken in
  std::vector<std::uint64_t> virtual_pair;     ///< a virtual queue pair made and connected to a peer that others talk to
  std::vector<std::uint64_t> virtual_connect;  ///< of that, the connecting
  std::vector<std::uint64_t> unknown;      ///< the same to a node of which only its number is known, with a lookup before it
  std::vector<std::uint64_t> two_reads;    ///< of the lookup's meta server and its sizes, one after the other
  std::vector<std::uint64_t> first_write;  ///< from before `resolve` to the completion of 8 bytes written, open queue pair
  std::vector<std::uint64_t> connect;      ///< from before `connect` to `connected`
  std::vector<std::uint64_t> read;         ///< 8 bytes read, from a peer that has been talked to
  double reads_per_lookup = 0;             ///< mean of `unknown`
  double first_writes_per_second = 0;      ///< peers, over the time from the first to the last of those at a time
  double connects_per_second = 0;
};

/// Virtual queue pairs per second, made and connected by one thread.
struct ConnectRates {
  double known = 0;    ///< to eight peers that are known, by turns
  double unknown = 0;  ///< each to a node that is looked up, so many at a time as `Seeker::lookups_max` says
};

/// The peers, in a thread of their own. Threading: made, asked and destroyed by one thread.
class Reach {
 public:
  static constexpr std::uint32_t peers_max = 8;

  /// `provider`: of connectionless queue pairs, as in OfiDeviceOptions. Errors: those of `make_ofi_device`.
  [[nodiscard]] static Result<std::unique_ptr<Reach>> start(const std::string& provider);
  virtual ~Reach() = default;

  /// `peers`, 1 … peers_max, reached at a time, `samples` times. Errors: timed_out, member_lost, and those of the device.
  [[nodiscard]] virtual Result<ReachTimes> measure(std::uint32_t peers, std::uint32_t samples) = 0;

  static constexpr std::uint32_t lookups_max = 4096;
  /// Over `lookups`, 1 … lookups_max, and sixteen times as many known ones. Errors: the same.
  [[nodiscard]] virtual Result<ConnectRates> measure_rates(std::uint32_t lookups) = 0;
};

}  // namespace spindrift::bench
