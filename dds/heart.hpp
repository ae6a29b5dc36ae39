// How a participant says that its AUTOMATIC writers live: often enough for the shortest lease of them.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <utility>

#include <spindrift/dds/endpoint.hpp>
#include <spindrift/dds/errands.hpp>

namespace spindrift::topics {

/// Its thread, which only waits to send, runs where a writer has a lease that ends.
class Heart {
 public:
  /// `beat` tells the others; it may wait.
  explicit Heart(std::function<void()> beat) : beat_(std::move(beat)) {}
  /// Returns when no beat is under way, and none follows.
  void stop() { sends_.stop(); }

  // With the monitor held:
  void add(const EndpointId& writer, std::int64_t lease_ns);
  void remove(const EndpointId& writer) { leases_.erase(writer); }
  /// Beats if it is time; when that is next.
  [[nodiscard]] std::int64_t check(std::int64_t now_ns);

 private:
  std::function<void()> beat_;
  std::map<EndpointId, std::int64_t> leases_;
  std::int64_t next_ns_ = 0;
  bool started_ = false;
  std::atomic<bool> beats_{false};  // one is under way
  Errands sends_;
};

}  // namespace spindrift::topics
