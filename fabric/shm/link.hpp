// A link with one process that has greeted, and the bounded queue of what its socket could not take yet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include <spindrift/core/audit.hpp>
#include <spindrift/core/clock.hpp>
#include <spindrift/core/counters.hpp>
#include <spindrift/core/file_descriptor.hpp>
#include <spindrift/fabric/fabric.hpp>
#include <spindrift/fabric/refused_callers.hpp>
#include <spindrift/fabric/shm/wire.hpp>

namespace spindrift::fabric::shm {

/// Frames in order, to a socket that may be full. Bounded: a peer that never reads costs at most this much.
class Outbox {
 public:
  static constexpr std::size_t bytes_max = 8U << 20U;
  static constexpr std::size_t frames_max = 8192;

  enum class Outcome : std::uint8_t { sent, queued, overflow, failed };

  /// Sends now if nothing waits, else queues; a `descriptor` (or -1) is then duplicated, so that the caller may close it.
  [[nodiscard]] Outcome push(int socket, std::span<const std::byte> head, std::span<const std::byte> body, int descriptor);

  /// Sends what waits, as far as the socket takes it.
  [[nodiscard]] Outcome flush(int socket);

 private:
  struct Frame {
    std::vector<std::byte> bytes;
    FileDescriptor descriptor;
  };
  std::deque<Frame> frames_;
  std::size_t bytes_ = 0;
};

struct PeerLink {
  FileDescriptor socket;
  FileDescriptor process;  ///< pidfd: readable once the process is dead
  NodeId node;
  pid_t pid = 0;  ///< as the kernel says
  std::uint64_t incarnation = 0;
  PeerId peer{};
  Outbox outbox{};
  std::size_t inbox_bytes = 0;  ///< received and not yet taken by the poller
  std::size_t inbox_count = 0;
  std::set<RegionKey> regions{};  ///< exposed by the peer and not given back
  bool unsaid = false;            ///< the bell says that words wait in the outbox
  bool reading = true;            ///< false while the inbox is full: the rest waits in the socket, then with the sender

  [[nodiscard]] std::string name() const {
    return "process " + std::to_string(pid) + " of node " + std::to_string(node.value());
  }
};

/// Processes that were refused, told of and counted.
class Refusals {
 public:
  explicit Refusals(std::shared_ptr<AuditTrail> audit) : audit_(std::move(audit)) {}

  /// As Fabric::count_in.
  void count_in(CounterBlock* block);
  void count() noexcept {
    if (counter_) counter_->add(1);
  }
  /// How many refusals of that process, for that reason, are to be told of now; 0: none, they are told of later.
  [[nodiscard]] std::uint64_t due(pid_t pid, std::string_view why) { return refused_.due(pid, why, clock_.now()); }
  /// For what no correct peer does: the other side is told that this is the end.
  void reject(int socket, pid_t pid, const std::string& why);
  /// Tells the audit of a process that is not let in.
  void tell(pid_t pid, const std::string& why);
  /// The same of a process that is not even answered.
  void tell_stranger(const Error& why);

 private:
  const std::shared_ptr<AuditTrail> audit_;
  const SystemClock clock_;
  RefusedCallers<pid_t> refused_;
  std::optional<Counter> counter_;
};

/// The process at the other end. Errors: refused, if it does not run as this process's user.
[[nodiscard]] Result<pid_t> trusted_process(int socket);

/// Whether that thread of the process waits for a CPU, or for a disk, as one that is paged in does. False if there is none.
[[nodiscard]] bool waits_for_machine(pid_t pid, std::uint32_t thread);

/// Whether the other end is closed; there may still be packets to read.
[[nodiscard]] bool hung_up(int socket) noexcept;

}  // namespace spindrift::fabric::shm
