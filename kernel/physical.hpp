// Physical queue pairs and the device that opens them: what a pool of virtual queue pairs is made of. A device offers one or
// both of two classes. *Connectionless* ("DC-like"): one queue pair reaches every peer whose metadata is known. *Connected*
// ("RC-like"): one queue pair, one peer; faster, but slow to make, and it takes memory for each peer. (KRCore, section 4.2.)
//
// Remember: a completion says that an operation is over, and with `ordered_completions` that all posted before it on that
// queue pair are too. It proves nothing about what the peer has seen, unless `visible_on_completion`.
//
// Threading: a device and its queue pairs belong to one thread. Lifetime: queue pairs go before their device.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <spindrift/core/clock.hpp>
#include <spindrift/fabric/fabric.hpp>
#include <spindrift/core/ids.hpp>
#include <spindrift/core/result.hpp>

namespace spindrift::kernel {

/// Others must know this to reach a device: number, key and GID of a DC target, or libfabric's name. A peer's is not to be
/// trusted: it may lead nowhere or to somebody else, never to a fault of this process.
struct Metadata {
  static constexpr std::size_t bytes_max = 39;
  std::uint8_t size = 0;  ///< at most bytes_max
  std::array<std::byte, bytes_max> bytes{};
  friend bool operator==(const Metadata&, const Metadata&) = default;

  /// Made of at most bytes_max bytes.
  [[nodiscard]] static Metadata of(std::span<const std::byte> from) noexcept {
    Metadata made{.size = static_cast<std::uint8_t>(from.size())};
    std::copy(from.begin(), from.end(), made.bytes.begin());
    return made;
  }
  /// Those that are said.
  [[nodiscard]] std::span<const std::byte> said() const noexcept {
    return std::span(bytes).first(std::min<std::size_t>(size, bytes_max));
  }
};
static_assert(sizeof(Metadata) == 40);
struct MetadataOrder {
  [[nodiscard]] bool operator()(const Metadata& left, const Metadata& right) const noexcept {
    return std::ranges::lexicographical_compare(left.said(), right.said());
  }
};

/// A peer whose metadata this device has taken in; the device's own numbering. 0 is nobody.
using PeerHandle = Strong<struct PeerHandleTag, std::uint32_t>;

struct DeviceTraits {
  std::string name;                    ///< "ofi:tcp;ofi_rxm"
  bool connectionless = false;         ///< `open` works
  bool connected = false;              ///< `connect` and `accepted` work
  bool ordered_completions = false;    ///< see above; false: every operation must be signaled
  bool connected_in_order = false;     ///< as `ordered_completions`, of connected queue pairs, whatever holds of others
  bool visible_on_completion = false;  ///< see above
  std::uint32_t send_depth = 0;        ///< operations that one queue pair may have under way
  std::size_t message_bytes_max = 0;   ///< of one message, header included
};

/// Registered memory of this process. `local_key` goes with own operations, `remote_key` to peers. Memory that is registered
/// is the caller's and stays until it is given back.
struct MemoryKeys {
  std::uint64_t local_key = 0;
  std::uint64_t remote_key = 0;
  std::uint64_t remote_base = 0;  ///< what a peer says for its first byte: its address, or 0 where offsets are meant
};

struct PhysicalOperation {
  enum class Kind : std::uint8_t { write, read, send };
  Kind kind = Kind::write;
  bool signaled = false;       ///< asks for `completed`; a failed operation always gives one
  bool news = false;           ///< of a write: makes the peer's `descriptor` readable when it has arrived
  PeerHandle peer;             ///< of a connectionless queue pair
  std::uint64_t id = 0;        ///< comes back with the completion
  std::byte* local = nullptr;  ///< stays until the operation is over; not written through unless `read`
  std::uint32_t bytes = 0;
  std::uint64_t local_key = 0;
  std::uint64_t remote_address = 0;  ///< remote_base + offset
  std::uint64_t remote_key = 0;
  std::span<const std::byte> header;  ///< of a send: goes before `local`'s bytes; copied at post
};

enum class OperationStatus : std::uint8_t {
  done,
  local_error,     ///< the own memory or operation was refused
  access_refused,  ///< the peer refused: key, range or kind of access
  peer_lost,       ///< no answer, or the connection broke
  not_ready,       ///< the peer had no buffer for a message
  flushed,         ///< not tried, or not known, because another operation on this queue pair failed. Without `broken` after
                   ///< it only where completions have no order: then nothing that was posted to the same peer behind it is
                   ///< carried out either, up to what is posted when all events have been taken
};
[[nodiscard]] std::string_view to_string(OperationStatus status) noexcept;

struct PhysicalEvent {
  enum class Kind : std::uint8_t {
    connected,  ///< of a queue pair from `connect`: operations may be posted
    completed,  ///< operation `id` is over with `status`
    received,   ///< one message, `bytes`, in buffer `id`, until `give_back(id)`
    broken,     ///< nothing more is taken; every operation that was under way has had its completion. A connectionless one
                ///< works again after `reset`, and what had completed before arrives before anything that is posted then;
                ///< a connected one is to be destroyed, and what had not arrived is lost
  };
  Kind kind = Kind::completed;
  OperationStatus status = OperationStatus::done;
  std::uint64_t id = 0;
  std::span<const std::byte> bytes{};
  std::string reason{};  ///< of `broken`, for people
};

class PhysicalDevice;

class PhysicalQueuePair {
 public:
  explicit PhysicalQueuePair(PhysicalDevice& device) noexcept : device_(device) {}
  virtual ~PhysicalQueuePair() = default;
  PhysicalQueuePair(const PhysicalQueuePair&) = delete;
  PhysicalQueuePair& operator=(const PhysicalQueuePair&) = delete;

