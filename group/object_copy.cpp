// Nothing leaves the copy: what its methods send was sent when they ran first.
#include <spindrift/group/object_copy.hpp>

#include <string>

namespace spindrift::group {
namespace {

[[noreturn]] void refuse_to_send(const std::string& subgroup) {
  throw Exception(Error(ErrorKind::would_block, "an object of subgroup " + subgroup +
                                                " that is made a second time, for a checkpoint, sends nothing"));
}

}  // namespace

class ObjectCopy::Channel final : public ReplicaChannel {
 public:
  explicit Channel(const ReplicaChannel& of)
      : self_(of.self()), subgroup_(of.subgroup()), handler_threads_(of.handler_threads()) {}

  void set_time(std::uint64_t time_ns) noexcept { time_ns_ = time_ns; }

  void send_ordered(std::span<const std::byte>) override { refuse_to_send(subgroup_); }
  [[nodiscard]] bool try_send_ordered(std::span<const std::byte>) override { refuse_to_send(subgroup_); }
  [[nodiscard]] std::size_t ordered_bytes_max() const noexcept override { return 0; }
  void send_private(NodeId, std::span<const std::byte>) override { refuse_to_send(subgroup_); }
  void send_query(NodeId, std::span<const std::byte>) override { refuse_to_send(subgroup_); }
  [[nodiscard]] bool crowded() const noexcept override { return false; }
  [[nodiscard]] std::size_t private_bytes_max() const noexcept override { return 0; }
  [[nodiscard]] NodeId self() const noexcept override { return self_; }
  [[nodiscard]] const std::string& subgroup() const noexcept override { return subgroup_; }
  [[nodiscard]] std::uint32_t spoken_version() const override { return 0; }  // it opens nothing
  [[nodiscard]] bool logged() const noexcept override { return true; }
  [[nodiscard]] std::uint64_t time_ns(std::uint64_t) const override { return time_ns_; }
  [[nodiscard]] std::uint64_t settled_ns(std::uint64_t) const override { return time_ns_; }
  [[nodiscard]] const std::shared_ptr<const HandlerThreads>& handler_threads() const noexcept override {
    return handler_threads_;
  }
  void accuse(NodeId, const std::string&) override {}

 private:
  const NodeId self_;
  const std::string subgroup_;
  const std::shared_ptr<const HandlerThreads> handler_threads_;
  std::uint64_t time_ns_ = 0;  // of the message that is taken
};

ObjectCopy::ObjectCopy(const ReplicaChannel& channel, const ObjectMaker& make)
    : channel_(std::make_unique<Channel>(channel)), object_(make(*channel_)) {}

ObjectCopy::~ObjectCopy() = default;

Result<void> ObjectCopy::load(std::span<const std::byte> state, std::uint64_t version) {
  object_->begin_at(version);
  return object_->load(state);
}

Result<void> ObjectCopy::take(const store::Entry& message) {
  const store::EntryHead& head = message.head;
  channel_->set_time(head.time);
  const Delivery call{head.sender, SenderRank(0), MessageIndex(0), head.sequence, message.payload, head.view,
                      message.version.value()};
  object_->on_replay(std::span(&call, 1));
  if (auto refusal = object_->state().refusal()) return *std::move(refusal);
  return {};
}

Result<void> ObjectCopy::save(std::ostream& to) const { return object_->save(to); }

}  // namespace spindrift::group
