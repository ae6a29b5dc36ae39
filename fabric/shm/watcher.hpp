// The one small thread of an endpoint: it sleeps until a socket, a process or the directory has something to say, and turns
// that into news for the poller. A monitor: what is below the lock is touched only under it.
#pragma once

#include <mutex>
#include <thread>
#include <tuple>

#include <spindrift/fabric/shm/arrivals.hpp>
#include <spindrift/fabric/shm/beside.hpp>
#include <spindrift/fabric/shm/deferred_unmaps.hpp>
#include <spindrift/fabric/shm/handshake.hpp>

namespace spindrift::fabric::shm {

/// The way to a part of a monitor.
template <class Part>
class Locked {
 public:
  Locked(Part& part, std::mutex& mutex) : part_(part), lock_(mutex) {}
  [[nodiscard]] Part* operator->() const noexcept { return &part_; }

 private:
  Part& part_;
  const std::lock_guard<std::mutex> lock_;
};

class Watcher {
 public:
  /// `bell` outlives this object.
  Watcher(NodeId self, std::uint64_t incarnation, Bell& bell, Rendezvous rendezvous, std::shared_ptr<AuditTrail> audit);
  ~Watcher();
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;

  /// Claims the node's id, listens, and starts the thread. Errors: as of Rendezvous.
  [[nodiscard]] Result<void> start(NodeId self);
  [[nodiscard]] bool started() const noexcept { return thread_.joinable(); }

  // The poller's; these look after themselves.
  [[nodiscard]] bool has_news() const noexcept { return news_.any(); }
  [[nodiscard]] BesideWatch& beside() noexcept { return beside_; }
  [[nodiscard]] const BesideWatch& beside() const noexcept { return beside_; }
  [[nodiscard]] const Rendezvous& rendezvous() const noexcept { return rendezvous_; }
  void defer_unmap(Mapping mapping) { unmaps_.add(std::move(mapping)); }
  /// The peer's bell says that it has died: what it sent before, and that, becomes news.
  void on_owner_died(PeerId peer);

  // The poller's, under the lock for as long as what is returned lives.
  [[nodiscard]] Locked<Handshake> handshake() { return {handshake_, mutex_}; }
  [[nodiscard]] Locked<PeerLinks> links() { return {links_, mutex_}; }
  [[nodiscard]] Locked<Refusals> refusals() { return {refusals_, mutex_}; }

 private:
  // The subjects of readiness reports: one of these, or a tag of PeerLinks.
  static constexpr std::uint64_t tag_stop = 0;
  static constexpr std::uint64_t tag_listener = 1;
  static constexpr std::uint64_t tag_arrivals = 2;
  static constexpr std::uint64_t tag_unmaps = 3;
  static constexpr std::uint64_t tag_beside = 4;  ///< and as many above it as Beside has
  static constexpr PeerLinks::Serial first_serial = 4;
  static_assert(tag_beside + std::tuple_size_v<Beside> <= 2 * first_serial);

  void run();
  void on_ready(std::uint64_t tag, std::uint32_t readiness);
  void on_callers();
  void on_arrivals();

  Bell& bell_;
  Readiness readiness_;
  BesideWatch beside_;
  DeferredUnmaps unmaps_;
  FileDescriptor stop_;

  std::mutex mutex_;
  NewsQueue news_;
  Rendezvous rendezvous_;
  Refusals refusals_;
  PeerLinks links_;
  Handshake handshake_;
  FileDescriptor listener_;
  Arrivals arrivals_;
  FileDescriptor spare_;  ///< given up for a moment when descriptors run out, to turn a caller away instead of spinning
  std::thread thread_;
};

}  // namespace spindrift::fabric::shm
