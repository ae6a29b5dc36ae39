// The newest of the files in which members of this host show a domain to readers that are no members, and its changes.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <thread>

#include <spindrift/core/config/config.hpp>
#include <spindrift/core/file_descriptor.hpp>
#include <spindrift/dds/endpoints_file.hpp>

namespace spindrift::topics {

/// Any thread.
class EndpointsWatch {
 public:
  /// Has looked once when it is made. Throws refused (others could write the directory), resource.
  explicit EndpointsWatch(const Config& config);
  ~EndpointsWatch();
  EndpointsWatch(const EndpointsWatch&) = delete;
  EndpointsWatch& operator=(const EndpointsWatch&) = delete;

  /// Never null: where nobody shows anything, a domain without endpoints, shown by process 0.
  [[nodiscard]] std::shared_ptr<const ShownDomain> newest() const;
  /// Why nobody is known to show anything; nothing: nobody does, or somebody.
  [[nodiscard]] std::optional<Error> fault() const;
  /// `event`, of eventfd, is told of each change, as the process's bell is, until `forget`.
  void tell(int event);
  void forget(int event);

 private:
  void run();
  void look();

  const GuardedDirectory directory_;
  const FileDescriptor over_;
  FileDescriptor changes_;  // of inotify; empty: the directory is looked at again and again
  FileDescriptor shower_;   // the process that shows the newest
  mutable std::mutex mutex_;
  std::shared_ptr<const ShownDomain> newest_;  // behind the mutex, as all that follows
  std::optional<Error> fault_;
  std::set<int> events_;
  std::thread thread_;
};

}  // namespace spindrift::topics
