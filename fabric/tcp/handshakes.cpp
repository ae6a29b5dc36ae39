// The thread in which connections begin.
#include <spindrift/fabric/tcp/handshakes.hpp>

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>
#include <system_error>
#include <utility>

#include <spindrift/core/bytes.hpp>
#include <spindrift/core/log.hpp>
#include <spindrift/fabric/tcp/admission.hpp>
#include <spindrift/fabric/tcp/caller_audit.hpp>
#include <spindrift/fabric/tcp/begun_connection.hpp>
#include <spindrift/fabric/tcp/socket.hpp>
#include <spindrift/fabric/tcp/tls_stream.hpp>
#include <spindrift/fabric/tls/credentials.hpp>
#include <spindrift/fabric/tls/key_watch.hpp>

namespace spindrift::fabric::tcp {
namespace {

constexpr auto handshake_max = std::chrono::seconds(3);
constexpr auto rest_without_descriptors = std::chrono::milliseconds(100);
constexpr auto between_reports = std::chrono::seconds(10);
constexpr int calls_per_round = 16;  // others have their turn then
constexpr std::ptrdiff_t silent_max = 128;
constexpr Admission::Limits calls_of_a_node{.calls_per_second = 10, .calls_at_once = 50};
constexpr int yields = 10;  // to the poller and the application, as nice(1) counts it

void ring(const FileDescriptor& bell) noexcept {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(bell.get(), &one, sizeof one);
}

void take_rings(const FileDescriptor& bell) noexcept {
  std::uint64_t rings = 0;
  [[maybe_unused]] const auto taken = ::read(bell.get(), &rings, sizeof rings);
}

}  // namespace

/// The objects that the thread alone touches.
class Handshakes::Worker {
 public:
  Worker(Handshakes& owner, FileDescriptor listener, FileDescriptor events, Options options)
      : owner_(owner), listener_(std::move(listener)), events_(std::move(events)), options_(std::move(options)) {
    watch(owner_.orders_bell_.get(), EPOLLIN);
    if (listener_) watch(listener_.get(), EPOLLIN);
  }

  void run() {
    std::array<epoll_event, 32> ready;
    while (true) {
      const int count = ::epoll_wait(events_.get(), ready.data(), static_cast<int>(ready.size()), timeout());
      const Time now = clock_.now();
      for (int i = 0; i < count; ++i) {
        const int descriptor = ready[static_cast<std::size_t>(i)].data.fd;
        if (descriptor == owner_.orders_bell_.get()) {
          if (!obey(now)) return;
        } else if (descriptor == listener_.get()) {
          accept_all(now);
        } else if (const auto at = pending_.find(descriptor); at != pending_.end()) {
          advance(at, now);
        }
      }
      keep_time(now);
    }
  }

 private:
  using Pending = BegunConnection;
  using Pendings = std::map<int, Pending>;

  void watch(int descriptor, std::uint32_t what) noexcept {
    epoll_event event{.events = what, .data = {.fd = descriptor}};
    if (::epoll_ctl(events_.get(), EPOLL_CTL_MOD, descriptor, &event) != 0)
      static_cast<void>(::epoll_ctl(events_.get(), EPOLL_CTL_ADD, descriptor, &event));
  }

  [[nodiscard]] Result<std::unique_ptr<ByteStream>> open(FileDescriptor socket, End end) const {
    if (options_.credentials == nullptr) return plain_stream(std::move(socket));
    return tls_stream(std::move(socket), end, options_.credentials);
  }

