// The connected half of a device: one listener, and reliable connections that rdma_cm makes.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <spindrift/fabric/verbs/device.hpp>
#include <spindrift/kernel/answered_calls.hpp>
#include <spindrift/kernel/verbs/inbox.hpp>
#include <spindrift/kernel/verbs/name.hpp>
#include <spindrift/kernel/verbs/send_queue.hpp>

namespace spindrift::kernel::verbs {

using fabric::verbs::Handle;

/// What every queue pair of a device may look at; outlives them.
struct Ground {
  DeviceSizes sizes;
  Duration answer_max{};
  const Clock* clock = nullptr;
  OwnMemory memory;
  std::unique_ptr<fabric::verbs::Device> adapter;
  std::uint32_t lives = 0;  ///< given out to queue pairs, never twice

  [[nodiscard]] std::uint32_t new_life() noexcept { return ++lives; }
};

/// What comes back with a completion: which queue pair, and which of its requests or buffers.
struct Token {
  std::uint32_t life = 0;  ///< below 2^31
  bool receive = false;
  std::uint32_t which = 0;
};
[[nodiscard]] constexpr std::uint64_t encode(const Token& token) noexcept {
  return std::uint64_t{token.life} << 33U | std::uint64_t{token.receive ? 1U : 0U} << 32U | token.which;
}
[[nodiscard]] constexpr Token decode_token(std::uint64_t word) noexcept {
  return {static_cast<std::uint32_t>(word >> 33U), (word >> 32U & 1U) != 0, static_cast<std::uint32_t>(word)};
}

/// The token that a caller's private data carry (untrusted); nothing if they are of another protocol.
[[nodiscard]] std::optional<std::uint64_t> token_said(std::span<const std::byte> said) noexcept;

class Connections;
class VerbsDevice;

/// One reliable connection.
class Connected final : public PhysicalQueuePair {
 public:
  Connected(VerbsDevice& device, Connections& connections, Ground& ground, bool calls);
  ~Connected() override;

  [[nodiscard]] bool connectionless() const noexcept override { return false; }
  [[nodiscard]] std::size_t post(std::span<const PhysicalOperation> operations) override;
  [[nodiscard]] std::size_t poll(std::span<PhysicalEvent> events) override;
  [[nodiscard]] std::size_t take(std::span<PhysicalEvent> events) override { return queue_.events().take(events); }
  void give_back(std::uint64_t buffer) override { inbox_.give_back(buffer); }
  [[nodiscard]] Result<void> reset() override;

  /// The identity that it is made of: own, or a caller's.
  void set_identity(Handle<rdma_cm_id> id) noexcept { id_ = std::move(id); }
  [[nodiscard]] rdma_cm_id* id() noexcept { return id_.get(); }
  /// Makes the queue pair, with its buffers. Errors: resource.
  [[nodiscard]] Result<void> make_queue_pair();
  /// Events of a connection that it calls.
  void on_way_found(rdma_cm_event_type how_far, std::uint64_t token);
  void on_established();
  void on_completion(const Token& token, const ibv_wc& completion);
  /// Every operation under way is told as over; the queue pair goes, and with it the peer's last way in.
  void break_down(std::string reason, Status status);
  void progress(Time now);
  /// Its silence counts from now on.
  void excuse(Time now) noexcept { heard_ = now; }

  [[nodiscard]] std::uint32_t life() const noexcept { return life_; }
  [[nodiscard]] bool up() const noexcept { return state_ == State::up; }
  [[nodiscard]] bool broken() const noexcept { return state_ == State::broken; }
  [[nodiscard]] bool calls() const noexcept { return calls_; }
  [[nodiscard]] bool has_events() const noexcept { return !queue_.events().empty(); }
  [[nodiscard]] Time next_look() const noexcept;

 private:
  enum class State : std::uint8_t { connecting, up, broken };

  void give_buffers();
  void shut() noexcept;

  VerbsDevice& device_;
  Connections& connections_;
  Ground& ground_;
  const std::uint32_t life_;
  const bool calls_;
  State state_ = State::connecting;
  SendQueue queue_;
  Inbox inbox_;
  std::vector<Request> requests_;  ///< while a list is posted
  Time heard_{};
  Handle<ibv_mr> headers_registered_;
  Handle<ibv_mr> inbox_registered_;
  Handle<rdma_cm_id> id_;
  bool has_queue_pair_ = false;
};

class Connections {
 public:
  Connections(VerbsDevice& device, Ground& ground) : device_(device), ground_(ground) {}

  /// Errors: bad_argument (another family), resource.
  [[nodiscard]] Result<std::unique_ptr<PhysicalQueuePair>> connect(const Name& peer, std::uint64_t token);
  [[nodiscard]] Device::Accepted accepted() { return calls_.take(); }
  /// Takes what rdma_cm reports.
  void take_reports();
  void progress(Time now);
  void remove(std::uint32_t life) { all_.erase(life); }
  [[nodiscard]] Connected* find(std::uint32_t life) noexcept;
  [[nodiscard]] bool quiet() const noexcept;
  [[nodiscard]] Time next_look() const noexcept;

 private:
  void on_request(Handle<rdma_cm_id> id, std::span<const std::byte> said);

  VerbsDevice& device_;
  Ground& ground_;
  std::map<std::uint32_t, Connected*> all_;        // by life
  std::map<std::uint32_t, std::uint64_t> tokens_;  // of calls that are on their way, by life
  AnsweredCalls<Connected> calls_;
  Time last_progress_{};
};

}  // namespace spindrift::kernel::verbs
