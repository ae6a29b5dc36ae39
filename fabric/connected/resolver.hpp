// Looks addresses up beside the poller, which must not wait for a name server.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include <spindrift/fabric/connected/socket_address.hpp>
#include <spindrift/core/ids.hpp>
#include <spindrift/core/result.hpp>

namespace spindrift::fabric::connected {

class Resolver {
 public:
  struct Answer {
    NodeId node;
    Result<SocketAddress> address;
  };
  /// `wake` is called on the resolver's thread when there is an answer; never again once this object's end has begun.
  explicit Resolver(std::function<void()> wake);
  /// Waits for nobody: a question that is under way is left to its thread, which ends with it, some seconds later at most
  /// for each domain that /etc/resolv.conf searches.
  ~Resolver();
  Resolver(const Resolver&) = delete;
  Resolver& operator=(const Resolver&) = delete;

  /// Starts the thread with the first question.
  void ask(NodeId node, std::string endpoint);
  [[nodiscard]] std::optional<Answer> take();

 private:
  struct Shared;

  /// It belongs to the thread, too, which may outlive this object.
  std::shared_ptr<Shared> shared_;
  std::thread thread_;
};

}  // namespace spindrift::fabric::connected
