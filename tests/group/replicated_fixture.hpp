// Several replicas in one process: a channel whose order the test decides, message by message.
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <spindrift/group/replicated.hpp>
#include <spindrift/views/versions.hpp>

/// Stands for a group. A thread that calls `deliver…` is the poller of all members meanwhile.
template <class T>
class ReplicaFixture {
 public:
  struct Sent {
    spindrift::NodeId from;
    spindrift::NodeId to;
    std::vector<std::byte> bytes;
  };

  /// The node that a member accuses, and its fault.
  struct Fault {
    spindrift::NodeId node;
    std::string what;
  };

  class Channel final : public spindrift::ReplicaChannel {
   public:
    Channel(ReplicaFixture& fixture, spindrift::NodeId self) : fixture_(fixture), self_(self) {}
    void send_ordered(std::span<const std::byte> message) override {
      const std::lock_guard lock(fixture_.mutex_);
      if (message.size() > fixture_.message_bytes_max) {
        throw spindrift::Exception(spindrift::Error(spindrift::ErrorKind::bad_argument, "too long"));
      }
      fixture_.ordered_.push_back({self_, {}, {message.begin(), message.end()}});
    }
    [[nodiscard]] bool try_send_ordered(std::span<const std::byte> message) override {
      if (fixture_.window_full) return false;
      send_ordered(message);
      return true;
    }
    [[nodiscard]] std::size_t ordered_bytes_max() const noexcept override { return fixture_.message_bytes_max; }
    void send_private(spindrift::NodeId to, std::span<const std::byte> message) override {
      const std::lock_guard lock(fixture_.mutex_);
      if (message.size() > fixture_.message_bytes_max) {
        throw spindrift::Exception(spindrift::Error(spindrift::ErrorKind::bad_argument, "too long"));
      }
      fixture_.private_.push_back({self_, to, {message.begin(), message.end()}});
    }
    void send_query(spindrift::NodeId to, std::span<const std::byte> message) override {
      const std::lock_guard lock(fixture_.mutex_);
      fixture_.queries_.push_back({self_, to, {message.begin(), message.end()}});
    }
    [[nodiscard]] bool crowded() const noexcept override { return fixture_.crowded; }
    [[nodiscard]] std::size_t private_bytes_max() const noexcept override { return fixture_.message_bytes_max; }
    [[nodiscard]] spindrift::NodeId self() const noexcept override { return self_; }
    [[nodiscard]] const std::string& subgroup() const noexcept override { return fixture_.subgroup_; }
    [[nodiscard]] std::uint32_t spoken_version() const override { return fixture_.spoken; }
    [[nodiscard]] bool logged() const noexcept override { return fixture_.logged; }
    [[nodiscard]] std::uint64_t time_ns(std::uint64_t version) const override { return 1000 * (version + 1); }
    [[nodiscard]] std::uint64_t settled_ns(std::uint64_t version) const override { return 1000 * version + 500; }
    [[nodiscard]] const std::shared_ptr<const spindrift::group::HandlerThreads>& handler_threads() const noexcept override {
      return fixture_.handlers_;
    }
    void accuse(spindrift::NodeId node, const std::string& what) override { faults.push_back({node, what}); }

    std::vector<Fault> faults;

   private:
    ReplicaFixture& fixture_;
    spindrift::NodeId self_;
  };

  struct Member {
    std::unique_ptr<Channel> channel;
    std::unique_ptr<spindrift::ReplicaCore<T>> core;
    std::unique_ptr<spindrift::Replicated<T>> object;
    bool alive = true;
    spindrift::replicated::ReplicaMembers view{};
  };

  explicit ReplicaFixture(std::uint32_t count) {
    for (std::uint32_t node = 0; node < count; ++node) add(spindrift::NodeId(node));
    install_view();
  }

  void add(spindrift::NodeId node) {
    Member member;
    member.channel = std::make_unique<Channel>(*this, node);
    member.core = std::make_unique<spindrift::ReplicaCore<T>>(*member.channel);
    member.object = std::make_unique<spindrift::Replicated<T>>(*member.core);
    members.push_back(std::move(member));
  }

  /// `anew`: those that were in the view before, and are other processes now or get the state anew.
  void install_view(std::span<const spindrift::NodeId> anew = {}) {
    std::vector<spindrift::NodeId> alive;
    for (const Member& member : members) {
      if (member.alive) alive.push_back(member.channel->self());
    }
    sequence_ = 0;
    ++view_;
    for (Member& member : members) {
      if (member.alive) begin_view(member, alive, false, anew);
    }
  }
  /// A view of these nodes at one member alone.
  void begin_view(std::size_t which, std::span<const spindrift::NodeId> nodes, bool loading) {
    ++view_;
    begin_view(members[which], nodes, loading, {});
  }
  void fail(std::size_t which) {
    members[which].alive = false;
    install_view();
  }

