// Up to where the logs of logged subgroups are durable at all members, for the application's threads: the poller says so,
// handlers hear it, others wait for it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include <spindrift/core/clock.hpp>
#include <spindrift/core/ids.hpp>

namespace spindrift::group {

class UpcallHeartbeats;

class DurableFrontiers {
 public:
  using Handler = std::function<void(std::uint64_t version)>;

  // The poller:
  /// Messages of lower versions are durable at all members. Returns the handler that is to be told, or null.
  [[nodiscard]] std::shared_ptr<const Handler> advance(SubgroupId id, std::uint64_t version);
  struct News {
    SubgroupId id;
    std::uint64_t version = 0;
    std::shared_ptr<const Handler> handler;  // null: nobody is to be told
    void tell(UpcallHeartbeats& heartbeats) const;
  };
  /// To be told to handlers that were set when it was durable already; each once.
  [[nodiscard]] std::vector<News> take_untold();
  /// Nothing becomes durable any more: who waits looks what is the matter.
  void end();

  // Any thread:
  [[nodiscard]] std::uint64_t version(SubgroupId id) const;
  /// Waits until that is more than `version`. False: the time is up, or it is the end.
  [[nodiscard]] bool await(SubgroupId id, std::uint64_t version, std::optional<Duration> limit) const;
  /// The handler is told what is durable already, from the next pass on. False: there is one already.
  [[nodiscard]] bool set_handler(SubgroupId id, Handler handler);

 private:
  struct Frontier {
    std::uint64_t version = 0;
    std::shared_ptr<const Handler> handler{};
    bool untold = false;  // the handler was set when that version had been reached
  };

  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::map<SubgroupId, Frontier> frontiers_;
  bool over_ = false;
  std::atomic<bool> any_untold_{false};  // written behind the mutex; each pass reads it without
};

}  // namespace spindrift::group
