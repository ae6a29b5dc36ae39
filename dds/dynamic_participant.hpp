// A participant of a domain for programs that have no types of its topics: what the domain has, and readers and writers of
// dynamic samples. Its errors are Exception, with their kinds.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <spindrift/core/config/config.hpp>
#include <spindrift/dds/domain_watch.hpp>
#include <spindrift/dds/dynamic_reader.hpp>

namespace spindrift::topics {

class ParticipantEntity;
class TopicEntity;
class WriterEntity;

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
  /// The same. What it writes is kept for late joiners as the topic's qualities say. `mark`: the writer's UserData;
  /// `topic_mark`: the TopicData with which this participant has the topic, which others know before its writer.
  [[nodiscard]] DynamicWriter write(const AnnouncedTopic& topic, const std::string& mark = {},
                                    const std::string& topic_mark = {});
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
  [[nodiscard]] std::shared_ptr<TopicEntity> topic_of(const AnnouncedTopic& topic, const std::string& mark = {});

  std::shared_ptr<ParticipantEntity> entity_;
};

}  // namespace spindrift::topics
