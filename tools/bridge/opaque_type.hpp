// A topic's type as Cyclone DDS is given it: samples are bytes that it hands on as they are, with the key that tells
// instances apart. What comes from its network is held against the type before Cyclone DDS takes it in: bytes that are no
// sample of it are counted, and nobody gets them.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <spindrift/dds/dynamic_sample.hpp>

struct ddsi_sertype;
struct ddsi_serdata;

namespace spindrift::tools::bridge {

/// Counts what came that is no sample of the type. Any thread.
class MalformedSamples {
 public:
  void count(const Error& fault);
  [[nodiscard]] std::uint64_t total() const;
  /// Why the last one is none.
  [[nodiscard]] std::string last() const;

 private:
  mutable std::mutex mutex_;
  std::uint64_t total_ = 0;
  std::string last_;
};

/// A sample, or news of an instance without one.
enum class OpaqueKind : std::uint8_t { sample, dispose, unregister };

/// For dds_create_topic_sertype, which takes it. `type_name` is the one by which others match.
[[nodiscard]] ddsi_sertype* make_opaque_type(const std::string& type_name, std::shared_ptr<const topics::DynamicType> type,
                                             std::shared_ptr<MalformedSamples> malformed);
/// For dds_forwardcdr, which takes it. `sample`: where it is news of an instance, any of that.
[[nodiscard]] ddsi_serdata* make_opaque_data(const ddsi_sertype* type, OpaqueKind kind,
                                             std::shared_ptr<const topics::DynamicSample> sample,
                                             std::int64_t source_timestamp);
/// The sample that a reader of such a type took; or, of news of an instance, one that has its key.
[[nodiscard]] const std::shared_ptr<const topics::DynamicSample>& sample_of(const ddsi_serdata* data);

}  // namespace spindrift::tools::bridge
