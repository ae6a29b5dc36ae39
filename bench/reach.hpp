// How long it takes until a peer of another host can be used: by a connectionless queue pair, which needs its metadata, and
// by a connection, which must be made. Over loopback, between two threads of this process.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <spindrift/core/result.hpp>

namespace spindrift::bench {

/// All times in nanoseconds, one per sample and peer.
struct ReachTimes {
  std::vector<std::uint64_t> resolve;      ///< metadata taken in
  std::vector<std::uint64_t> virtual_pair;  ///< a virtual queue pair made and connected to a peer that others talk to
  std::vector<std::uint64_t> first_write;  ///< from before `resolve` to the completion of 8 bytes written, open queue pair
  std::vector<std::uint64_t> connect;      ///< from before `connect` to `connected`
  std::vector<std::uint64_t> read;         ///< 8 bytes read, from a peer that has been talked to
  double first_writes_per_second = 0;      ///< peers, over the time from the first to the last of those at a time
  double connects_per_second = 0;
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
};

}  // namespace spindrift::bench
