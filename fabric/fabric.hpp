// The fabric: one-sided network, cut to what Spindrift uses. A provider is honest about what it is (Traits); a caller that
// needs a trait asks for it and refuses the provider with the reason. Providers: shm (same host), ofi and verbs (across
// hosts), mixed (shm and one of those), fault (a decorator), and the simulator's.
//
// The one guarantee that everything rests on, if `ordered_writes`: of two writes posted to one peer, the bytes of the later
// are visible there only after all bytes of the earlier. Within one write, 64-byte lines become visible in any order and at
// different times; an aligned 8-byte word is never torn.
//
// Threading: an endpoint belongs to one thread (the poller), except `wake`, which any thread may call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <spindrift/core/clock.hpp>
#include <spindrift/core/counters.hpp>
#include <spindrift/core/ids.hpp>
#include <spindrift/core/result.hpp>
#include <spindrift/core/roster.hpp>

namespace spindrift::fabric {

struct Traits {
  std::string_view name;                 ///< as in the config: "shm"
  bool ordered_writes = false;           ///< see above; the shared state table is refused without it
  bool needs_target_progress = false;    ///< a write is visible only after the target polls
  bool visible_on_completion = false;    ///< a local completion proves remote visibility
  bool mappable = false;                 ///< `map` may work; per peer, see Event::mappable
  bool connectionless = false;           ///< one endpoint reaches every peer ("DC-like")
  std::size_t copied_bytes_max = 0;      ///< largest `Operation::copied` write
  std::size_t message_bytes_max = 0;     ///< largest send
  std::size_t peers_max = 0;
  std::uint64_t buffered_bytes = 0;  ///< of `unsent_bytes` to one peer: so many wait elsewhere, in sockets
};

using Address = NodeAddress;

/// One connection to one incarnation of a process, as this endpoint numbers it. Never reused in an endpoint's life: who
/// comes back, also the same incarnation after a `disconnect`, is a new peer to whom nothing is exposed.
using PeerId = Strong<struct PeerIdTag, std::uint32_t>;
/// Names a region to those to whom it was exposed. A capability: never logged, never reused.
using RegionKey = Strong<struct RegionKeyTag, std::uint64_t>;

/// Registered memory of this process. Zeroed, page aligned, lives until it is released or the endpoint ends.
struct Region {
  RegionKey key;
  std::span<std::byte> memory;
};

/// The right that a peer has to a region exposed to it. `read` is also what `map` needs.
enum class Access : std::uint8_t { read, write };

struct Operation {
  enum class Kind : std::uint8_t {
    write,  ///< local bytes to (region, offset) of the peer
    read,   ///< (region, offset) of the peer to local bytes
    send,   ///< local bytes as one message event at the peer; always copied at post; in order with other sends
  };
  Kind kind = Kind::write;
  bool copied = false;    ///< the provider copies the bytes at post; else they must stay until visible or completed
  bool signaled = false;  ///< produce a `completed` event carrying `context`
  PeerId peer{};
  std::byte* local = nullptr;  ///< not written through unless `read`
  std::size_t bytes = 0;
  RegionKey region{};
  std::uint64_t offset = 0;
  std::uint64_t context = 0;
};

struct Event {
  enum class Kind : std::uint8_t {
    connected,  ///< the peer can be sent to; `node` says who it claims to be (unauthenticated until its hello is checked),
                ///< `mappable` whether its regions can be read in place (same host); both sides see the same
    message,    ///< `bytes` is one send of the peer
    exposed,    ///< the peer exposed a region: `region`, `region_bytes`, `access`
    completed,  ///< the signaled operation `context` is done; what that proves, see Traits
    lost,       ///< the connection is gone: crash, close or error; `reason` says which. Last event of this peer; but if it
                ///< is `dying`, `died` follows
    died,       ///< of a peer that was lost and dying: the process is gone with all its threads, so nothing that it wrote
                ///< changes any more. At any time after; `complete`, see there
    ended,      ///< of no peer: this process cannot go on, for `reason`: it has run out of something
  };
  Kind kind = Kind::lost;
  Access access = Access::read;
  bool mappable = false;
  /// The connection stood at both ends until the peer's process began to end, and neither end had ended it.
  bool dying = false;
  /// The peer left nothing unsaid: whatever it sent or exposed to this process has been told.
  bool complete = false;
  PeerId peer{};
  NodeId node{};
  RegionKey region{};
  std::uint64_t region_bytes = 0;
  std::uint64_t context = 0;
  /// The words of a connection: random, this end's and the other's, new for each, so that a proof on one proves nothing
  /// on another. 0 where the operating system says who the peer is.
  std::array<std::uint64_t, 2> words{};
  std::vector<std::byte> bytes{};
  std::optional<Error> reason{};
};

class Fabric {
 public:
  virtual ~Fabric() = default;

  [[nodiscard]] virtual const Traits& traits() const noexcept = 0;

  /// Allocates and registers memory. `name` is for people. Errors: resource.
  [[nodiscard]] virtual Result<Region> allocate(std::size_t bytes, std::string_view name) = 0;

