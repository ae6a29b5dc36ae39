// The samples that a participant keeps of a topic for late joiners: of each instance the last ones, as their header says.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include <spindrift/dds/sample_message.hpp>

namespace spindrift::topics {

struct KeptSample {
  SampleEnvelope header;
  std::shared_ptr<const std::vector<std::byte>> bytes;
};

/// Not thread-safe.
class TopicHistory {
 public:
  /// Keeps one, and drops what its depth leaves no room for.
  void add(const SampleEnvelope& header, std::span<const std::byte> bytes);
  /// The writer is gone: what it kept itself (TRANSIENT_LOCAL) goes with it.
  void on_gone(const EndpointId& writer);
  /// Puts what another participant kept before all that there is here in front of it.
  void load(std::vector<KeptSample> before);
  /// All that is kept, oldest first; and the same, after which nothing is.
  [[nodiscard]] std::vector<KeptSample> all() const;
  [[nodiscard]] std::vector<KeptSample> take();

 private:
  struct Place {
    EndpointId writer;  ///< nobody: the topic's
    Digest key;
    auto operator<=>(const Place& other) const noexcept {
      return std::tie(writer, key.words) <=> std::tie(other.writer, other.key.words);
    }
    bool operator==(const Place&) const noexcept = default;
  };
  [[nodiscard]] static Place place_of(const SampleEnvelope& header);
  void keep(KeptSample sample);

  std::map<Place, std::deque<std::pair<std::uint64_t, KeptSample>>> kept_;  // by instance: with the place in all
  std::uint64_t next_ = 0;
};

}  // namespace spindrift::topics
