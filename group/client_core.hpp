// Behind Client: the thread that connects callers with members, and hands answers to who waits for them.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include <spindrift/core/clock.hpp>
#include <spindrift/core/file_descriptor.hpp>
#include <spindrift/group/client.hpp>
#include <spindrift/group/object_caller.hpp>
#include <spindrift/rpc/drawn_tokens.hpp>
#include <spindrift/rpc/rpc_endpoint.hpp>
#include <spindrift/rpc/tcp/tcp_transport.hpp>

namespace spindrift::clients {

/// A caller, and its connection. The thread's.
class CallerLink final : public rpc::CallHandler, public rpc::SessionHandler {
 public:
  CallerLink(std::unique_ptr<ObjectCaller> caller, rpc::StreamTransport& transport, rpc::RpcEndpoint& endpoint,
           std::size_t result_bytes_max)
      : caller_(std::move(caller)), transport_(transport), endpoint_(endpoint), result_bytes_(result_bytes_max) {}

  [[nodiscard]] ObjectCaller& caller() noexcept { return *caller_; }
  /// Does what the caller's step says, and returns what has ended.
  [[nodiscard]] std::vector<Ended> step(Time now);
  [[nodiscard]] Time due() const noexcept { return due_; }
  /// The time of the endpoint's step that follows.
  void set_time(Time now) noexcept { now_ = now; }

 private:
  void on_answer(rpc::CallAnswer&& answer) override;
  void on_session(rpc::SessionId session, rpc::SessionChange change) override;
  void connect(const std::string& address, Time now);
  void hang_up();
  void send(CallerStep::Attempt&& attempt, Time now);

  const std::unique_ptr<ObjectCaller> caller_;
  rpc::StreamTransport& transport_;
  rpc::RpcEndpoint& endpoint_;
  const std::size_t result_bytes_;
  rpc::PacketRoute route_{};
  rpc::SessionId session_{};
  std::map<std::string, std::size_t> turns_;  // calls of each address
  std::vector<rpc::MessageBuffer> buffers_;  // for results; kept for their memory
  Time now_{};
  Time due_{};
};

/// Throws bad_argument: a process of that generation made the client, and this is a child that it forked. Any thread.
void check_process(std::uint32_t generation);

class ClientCore {
 public:
  /// Throws as Client.
  explicit ClientCore(ClientOptions options);
  ~ClientCore();
  ClientCore(const ClientCore&) = delete;
  ClientCore& operator=(const ClientCore&) = delete;

  // Any thread.
  [[nodiscard]] std::uint64_t add_caller(std::string subgroup, std::uint64_t digest);
  [[nodiscard]] std::shared_ptr<const AwaitedAnswer> ask(std::uint64_t caller, Wanted wanted);
  void close();
  /// False: a child that the client's process has forked, which has nothing of the client.
  [[nodiscard]] bool is_of_this_process() const noexcept { return process_ == process_generation(); }

 private:
  struct NewCaller {
    std::uint64_t id;
    std::string subgroup;
    std::uint64_t digest;
  };
  struct NewRequest {
    std::uint64_t caller;
    Wanted wanted;
  };
  /// Application threads leave these for the thread.
  struct Orders {
    std::vector<NewCaller> callers;
    std::vector<NewRequest> requests;
  };

  void run();
  void take_orders();
  [[nodiscard]] Time step_callers(Time now);
  void settle(std::uint64_t caller, std::vector<Ended> ended);
  void end_awaited();

  const ClientOptions options_;
  const SystemClock clock_;
  rpc::DrawnTokens tokens_;
  std::unique_ptr<rpc::StreamTransport> transport_;
  std::unique_ptr<rpc::RpcEndpoint> endpoint_;
  std::map<std::uint64_t, std::unique_ptr<CallerLink>> callers_;  // the thread's
  FileDescriptor bell_;        // kept from children, which are counted from then on
  std::uint32_t process_ = 0;  // that made it
  std::mutex mutex_;  // of what follows
  Orders orders_;
  std::uint64_t made_ = 0;  // callers and requests
  std::map<std::uint64_t, std::size_t> open_;  // requests of each caller
  std::unordered_map<std::uint64_t, std::shared_ptr<AwaitedAnswer>> awaited_;  // by ticket
  bool closed_ = false;
  std::thread thread_;
};

}  // namespace spindrift::clients
