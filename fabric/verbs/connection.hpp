// One queue pair: operations on their way to one peer, those that wait until there is space, the peer's rights, and buffers
// for what comes.
//
// The invariant to remember: requests are handed to the device in the order of `post`, and they end in that order too, so
// one completion tells of all before it.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include <spindrift/fabric/connected/backlog.hpp>
#include <spindrift/fabric/connected/transport.hpp>
#include <spindrift/fabric/fabric.hpp>
#include <spindrift/fabric/verbs/credits.hpp>
#include <spindrift/fabric/verbs/device.hpp>

namespace spindrift::fabric::verbs {

/// A request to the device. `region` holds `local`, or is what a bind opens; `more` marks a send that goes on in the
/// next.
struct VerbsRequest : connected::Transfer {
  enum class Kind : std::uint8_t {
    write,
    read,
    send,
    bind,  ///< gives the window its rights; what is posted later comes later
    tell,  ///< of buffers and of news: a write of nothing, with immediate data
    mark,  ///< has a completion, does nothing else: a write of nothing
  };
  Kind kind = Kind::write;
  std::vector<std::byte> owned{};  ///< holds the bytes, if this is not empty
  ibv_mw* window = nullptr;        ///< of a bind
  Access access = Access::read;    ///< of a bind
};

/// The token that a completion carries back: it names the queue pair, and the request or buffer.
struct Token {
  std::uint32_t queue_pair = 0;  ///< at most 2^31 - 1
  bool receive = false;
  std::uint32_t which = 0;
};
[[nodiscard]] constexpr std::uint64_t encode(const Token& token) noexcept {
  return std::uint64_t{token.queue_pair} << 33U | std::uint64_t{token.receive ? 1U : 0U} << 32U | token.which;
}
[[nodiscard]] constexpr Token decode_token(std::uint64_t word) noexcept {
  return {static_cast<std::uint32_t>(word >> 33U), (word >> 32U & 1U) != 0, static_cast<std::uint32_t>(word)};
}

/// The size of the buffer of one message; a longer message goes in several.
inline constexpr std::uint32_t buffer_bytes = 4096;
/// The most bytes of one operation that are staged.
inline constexpr std::uint32_t staged_bytes_max = 32768;

/// Memory of a connection that the device knows.
struct RegisteredBytes {
  std::unique_ptr<std::byte[]> bytes;
  Handle<ibv_mr> registered;

  /// Errors: resource.
  [[nodiscard]] Result<void> open(Device& device, ibv_pd& domain, std::size_t size);
};

/// Buffers for what comes, and the message that is put together out of them.
class MessageBuffers {
 public:
  /// Errors: resource.
  [[nodiscard]] Result<void> open(Device& device, ibv_pd& domain);
  /// Gives the device all that were returned, of the queue pair of that number; how many. Errors: resource.
  [[nodiscard]] Result<std::uint32_t> give(ibv_qp& queue_pair, std::uint32_t number);
  /// The bytes of one were taken: it goes to the device with the next `give`, or is held back until `resume`.
  void taken(std::uint32_t buffer, bool hold) { (hold ? held_ : returned_).push_back(buffer); }
  void resume();
  /// Adds a filled one, and returns the whole message if that was its end; nothing if `more` follows. Errors: bad_input (a
  /// message that never ends).
  [[nodiscard]] Result<std::optional<std::span<const std::byte>>> add(std::uint32_t buffer, std::uint32_t bytes, bool more);
  void close() noexcept { memory_.registered.reset(); }

 private:
  RegisteredBytes memory_;
  std::vector<std::uint32_t> returned_;
  std::vector<std::uint32_t> held_;  ///< kept back while the caller takes none of its messages
  std::vector<std::byte> message_;   ///< what came of one that goes on
  bool message_over_ = true;
};

/// The requests that are about to be handed to the device with one doorbell.
class RequestBatch {
 public:
  RequestBatch() {
    works_.reserve(most);
    pieces_.reserve(most);
  }
  [[nodiscard]] bool full() const noexcept { return works_.size() == most; }
  [[nodiscard]] bool empty() const noexcept { return works_.empty(); }
  void add(const ibv_send_wr& work, const ibv_sge& piece) {
    works_.push_back(work);
    pieces_.push_back(piece);
  }
  void clear() noexcept {
    works_.clear();
    pieces_.clear();
  }
  /// The last write that can tell the target of news; null if a message does, or there is none.
  [[nodiscard]] ibv_send_wr* news_carrier() noexcept;
  /// Rings; empty then. Errors: resource.
  [[nodiscard]] Result<void> post(ibv_qp& queue_pair);

