// One connected endpoint: operations on their way to one peer, those that wait until the provider takes them, and buffers
// for what comes. Belongs to the poller.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include <spindrift/core/clock.hpp>
#include <spindrift/core/fabric/connected/wire.hpp>
#include <spindrift/core/fabric/fabric.hpp>
#include <spindrift/core/fabric/ofi/provider.hpp>

namespace spindrift::fabric::ofi {

using namespace connected;

class Lane;

/// Memory of this process that peers and operations may be using.
struct OwnRegion {
  std::span<std::byte> memory;
  std::size_t mapped_bytes = 0;
  std::uint32_t reading = 0;     ///< own operations that read it and are not done
  std::uint32_t registered = 0;  ///< peers that it is exposed to
  bool released = false;
};

/// What is asked of the provider.
struct Request {
  enum class Kind : std::uint8_t { write, read, send, receive };
  Kind kind = Kind::write;
  bool signaled = false;  ///< the caller wants a `completed`
  bool news = false;      ///< a write of which the target is told
  bool copied = false;    ///< `local` is the caller's and may change after the post
  const std::byte* local = nullptr;
  std::size_t bytes = 0;
  std::uint64_t address = 0;
  std::uint64_t remote_key = 0;
  std::uint64_t context = 0;
  std::vector<std::byte> owned{};  ///< holds `local`, if this is not empty
  OwnRegion* reads = nullptr;      ///< counted in its `reading`
};

/// Requests that the provider has, by the token that it gives back on completion. A token of a lane that is gone is known as
/// such.
class Flights {
 public:
  struct Flight {
    Lane* lane = nullptr;
    Request request;
    std::uint32_t generation = 0;
  };
  /// A free place; the request is moved in by `fill` once the provider has taken it.
  [[nodiscard]] void* reserve(Lane& lane);
  Flight& at(void* token) noexcept;
  /// Null if it belongs to a lane that is gone.
  [[nodiscard]] Flight* find(void* token) noexcept;
  void finish(void* token) noexcept;
  void drop(const Lane& lane) noexcept;
  /// How many requests of the lane the provider has, buffers aside.
  [[nodiscard]] std::size_t under_way(const Lane& lane) const noexcept;

 private:
  void clear(std::uint32_t place) noexcept;
  std::deque<Flight> flights_;
  std::vector<std::uint32_t> free_;
};

class Lane {
 public:
  enum class State : std::uint8_t {
    calling,    ///< asked for; the other side has not answered
    answering,  ///< the other side asked; not up yet
    up,
    closing,  ///< nothing is heard any more; the last words are on their way
  };
  struct Registration {
    RegionKey region;
    OwnRegion* memory = nullptr;
    Access access = Access::read;
    Handle<fid_mr> handle;
  };

  Lane(State state, NodeId node, Handle<fid_ep> endpoint, Flights& flights, std::size_t inject_bytes);
  ~Lane();
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  /// Gives the provider all buffers. Errors: resource.
  [[nodiscard]] Result<void> start_receiving();
  /// One buffer's bytes were taken.
  void receive_again(void* token);
  [[nodiscard]] std::span<const std::byte> received(const Request& buffer, std::size_t bytes) const noexcept;

  /// Takes it, now or later, in order. What the provider refuses for good breaks the lane.
  void post(Request request);
  /// Offers what waits. Returns whether anything was taken.
  bool flush();
  [[nodiscard]] bool waits() const noexcept { return !waiting_.empty(); }

  /// From here on the provider touches no memory of its operations.
  void close();

  [[nodiscard]] fid_ep& endpoint() noexcept { return *endpoint_; }
  [[nodiscard]] const std::optional<std::string>& broken() const noexcept { return broken_; }
  void break_down(std::string why);
  /// Of a lane that broke or that the peer has left, for people.
  [[nodiscard]] std::string end_reason() const { return goodbye ? "closed the connection" : broken_.value_or(""); }

  State state;
  const NodeId node;
  PeerId peer;                     ///< once up
  std::uint64_t incarnation = 0;   ///< of the other endpoint; while calling, of the last one that called and was turned away
  std::uint64_t peer_attempt = 0;  ///< its attempts up to this one are over
  Time heard{};
  Time deadline{};                                             ///< calling, answering, closing: when it is given up
  bool goodbye = false;                                        ///< the peer said it
  std::unordered_map<RegionKey, Exposure> exposed;             ///< by the peer
  std::unordered_map<std::uint64_t, Registration> registered;  ///< for the peer, by remote key
  std::vector<Event> early;                                    ///< came before it was up
  std::size_t unheard = 0;                                     ///< messages that wait for the caller
  std::vector<void*> held;  ///< buffers kept back while the caller takes none of its messages

 private:
  [[nodiscard]] bool offer(Request& request);
  [[nodiscard]] long pass_on(const Request& request, void* token);

  Handle<fid_ep> endpoint_;
  Flights& flights_;
  const std::size_t inject_bytes_;
  std::unique_ptr<std::byte[]> buffers_;
  std::deque<Request> waiting_;
  std::size_t waiting_bytes_ = 0;
  std::optional<std::string> broken_;
};

}  // namespace spindrift::fabric::ofi
