// One connection to one peer, as every connection-based fabric has it: how far it is, what either side may do with the
// other's memory, and how it ended. How bytes travel is the derived class's. Belongs to the poller.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include <spindrift/core/clock.hpp>
#include <spindrift/fabric/connected/region.hpp>
#include <spindrift/fabric/connected/wire.hpp>
#include <spindrift/fabric/fabric.hpp>
#include <spindrift/core/result.hpp>

namespace spindrift::fabric::connected {

class Lane {
 public:
  enum class State : std::uint8_t {
    calling,    ///< asked for; the other side has not answered
    answering,  ///< the other side asked; not up yet
    up,
    closing,  ///< nothing is heard any more; the last words are on their way
  };
  /// What the peer may do with one region.
  struct Grant {
    RegionKey region;
    OwnRegion* memory = nullptr;
    Access access = Access::read;
    std::unique_ptr<Registration> right;
  };

  Lane(State first, NodeId of) : state(first), node(of) {}
  /// Every derived class has closed itself.
  virtual ~Lane() = default;
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  /// Sends a message of the protocol, now or later, in order with all that was posted. `signaled`: the lane is idle only
  /// when its bytes have left for good.
  virtual void say(std::span<const std::byte> message, bool signaled) = 0;
  /// Offers the provider what waits.
  virtual void flush() = 0;
  /// Nothing that was posted is under way or waits.
  [[nodiscard]] virtual bool idle() const noexcept = 0;
  /// From here on the provider touches no memory for this lane, in neither direction, and the peer has no right left. May
  /// be called twice.
  virtual void close() = 0;
  /// The caller takes its messages again: buffers that were held back take more.
  virtual void resume() = 0;
  /// The end of each own operation that is under way will be told, also of those that were posted to be told by none.
  virtual void mark() {}
  /// The region's memory is about to go; none of this lane's operations uses it.
  virtual void forget(const OwnRegion&) {}

  /// Lets the peer use the region; it has to be told of the exposure. Errors: resource.
  [[nodiscard]] Result<Exposure> grant(RegionKey key, OwnRegion& region, Access access);
  /// The peer gave the right back, after its last write. The region's memory may be free after that; null if there is no
  /// such right.
  [[nodiscard]] OwnRegion* revoke(std::uint64_t remote_key);
  /// Takes all rights back at once. A write that had begun to arrive may still go on to where it was going: so memory that
  /// the peer could write to stays, and is nobody else's, until the lane is closed.
  void take_rights_back();

  [[nodiscard]] const std::optional<std::string>& broken() const noexcept { return broken_; }
  void break_down(std::string why);
  /// Of a lane that broke or that the peer has left, for people.
  [[nodiscard]] std::string end_reason() const { return goodbye ? "closed the connection" : broken_.value_or(""); }
  /// Whether so many messages wait for the caller that the peer has to.
  [[nodiscard]] bool full() const noexcept { return unheard > unheard_max; }

  State state;
  const NodeId node;
  PeerId peer;                     ///< once up
  std::uint64_t incarnation = 0;   ///< of the other endpoint; while calling, of the last one that called and was turned away
  std::uint64_t peer_attempt = 0;  ///< its attempts up to this one are over
  Time heard{};
  Time deadline{};                                   ///< calling, answering, closing: when it is given up
  bool goodbye = false;                              ///< the peer said it
  std::unordered_map<RegionKey, Exposure> exposed;   ///< by the peer
  std::unordered_map<std::uint64_t, Grant> granted;  ///< to the peer, by remote key
  std::vector<Event> early;                          ///< came before it was up
  std::size_t unheard = 0;                           ///< messages that wait for the caller
  /// Bytes of own regions posted to the peer that wait here, or that the provider has and will tell the end of.
  std::uint64_t unsent_bytes = 0;

 protected:
  struct Right {
    std::uint64_t remote_key = 0;
    std::uint64_t address = 0;  ///< of the region's first byte, as the peer's operations want it
    std::unique_ptr<Registration> registration;
  };
  /// Errors: resource.
  [[nodiscard]] virtual Result<Right> give_right(OwnRegion& region, Access access) = 0;
  /// The right is about to end.
  virtual void on_revoked(const Registration&) {}
  /// Of a lane that closes: nothing of the peer is on its way to this process's memory any more, or the memory's source
  /// knows better.
  void revoke_all();

 private:
  static constexpr std::size_t unheard_max = 1024;

  std::vector<OwnRegion*> fenced_;  ///< `granted` counts this lane, which has no right left there
  std::optional<std::string> broken_;
};

}  // namespace spindrift::fabric::connected
