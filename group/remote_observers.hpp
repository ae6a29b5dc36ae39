// The observers of other hosts: a member listens for them at a port of its own, and a thread beside the poller feeds them.
#pragma once

#include <list>
#include <memory>
#include <string>
#include <thread>

#include <spindrift/core/clock.hpp>
#include <spindrift/core/file_descriptor.hpp>
#include <spindrift/core/result.hpp>
#include <spindrift/fabric/tcp/handshakes.hpp>
#include <spindrift/group/remote_observer.hpp>

namespace spindrift::fabric::tls {
class Credentials;
}

namespace spindrift::group {

class RemoteObservers {
 public:
  static constexpr std::size_t callers_max = 64;
  /// So many of these may show the certificate of one identity.
  static constexpr std::size_t callers_per_identity = 16;

  /// `credentials` null: nobody proves anything. The directory in `member` outlives this object.
  RemoteObservers(ObservedMember member, std::shared_ptr<fabric::tls::Credentials> credentials)
      : member_(std::move(member)), credentials_(std::move(credentials)) {}
  /// Tells those that are fed what they can be told without waiting, and hangs up.
  ~RemoteObservers();
  RemoteObservers(const RemoteObservers&) = delete;
  RemoteObservers& operator=(const RemoteObservers&) = delete;

  /// Listens at "host:port", and starts the thread. Errors: resource (the name is unknown, the port is in use).
  [[nodiscard]] Result<void> start(const std::string& endpoint);

 private:
  void run();
  void accept_callers();
  /// Why there is no place for another one, who is the last in the list; empty: there is.
  [[nodiscard]] std::string full() const;
  void look_at_keys();
  [[nodiscard]] int milliseconds_to_wait() const;

  const ObservedMember member_;
  const std::shared_ptr<fabric::tls::Credentials> credentials_;
  const SystemClock clock_;
  FileDescriptor ends_;  // readable: this object goes
  std::unique_ptr<fabric::tcp::Handshakes> handshakes_;
  std::list<RemoteObserver> observers_;  // the thread's, as is what follows
  FeedMessage scratch_;
  std::uint64_t keys_revision_ = 0;
  std::thread thread_;
};

}  // namespace spindrift::group
