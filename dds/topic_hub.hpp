// One topic at one participant: what comes of it goes to the readers here, in the order in which it is delivered, and into
// the history for late joiners. All with the monitor held.
//
// A sample may come before the news of its writer, which travels in another subgroup. Then it waits, and all behind it,
// until that is there; readers exist only once the participant knows all writers from before its time.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <spindrift/dds/reader_core.hpp>
#include <spindrift/dds/subgroup_hold.hpp>
#include <spindrift/dds/topic_history.hpp>
#include <spindrift/dds/topic_types.hpp>
#include <spindrift/dds/writer_core.hpp>

namespace spindrift::topics {

/// A topic that this participant made: whom it tells that others were refused it.
struct TopicCore {
  std::shared_ptr<StatusBoard> board{};
  dds::core::status::InconsistentTopicStatus inconsistent{};
};

/// A view that begins, as a topic hears of it.
struct HubView {
  std::vector<EndpointFacts> failed;                         ///< of the topic, whose processes are not in it
  std::function<std::uint32_t()> mark{};                     ///< SubgroupHold::mark
};

class TopicHub {
 public:
  /// It is a topic of this participant: how samples are read; and the subgroup that a reader without room holds.
  void open(const TypeSupport& type) noexcept { types_.open(type); }
  void hold_by(SubgroupHold& hold) noexcept { hold_ = &hold; }

  /// A message of the topic came, at that time of the clock of the day. `end_batch` lets those know who wait for samples.
  void on_message(const SampleMessage& message, std::int64_t now_ns);
  /// The last of the messages that came together is given.
  void end_batch();
  /// A writer or reader of the topic is there, or has changed; or it is gone: all of a writer was delivered, and may wait.
  /// `ignored`: it is to match nothing here.
  void on_endpoint(const EndpointFacts& facts, bool ignored);
  void on_removed(const EndpointFacts& facts);
  /// From now on that writer or reader matches nothing here, and none of its samples come.
  void ignore(const EndpointId& id);
  /// That writer, or all of that kind of liveliness of its process, said that they live, or wrote.
  void on_alive(const EndpointId& writer, std::uint8_t liveliness);
  /// How others are told that the writer lives: by a lease of that kind. Nothing: it has none that ends.
  [[nodiscard]] std::optional<std::uint8_t> lease_kind(const EndpointId& writer) const;
  void add_topic(const EndpointId& id, const std::shared_ptr<TopicCore>& topic) { local_topics_.emplace(id, topic); }
  void remove_topic(const EndpointId& id) { local_topics_.erase(id); }
  /// A participant was refused the topic, because it has it otherwise.
  void on_inconsistent();
  /// A view begins: all that was sent before was delivered, and is given before the view's mark.
  void on_view(const HubView& view);
  /// All is given that waited when that mark was wanted.
  void on_mark(std::uint32_t mark);

  /// The reader gets the history that it asks for, and hears of all writers.
  void add_reader(const std::shared_ptr<ReaderCore>& reader);
  void remove_reader(const EndpointId& id);
  void add_writer(const std::shared_ptr<WriterCore>& writer);
  void remove_writer(const EndpointId& id) { local_writers_.erase(id); }
  /// Pauses the topic's deliveries while a reader has no room, and resumes them.
  void hold_or_go_on();
  /// Nothing is delivered any more.
  void on_closed(const std::string& why);

  [[nodiscard]] TopicHistory& history() noexcept { return history_; }
  /// The subgroup by which its messages come; null: none came.
  [[nodiscard]] const Subgroup* home() const noexcept { return home_; }
  void come_by(const Subgroup& subgroup) noexcept { home_ = &subgroup; }

 private:
  struct Waiting {
    SampleEnvelope header;
    std::vector<std::byte> bytes;
  };
  /// A writer of which something may still be given.
  struct Departure {
    std::uint32_t mark;  ///< behind that nothing is
    bool failed;
  };
  /// The writers that are there no more, and of which something may still come.
  struct Leaving {
    std::set<EndpointId> retired;    ///< nothing comes behind this view
    std::map<EndpointId, Departure> departing;
  };
  [[nodiscard]] bool known(const EndpointId& writer) const { return writers_.contains(writer); }
  void depart(const EndpointId& writer, const Departure& departure);
  void apply(const SampleEnvelope& header, std::span<const std::byte> bytes, std::int64_t now_ns);
  static void give(ReaderCore& reader, const SampleEnvelope& header, std::shared_ptr<const void> data, std::int64_t now_ns);
  /// The sample, or null where the bytes are none, which readers and the log are told.
  [[nodiscard]] std::shared_ptr<const void> decoded(const SampleEnvelope& header, std::span<const std::byte> bytes);
  void apply_waiting();
  /// Gives it what it asks for of the history: of all writers, or of that one.
  void give_history(ReaderCore& reader, const EndpointId* writer);
  void on_reader_told(const EndpointFacts& facts, bool ignored);
  void on_writer_told(const EndpointFacts& facts, bool ignored);
  /// The writer is there, or has changed, and the reader hears of it. One that it matches only now is one that it joins
  /// late.
  void match(ReaderCore& reader, const EndpointFacts& writer, bool changed);
  void forget_writer(const EndpointId& writer, bool failed);

  const Subgroup* home_ = nullptr;
  SubgroupHold* hold_ = nullptr;
  TopicTypes types_;
  bool held_ = false;
  TopicHistory history_;
  std::map<EndpointId, EndpointFacts> writers_;  // those of which something may still come
  std::map<EndpointId, EndpointFacts> readers_;  // all of the domain
  std::set<EndpointId> ended_early_;             // said that they are gone before the news of them was here
  Leaving leaving_;
  std::set<EndpointId> ignored_;                 // of writers and readers
  std::map<EndpointId, std::shared_ptr<TopicCore>> local_topics_;
  std::map<EndpointId, std::shared_ptr<ReaderCore>> local_readers_;
  std::map<EndpointId, std::shared_ptr<WriterCore>> local_writers_;
  std::deque<Waiting> waiting_;
};

}  // namespace spindrift::topics
