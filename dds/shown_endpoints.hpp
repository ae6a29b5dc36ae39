// A participant's table of the domain's endpoints, and the file that shows it, kept as it is: a thread of its own writes it,
// for the poller waits for no disk, nor for a table to be copied.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <spindrift/core/guarded_directory.hpp>
#include <spindrift/dds/endpoints_file.hpp>
#include <spindrift/dds/status_board.hpp>
#include <spindrift/group/group.hpp>

namespace spindrift::topics {

/// A file that cannot be written is logged, once until it can be again, and is tried again each second.
class ShownEndpoints {
 public:
  explicit ShownEndpoints(Monitor& monitor) : monitor_(monitor) {}
  ~ShownEndpoints() { stop(); }
  ShownEndpoints(const ShownEndpoints&) = delete;
  ShownEndpoints& operator=(const ShownEndpoints&) = delete;

  /// Starts the thread, which writes the file. Throws resource.
  void start(GuardedDirectory directory, NodeId self);
  /// Removes the file.
  void stop();

  // With the monitor held:
  [[nodiscard]] EndpointTable& table() noexcept { return table_; }
  [[nodiscard]] const EndpointTable& table() const noexcept { return table_; }
  /// The table is as of that message of the subgroup of endpoints, or of the beginning of that view.
  void on_message(const Delivery& delivery);
  void on_view(const View& view);
  /// Has the table written if it has changed.
  void look();
  /// This participant is none any more, and its table tells nothing.
  void on_failure();

 private:
  void run();
  /// Writes or removes it, as is due. Whether that could be done.
  [[nodiscard]] bool show();
  [[nodiscard]] std::optional<std::vector<std::byte>> picture() const;

  Monitor& monitor_;
  // Behind the monitor:
  EndpointTable table_;
  ShownDomain point_;  // without endpoints
  std::uint64_t changes_ = 0;
  bool over_ = false;
  std::optional<GuardedDirectory> directory_;
  bool failed_ = false;  // the thread's: the log has said so
  std::mutex mutex_;
  std::condition_variable changed_;
  bool due_ = true;  // behind `mutex_`, as the next
  bool stops_ = false;
  std::thread thread_;
};

}  // namespace spindrift::topics
