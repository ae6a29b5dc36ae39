// One connection to one peer, as every connection-based fabric has it: what either side may do with the other's memory, and
// how it ended. How bytes travel is the derived class's. Belongs to the poller.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include <spindrift/core/clock.hpp>
#include <spindrift/core/result.hpp>
#include <spindrift/fabric/connected/call_rules.hpp>
#include <spindrift/fabric/connected/control_session.hpp>
#include <spindrift/fabric/connected/heard_lists.hpp>
#include <spindrift/fabric/connected/region.hpp>
#include <spindrift/fabric/connected/wire.hpp>
#include <spindrift/fabric/fabric.hpp>

namespace spindrift::fabric::connected {

/// One write or read, checked, with the target as the peer exposed it.
struct Transfer {
  bool reads = false;
  bool signaled = false;
  bool copied = false;  ///< `local` may change after the post
  bool more = false;    ///< the next operation of the list tells the peer that there is news, or is told of itself
  std::byte* local = nullptr;
  std::size_t bytes = 0;
  std::uint64_t address = 0;
  std::uint64_t remote_key = 0;
  std::uint64_t context = 0;
  OwnRegion* region = nullptr;  ///< that holds `local`; null if none does, or it is copied
};

/// Cuts a transfer into pieces of at most `piece_max` bytes; of a signaled one the last piece is. `each(const Transfer&)`.
template <class Each>
void cut(const Transfer& whole, std::size_t piece_max, const Each& each) {
  std::size_t done = 0;
  do {
    Transfer piece = whole;
    piece.local = whole.local + done;
    piece.bytes = std::min(whole.bytes - done, piece_max);
    piece.address = whole.address + done;
    done += piece.bytes;
    piece.signaled = whole.signaled && done == whole.bytes;
    each(piece);
  } while (done < whole.bytes);
}

class Connection {
 public:
  /// The peer's right to one region.
  struct Grant {
    RegionKey region;
    OwnRegion* memory = nullptr;
    Access access = Access::read;
    std::unique_ptr<Registration> right;
  };

  /// The call outlives it.
  explicit Connection(const PeerCall& call) : call_(call) {}
  /// Every derived class has closed itself.
  virtual ~Connection() = default;
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// A message of the protocol, which is copied; it goes with the next `ring`, or before, in order with all that was posted.
  /// `signaled`: its end is told with `context`, and the connection is idle only when its bytes have left for good.
  virtual void send(std::span<const std::byte> message, bool signaled, std::uint64_t context) = 0;
  /// The same of a write or a read.
  virtual void transfer(const Transfer& transfer) = 0;
  /// A list has ended: what was posted goes now, and the peer is told that there is news.
  virtual void ring() {}
  /// Offers the provider what waits.
  virtual void flush() = 0;
  /// Nothing that was posted is under way or waits.
  [[nodiscard]] virtual bool idle() const noexcept = 0;
  /// From here on the provider touches no memory for this connection, in neither direction, and the peer has no right left.
  /// May be called twice.
  virtual void close() = 0;
  /// The caller takes its messages again: buffers that were held back take more.
  virtual void resume() {}
  /// The end of each own operation that is under way will be told, also of those that were posted to be told by none.
  virtual void mark() {}
  /// Own operations may use the region. Errors: resource.
  [[nodiscard]] virtual Result<void> prepare(OwnRegion&) { return {}; }
  /// The region's memory is about to go; none of this connection's operations uses it.
  virtual void forget(const OwnRegion&) {}

  /// Whether the other end, once proved, would be let in today as well. Errors: refused.
  [[nodiscard]] virtual Result<void> recheck() const { return session == nullptr ? Result<void>() : session->recheck(); }
  /// The certificate that the other end has shown, if it has.
  [[nodiscard]] virtual std::optional<ShownCertificate> certificate() const {
    return session == nullptr ? std::nullopt : session->certificate();
  }

  void say(std::span<const std::byte> message, bool signaled) {
    send(message, signaled, 0);
    ring();
  }
  /// As `send`, inside of the session if there is one; once it is up, and proved.
  void send_sealed(std::span<const std::byte> message, bool signaled, std::uint64_t context);
  /// As `say`, inside of the session if there is one.
  void say_sealed(std::span<const std::byte> message, bool signaled) {
    send_sealed(message, signaled, 0);
    ring();
  }
  /// Sends what the session has for the other end. `signaled`, `context`: of the last message.
  void carry_session(bool signaled, std::uint64_t context);

  /// Lets the peer use the region; it has to be told of the exposure. Errors: resource.
  [[nodiscard]] Result<Exposure> grant(RegionKey key, OwnRegion& region, Access access);
  /// The peer gave the right back, after its last write. The region's memory may be free after that; null if there is no
  /// such right.
  [[nodiscard]] OwnRegion* revoke(std::uint64_t remote_key);
  /// Takes all rights back at once. A write that had begun to arrive may still go on to where it was going: so memory that
  /// the peer could write to stays, and is nobody else's, until the connection is closed.
  void take_rights_back();

  [[nodiscard]] const PeerCall& call() const noexcept { return call_; }
  [[nodiscard]] NodeId node() const noexcept { return call_.node; }
  [[nodiscard]] const std::optional<std::string>& broken() const noexcept { return broken_; }
  void break_down(std::string why);
  /// The reason why a connection broke or the peer has left it, for people.
  [[nodiscard]] std::string end_reason() const { return goodbye ? "closed the connection" : broken_.value_or(""); }
  /// Whether so many messages wait for the caller that the peer has to.
  [[nodiscard]] bool full() const noexcept { return unheard > unheard_max; }

  PeerId peer;                                       ///< once up
  Time heard{};                                      ///< when something came last
  bool goodbye = false;                              ///< the peer said it
  std::unordered_map<RegionKey, Exposure> exposed;   ///< by the peer
  std::unordered_map<std::uint64_t, Grant> granted;  ///< to the peer, by remote key
  std::vector<Event> early;                          ///< came before it was up
  std::size_t unheard = 0;                           ///< messages that wait for the caller
  /// Bytes of own regions posted to the peer that wait here, or that the provider has and will tell the end of.
  std::uint64_t unsent_bytes = 0;
  HeardLists heard_lists;  ///< from the peer
  bool lingers = false;    ///< it is over here, and ends there only when the rules of calls have waited long enough
  std::unique_ptr<ControlSession> session;  ///< null: what the protocol says is in the clear, or the fabric seals it

 protected:
  struct Right {
    std::uint64_t remote_key = 0;
    std::uint64_t address = 0;  ///< of the region's first byte, as the peer's operations want it
    std::unique_ptr<Registration> registration;
  };
  /// Errors: resource.
  [[nodiscard]] virtual Result<Right> give_right(OwnRegion& region, Access access) = 0;
  /// For a connection that closes: nothing of the peer is on its way to this process's memory any more, or the memory's
  /// source knows better.
  void revoke_all();

 private:
  static constexpr std::size_t unheard_max = 1024;

  const PeerCall& call_;
  std::vector<OwnRegion*> fenced_;  ///< `granted` counts this connection, which has no right left there
  std::optional<std::string> broken_;
};

}  // namespace spindrift::fabric::connected
