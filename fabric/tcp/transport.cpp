// The transport over TCP: calls that others have begun beside the poller, and what sockets have for it.
#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <deque>
#include <utility>

#include <spindrift/fabric/connected/endpoint.hpp>
#include <spindrift/fabric/connected/node_refusals.hpp>
#include <spindrift/fabric/tcp/connection.hpp>
#include <spindrift/fabric/tcp/handshakes.hpp>
#include <spindrift/fabric/tcp/socket.hpp>
#include <spindrift/fabric/tcp/tcp.hpp>
#include <spindrift/fabric/tls/credentials.hpp>

namespace spindrift::fabric::tcp {
namespace {

/// With so many connections each is asked in every pass; with more, the kernel is asked which have something.
constexpr std::size_t asked_in_turn_max = 4;
constexpr auto between_looks_at_acknowledgements = std::chrono::milliseconds(1);

class TcpTransport final : public connected::Transport {
 public:
  explicit TcpTransport(Handshakes::Options options) : options_(std::move(options)), refusals_(options_.audit) {}

  [[nodiscard]] Result<Descriptors> open(const connected::SocketAddress& at, NodeId, std::uint64_t) override {
    SPINDRIFT_TRY_ASSIGN(auto listener, listen_at(at));
    events_ = FileDescriptor(::epoll_create1(EPOLL_CLOEXEC));
    if (!events_) return system_error("epoll_create1", errno);
    SPINDRIFT_TRY_ASSIGN(handshakes_, Handshakes::start(std::move(listener), options_));
    return Descriptors{events_.get(), handshakes_->descriptor()};
  }

  [[nodiscard]] Result<connected::ConnectionPointer> call(const connected::Opening& opening,
                                                          const connected::SocketAddress* address) override {
    ++newest_;
    handshakes_->call({newest_, opening.call.node, *address, opening.greeting});
    return keep(std::make_unique<TcpConnection>(opening.call, newest_));
  }

  [[nodiscard]] std::optional<std::span<const std::byte>> waiting_call() override {
    if (waiting_.empty()) return std::nullopt;
    return waiting_.front().greeting;
  }

  [[nodiscard]] Result<connected::ConnectionPointer> answer(const connected::Opening& opening) override {
    auto stream = std::move(waiting_.front().stream);
    waiting_.pop_front();
    auto connection = keep(std::make_unique<TcpConnection>(opening.call, std::move(stream), opening.greeting));
    watch(connections_.back(), EPOLL_CTL_ADD);
    connection->flush();
    return connection;
  }

  void turn_away() override { waiting_.pop_front(); }

  void on_gone(connected::Connection& gone) override {
    const auto at = std::find_if(connections_.begin(), connections_.end(),
                                 [&](const Watched& each) { return each.connection == &gone; });
    if (at->connection->descriptor() < 0 && at->connection->ticket() != CallTicket{})
      handshakes_->forget(at->connection->ticket());
    connections_.erase(at);
  }

  void take_reports(connected::TransportEvents&) override {
    for (auto outcome = handshakes_->take(); outcome; outcome = handshakes_->take()) {
      if (auto* const received = std::get_if<ReceivedCall>(&*outcome)) {
        waiting_.push_back(std::move(*received));
      } else if (auto* const made = std::get_if<MadeCall>(&*outcome)) {
        if (Watched* const each = find(made->ticket)) {
          each->connection->attach(std::move(made->stream));
          watch(*each, EPOLL_CTL_ADD);
        }
      } else if (const auto* const failed = std::get_if<FailedCall>(&*outcome)) {
        if (Watched* const each = find(failed->ticket)) each->connection->break_down(failed->why.to_string());
      }
    }
  }

