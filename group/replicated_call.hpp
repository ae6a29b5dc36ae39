// One call of a replicated method, between the threads that wait for it and the poller, which learns how it goes.
//
// To remember: a call outlives its group. Whatever has not happened when the group ends, never will, and waiting for it
// throws.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <spindrift/core/clock.hpp>
#include <spindrift/core/ids.hpp>
#include <spindrift/core/result.hpp>
#include <spindrift/group/handler_threads.hpp>
#include <spindrift/group/observation.hpp>
#include <spindrift/group/replica_refusal.hpp>
#include <spindrift/group/replicated_bytes.hpp>

namespace spindrift::replicated {

/// The stages of a call that a caller may wait for.
enum class CallStage {
  delivered,  ///< applied at the caller's own replica
  answered,   ///< every replica has answered or is lost
  stable,     ///< applied at every replica of the view
  durable,    ///< on the disks of all members of the subgroup, which has to be logged
};

/// An answer larger than a private message comes in pieces. At most so many bytes: what a peer can make its caller hold.
inline constexpr std::uint64_t answer_bytes_max = std::uint64_t{1} << 30;

/// The pieces of one replica's answer that have come so far.
struct PartedAnswer {
  NodeId from;
  bool threw = false;
  std::uint64_t left = 0;
  std::vector<std::byte> bytes{};
  /// Throws BadBytes: the piece is not the next one.
  void add(bool piece_threw, std::uint64_t left_then, std::span<const std::byte> piece);
};

/// The way of a call to the replicas that run it.
enum class CallWay : std::uint8_t {
  ordered,  ///< by a multicast: no replica refuses it
  logged,   ///< the same, in a logged subgroup: what is delivered becomes durable
  chosen,   ///< a query of chosen replicas, by private messages or the order: who is asked may refuse it
};

/// The part that does not depend on the result's type. Threads: any.
class ReplicatedCall {
 public:
  explicit ReplicatedCall(std::shared_ptr<const group::HandlerThreads> handlers, CallWay way = CallWay::ordered)
      : handlers_(std::move(handlers)), way_(way) {}
  virtual ~ReplicatedCall() = default;
  ReplicatedCall(const ReplicatedCall&) = delete;
  ReplicatedCall& operator=(const ReplicatedCall&) = delete;

  // For those who wait. `limit`: how long; none waits for ever. Throws would_block on a thread of handlers, timed_out, the
  // reason for the group's end if the stage was not reached before it, and bad_argument: calls of this way become durable
  // nowhere.
  void wait(CallStage stage, std::optional<Duration> limit) const;
  [[nodiscard]] bool reached(CallStage stage) const;

  // For the poller.

  /// The next piece of a replica's answer, of which `left` bytes follow. False: it had answered already, or is not one that
  /// should. Throws BadBytes.
  [[nodiscard]] bool on_answer(NodeId from, bool threw, std::uint64_t left, std::span<const std::byte> piece);
  /// A replica does not run it, for that reason. False: it had answered already, or is not one that may refuse. Any thread.
  [[nodiscard]] bool on_refusal(NodeId from, const Error& why);
  /// The own replica's answer to a client's request, as the bytes that every replica keeps of it; or why there is none.
  /// Before on_delivery.
  void on_own_result(NodeId self, bool threw, std::span<const std::byte> bytes);
  void on_own_refusal(NodeId self, std::exception_ptr why);
  /// Whether on_own_result is called for any method, and not for a client's request alone.
  [[nodiscard]] virtual bool keeps_bytes() const noexcept { return false; }
  /// It was carried out at that place of the order. Before on_delivery.
  void on_place(const MessagePlace& place);
  /// Applied here, or on its way as a query; `others` are the replicas that will answer. Any thread, for a query.
  void on_delivery(std::span<const NodeId> others);
  void on_stable();
  void on_durable();
  /// A node that is not among `members` will not answer any more, nor will one among `anew`: its process is another now, or
  /// gets the state, which may have the call in it.
  void on_view(std::span<const NodeId> members, std::span<const NodeId> anew);
  /// The group has ended.
  void on_end(const Error& why);

 protected:
  [[nodiscard]] std::mutex& mutex() const noexcept { return mutex_; }

 private:
  // All with the mutex held.
  virtual void store_value(NodeId from, std::span<const std::byte> bytes) = 0;
  virtual void store_thrown(NodeId from, std::exception_ptr thrown) = 0;
  virtual void store_lost(NodeId node) = 0;
  /// The own replica's answer as bytes. False: it is wanted as a value.
  virtual bool store_bytes(bool /*threw*/, std::span<const std::byte> /*bytes*/) { return false; }
  virtual void store_place(const MessagePlace& /*place*/) {}
  /// The poller tells these, beside those who wait.
  virtual void on_stage(CallStage /*stage*/) {}
  virtual void on_ended(const Error& /*why*/) {}
  [[nodiscard]] bool reached_unlocked(CallStage stage) const noexcept;
  void store(NodeId from, bool threw, std::span<const std::byte> bytes);

