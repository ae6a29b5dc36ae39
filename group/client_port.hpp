// The port of a member for clients outside of its group: it listens, and a thread of its own takes their requests, begins
// what they ask for, and sends the answers when they are there. A second thread reads objects for queries that are answered
// here, for these may take long. Neither waits for the group, and the poller waits for neither.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include <spindrift/core/audit.hpp>
#include <spindrift/core/clock.hpp>
#include <spindrift/core/file_descriptor.hpp>
#include <spindrift/core/result.hpp>
#include <spindrift/group/client_requests.hpp>
#include <spindrift/rpc/drawn_tokens.hpp>
#include <spindrift/rpc/rpc_endpoint.hpp>
#include <spindrift/rpc/tcp/tcp_transport.hpp>

namespace spindrift::group {

/// Calls whose answers are there. Outlives the port where a call does.
class ToldAnswers {
 public:
  /// Errors: resource.
  [[nodiscard]] Result<void> open();
  /// Any thread; neither waits for long nor throws.
  void tell(std::uint64_t call, std::optional<clients::MemberAnswer> answer = {}) noexcept;
  void ring() const noexcept;

  struct Told {
    std::uint64_t call;
    std::optional<clients::MemberAnswer> answer;  ///< nothing: the call itself has it
  };
  [[nodiscard]] std::vector<Told> take();
  /// Readable when there are some, or `ring` was called.
  [[nodiscard]] int descriptor() const noexcept { return bell_.get(); }

 private:
  FileDescriptor bell_;
  std::mutex mutex_;
  std::vector<Told> told_;
};

/// The thread that reads.
class QueryReader {
 public:
  static constexpr std::size_t waiting_max = 256;

  explicit QueryReader(std::shared_ptr<ToldAnswers> told) : told_(std::move(told)) {}
  ~QueryReader();
  /// Errors: resource.
  [[nodiscard]] Result<void> start();
  /// False: too many wait.
  [[nodiscard]] bool add(std::uint64_t call, ClientQuery&& query);
  /// Those that wait and are not wanted any more are never read; their calls.
  [[nodiscard]] std::vector<std::uint64_t> forget(const std::function<bool(std::uint64_t call)>& is_wanted);

 private:
  void run();

  const std::shared_ptr<ToldAnswers> told_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::pair<std::uint64_t, ClientQuery>> waiting_;
  bool ends_ = false;
  std::thread thread_;
};

class ClientPort final : public rpc::RequestHandler {
 public:
  static constexpr std::uint32_t callers_max = 256;
  /// So many of these may show the certificate of one identity.
  static constexpr std::uint32_t callers_per_identity = 128;
  /// Requests whose answers are still to come, of all; of one client there are eight.
  static constexpr std::size_t under_way_max = 1024;

  /// `objects` outlives it.
  explicit ClientPort(const OfferedObjects& objects) : objects_(objects) {}
  /// Hangs up. Calls that are under way go on in the group.
  ~ClientPort();
  ClientPort(const ClientPort&) = delete;
  ClientPort& operator=(const ClientPort&) = delete;

  /// Listens at "host:port", and starts the threads. `credentials` null: nobody proves anything, which is for addresses of
  /// the loopback interface. Errors: resource, unsupported.
  [[nodiscard]] Result<void> start(const std::string& endpoint, config::ClientRights rights,
                                   std::shared_ptr<fabric::tls::Credentials> credentials, std::shared_ptr<AuditTrail> audit);

 private:
  struct UnderWay {
    rpc::RequestId request;
    std::shared_ptr<replicated::RelayedCall> call;  ///< null: it is a query, which is read
  };

  void on_request(rpc::IncomingRequest& request) override;
  [[nodiscard]] RequestOrigin origin_of(const rpc::IncomingRequest& request) const;
  void audit_refusal(const rpc::IncomingRequest& request, const clients::MemberAnswer& answer) const;
  void run();
  void answer_told();
  void forget_abandoned();

  const OfferedObjects& objects_;
  config::ClientRights rights_;
  std::shared_ptr<AuditTrail> audit_;
  const SystemClock clock_;
  rpc::DrawnTokens tokens_;
  std::shared_ptr<ToldAnswers> told_ = std::make_shared<ToldAnswers>();
  std::unique_ptr<rpc::StreamTransport> transport_;
  std::unique_ptr<rpc::RpcEndpoint> endpoint_;
  std::optional<QueryReader> reader_;
  std::unordered_map<std::uint64_t, UnderWay> under_way_;  // by call; the thread's
  std::uint64_t calls_ = 0;                                // likewise
  std::atomic<bool> ends_{false};
  std::thread thread_;
};

}  // namespace spindrift::group
