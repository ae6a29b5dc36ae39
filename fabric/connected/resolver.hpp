// Looks addresses up beside the poller, which must not wait for a name server.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
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
  /// `wake` is called on the resolver's thread when there is an answer.
  explicit Resolver(std::function<void()> wake) : wake_(std::move(wake)) {}
  /// Waits for a question that is under way.
  ~Resolver();

  /// Starts the thread with the first question.
  void ask(NodeId node, std::string endpoint);
  [[nodiscard]] std::optional<Answer> take();

 private:
  void work();

  const std::function<void()> wake_;
  std::mutex mutex_;
  std::condition_variable asked_;
  std::deque<std::pair<NodeId, std::string>> questions_;
  std::deque<Answer> answers_;
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace spindrift::fabric::connected