  /// Gives an own region back: its memory is freed, its key is dead. Peers that mapped it keep what they mapped until they
  /// unmap it, what peers write to it from now on is lost, and an `exposed` event that is on its way still comes. No own
  /// operation that needs its bytes may be in flight. Cheap enough for the poller's path. Unknown keys are ignored.
  virtual void release(RegionKey region) = 0;

  /// Makes this process reachable as `self`. Errors: resource; refused if the id is in use by a live process.
  [[nodiscard]] virtual Result<void> listen(const Address& self) = 0;

  /// Starts connecting to a peer that may not be there yet. One `connected` event per pair of processes follows at each
  /// side, whichever of the two asked; the provider waits for the peer by events, not by polling. Does nothing while a
  /// connection to that node is live; while it is wanted, `peer` says where to look for it from now on. After a `lost`, or a
  /// `disconnect`, it may be called again, and leads to a new `connected` once a process of that node is there, the same or
  /// a later one. Errors: resource.
  [[nodiscard]] virtual Result<void> connect(const Address& peer) = 0;

  /// Ends the connection and the wish for it, and with them every access of the peer to this process's regions. The other
  /// side gets `lost`; no event follows at this side, but `died` of a peer that was told to be lost and dying.
  virtual void disconnect(PeerId peer) = 0;

  /// Lets one peer use one region; an `exposed` event follows there, in order with sends.
  [[nodiscard]] virtual Result<void> expose(PeerId peer, RegionKey region, Access access) = 0;

  /// A peer's region in place, read-only; valid until `unmap` or the end of the endpoint, also after the peer released it,
  /// was lost or died. Needs `mappable`, a peer that is not lost, or was dying then, and a preceding `exposed` event.
  /// Errors: unsupported, resource.
  [[nodiscard]] virtual Result<std::span<const std::byte>> map(PeerId peer, RegionKey region) = 0;

  /// Gives back what a peer exposed: a mapping's span is dead, operations on the region fail. Also after the peer was lost.
  /// To be called, even for a region that was never mapped, when it is not needed any more: otherwise it takes space until
  /// the peer is gone, and a mapping, or what a dying peer had exposed, until the endpoint ends. No operation on it may be
  /// in flight. Unknown keys are ignored.
  virtual void unmap(PeerId peer, RegionKey region) = 0;

  /// Posts the list in order. Takes all of it or fails; never blocks on the peer. An operation to a lost or disconnected
  /// peer is dropped (its `lost` event says so). Errors: bad_argument (out of the region, too large), resource.
  [[nodiscard]] virtual Result<void> post(std::span<const Operation> operations) = 0;

  /// Bytes posted to this peer of whose end nothing is known here, behind which whatever is posted next would wait too. An
  /// estimate: 0 where nothing waits or nothing is known, as for mapped peers, lost ones and unknown ones. It falls with
  /// time and with `poll`. As many as Traits::buffered_bytes may be where nothing can be kept from them any more.
  [[nodiscard]] virtual std::uint64_t unsent_bytes(PeerId peer) const noexcept {
    static_cast<void>(peer);
    return 0;
  }

  /// The kernel says that the thread which polls at the peer is there, and waits for a CPU or a disk at this moment, or that
  /// the one does by which this process hears it: so its silence is its machine's, and says nothing of itself. False where
  /// nothing is known, as of other hosts. Takes some system calls.
  [[nodiscard]] virtual bool starved(PeerId peer) {
    static_cast<void>(peer);
    return false;
  }

  /// The nodes as which processes run, but this one: all that had become a node before the call and have not ended, be they
  /// connected or not. Takes some system calls. Errors: unsupported where that cannot be known, as of other hosts; resource.
  [[nodiscard]] virtual Result<std::vector<NodeId>> present() const {
    return Error(ErrorKind::unsupported, "fabric " + std::string(traits().name) + " does not know who is there");
  }

  /// From now on what this endpoint counts is counted in `block`, until the next call; null: nowhere. Most count nothing.
  virtual void count_in(CounterBlock* block) { static_cast<void>(block); }

  /// Takes up to `events.size()` events; returns how many.
  [[nodiscard]] virtual std::size_t poll(std::span<Event> events) = 0;

  /// Mapped peers see this process's regions without a post; this tells those that sleep that there is news. Cheap when
  /// nobody sleeps. Call after the stores, once per pass.
  virtual void notify() noexcept = 0;

  /// Going to sleep takes three calls, so that no news falls between looking and sleeping: `prepare_sleep`, look once more
  /// at everything (poll, mapped rows, own rings), then `sleep` until news after prepare, `wake`, an event, or `deadline`;
  /// or `cancel_sleep` if the look found something.
  virtual void prepare_sleep() noexcept = 0;
  virtual void sleep(Time deadline) noexcept = 0;
  virtual void cancel_sleep() noexcept = 0;

  /// Ends a `sleep` that is or may be under way. Any thread. One load when the poller is awake; so what the caller changed
  /// before must be a sequentially consistent store or read-modify-write, and the poller looks at it by a sequentially
  /// consistent load.
  virtual void wake() noexcept = 0;
};

}  // namespace spindrift::fabric
