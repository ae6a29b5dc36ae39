// Topics as a domain announces them, and readers of them without their types: a participant's, or an observer's.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <spindrift/core/result.hpp>
#include <spindrift/dds/dynamic_sample.hpp>
#include <spindrift/dds/read_sample.hpp>

namespace spindrift::topics {

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

/// Samples as they come; any thread.
class DynamicSource {
 public:
  DynamicSource() = default;
  virtual ~DynamicSource() = default;
  DynamicSource(const DynamicSource&) = delete;
  DynamicSource& operator=(const DynamicSource&) = delete;
  /// All that has come since the last call. Throws what ended it.
  [[nodiscard]] virtual std::vector<ReadSample> take() = 0;
  [[nodiscard]] virtual std::uint64_t lost() const = 0;
  [[nodiscard]] virtual bool more_may_be_lost() const = 0;
  [[nodiscard]] virtual std::string waits_for() const = 0;
};

/// Reads all that comes of a topic, of writers of any partition and quality. What nobody takes is dropped, or held, as its
/// DynamicReading says. Any thread.
class DynamicReader {
 public:
  explicit DynamicReader(std::unique_ptr<DynamicSource> source) : source_(std::move(source)) {}
  /// All that has come since the last call.
  [[nodiscard]] std::vector<DynamicRead> take();
  /// How many samples were lost so far: dropped because nobody took them, or no sample of the type; or, where an observer
  /// reads, overtaken.
  [[nodiscard]] std::uint64_t lost() const { return source_->lost(); }
  /// An observer was overtaken behind the last message of some writer, of which nothing has come since: whether more samples
  /// are lost than `lost` counts is not known.
  [[nodiscard]] bool more_may_be_lost() const { return source_->more_may_be_lost(); }
  /// The member that it waits for, in words, where it observes and nobody feeds it; otherwise empty.
  [[nodiscard]] std::string waits_for() const { return source_->waits_for(); }

 private:
  std::unique_ptr<DynamicSource> source_;
};

}  // namespace spindrift::topics
