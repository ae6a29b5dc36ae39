// Measures how long it takes until a peer of another host can be used: by a connectionless queue pair, which needs its
// metadata, and by a connection, which must be made. Over loopback, between two threads of this process. (KRCore, figure 8a:
// with the metadata cached, and asked for at a meta server.)
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include <spindrift/bench/reached.hpp>

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

struct ReachCaller;

/// The peers, in a thread of their own. Threading: made, asked and destroyed by one thread. All throw Exception: timed_out,
/// member_lost, and what the device says.
class Reach {
 public:
  static constexpr std::uint32_t peers_max = 8;
  static constexpr std::uint32_t lookups_max = 4096;

  /// `provider`: of connectionless queue pairs, as in OfiDeviceOptions.
  explicit Reach(std::string provider);
  ~Reach();
  Reach(const Reach&) = delete;
  Reach& operator=(const Reach&) = delete;

  /// `peers`, 1 … peers_max, reached at a time, `samples` times.
  [[nodiscard]] ReachTimes measure(std::uint32_t peers, std::uint32_t samples);
  /// Over `lookups`, 1 … lookups_max, and sixteen times as many known ones.
  [[nodiscard]] ConnectRates measure_rates(std::uint32_t lookups);

 private:
  /// Returns how long all of them took.
  std::uint64_t reach_connectionless(ReachCaller& caller, std::uint32_t peers, ReachTimes& times);
  /// One more than those that the device has.
  static void open_endpoint(ReachCaller& caller, ReachTimes& times);
  /// One pair to each peer first, so that its metadata are there; then another, which is measured.
  void connect_virtually(ReachCaller& caller, std::uint32_t peers, ReachTimes& times);
  /// By turns with the two reads, once one node has been looked up. How often the table was read for the others.
  std::uint64_t connect_unknown(ReachCaller& caller, std::uint32_t peers, ReachTimes& times);
  std::uint64_t reach_connected(ReachCaller& caller, std::uint32_t peers, ReachTimes& times);

  static constexpr std::uint32_t known_nodes = 8;
  const std::string provider_;
  std::array<ReachedPeer, peers_max> peers_;
  TableKeeper keeper_;
  std::atomic<std::uint32_t> reached_{peers_max};
  std::atomic<bool> ends_{false};
  std::thread thread_;
};

}  // namespace spindrift::bench