  spindrift::Replicated<T>& operator[](std::size_t which) { return *members[which].object; }
  spindrift::ReplicaCore<T>& core(std::size_t which) { return *members[which].core; }

  /// Delivers everything that is under way, and what that sends.
  void deliver_all() {
    while (deliver_ordered() || deliver_query() || deliver_private()) {
    }
  }
  /// The next query. False: there is none.
  bool deliver_query() {
    Sent sent;
    if (!take(queries_, sent)) return false;
    for (Member& member : members) {
      if (member.channel->self() == sent.to && member.alive) member.core->on_query(sent.from, sent.bytes);
    }
    return true;
  }
  /// The next message of the order, at every live member. False: there is none.
  bool deliver_ordered() {
    Sent sent;
    if (!take(ordered_, sent)) return false;
    deliver_to_all(sent.from, sent.bytes);
    return true;
  }
  /// The next private message. False: there is none.
  bool deliver_private() {
    Sent sent;
    if (!take(private_, sent)) return false;
    for (Member& member : members) {
      if (member.channel->self() == sent.to && member.alive) member.core->on_private(sent.from, sent.bytes);
    }
    return true;
  }
  void deliver_to_all(spindrift::NodeId from, std::span<const std::byte> bytes) {
    const spindrift::Delivery delivery = next_delivery(from, bytes);
    for (std::size_t which = 0; which < members.size(); ++which) {
      if (members[which].alive) deliver_to(which, delivery);
    }
  }
  /// A member that handles it in a later view, or after others, had it kept until then.
  void deliver_to(std::size_t which, const spindrift::Delivery& delivery) {
    const spindrift::group::HandlerThreads::Entry entry(*handlers_, spindrift::group::HandlerThreads::Kind::poller);
    members[which].core->on_delivery(std::span(&delivery, 1));
  }
  /// The next one of the present view; `bytes` outlive it.
  spindrift::Delivery next_delivery(spindrift::NodeId from, std::span<const std::byte> bytes) {
    return {.sender = from, .sender_rank = {}, .index = {}, .sequence = spindrift::SequenceNumber(sequence_++),
            .payload = bytes, .view = spindrift::ViewId(view_)};
  }
  void report_stable() { report_stable(sequence_); }
  /// The first `count` deliveries are stable.
  void report_stable(std::uint64_t count) {
    for (Member& member : members) {
      if (member.alive) member.core->on_stable(spindrift::SequenceNumber(count));
    }
  }
  void end(std::size_t which, const spindrift::Error& why) { members[which].core->on_end(why); }

  /// Gives the member a private message, and says whether it accuses somebody of it.
  [[nodiscard]] bool refuses(std::size_t which, spindrift::NodeId from, std::span<const std::byte> bytes) {
    const std::size_t before = fault_count();
    core(which).on_private(from, bytes);
    return fault_count() > before;
  }
  [[nodiscard]] std::size_t fault_count() const {
    std::size_t count = 0;
    for (const Member& member : members) count += member.channel->faults.size();
    return count;
  }
  [[nodiscard]] std::deque<Sent>& ordered() { return ordered_; }
  [[nodiscard]] std::deque<Sent>& privately() { return private_; }
  [[nodiscard]] std::deque<Sent>& queries() { return queries_; }

  std::vector<Member> members;
  std::size_t message_bytes_max = 4096;
  bool window_full = false;  ///< who does not wait sends nothing
  bool logged = false;
  std::uint32_t spoken = spindrift::views::clients_since;  ///< of the protocol
  bool crowded = false;  ///< too many answers wait everywhere

 private:
  void begin_view(Member& member, std::span<const spindrift::NodeId> nodes, bool loading,
                  std::span<const spindrift::NodeId> anew) {
    member.view.begin_view(spindrift::ViewId(view_), nodes, anew);
    member.core->on_view(member.view, loading, anew);
  }
  bool take(std::deque<Sent>& from, Sent& to) {
    const std::lock_guard lock(mutex_);
    if (from.empty()) return false;
    to = std::move(from.front());
    from.pop_front();
    return true;
  }

  std::mutex mutex_;
  const std::string subgroup_ = "orders";
  std::shared_ptr<const spindrift::group::HandlerThreads> handlers_ = std::make_shared<spindrift::group::HandlerThreads>();
  std::deque<Sent> ordered_;
  std::deque<Sent> private_;
  std::deque<Sent> queries_;
  std::uint64_t sequence_ = 0;
  std::uint64_t view_ = 0;
};
