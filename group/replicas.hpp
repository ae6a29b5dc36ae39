// The replicated objects of a group. Each takes the place of one subgroup's handlers.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <spindrift/core/result.hpp>
#include <spindrift/core/view.hpp>
#include <spindrift/group/channel.hpp>
#include <spindrift/group/object_copy.hpp>
#include <spindrift/group/private_post.hpp>
#include <spindrift/group/replicated_core.hpp>
#include <spindrift/views/member.hpp>

namespace spindrift::group {

/// Gives an object the first of these messages of its log, until that time is over, and at least one. Returns how many.
std::size_t replay_for(Duration most, ReplicaBase& object, std::span<const Delivery> batch, const Clock& clock);

class Replicas {
 public:
  /// `once` makes the program's object; `again` another one that is the same as that was then. Null: that cannot be made.
  struct Maker {
    ObjectMaker once;
    ObjectMaker again;
  };

  explicit Replicas(PrivatePost& post);
  ~Replicas();

  /// Any thread. `channel` is what the object has of its group. Throws bad_argument: the subgroup has handlers, or is
  /// unordered; unsupported: the subgroup has a state, which the object's type cannot take.
  ReplicaBase& attach(Channel& subgroup, std::unique_ptr<ReplicaChannel> channel, const Maker& make);

  /// The object of that subgroup that the program offers to clients; null: there is none. Lives as long as this. Any thread.
  [[nodiscard]] replicated::RelayedObject* offered(std::string_view subgroup) const;

  // The poller.
  [[nodiscard]] bool any() const noexcept { return any_.load(std::memory_order_seq_cst); }
  /// `logged` is null where no subgroup is.
  void on_view(const NewView& news, const views::Member& member, const LoggedSubgroups* logged);
  /// Before the first message of the log: as ObjectCheckpoints::begins, and true where no object is.
  [[nodiscard]] bool begins(SubgroupId id);
  /// The use that this program makes of that subgroup's log.
  [[nodiscard]] LoggedSubgroups::Use use_of(SubgroupId id) const;
  /// Messages of the log, as many as take little time, and at least one. Returns how many; nothing: that subgroup carries
  /// no object here.
  [[nodiscard]] std::optional<std::size_t> replay(SubgroupId id, std::span<const Delivery> batch, const Clock& clock);
  void on_durable(SubgroupId id, std::uint64_t version);
  /// Tells each what has become stable in its subgroup, and that the state is here.
  void on_pass(const views::Member& member);
  /// Answers queries that wait, as far as there is room for their answers. When answers have been posted.
  void answer_waiting();
  /// A private message with a replica's tag, or a query's.
  void on_private(std::uint64_t tag, NodeId from, std::span<const std::byte> message);
  void on_end(const Error& why);
  /// Once the poller has ended: no thread makes a checkpoint any more when this returns. It would use its channel.
  void end_checkpoints() noexcept;
  /// Why this member has to leave: a state came that an object cannot take.
  [[nodiscard]] const std::optional<Error>& refusal() const noexcept { return refusal_; }

 private:
  struct Replica;
  void require_way_in(const ReplicaBase& object, const Maker& make, const Channel& subgroup) const;
  [[nodiscard]] std::vector<Replica*> all() const;
  void on_query(SubgroupId id, NodeId from, std::span<const std::byte> message);

  PrivatePost& post_;
  std::atomic<bool> any_{false};
  std::optional<Error> refusal_;  // the poller's
  mutable std::mutex mutex_;
  // Behind the mutex. The list only grows.
  std::vector<std::unique_ptr<Replica>> replicas_;
  std::vector<replicated::ReplicaMembers> members_;  // by subgroup
  std::vector<bool> loading_;  // by subgroup, as of the view's beginning: it ends when a handler has been set
  std::optional<Error> ended_;
};

}  // namespace spindrift::group
