// A participant of a domain for programs that have no types of its topics: what the domain has, and readers and writers of
// dynamic samples. Its errors are Exception, with their kinds.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <spindrift/core/config/config.hpp>
#include <spindrift/dds/domain_watch.hpp>
#include <spindrift/dds/dynamic_sample.hpp>
#include <spindrift/dds/read_sample.hpp>

namespace spindrift::topics {

class ParticipantEntity;
class ReaderEntity;
class TopicEntity;
class WriterEntity;

/// A topic of the domain, as participants announce it.
struct AnnouncedTopic {
  std::string name;
  std::string description;                  ///< of its type
  std::shared_ptr<const DynamicType> type;  ///< null: the description cannot be read, and `fault` says why
  std::optional<Error> fault;
  EndpointQos qos;
  std::vector<EndpointFacts> participants;  ///< of each that has the topic, its word of that
  std::vector<EndpointFacts> writers;
  std::vector<EndpointFacts> readers;
};

/// A sample as a reader hands it out, or news of an instance.
struct DynamicRead {
  std::shared_ptr<const DynamicSample> sample;  ///< null: only its instance's state changed
  ReadSample about;
};

/// How a reader reads.
struct DynamicReading {
  /// Begin with what is kept for late joiners; then it matches writers alone that keep something.
  bool from_last = false;
  /// Keep all that nobody has taken, up to so many bytes; 0: the last thousand samples of each instance.
  std::uint64_t bytes_max = 0;
  /// Miss nothing: keep all up to so many samples, and hold up the writers then; it matches RELIABLE ones alone. 0: it
  /// holds up nobody.
  std::uint32_t held_max = 0;
  /// Bytes by which others know the reader, as its UserData.
  std::string mark{};
};

/// The samples that wait for somebody to take them, where a reader keeps all up to a bound.
struct ReaderBacklog {
  std::atomic<std::uint64_t> bytes{0};
  std::atomic<std::uint64_t> dropped{0};
};

/// Reads all that comes of a topic, of writers of any partition and quality. What nobody takes is dropped, or held, as its
/// DynamicReading says. Any thread.
class DynamicReader {
 public:
  DynamicReader(std::shared_ptr<ReaderEntity> entity, std::shared_ptr<ReaderBacklog> backlog)
      : entity_(std::move(entity)), backlog_(std::move(backlog)) {}
  /// All that has come since the last call.
  [[nodiscard]] std::vector<DynamicRead> take();
  /// How many samples were lost so far: dropped because nobody took them, or no sample of the type.
  [[nodiscard]] std::uint64_t lost() const;

 private:
  std::shared_ptr<ReaderEntity> entity_;
  std::shared_ptr<ReaderBacklog> backlog_;
};

/// Any thread.
class DynamicWriter {
 public:
  explicit DynamicWriter(std::shared_ptr<WriterEntity> entity) : entity_(std::move(entity)) {}
  /// False: participants took nothing for the time of `try_for`. Throws bad_argument: it is larger than the topic's
  /// messages; group_closed.
  [[nodiscard]] bool write(const DynamicSample& sample);
  /// The same of a sample that was written elsewhere, in nanoseconds since 1970.
  [[nodiscard]] bool write(const DynamicSample& sample, std::int64_t source_timestamp);
  /// The sample's instance ends, or has this writer no more. As `write`.
  [[nodiscard]] bool dispose(const DynamicSample& of);
  [[nodiscard]] bool unregister(const DynamicSample& of);
  /// Whether all participants have all of it; waits for the time of `try_for` at most. Throws group_closed.
  [[nodiscard]] bool is_delivered();
  /// How many readers of the domain it matches.
  [[nodiscard]] std::size_t readers() const;

  static constexpr std::chrono::milliseconds try_for{200};

 private:
  std::shared_ptr<WriterEntity> entity_;
};

class DynamicParticipant {
 public:
  /// Joins domain 0 to 232, or founds it, as an onlooker until it reads or writes a topic. `file`: its configuration; empty:
  /// none is needed. Throws bad_argument, bad_config, and as Group.
  DynamicParticipant(std::uint32_t domain, const std::string& file, const std::vector<ConfigOverride>& overrides,
                     DomainWatch watch = {});

  /// By which its own endpoints and samples are known among others'.
  [[nodiscard]] EndpointId id() const;
  /// All topics of the domain, by name.
  [[nodiscard]] std::vector<AnnouncedTopic> topics() const;
  /// How many other participants are in the domain.
  [[nodiscard]] std::size_t others() const;
  /// Becomes a participant that has the topic. Throws refused, group_closed, and what the topic's description is wrong with.
  [[nodiscard]] DynamicReader read(const AnnouncedTopic& topic, const DynamicReading& how);
  /// The same. What it writes is kept for late joiners as the topic's qualities say. `mark`: the writer's UserData.
  [[nodiscard]] DynamicWriter write(const AnnouncedTopic& topic, const std::string& mark = {});
  /// Whether an endpoint's process was in the domain's group before this one. All participants agree on that.
  [[nodiscard]] bool is_older(const EndpointId& endpoint) const;

  // Waiting: take the count of changes, look, and wait for another one. Samples, topics, views and the end of the
  // participant are changes; `wake` makes one, from any thread.
  [[nodiscard]] static std::uint64_t changes();
  static void await_change(std::uint64_t since, std::chrono::steady_clock::time_point until);
  static void wake();
  /// Why this participant is none any more; nothing: it is.
  [[nodiscard]] std::optional<Error> failure() const;

 private:
  [[nodiscard]] std::shared_ptr<TopicEntity> topic_of(const AnnouncedTopic& topic);

  std::shared_ptr<ParticipantEntity> entity_;
};

}  // namespace spindrift::topics
