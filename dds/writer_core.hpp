// A writer: it sends samples into its topic's subgroup, and knows the readers that match it.
#pragma once

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include <spindrift/dds/reader_core.hpp>
#include <spindrift/group/group.hpp>

namespace spindrift::topics {

struct WriterStatuses {
  dds::core::status::PublicationMatchedStatus matched;
  dds::core::status::OfferedIncompatibleQosStatus incompatible;
  dds::core::status::OfferedDeadlineMissedStatus deadline;
  dds::core::status::LivelinessLostStatus liveliness_lost;
};

/// How a writer's samples travel.
struct WriterRules {
  std::int64_t blocking_ns_max = endless;  ///< how long a write may wait
  std::int64_t lifespan_ns = endless;
  std::int32_t strength = 0;
  std::uint16_t depth = 0;  ///< of the history for late joiners
  bool disposes = true;     ///< what it unregisters
};

/// The last message of a writer that was delivered here.
struct DeliveredMessage {
  std::uint64_t sequence = 0;
  std::uint64_t version = 0;  ///< in the log of a logged topic
};

/// Times of a writer that any thread may look at.
struct DueTimes {
  std::atomic<std::int64_t> deadline_ns;
  std::atomic<std::int64_t> asserted_ns;  ///< when it was last said to live
  std::atomic<bool> lost = false;         ///< that was not within its lease
};

/// A sample that is made where it travels: `fill` gets the place, of so many bytes, and returns its key.
struct MadeInPlace {
  std::uint64_t bytes = 0;
  std::function<Digest(std::span<std::byte>)> fill{};
};

class WriterCore {
 public:
  WriterCore(Monitor& monitor, Subgroup& subgroup, EndpointFacts facts, const TypeSupport& type, const WriterRules& rules,
             std::shared_ptr<StatusBoard> board);

  /// As it was made.
  [[nodiscard]] const EndpointFacts& facts() const noexcept { return facts_; }
  [[nodiscard]] std::int64_t deadline_ns() const noexcept { return times_.deadline_ns.load(); }
  [[nodiscard]] StatusBoard& board() noexcept { return *board_; }
  [[nodiscard]] const std::shared_ptr<StatusBoard>& shared_board() const noexcept { return board_; }

  // Any thread, without the monitor. They throw what Subgroup::send throws, and timed_out.
  /// Sends a sample, or news of its instance; `bytes` are the sample's.
  void write(std::span<const std::byte> bytes, const Digest& key, SampleKind kind, std::int64_t source_timestamp);
  /// From now on samples travel so.
  void change_rules(const WriterRules& rules);
  /// Sends a sample that is made in the ring. What `fill` throws goes on, and nothing was sent.
  void write_in_place(const MadeInPlace& filling, std::int64_t source_timestamp);
  /// It lives, as the application says, or as a write shows. Any thread.
  void assert_alive() noexcept;
  /// Tells that nothing follows, and of all its instances before, unless it has. Waits for space for a second at most, for
  /// each; throws timed_out.
  void end();
  /// Remembers an instance for calls that name it by its handle.
  void register_instance(std::span<const std::byte> bytes, const Digest& key);
  /// The sample's bytes of a registered instance. Nothing: there is none.
  [[nodiscard]] std::optional<std::vector<std::byte>> registered(const Digest& key);
  /// Waits until all that it wrote was delivered here: by an ordered subgroup all participants have it then. False: not
  /// within the time.
  [[nodiscard]] bool await_delivered(std::int64_t limit_ns);
  /// Waits until all of it that was delivered here is on the disks of all participants, if the writer is PERSISTENT. False:
  /// not within the time.
  [[nodiscard]] bool await_durable(std::int64_t limit_ns);

  // With the monitor held:
  [[nodiscard]] WriterStatuses& statuses() noexcept { return statuses_; }
  [[nodiscard]] const std::map<EndpointId, EndpointFacts>& matched() const noexcept { return matched_; }
  /// Its qualities changed; readers are to be looked at again.
  void change(const EndpointQos& qos);
  /// A reader of the topic is there, or has changed.
  void on_reader(const EndpointFacts& reader);
  void on_reader_gone(const EndpointId& reader);
  void on_delivered(const DeliveredMessage& message) noexcept { given_.latest = message; }
  void on_closed(const std::string& why);
  /// Looks at the deadlines of instances, and at its lease; when to look again.
  [[nodiscard]] std::int64_t check(std::int64_t now_ns);

 private:
  void send(std::span<const std::byte> bytes, const Digest& key, SampleKind kind, std::int64_t source_timestamp,
            std::int64_t blocking_ns_max, const MadeInPlace* filling = nullptr);
  void check_size(std::uint64_t message_bytes) const;
  [[nodiscard]] std::int64_t check_lease(std::int64_t now_ns);
  void note_instance(std::span<const std::byte> bytes, const Digest& key, SampleKind kind);

  Monitor& monitor_;
  Subgroup& subgroup_;
  const EndpointFacts facts_;
  const std::uint64_t topic_;  // the digest of its name
  const TypeSupport& type_;
  const std::shared_ptr<StatusBoard> board_;
  DueTimes times_;
  std::mutex sending_;  // sequences are sent in their order
  // Behind it:
  WriterRules rules_;
  /// Sequences of messages: of the latest one, and of the one that says that nothing follows; 0: it is still to come.
  struct Sent {
    std::uint64_t latest = 0;
    std::uint64_t farewell = 0;
  } sent_;
  std::map<std::array<std::uint64_t, 2>, std::vector<std::byte>> instances_;
  // Behind the monitor:
  EndpointQos qos_;
  /// The part of it that was delivered here: the latest message; and why nothing is any more, empty: it is.
  struct Given {
    DeliveredMessage latest{};
    std::string closed{};
  } given_;
  WriterStatuses statuses_;
  std::map<EndpointId, EndpointFacts> matched_;
  std::map<std::array<std::uint64_t, 2>, std::int64_t> due_;
};

}  // namespace spindrift::topics
