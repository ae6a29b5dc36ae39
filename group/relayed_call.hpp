// A call that a member makes for a client outside of its group: it keeps the answer as the bytes that travel on, and tells
// when there is one, or will be none.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include <spindrift/core/result.hpp>
#include <spindrift/group/client_messages.hpp>
#include <spindrift/group/replicated_call.hpp>

namespace spindrift::replicated {

/// Threads: as ReplicatedCall; `answer` any.
class RelayedCall final : public ReplicatedCall {
 public:
  /// `way`: with `logged` it is answered once it is durable. `on_answer` is called once, from whatever thread: it must not
  /// wait, throw, or use the call.
  RelayedCall(std::shared_ptr<const group::HandlerThreads> handlers, CallWay way, std::function<void()> on_answer)
      : ReplicatedCall(std::move(handlers), way), on_answer_(std::move(on_answer)), durably_(way == CallWay::logged) {}

  [[nodiscard]] bool keeps_bytes() const noexcept override { return true; }
  /// After `on_answer`, once.
  [[nodiscard]] clients::MemberAnswer answer();

 private:
  bool store_bytes(bool threw, std::span<const std::byte> bytes) override;
  void store_value(NodeId from, std::span<const std::byte> bytes) override;
  void store_thrown(NodeId from, std::exception_ptr thrown) override;
  void store_lost(NodeId) override {}
  void store_place(const MessagePlace& place) override;
  void on_stage(CallStage stage) override;
  void on_ended(const Error& why) override;
  void tell();

  const std::function<void()> on_answer_;
  const bool durably_;
  bool told_ = false;  // this and the rest, with the mutex held
  std::optional<clients::MemberAnswer> answer_;
};

}  // namespace spindrift::replicated
