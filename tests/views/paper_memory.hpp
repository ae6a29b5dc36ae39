// The memory of one node, on paper: the processes of a test share it one after another, and it can be made to fail.
#pragma once

#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include <spindrift/core/result.hpp>
#include <spindrift/views/view_memory.hpp>

namespace spindrift::views {

class PaperMemory final : public ViewMemory {
 public:
  Result<std::optional<ViewRecord>> load() override {
    if (unreadable) return Error(ErrorKind::bad_input, "the record is damaged");
    return stored;
  }
  Result<void> store(const ViewRecord& record) override {
    if (full) return Error(ErrorKind::resource, "no space is left");
    if (before_store) before_store();
    stored = record;
    ++stores;
    return {};
  }
  Result<std::vector<Neighbor>> neighbors() override { return beside; }
  void close() override { closed = true; }

  std::optional<ViewRecord> stored;
  std::vector<Neighbor> beside;
  std::function<void()> before_store;  ///< looks at what others can see at this moment
  int stores = 0;
  bool full = false;
  bool unreadable = false;
  bool closed = false;
};

}  // namespace spindrift::views