  std::shared_ptr<const group::HandlerThreads> handlers_;
  const CallWay way_;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  bool delivered_ = false;
  bool stable_ = false;
  bool durable_ = false;
  std::optional<Error> ended_;
  std::vector<NodeId> answered_;
  std::vector<NodeId> awaited_;  // once delivered
  std::vector<NodeId> lost_;     // not awaited any more; what they still say is no fault of theirs
  std::vector<PartedAnswer> parted_;  // begun, and not whole
};

/// The result of a method that returns nothing.
struct Nothing {};

template <class R>
using Stored = std::conditional_t<std::is_void_v<R>, Nothing, R>;

/// One replica's answer. All parts are there at any time: compilers that look into a variant of them warn of what is not.
template <class R>
struct Answer {
  enum class Kind : std::uint8_t {
    lost,      ///< none: the replica was
    returned,  ///< `value`
    threw,     ///< `thrown`
  };
  Kind kind = Kind::lost;
  Stored<R> value{};
  std::exception_ptr thrown{};
};

template <class R>
class CallOf final : public ReplicatedCall {
 public:
  using ReplicatedCall::ReplicatedCall;

  /// The own replica's answer, straight from the method. Before on_delivery.
  void on_own_answer(NodeId self, Answer<R> answer) {
    const std::lock_guard lock(mutex());
    answers_.insert(answers_.begin(), {self, std::move(answer)});
  }
  /// After CallStage::delivered.
  [[nodiscard]] Answer<R> own_answer() const {
    const std::lock_guard lock(mutex());
    return answers_.front().second;
  }
  /// After CallStage::answered.
  [[nodiscard]] std::vector<std::pair<NodeId, Answer<R>>> answers() const {
    const std::lock_guard lock(mutex());
    return answers_;
  }

 private:
  void store_value(NodeId from, std::span<const std::byte> bytes) override {
    Stored<R> value{};
    if constexpr (std::is_void_v<R>) {
      if (!bytes.empty()) throw BadBytes("a result of a method without results");
    } else {
      take(bytes, value);
    }
    answers_.emplace_back(from, Answer<R>{Answer<R>::Kind::returned, std::move(value)});
  }
  void store_thrown(NodeId from, std::exception_ptr thrown) override {
    answers_.emplace_back(from, Answer<R>{Answer<R>::Kind::threw, {}, std::move(thrown)});
  }
  void store_lost(NodeId node) override { answers_.emplace_back(node, Answer<R>()); }

  std::vector<std::pair<NodeId, Answer<R>>> answers_;  // the own one first, once delivered
};

/// The place of a delivered call.
struct CallPlace {
  MessagePlace at;                            ///< of the message that carried it
  std::optional<SequenceNumber> sequence;     ///< in the order of the current view; nothing: of an earlier one, so stable
  std::optional<std::uint64_t> version = {};  ///< in the log; nothing: there is none
};

/// The open calls of one replica. Threads: any.
class OpenCalls {
 public:
  OpenCalls();

  /// Throws the reason for the end after it.
  [[nodiscard]] std::uint64_t add(std::shared_ptr<ReplicatedCall> call);
  void drop(std::uint64_t id);
  /// The same for a call that `of` alone answers. Nothing: that node is not in the subgroup, and the call not open.
  [[nodiscard]] std::optional<std::uint64_t> add_at(std::shared_ptr<ReplicatedCall> call, NodeId of);
  /// A query of `of`, or of all members of the subgroup. Those members that are to be asked are returned and will answer, or
  /// be lost; nobody is asked for an id of 0. Throws as `add`.
  struct Queried {
    std::uint64_t id = 0;
    std::vector<NodeId> members{};
  };
  [[nodiscard]] Queried add_query(const std::shared_ptr<ReplicatedCall>& call, std::optional<NodeId> of);
  /// Null if there is none: it was given up.
  [[nodiscard]] std::shared_ptr<ReplicatedCall> find(std::uint64_t id) const;

  // For the poller.

  void on_delivery(std::uint64_t id, const CallPlace& place, std::span<const NodeId> others);
  /// It was delivered, or has an answer more.
  void forget_if_done(std::uint64_t id);
  void on_stable(SequenceNumber frontier);
  /// Calls of lower versions are durable at all members.
  void on_durable(std::uint64_t version);
  /// Before the first view, any thread.
  void begin(std::span<const NodeId> members);
  void on_view(std::span<const NodeId> members, std::span<const NodeId> anew);
  void on_end(const Error& why);

 private:
  struct Open {
    std::uint64_t id;
    std::shared_ptr<ReplicatedCall> call;
  };
  struct Unstable {
    SequenceNumber sequence;
    std::weak_ptr<ReplicatedCall> call;
  };
  struct Undurable {
    std::uint64_t version;
    std::weak_ptr<ReplicatedCall> call;
  };

  mutable std::mutex mutex_;
  std::vector<Open> open_;            // by id, which grows
  std::vector<Unstable> unstable_;    // by sequence number, of the current view
  std::vector<Undurable> undurable_;  // by version
  std::uint64_t durable_ = 0;         // all of lower versions are; as last told
  std::vector<NodeId> members_;       // of the subgroup
  std::uint64_t next_id_;
  std::optional<Error> ended_;
};

}  // namespace spindrift::replicated
