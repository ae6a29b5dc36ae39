// The readers of built-in topics at one participant. All with the monitor held.
#pragma once

#include <map>
#include <memory>

#include <spindrift/dds/reader_core.hpp>

namespace spindrift::topics {

class BuiltinReaders {
 public:
  /// It gets all that there is of the kind that its topic tells of.
  void add(const std::shared_ptr<ReaderCore>& reader, const EndpointTable& table);
  void remove(const EndpointId& id) { readers_.erase(id); }
  /// One is there, or has changed; or it is gone.
  void on_told(const EndpointFacts& facts);
  void on_gone(const EndpointFacts& facts);

 private:
  static void tell(ReaderCore& reader, const EndpointFacts& facts, SampleKind kind);
  void tell_all(const EndpointFacts& facts, SampleKind kind);

  std::map<EndpointId, std::shared_ptr<ReaderCore>> readers_;
};

}  // namespace spindrift::topics
