// The topics of a recording as those of a domain: each with its type, and each sample as it travels. Pure functions of the
// recording, so that all processes find the same without talking.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include <spindrift/core/result.hpp>
#include <spindrift/dds/dynamic_participant.hpp>

#include "ulog.hpp"
#include "ulog_type.hpp"

namespace spindrift::tools {

/// Immutable. The recording outlives it.
class TypedFlight {
 public:
  /// Errors: bad_input, with the recording's name: a format that is no type of a topic.
  [[nodiscard]] static Result<TypedFlight> of(const ulog::Recording& recording);

  /// Most bytes of a message with a sample of the topic.
  [[nodiscard]] std::uint64_t message_bytes_max(std::size_t topic) const;
  /// As participants announce it: RELIABLE and VOLATILE, by its type.
  [[nodiscard]] topics::AnnouncedTopic announced(std::size_t topic) const;
  /// The topic of a message, by the digest that messages name it with; nothing: none of the recording.
  [[nodiscard]] std::optional<std::size_t> topic_of(std::uint64_t digest) const;
  /// How many samples the topic has.
  [[nodiscard]] std::size_t samples_of(std::size_t topic) const noexcept { return samples_[topic].size(); }
  /// Puts that sample of the topic, as it travels, in place of what is in `to`.
  void write(std::size_t topic, std::size_t number, std::vector<std::byte>& to) const;

 private:
  explicit TypedFlight(const ulog::Recording& recording);

  const ulog::Recording* recording_;
  std::vector<ulog::SampleType> types_;              // by topic
  std::vector<std::vector<std::uint32_t>> samples_;  // by topic: their places among all
  std::map<std::uint64_t, std::size_t> digests_;
};

}  // namespace spindrift::tools
