// Connections that ask one question.
#include <spindrift/fabric/tcp/discovery.hpp>

#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <span>
#include <utility>

#include <spindrift/core/bytes.hpp>
#include <spindrift/core/file_descriptor.hpp>
#include <spindrift/fabric/connected/wire.hpp>
#include <spindrift/fabric/tcp/byte_stream.hpp>
#include <spindrift/fabric/tcp/caller_audit.hpp>
#include <spindrift/fabric/tcp/discovery_answer.hpp>
#include <spindrift/fabric/tcp/socket.hpp>
#include <spindrift/fabric/tcp/tls_stream.hpp>

namespace spindrift::fabric::tcp {
namespace {

/// One address that is asked. Goes from stage to stage as far as its socket lets it.
class DiscoveryCall {
 public:
  DiscoveryCall(const connected::SocketAddress& to, const DiscoveryOptions& options)
      : options_(options), from_(text_of(to)) {
    auto socket = begin_connecting(to, {options.patience, options.patience});
    if (socket)
      socket_ = std::move(socket).value();
    else
      end(socket.error());
  }

  [[nodiscard]] bool over() const noexcept { return stage_ == Stage::over; }
  [[nodiscard]] bool answered() const noexcept { return outcome_ && outcome_->ok(); }
  [[nodiscard]] pollfd wait() const noexcept {
    return {.fd = stream_ != nullptr ? stream_->descriptor() : socket_.get(), .events = waits_for_, .revents = 0};
  }

  void advance() {
    while (stage_ != Stage::over) {
      const auto went = step();
      if (!went) return end(went.error());
      if (!*went) return;
    }
  }
  void give_up(Error why) { end(std::move(why)); }
  [[nodiscard]] DiscoveryOutcome outcome() && {
    return {std::move(from_), std::move(*outcome_), nobody_};
  }

 private:
  enum class Stage : std::uint8_t { connecting, proving, asking, hearing, over };

  /// Whether the next stage, or more of this one, can be tried at once. Errors: it failed.
  [[nodiscard]] Result<bool> step() {
    switch (stage_) {
      case Stage::connecting: return connect();
      case Stage::proving: return prove();
      case Stage::asking: return ask();
      case Stage::hearing: return hear();
      case Stage::over: break;
    }
    return false;
  }

  [[nodiscard]] Result<bool> connect() {
    if (const int error = connect_error(socket_); error != 0) {
      nobody_ = error == ECONNREFUSED;
      return Error(ErrorKind::member_lost, nobody_ ? "nobody listens there" : "nobody answers there")
          .because(system_error("connect", error));
    }
    if (options_.credentials == nullptr) {
      stream_ = plain_stream(std::move(socket_));
    } else {
      SPINDRIFT_TRY_ASSIGN(stream_, tls_stream(std::move(socket_), End::caller, options_.credentials));
    }
    stage_ = Stage::proving;
    return true;
  }

  [[nodiscard]] Result<bool> prove() {
    SPINDRIFT_TRY_ASSIGN(const ByteStream::Need need, stream_->establish());
    waits_for_ = need == ByteStream::Need::writable ? POLLOUT : POLLIN;
    if (need != ByteStream::Need::nothing) return false;
    SPINDRIFT_TRY(stream_->is_member());
    stage_ = Stage::asking;
    return true;
  }

  [[nodiscard]] Result<bool> ask() {
    waits_for_ = POLLOUT;
    if (done_ < greeting_.size()) {
      const iovec rest{greeting_.data() + done_, greeting_.size() - done_};
      SPINDRIFT_TRY_ASSIGN(const std::size_t sent, stream_->write({&rest, 1}));
      done_ += sent;
      return sent > 0;
    }
    SPINDRIFT_TRY_ASSIGN(const bool flushed, stream_->flush());
    if (!flushed) return false;
    stage_ = Stage::hearing;
    done_ = 0;
    return true;
  }

  [[nodiscard]] Result<bool> hear() {
    waits_for_ = POLLIN;
    const std::span<std::byte> target = heard_.empty() ? std::span(length_) : std::span(heard_);
    const iovec rest{target.data() + done_, target.size() - done_};
    SPINDRIFT_TRY_ASSIGN(const std::size_t came, stream_->read({&rest, 1}));
    done_ += came;
    if (came == 0 || done_ < target.size()) return came > 0;
    done_ = 0;
    if (heard_.empty()) return begin_answer();
    outcome_ = std::string(reinterpret_cast<const char*>(heard_.data()), heard_.size());
    stage_ = Stage::over;
    return false;
  }

  [[nodiscard]] Result<bool> begin_answer() {
    const auto bytes = ByteReader(length_).get<std::uint64_t>();
    if (bytes == 0 || bytes > discovery_answer_bytes_max) {
      return Error(ErrorKind::bad_input, "it answers what no member does")
          .fix("see that what listens there is a member of the group, of a version of spindrift that knows contacts");
    }
    heard_.resize(bytes);
    return true;
  }

  void end(Error why) {
    outcome_ = std::move(why);
    stage_ = Stage::over;
    stream_.reset();
    socket_ = FileDescriptor();
  }

  const DiscoveryOptions& options_;
  std::string from_;
  Stage stage_ = Stage::connecting;
  short waits_for_ = POLLOUT;
  FileDescriptor socket_;               // connecting
  std::unique_ptr<ByteStream> stream_;  // from then on
  connected::GreetingBytes greeting_ = connected::discovery_greeting();
  std::size_t done_ = 0;  // bytes of the greeting, then of the length, then of the answer
  std::array<std::byte, sizeof(std::uint64_t)> length_{};
  std::vector<std::byte> heard_;
  std::optional<Result<std::string>> outcome_;
  bool nobody_ = false;
};

/// Until one of those that are not over has news, or the time has come.
void await(std::vector<DiscoveryCall>& calls, Time until, const Clock& clock) {
  std::vector<pollfd> waits;
  std::vector<DiscoveryCall*> waiting;
  for (DiscoveryCall& each : calls) {
    if (each.over()) continue;
    waits.push_back(each.wait());
    waiting.push_back(&each);
  }
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - clock.now()).count();
  if (::poll(waits.data(), waits.size(), static_cast<int>(std::max<std::int64_t>(left + 1, 0))) <= 0) return;
  for (std::size_t i = 0; i < waits.size(); ++i) {
    if (waits[i].revents != 0) waiting[i]->advance();
  }
}

}  // namespace

std::vector<DiscoveryOutcome> discover(const std::vector<connected::SocketAddress>& at, const DiscoveryOptions& options,
                                       const Clock& clock) {
  std::vector<DiscoveryCall> calls;
  calls.reserve(at.size());
  for (const connected::SocketAddress& each : at) calls.emplace_back(each, options);
  Time until = clock.now() + options.patience;
  const auto all = [&](auto what) { return std::ranges::all_of(calls, what); };
  for (bool heard = false; !all([](const DiscoveryCall& each) { return each.over(); }) && clock.now() < until;) {
    await(calls, until, clock);
    if (heard || std::ranges::none_of(calls, [](const DiscoveryCall& each) { return each.answered(); })) continue;
    heard = true;
    until = std::min(until, clock.now() + options.after_the_first);
  }
  std::vector<DiscoveryOutcome> outcomes;
  for (DiscoveryCall& each : calls) {
    if (!each.over()) each.give_up(Error(ErrorKind::timed_out, "it did not answer in time"));
    outcomes.push_back(std::move(each).outcome());
  }
  return outcomes;
}

}  // namespace spindrift::fabric::tcp