  bool take_completions(connected::TransportEvents& to, Time now) override {
    bool any = false;
    if (connections_.size() <= asked_in_turn_max) {
      for (const Watched& each : connections_) any |= each.connection->receive(to);
    } else {
      std::array<epoll_event, 64> ready;
      const int count = ::epoll_wait(events_.get(), ready.data(), static_cast<int>(ready.size()), 0);
      for (int i = 0; i < count; ++i)
        any |= static_cast<TcpConnection*>(ready[static_cast<std::size_t>(i)].data.ptr)->receive(to);
    }
    next_look_ = never;
    for (const Watched& each : connections_) {
      if (each.connection->ready()) any |= each.connection->receive(to);
      each.connection->tell_done(to);
      if (const auto refusal = each.connection->take_refusal()) {
        refusals_.tell(each.connection->node(), *refusal, now, {}, each.connection->certificate());
        if (options_.credentials != nullptr) options_.credentials->note_refusal(each.connection->node(), *refusal);
      }
      if (each.connection->awaits_acknowledgement()) next_look_ = now + between_looks_at_acknowledgements;
    }
    return any;
  }

  // Bytes that have come keep a descriptor readable; only the events that are waited for have to be up to date.
  void arm() noexcept override {
    for (Watched& each : connections_) {
      if (each.connection->descriptor() >= 0 && each.connection->awaited() != each.awaited) watch(each, EPOLL_CTL_MOD);
    }
  }

  [[nodiscard]] bool may_block(connected::TransportEvents&) noexcept override {
    return std::none_of(connections_.begin(), connections_.end(),
                        [](const Watched& each) { return each.connection->ready(); });
  }
  [[nodiscard]] Time next_look() const noexcept override { return next_look_; }
  [[nodiscard]] std::uint64_t address_of(const connected::OwnRegion&) const noexcept override { return 0; }
  void shut() noexcept override { handshakes_.reset(); }

 private:
  struct Watched {
    TcpConnection* connection = nullptr;
    std::uint32_t awaited = 0;  ///< what the kernel was asked to tell of
  };

  [[nodiscard]] connected::ConnectionPointer keep(std::unique_ptr<TcpConnection> connection) {
    connections_.push_back({connection.get()});
    return connection;
  }

  [[nodiscard]] Watched* find(CallTicket ticket) noexcept {
    const auto at = std::find_if(connections_.begin(), connections_.end(), [ticket](const Watched& each) {
      return each.connection->ticket() == ticket && !each.connection->broken();
    });
    return at == connections_.end() ? nullptr : &*at;
  }

  // A socket that the kernel cannot watch for want of memory is found out by its silence.
  void watch(Watched& each, int how) noexcept {
    each.awaited = each.connection->awaited();
    epoll_event event{.events = each.awaited, .data = {.ptr = each.connection}};
    static_cast<void>(::epoll_ctl(events_.get(), how, each.connection->descriptor(), &event));
  }

  const Handshakes::Options options_;
  FileDescriptor events_;
  std::unique_ptr<Handshakes> handshakes_;
  CallTicket newest_{0};
  std::deque<ReceivedCall> waiting_;
  std::vector<Watched> connections_;
  connected::NodeRefusals refusals_;
  Time next_look_ = never;
};

}  // namespace
}  // namespace spindrift::fabric::tcp

namespace spindrift::fabric {

Result<std::unique_ptr<connected::Endpoint>> make_tcp_part(const TcpOptions& options) {
  return connected::Endpoint::make(
      {options.self, options.silence_max, options.credentials, options.audit, connected::ProvedBy::transport},
      {.name = "tcp", .needs_target_progress = true, .buffered_bytes = connected::socket_bytes},
      std::make_unique<tcp::TcpTransport>(
          tcp::Handshakes::Options{.credentials = options.credentials,
                                   .patience = {options.silence_max, options.unread_max},
                                   .audit = options.audit,
                                   .discovery = options.discovery}));
}

Result<std::unique_ptr<Fabric>> make_tcp(const TcpOptions& options) {
  return connected::Endpoint::alone(make_tcp_part(options), options.runtime_directory, options.group_name);
}

Result<void> try_tcp_address(const std::string& endpoint) {
  SPINDRIFT_TRY_ASSIGN(const auto address, connected::resolve(endpoint, false));
  SPINDRIFT_TRY(tcp::listen_at(address));
  return {};
}

}  // namespace spindrift::fabric