  [[nodiscard]] int timeout() const {
    Time next = std::min(resting_until_, key_watch_.next_look());
    for (const auto& [descriptor, each] : pending_) next = std::min(next, each.deadline);
    if (next == never) return -1;
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(next - clock_.now()).count();
    return static_cast<int>(std::clamp<long long>(left + 1, 0, 60'000));
  }

  /// Whether the thread goes on.
  [[nodiscard]] bool obey(Time now) {
    take_rings(owner_.orders_bell_);
    for (Order& order : owner_.take_orders()) {
      if (const auto* const ticket = std::get_if<CallTicket>(&order)) {
        std::erase_if(pending_, [&](const auto& each) { return each.second.call && each.second.call->ticket == *ticket; });
        if (*ticket == CallTicket{}) return false;
        continue;
      }
      begin(std::move(std::get<Call>(order)), now);
    }
    return true;
  }

  void begin(Call call, Time now) {
    auto socket = begin_connecting(call.address, options_.patience);
    if (!socket) return owner_.tell(FailedCall{call.ticket, std::move(socket).error()});
    const int descriptor = socket->get();
    Pending& each = pending_[descriptor];
    each.stage = Pending::Stage::connecting;
    each.socket = std::move(socket).value();
    each.deadline = now + handshake_max;
    each.call = call;
    watch(descriptor, EPOLLOUT);
  }

  void accept_all(Time now) {
    for (int calls = 0; calls < calls_per_round; ++calls) {
      connected::SocketAddress from;
      auto socket = accept_from(listener_, from, options_.patience);
      if (!socket) return rest(now, socket.error());
      if (!*socket) return;
      const auto silent =
          std::count_if(pending_.begin(), pending_.end(), [](const auto& each) { return is_silent(each.second); });
      if (silent >= silent_max) drop_oldest_silent(now);
      const int descriptor = socket->get();
      Pending& each = pending_[descriptor];
      each.socket = std::move(*socket);
      each.deadline = now + handshake_max;
      each.address = from;
      watch(descriptor, EPOLLIN);
    }
  }

  // Without descriptors the caller that cannot be accepted would make the listener readable for ever. Those who say nothing
  // give theirs back first.
  void rest(Time now, const Error& why) {
    if (drop_oldest_silent(now)) return;
    if (now >= next_complaint_)
      log::error(log::Room::fabric, "cannot accept calls for a while", {{"reason", why.to_string()}});
    if (now >= next_complaint_) next_complaint_ = now + between_reports;
    resting_until_ = now + rest_without_descriptors;
    watch(listener_.get(), 0);
  }

  [[nodiscard]] static bool is_silent(const Pending& each) noexcept { return each.stage == Pending::Stage::silent; }

  [[nodiscard]] Pendings::iterator oldest_silent() {
    auto oldest = pending_.end();
    for (auto at = pending_.begin(); at != pending_.end(); ++at) {
      if (!is_silent(at->second)) continue;
      if (oldest == pending_.end() || at->second.deadline < oldest->second.deadline) oldest = at;
    }
    return oldest;
  }

  /// Whether there was one. A caller that has spoken since it was looked at last is none.
  bool drop_oldest_silent(Time now) {
    for (auto oldest = oldest_silent(); oldest != pending_.end(); oldest = oldest_silent()) {
      if (const auto spoken = has_spoken(oldest->second.socket); spoken && *spoken) {
        advance(oldest, now);
        continue;
      }
      ++dropped_;
      report_turned_away(take_out(oldest).address, now);
      return true;
    }
    return false;
  }

  void report_turned_away(const connected::SocketAddress& from, Time now) {
    if (now < next_report_) return;
    next_report_ = now + between_reports;
    log::warn(log::Room::fabric, "too many callers at once: some are turned away",
              {{"so far", admission_.turned_away() + dropped_}, {"one from", text_of(from)}});
  }

  /// A caller begins to speak: whether it may go on.
  [[nodiscard]] bool admit(const Pending& caller, Time now) {
    const Source source = Source::of(caller.address);
    auto verdict = admission_.enter(source, now);
    if (verdict == Admission::Verdict::crowded && make_way(source)) verdict = admission_.enter(source, now);
    if (verdict == Admission::Verdict::admitted) return true;
    report_turned_away(caller.address, now);
    return false;
  }

  // The oldest caller of the address that has the most gives way to a caller of an address that has fewer: so callers
  // of other addresses are kept out only by as many addresses as there are places.
  bool make_way(const Source& newcomer) {
    auto crowd = pending_.end();
    std::size_t most = admission_.pending_of(newcomer) + 1;
    for (auto at = pending_.begin(); at != pending_.end(); ++at) {
      if (!at->second.counted()) continue;
      const std::size_t count = admission_.pending_of(Source::of(at->second.address));
      const bool older = crowd != pending_.end() && count == most && at->second.deadline < crowd->second.deadline;
      if (count <= most && !older) continue;
      most = count;
      crowd = at;
    }
    if (crowd == pending_.end()) return false;
    fail(take_out(crowd), Error(ErrorKind::timed_out, "others wait, and its address has the most callers"));
    return true;
  }

  /// It is watched and counted no more.
  Pending take_out(Pendings::iterator at) {
    Pending over = std::move(at->second);
    static_cast<void>(::epoll_ctl(events_.get(), EPOLL_CTL_DEL, at->first, nullptr));
    pending_.erase(at);
    if (over.counted()) admission_.leave(Source::of(over.address));
    return over;
  }

  void advance(Pendings::iterator at, Time now) {
    if (is_silent(at->second)) {
      const auto spoken = has_spoken(at->second.socket);
      if (!spoken) return fail(take_out(at), spoken.error());
      if (!*spoken) return;
      if (!admit(at->second, now)) return static_cast<void>(take_out(at));
      at->second.stage = Pending::Stage::proving;
    }
    auto done = step(at->second);
    if (done && !*done) return;
    Pending over = take_out(at);
    if (!done) return fail(over, done.error());
    if (over.call) {
      note_call(over, nullptr);
      owner_.tell(MadeCall{over.call->ticket, std::move(over.stream)});
    } else if (over.stage != Pending::Stage::answering) {
      if (const auto greeting = connected::decode_greeting(over.greeting))
        audit_.on_caller(greeting->node, over.address, *over.stream);
      owner_.tell(ReceivedCall{std::move(over.stream), over.greeting, text_of(over.address)});
    }
  }

  void fail(const Pending& over, const Error& why) {
    if (!over.call) return audit_.on_failed_caller(over.address, over.stream.get(), why, clock_.now());
    note_call(over, &why);
    owner_.tell(FailedCall{over.call->ticket, why});
  }

  /// A call is over. `failure` null: it has come to be. Of a call of no node in particular nothing is remembered.
  void note_call(const Pending& over, const Error* failure) {
    if (!over.call->node) return;
    const NodeId node = *over.call->node;
    if (failure == nullptr) audit_.on_called(node, over.call->address, *over.stream);
    if (failure != nullptr) audit_.on_failed_call(node, over.call->address, over.stream.get(), *failure, clock_.now());
    if (options_.credentials == nullptr) return;
    options_.credentials->note_call(node, failure == nullptr ? std::nullopt : std::optional(*failure));
  }

  [[nodiscard]] static Result<void> is_who_was_called(const Pending& each) {
    return each.call->node ? each.stream->vouches_for(*each.call->node) : each.stream->is_member();
  }

  /// As far as it goes now; whether it is done. Errors: it failed.
  [[nodiscard]] Result<bool> step(Pending& each) {
    if (each.stage == Pending::Stage::connecting) {
      SPINDRIFT_TRY(connected_socket(each.socket));
      SPINDRIFT_TRY_ASSIGN(each.stream, open(std::move(each.socket), End::caller));
      each.stage = Pending::Stage::proving;
    }
    if (each.stream == nullptr) {
      SPINDRIFT_TRY_ASSIGN(each.stream, open(std::move(each.socket), End::listener));
    }
    if (each.stage == Pending::Stage::proving) {
      SPINDRIFT_TRY_ASSIGN(const ByteStream::Need need, each.stream->establish());
      if (need != ByteStream::Need::nothing) {
        watch(each.descriptor(), need == ByteStream::Need::readable ? EPOLLIN : EPOLLOUT);
        return false;
      }
      if (each.call) SPINDRIFT_TRY(is_who_was_called(each));
      each.stage = Pending::Stage::greeting;
    }
    if (each.stage == Pending::Stage::answering) return send_rest(each, each.answer);
    return each.call ? send_rest(each, each.call->greeting) : receive_greeting(each);
  }

  /// Says the rest of those bytes, `greeted` of which have been said; whether it is done.
  [[nodiscard]] Result<bool> send_rest(Pending& each, std::span<const std::byte> bytes) {
    while (each.greeted < bytes.size()) {
      const auto rest = bytes.subspan(each.greeted);
      const iovec range{const_cast<std::byte*>(rest.data()), rest.size()};
      SPINDRIFT_TRY_ASSIGN(const std::size_t sent, each.stream->write({&range, 1}));
      each.greeted += sent;
      if (sent > 0) continue;
      watch(each.descriptor(), EPOLLOUT);
      return false;
    }
    SPINDRIFT_TRY_ASSIGN(const bool flushed, each.stream->flush());
    if (!flushed) watch(each.descriptor(), EPOLLOUT);
    return flushed;
  }

  /// A caller that only asks for the group gets its answer.
  [[nodiscard]] Result<bool> begin_answer(Pending& each) {
    SPINDRIFT_TRY(each.stream->may_observe());
    const auto text = options_.discovery->get();
    if (text == nullptr) return Error(ErrorKind::refused, "it asked for the group before this process looks for one");
    each.answer = ByteWriter().put(std::uint64_t{text->size()}).put_bytes(std::as_bytes(std::span(*text))).take();
    each.greeted = 0;
    each.stage = Pending::Stage::answering;
    return send_rest(each, each.answer);
  }

  [[nodiscard]] Result<bool> receive_greeting(Pending& each) {
    while (each.greeted < each.greeting.size()) {
      const iovec rest{each.greeting.data() + each.greeted, each.greeting.size() - each.greeted};
      SPINDRIFT_TRY_ASSIGN(const std::size_t came, each.stream->read({&rest, 1}));
      each.greeted += came;
      if (came > 0) continue;
      watch(each.descriptor(), EPOLLIN);
      return false;
    }
    const bool observers = options_.purpose == Purpose::observed;
    if (observers && each.greeting == connected::observer_greeting()) return true;
    const bool calls = options_.purpose == Purpose::calls;
    if (calls) SPINDRIFT_TRY(each.stream->may_call());
    if (calls && each.greeting == connected::client_greeting()) return true;
    if (options_.discovery != nullptr && each.greeting == connected::discovery_greeting()) return begin_answer(each);
    const auto greeting = connected::decode_greeting(each.greeting);
    if (observers || calls || !greeting) return Error(ErrorKind::refused, "it speaks another protocol");
    SPINDRIFT_TRY(each.stream->vouches_for(greeting->node));
    if (options_.credentials != nullptr) SPINDRIFT_TRY(count_call(greeting->node));
    return true;
  }

  // The poller's work for calls is bounded, too, from however many addresses somebody with a key makes them.
  [[nodiscard]] Result<void> count_call(NodeId node) {
    const Source source = Source::of(node);
    if (callers_proved_.enter(source, clock_.now()) != Admission::Verdict::admitted)
      return Error(ErrorKind::timed_out, "node " + std::to_string(node.value()) + " calls too often");
    callers_proved_.leave(source);
    return {};
  }

  void keep_time(Time now) {
    if (key_watch_.look(now)) owner_.tell(ChangedKeys{});
    if (resting_until_ <= now) {
      resting_until_ = never;
      watch(listener_.get(), EPOLLIN);
    }
    for (auto at = pending_.begin(); at != pending_.end();) {
      const auto each = at++;
      if (now < each->second.deadline) continue;
      const Pending over = take_out(each);
      fail(over, Error(ErrorKind::timed_out, over.stage == Pending::Stage::connecting ? "nobody answers there"
                                             : is_silent(over)                        ? "it said nothing for 3 s"
                                                               : "it did not prove who it is, and greet, in 3 s"));
    }
  }

  Handshakes& owner_;
  const FileDescriptor listener_;
  const FileDescriptor events_;
  const Options options_;
  const SystemClock clock_;
  Admission admission_{Admission::Limits{}};
  Admission callers_proved_{calls_of_a_node};
  CallerAudit audit_{options_.audit};
  Pendings pending_;
  Time resting_until_ = never;
  tls::KeyWatch key_watch_{options_.purpose == Purpose::observed ? nullptr : options_.credentials, options_.audit,
                           clock_.now()};
  Time next_report_{};
  Time next_complaint_{};
  std::uint64_t dropped_ = 0;  ///< callers that had said nothing when others needed their place
};

Result<std::unique_ptr<Handshakes>> Handshakes::start(FileDescriptor listener, Options options) {
  FileDescriptor orders(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  FileDescriptor outcomes(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  FileDescriptor events(::epoll_create1(EPOLL_CLOEXEC));
  if (!orders || !outcomes || !events) return system_error("eventfd or epoll_create1", errno);
  std::unique_ptr<Handshakes> handshakes(new Handshakes(std::move(orders), std::move(outcomes)));
  auto worker = std::make_unique<Worker>(*handshakes, std::move(listener), std::move(events), std::move(options));
  try {
    handshakes->thread_ = std::thread([worker = std::move(worker)] {
      static_cast<void>(::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), yields));
      worker->run();
    });
  } catch (const std::system_error& error) {
    return Error(ErrorKind::resource, "cannot start a thread for new connections")
        .because(system_error("pthread_create", error.code().value()))
        .fix("raise the limit of processes (ulimit -u), or of memory (ulimit -v)");
  }
  return handshakes;
}

Handshakes::~Handshakes() {
  if (!thread_.joinable()) return;
  order(CallTicket{});
  thread_.join();
}

void Handshakes::call(Call call) { order(std::move(call)); }

void Handshakes::forget(CallTicket ticket) { order(ticket); }

void Handshakes::order(Order order) {
  {
    const std::lock_guard lock(mutex_);
    orders_.push_back(std::move(order));
  }
  ring(orders_bell_);
}

std::vector<Handshakes::Order> Handshakes::take_orders() {
  const std::lock_guard lock(mutex_);
  return std::exchange(orders_, {});
}

// The bell is rung while there are outcomes.
void Handshakes::tell(HandshakeOutcome outcome) {
  const std::lock_guard lock(mutex_);
  outcomes_.push_back(std::move(outcome));
  if (outcomes_.size() == 1) ring(outcomes_bell_);
}

std::optional<HandshakeOutcome> Handshakes::take() {
  const std::lock_guard lock(mutex_);
  if (outcomes_.empty()) return std::nullopt;
  HandshakeOutcome outcome = std::move(outcomes_.front());
  outcomes_.pop_front();
  if (outcomes_.empty()) take_rings(outcomes_bell_);
  return outcome;
}

}  // namespace spindrift::fabric::tcp
