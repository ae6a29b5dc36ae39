// The storage of a node's record of views from one of its processes to the next. Injected: a file in production, a value of
// the simulator in tests.
#pragma once

#include <optional>
#include <vector>

#include <spindrift/core/result.hpp>
#include <spindrift/views/view_record.hpp>

namespace spindrift::views {

/// One node's record. Until `close` no other process of the node has it.
class ViewMemory {
 public:
  /// Another node whose record is kept on this host.
  struct Neighbor {
    NodeId node;
    bool lives = false;  ///< a process has the record, and may change it
    ViewRecord record;   ///< empty where there is none
  };

  virtual ~ViewMemory() = default;
  /// As it was stored last, by this process or one before. Nothing: there was none. Errors: of the storage; a record that is
  /// there and cannot be read is no empty one.
  [[nodiscard]] virtual Result<std::optional<ViewRecord>> load() = 0;
  /// On return the next process of the node will find it, whenever this one is killed. Errors: of the storage; then it finds
  /// this one or the one before.
  [[nodiscard]] virtual Result<void> store(const ViewRecord& record) = 0;
  /// As they are now, ascending by node: `lives` is looked at before the record is read. Errors: of the storage.
  [[nodiscard]] virtual Result<std::vector<Neighbor>> neighbors() = 0;
  /// This process is over for the group, and stores no more.
  virtual void close() = 0;
};

}  // namespace spindrift::views
