// One queue pair: operations on their way to one peer, those that wait until there is space, the peer's rights, and buffers
// for what comes.
//
// The invariant to remember: requests are handed to the device in the order of `post`, and they end in that order too, so
// one completion tells of all before it.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include <spindrift/fabric/connected/backlog.hpp>
#include <spindrift/fabric/connected/connection.hpp>
#include <spindrift/fabric/fabric.hpp>
#include <spindrift/fabric/verbs/credits.hpp>
#include <spindrift/fabric/verbs/device.hpp>

namespace spindrift::fabric::verbs {

/// What is asked of the device.
struct VerbsRequest {
  enum class Kind : std::uint8_t {
    write,
    read,
    send,
    bind,  ///< gives the window its rights; what is posted later comes later
    tell,  ///< of buffers and of news: a write of nothing, with immediate data
    mark,  ///< has a completion, does nothing else: a write of nothing
  };
  Kind kind = Kind::write;
  bool signaled = false;  ///< the caller wants a `completed`
  bool more = false;      ///< a send that goes on in the next one
  bool copied = false;    ///< `local` is the caller's and may change after the post
  std::byte* local = nullptr;
  std::uint32_t bytes = 0;
  std::uint64_t address = 0;
  std::uint32_t remote_key = 0;
  std::uint64_t context = 0;
  std::vector<std::byte> owned{};          ///< holds the bytes, if this is not empty
  connected::OwnRegion* region = nullptr;  ///< that holds `local`, counted in its `reading`; of a bind: what is opened
  ibv_mw* window = nullptr;                ///< of a bind
  Access access = Access::read;            ///< of a bind
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
    std::uint32_t bytes = 0;
    std::uint64_t told_bytes = 0;  ///< of own regions, whose end this one's completion tells
  };

  QueuePair(const connected::PeerCall& call, std::uint32_t its_number, Device& device, Handle<rdma_cm_id> id,
            const connected::GreetingBytes& greeting);
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
  void taken(std::uint32_t buffer);

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
  void resume() override;
  void mark() override;
  void forget(const connected::OwnRegion& region) override { sources_.erase(&region); }

  [[nodiscard]] rdma_cm_id& id() noexcept { return *id_; }
  /// What this side says to the other when the connection is made.
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

  static constexpr std::size_t batch_max = 32;

  Device& device_;
  const connected::GreetingBytes greeting_;
  Handle<ibv_pd> own_domain_;  ///< where rights are not given by windows
  std::unique_ptr<std::byte[]> buffers_;
  std::unique_ptr<std::byte[]> staging_memory_;
  Handle<ibv_mr> buffers_registered_;
  Handle<ibv_mr> staging_registered_;
  std::unordered_map<const connected::OwnRegion*, Handle<ibv_mr>> sources_;  ///< in the own domain
  Handle<rdma_cm_id> id_;
  bool has_queue_pair_ = false;

  Credits credits_;
  Staging staging_;
  std::uint32_t sequence_ = 0;         ///< of the last request that the device has
  std::uint32_t unsignaled_ = 0;       ///< requests since the last that has a completion
  std::uint64_t untold_bytes_ = 0;     ///< theirs, of own regions
  std::uint64_t staged_signaled_ = 0;  ///< where the staging of that one ended
  bool news_owed_ = false;             ///< the target was not told of a write, for want of a buffer there
  std::deque<Flight> flights_;
  std::array<ibv_send_wr, batch_max> batch_{};
  std::array<ibv_sge, batch_max> pieces_{};
  std::size_t batched_ = 0;
  connected::Backlog<VerbsRequest> backlog_;
  std::vector<std::uint32_t> returned_;  ///< buffers that the next flush gives to the device
  std::vector<std::uint32_t> held_;      ///< buffers kept back while the caller takes none of its messages
  std::vector<std::byte> message_;       ///< what came of one that goes on
  bool message_over_ = true;
};

/// What a completion carries back: whose it is, and of which request or buffer.
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

/// Of one message; a longer one goes in several.
inline constexpr std::uint32_t buffer_bytes = 4096;
/// Of one operation whose bytes are staged.
inline constexpr std::uint32_t staged_bytes_max = 32768;

}  // namespace spindrift::fabric::verbs