 private:
  static constexpr std::size_t most = 32;
  std::vector<ibv_send_wr> works_;
  std::vector<ibv_sge> pieces_;
};

class QueuePair final : public connected::Connection {
 public:
  /// A request that the device has.
  struct Flight {
    std::uint32_t sequence = 0;
    bool signaled = false;
    std::uint64_t context = 0;
    connected::OwnRegion* region = nullptr;
    std::uint64_t staged_end = 0;
    std::byte* filled = nullptr;  ///< of a read into memory that is not registered: where its bytes go
    const std::byte* staged = nullptr;
    std::size_t bytes = 0;
    std::uint64_t told_bytes = 0;  ///< of own regions, whose end this one's completion tells
  };

  QueuePair(const connected::Opening& opening, std::uint32_t its_number, Device& device, Handle<rdma_cm_id> id);
  ~QueuePair() override { close(); }

  /// Makes the queue pair and gives it all buffers. Errors: resource.
  [[nodiscard]] Result<void> open();

  /// The request of that number is over, and with it all before it: the next one of these, until there is none.
  [[nodiscard]] std::optional<Flight> take_finished(std::uint32_t sequence);

  /// A buffer was filled, or only used up if `message` is false. Takes what its immediate data say; what came, if that was
  /// the end of a message. The bytes stay until the next call.
  [[nodiscard]] std::optional<std::span<const std::byte>> received(std::uint32_t buffer, std::uint32_t bytes,
                                                                   std::uint32_t immediate, bool message);
  /// The bytes of one buffer were taken: it is given to the device again, or held back while the caller takes none.
  void taken(std::uint32_t buffer) { buffers_.taken(buffer, full()); }

  /// In as many parts as it takes.
  void send(std::span<const std::byte> message, bool signaled, std::uint64_t context) override;
  void transfer(const connected::Transfer& transfer) override;
  /// Hands over what was taken, with one doorbell. The last write carries news for the target, unless a message follows.
  void ring() override;
  /// Its own side's right to hand the region to the device.
  [[nodiscard]] Result<void> prepare(connected::OwnRegion& region) override { return make_source(region); }
  /// Takes what waits and fits, tells the peer what it may be in want of, gives buffers back, rings.
  void flush() override;
  [[nodiscard]] bool idle() const noexcept override { return backlog_.empty() && flights_.empty(); }
  /// The queue pair is destroyed.
  void close() override;
  void resume() override { buffers_.resume(); }
  void mark() override;
  void forget(const connected::OwnRegion& region) override { sources_.erase(&region); }

  [[nodiscard]] rdma_cm_id& id() noexcept { return *id_; }
  /// This side's greeting to the other when the connection is made.
  [[nodiscard]] const connected::GreetingBytes& greeting() const noexcept { return greeting_; }

  /// The window is about to go: a bind of it that still waits does nothing.
  void unbind(const ibv_mw* window);

  const std::uint32_t number;  ///< of this queue pair alone, in the endpoint's life

 private:
  [[nodiscard]] Result<Right> give_right(connected::OwnRegion& region, Access access) override;
  /// Takes it, now or later, in order; `local` stays until the next `ring`.
  void post(VerbsRequest request);
  [[nodiscard]] Result<void> make_source(connected::OwnRegion& region);
  [[nodiscard]] bool offer(VerbsRequest& request);
  [[nodiscard]] bool stage(const VerbsRequest& request, Flight& flight, ibv_send_wr& work, ibv_sge& piece);
  void describe(const VerbsRequest& request, ibv_send_wr& work);
  [[nodiscard]] std::uint32_t key_of(const connected::OwnRegion& region) const;
  void carry_news();
  void give_buffers();
  [[nodiscard]] ibv_pd& domain() noexcept { return own_domain_ ? *own_domain_ : device_.domain(); }
  [[nodiscard]] bool has_queue_pair() const noexcept { return id_ != nullptr && id_->qp != nullptr; }
  [[nodiscard]] bool completion_is_due() const noexcept;

  /// Counts of the requests since the last that has a completion.
  struct Untold {
    std::uint32_t count = 0;
    std::uint64_t bytes = 0;         ///< of own regions
    std::uint64_t staged_begin = 0;  ///< where the staging of that one ended
  };

  Device& device_;
  const connected::GreetingBytes greeting_;
  Handle<ibv_pd> own_domain_;  ///< where rights are not given by windows
  MessageBuffers buffers_;
  RegisteredBytes staged_;
  std::unordered_map<const connected::OwnRegion*, Handle<ibv_mr>> sources_;  ///< in the own domain
  Handle<rdma_cm_id> id_;

  Credits credits_;
  Staging staging_;
  Untold untold_;
  bool news_owed_ = false;  ///< the target was not told of a write, for want of a buffer there
  std::deque<Flight> flights_;
  std::uint32_t sequence_ = 0;  ///< of the last request that the device has
  RequestBatch batch_;
  connected::Backlog<VerbsRequest> backlog_;
};

}  // namespace spindrift::fabric::verbs
