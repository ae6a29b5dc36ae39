// One process that calls others and is called: an endpoint and an application, which makes calls, takes its time to answer,
// gives up, closes sessions, and writes over every buffer that is its own again.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <vector>

#include <spindrift/rpc/rpc_endpoint.hpp>

#include "random.hpp"
#include "rpc_books.hpp"
#include "rpc_network.hpp"
#include "rpc_plan.hpp"
#include "scheduler.hpp"

namespace spindrift::sim {

/// Things that the processes of a run share.
struct RpcWorld {
  Scheduler& scheduler;
  const RpcPlan& plan;
  RpcBooks& books;
  RpcNetwork& network;
  Random& random;
};

class RpcProcess final : public rpc::CallHandler, rpc::SessionHandler, rpc::RequestHandler, rpc::TokenSource {
 public:
  RpcProcess(const RpcWorld& world, std::uint32_t node);

  void step(Time now);
  [[nodiscard]] Time next_due() const;
  /// A call to anybody, of any kind.
  void call_somebody();
  /// One that has to be answered.
  void call_for_certain(std::uint32_t server);
  void end() {
    sessions_.clear();
    endpoint_.end();
  }
  /// No session of either side is left.
  [[nodiscard]] bool forgotten() const { return endpoint_.next_due() == never && kept_bytes() == 0; }
  [[nodiscard]] std::uint64_t kept_bytes() const noexcept { return endpoint_.kept_bytes(); }
  [[nodiscard]] const rpc::RpcCounts& counts() const noexcept { return endpoint_.counts(); }
  /// Judges all buffers that came back.
  void check_returned();

  void on_answer(rpc::CallAnswer&& answer) override;

 private:
  void on_session(rpc::SessionId session, rpc::SessionChange change) override;
  void on_request(rpc::IncomingRequest& request) override;
  [[nodiscard]] std::uint64_t next_token() override { return world_.random.next(); }

  /// Something that the application has set out to do at a time.
  struct Intent {
    enum class Kind : std::uint8_t { answer, cancel, close };
    Kind kind{};
    CallNumber call = 0;
    rpc::RequestId request{};
    std::span<const std::byte> kept{};  ///< of an answer; empty: the request was not kept
    rpc::CallId made{};
    std::uint32_t server = 0;
  };
  /// A call under way, for which a handler of this process may wait.
  struct Open {
    std::uint32_t server = 0;
    std::optional<Intent> then;
  };
  struct Returned {
    rpc::MessageBuffer request, response;
  };

  [[nodiscard]] std::optional<rpc::SessionId> session_with(std::uint32_t server);
  [[nodiscard]] std::uint32_t another_node();
  [[nodiscard]] BookedCall draw_call(std::uint32_t server);
  /// False if it could not be made.
  bool make_call(BookedCall call, RpcOrder::Work work, std::optional<Intent> then);
  void draw_end(CallNumber number, rpc::CallId made, const BookedCall& call);
  void intend(Ticks later, Intent intent) { intents_.emplace(world_.scheduler.time() + Duration(later), std::move(intent)); }
  void carry_out(const Intent& intent);
  void answer(const Intent& intent);
  void close(std::uint32_t server);
  void check_sessions();
  void take_back(rpc::CallAnswer&& answer);
  void check(Returned& returned);

  RpcWorld world_;
  std::uint32_t node_;
  RpcPort port_;
  rpc::RpcEndpoint endpoint_;
  std::map<std::uint32_t, rpc::SessionId> sessions_;  ///< by server
  std::map<CallNumber, Open> open_;
  std::multimap<Time, Intent> intents_;
  std::deque<Returned> returned_;
};

}  // namespace spindrift::sim
