// The samples that a participant keeps of a topic for late joiners: of each instance the last ones, as their header says.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <unordered_map>
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
  /// Keeps one, if it is for late joiners, and drops what its depth leaves no room for.
  void add(const SampleEnvelope& header, std::span<const std::byte> bytes);
  /// The same of one whose depth a peer says; of depth 0 it is not kept.
  void keep(KeptSample sample);
  /// The writer is gone: what it kept itself (TRANSIENT_LOCAL) goes with it.
  void on_gone(const EndpointId& writer);
  /// Puts what was kept before all that there is here in front of it. It takes as long as there is much here, not there.
  void load(TopicHistory before);
  /// All that is kept, oldest first; and the same, after which nothing is.
  [[nodiscard]] std::vector<KeptSample> all() const;
  [[nodiscard]] std::vector<KeptSample> take();

 private:
  struct Place {
    EndpointId writer;  ///< nobody: the topic's
    Digest key;
    bool operator==(const Place&) const noexcept = default;
  };
  struct PlaceHash {
    std::size_t operator()(const Place& place) const noexcept;
  };
  [[nodiscard]] static Place place_of(const SampleEnvelope& header);
  /// A sample, with its place in all.
  using Placed = std::pair<std::uint64_t, KeptSample>;

  std::unordered_map<Place, std::list<Placed>, PlaceHash> kept_;  // by instance
  std::uint64_t next_ = 0;
};

}  // namespace spindrift::topics