  /// Takes the list in order, up to the first that it has no room for; returns how many. Nothing is taken while it is broken
  /// or not connected yet. One doorbell per call. What is wrong with an operation is told by its completion.
  [[nodiscard]] virtual std::size_t post(std::span<const PhysicalOperation> operations) = 0;
  /// Takes up to `events.size()` of the events that are there.
  [[nodiscard]] virtual std::size_t take(std::span<PhysicalEvent> events) = 0;
  /// The same; the device makes progress if there are none.
  [[nodiscard]] std::size_t poll(std::span<PhysicalEvent> events);
  /// A message's buffer is free for the next one. In any order; the queue pair keeps `receive_buffers` of them.
  virtual void give_back(std::uint64_t buffer) = 0;
  /// After `broken`, connectionless ones only: empty again, and ready. Errors: resource, bad_argument (another one).
  [[nodiscard]] virtual Result<void> reset();

 private:
  PhysicalDevice& device_;
};

/// Asked of a device when it is opened; bounds its memory.
struct DeviceSizes {
  std::uint32_t send_depth = 256;
  std::uint32_t receive_buffers = 256;  ///< per queue pair
  std::uint32_t peers_max = 1024;
  std::size_t message_bytes_max = 4096 + 128;
};

class PhysicalDevice {
 public:
  virtual ~PhysicalDevice() = default;

  [[nodiscard]] const DeviceTraits& traits() const noexcept { return traits_; }

  /// How peers reach this device's connectionless queue pairs and its listener, the same for both.
  [[nodiscard]] const Metadata& metadata() const noexcept { return metadata_; }

  /// Takes in a peer's metadata: no round trip, nothing is made. Errors: bad_argument (not of this device's form), resource.
  [[nodiscard]] virtual Result<PeerHandle> resolve(const Metadata& peer) = 0;
  /// Its number may be used again. No operation to it may be under way.
  virtual void forget(PeerHandle peer) = 0;

  /// A connectionless queue pair that sends; what peers send to this device comes to the first one opened. Errors: resource,
  /// unsupported.
  [[nodiscard]] virtual Result<std::unique_ptr<PhysicalQueuePair>> open() = 0;

  /// A connected queue pair to a peer, `connected` later. Errors: bad_argument, resource, unsupported.
  [[nodiscard]] virtual Result<std::unique_ptr<PhysicalQueuePair>> connect(const Metadata& peer, std::uint64_t token) = 0;
  /// One that a peer has made by its `connect`, with the token that it said (untrusted), or nothing. It may be posted to.
  struct Accepted {
    std::unique_ptr<PhysicalQueuePair> queue_pair;
    std::uint64_t token = 0;
  };
  [[nodiscard]] virtual Accepted accepted() = 0;
  /// Looks at what has come, of all its queue pairs and calls; for who asks them by `take`. Some need none.
  virtual void progress() {}
  /// Its last queue pairs are about to go, and it after them: from here on peers need not reach it.
  virtual void end() noexcept {}

  /// `access`: what peers may do; nothing: it is for own operations alone, no peer reaches it, and `remote_key` says
  /// nothing. Errors: resource, bad_argument.
  [[nodiscard]] virtual Result<MemoryKeys> register_memory(std::span<std::byte> memory,
                                                           std::optional<fabric::Access> access) = 0;
  /// From here on no peer reaches it. No own operation on it may be under way. Unknown keys are ignored.
  virtual void deregister(const MemoryKeys& keys) = 0;

  // A thread with nothing to do may wait: for `descriptor` to be readable, if `may_block`, and for `next_look`.
  /// The same for the device's whole life; -1: it has none, and is to be polled.
  [[nodiscard]] virtual int descriptor() const noexcept { return -1; }
  /// Whether everything that comes from now on makes the descriptor readable, and nothing has come that was not polled.
  [[nodiscard]] virtual bool may_block() noexcept { return false; }
  /// When there is something to do though nothing comes; `never` if there is no such time.
  [[nodiscard]] virtual Time next_look() const noexcept { return never; }

 protected:
  // Said when the device is made, and the same from then on.
  DeviceTraits traits_;
  Metadata metadata_;
};

}  // namespace spindrift::kernel
