// The threads of a member's port for clients.
#include <spindrift/group/client_port.hpp>

#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include <spindrift/core/limits.hpp>
#include <spindrift/core/log.hpp>
#include <spindrift/fabric/tls/identity.hpp>

namespace spindrift::group {
namespace {

using clients::CallerOutcome;

constexpr int yields = 5;  // to the poller and the application, as nice(1) counts it
constexpr Duration sleep_max = std::chrono::seconds(60);

void yield_to_others() { static_cast<void>(::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), yields)); }

rpc::RpcOptions port_options() {
  rpc::RpcOptions options = rpc::over_tcp();
  options.route_sessions_max = 1;  // so that places are bounded as connections are, by identities
  options.kept_bytes_max = std::uint64_t{128} << 20U;
  options.session_kept_bytes_max = std::uint64_t{32} << 20U;
  return options;
}

/// An answer that no call has room for is not sent, and its reason is. `carried_out`: the call is in the group's order.
clients::MemberAnswer fitting(clients::MemberAnswer answer, bool carried_out) {
  if (clients::answer_bytes(answer) <= rpc::message_bytes_most) return answer;
  return clients::answer_of(CallerOutcome::too_large, "the result of " + std::to_string(answer.bytes.size()) +
                                                          " bytes is larger than an answer may be, 8 MiB" +
                                                          (carried_out ? "; an update was carried out, if it was one" : ""));
}

/// Answers by the functions that a request has while its handler runs, or by those that the endpoint has later.
template <class MakeResponse, class Send>
void send(const clients::MemberAnswer& answer, const MakeResponse& make_response, const Send& done) {
  const auto room = make_response(clients::answer_bytes(answer));
  if (room) clients::encode(answer, *room);
  done(room ? rpc::CallStatus::answered : rpc::CallStatus::failed);
}

}  // namespace

Result<void> ToldAnswers::open() {
  bell_ = FileDescriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!bell_) return system_error("eventfd", errno);
  return {};
}

void ToldAnswers::ring() const noexcept { static_cast<void>(::eventfd_write(bell_.get(), 1)); }

// Without memory for a word the process is over anyway.
void ToldAnswers::tell(std::uint64_t call, std::optional<clients::MemberAnswer> answer) noexcept {
  bool first = false;
  {
    const std::lock_guard lock(mutex_);
    first = told_.empty();
    told_.push_back({call, std::move(answer)});
  }
  if (first) ring();
}

std::vector<ToldAnswers::Told> ToldAnswers::take() {
  eventfd_t rings = 0;
  static_cast<void>(::eventfd_read(bell_.get(), &rings));
  const std::lock_guard lock(mutex_);
  return std::exchange(told_, {});
}

Result<void> QueryReader::start() {
  SPINDRIFT_TRY_ASSIGN(thread_, start_thread([this] {
                         yield_to_others();
                         run();
                       }));
  return {};
}

QueryReader::~QueryReader() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

bool QueryReader::add(std::uint64_t call, ClientQuery&& query) {
  {
    const std::lock_guard lock(mutex_);
    if (waiting_.size() >= waiting_max) return false;
    waiting_.emplace_back(call, std::move(query));
  }
  changed_.notify_one();
  return true;
}

std::vector<std::uint64_t> QueryReader::forget(const std::function<bool(std::uint64_t call)>& is_wanted) {
  std::vector<std::uint64_t> forgotten;
  const std::lock_guard lock(mutex_);
  std::erase_if(waiting_, [&](const auto& each) {
    if (is_wanted(each.first)) return false;
    forgotten.push_back(each.first);
    return true;
  });
  return forgotten;
}

void QueryReader::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return ends_ || !waiting_.empty(); });
    if (ends_) return;
    const auto [call, query] = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    told_->tell(call, query.read());
    lock.lock();
  }
}

Result<void> ClientPort::start(const std::string& endpoint, config::ClientRights rights,
                               std::shared_ptr<fabric::tls::Credentials> credentials, std::shared_ptr<AuditTrail> audit) {
  rights_ = std::move(rights);
  audit_ = audit;
  rpc::StreamOptions options;
  options.listen = endpoint;
  options.credentials = std::move(credentials);
  options.audit = std::move(audit);
  options.callers_max = callers_max;
  options.callers_per_identity = callers_per_identity;
  SPINDRIFT_TRY(told_->open());
  auto transport = rpc::StreamTransport::open(std::move(options));
  if (!transport) return std::move(transport).error().at("[SPINDRIFT] client_port, " + endpoint);
  transport_ = std::move(transport).value();
  endpoint_ = std::make_unique<rpc::RpcEndpoint>(*transport_, tokens_, port_options());
  SPINDRIFT_TRY(endpoint_->handle(clients::call_type, *this));
  reader_.emplace(told_);
  SPINDRIFT_TRY(reader_->start());
  SPINDRIFT_TRY_ASSIGN(thread_, start_thread([this] {
                         yield_to_others();
                         run();
                       }));
  log::info(log::Room::group, "listens for clients", {{"at", transport_->address()}});
  return {};
}

ClientPort::~ClientPort() {
  if (!thread_.joinable()) return;
  ends_.store(true, std::memory_order_seq_cst);
  told_->ring();
  thread_.join();
}

void ClientPort::run() {
  while (!ends_.load(std::memory_order_seq_cst)) {
    const Duration left = endpoint_->next_due() == never ? sleep_max : endpoint_->next_due() - clock_.now();
    static_cast<void>(transport_->wait(std::min(left, sleep_max), told_->descriptor()));
    static_cast<void>(endpoint_->step(clock_.now()));
    answer_told();
    forget_abandoned();
  }
  endpoint_->end();
  static_cast<void>(endpoint_->step(clock_.now()));
}

// Told calls are looked for in what is under way: none is told before its request has been put there, for both are this
// thread's.
void ClientPort::answer_told() {
  for (auto& [call, answer] : told_->take()) {
    const auto found = under_way_.find(call);
    if (found == under_way_.end()) continue;
    const UnderWay told = std::move(found->second);
    under_way_.erase(found);
    const bool ordered = told.call != nullptr;
    send(
        fitting(answer ? *std::move(answer) : told.call->answer(), ordered),
        [&](std::size_t bytes) { return endpoint_->make_response(told.request, bytes); },
        [&](rpc::CallStatus status) { endpoint_->answer(told.request, status); });
  }
}

// A client that has left for another member asks there again: here its queries would hold up those of others for nothing.
void ClientPort::forget_abandoned() {
  const auto is_wanted = [this](std::uint64_t call) { return endpoint_->is_awaited(under_way_.at(call).request); };
  for (const std::uint64_t call : reader_->forget(is_wanted)) {
    const auto found = under_way_.find(call);
    endpoint_->answer(found->second.request, rpc::CallStatus::failed);
    under_way_.erase(found);
  }
}

// Nobody looks at who asks where all may do the same.
RequestOrigin ClientPort::origin_of(const rpc::IncomingRequest& request) const {
  RequestOrigin origin{rights_, {}, false};
  if (!rights_.bounded()) return origin;
  const auto peer = transport_->peer(request.route());
  if (!peer || !peer->certificate) return origin;
  const auto identity = fabric::tls::Identity::parse(peer->certificate->identity);
  if (!identity) return origin;
  origin.is_member = identity->role == fabric::tls::Role::member;
  if (!origin.is_member) origin.client = identity->name;
  return origin;
}

void ClientPort::audit_refusal(const rpc::IncomingRequest& request, const clients::MemberAnswer& answer) const {
  const auto peer = transport_->peer(request.route());
  AuditEvent event{.kind = AuditKind::refused, .to = transport_->address(), .reason = clients::words_of(answer)};
  if (peer) {
    event.from = peer->with;
    event.certificate = peer->certificate;
  }
  audit_->write(std::move(event));
}

void ClientPort::on_request(rpc::IncomingRequest& request) {
  const std::uint64_t number = ++calls_;
  TakenRequest taken;
  const auto overloaded = [&](const std::string& why) {
    return clients::answer_of(CallerOutcome::overloaded, objects_.name() + ": " + why);
  };
  if (under_way_.size() < under_way_max) {
    taken = take_request(objects_, origin_of(request), request.bytes(), [told = told_, number] { told->tell(number); });
  } else {
    taken.answer = overloaded("too many requests of clients are under way");
  }
  if (taken.query && !reader_->add(number, *std::move(taken.query)))
    taken.answer = overloaded("too many queries of clients wait");
  if (taken.answer && taken.answer->outcome == CallerOutcome::forbidden) audit_refusal(request, *taken.answer);
  if (!taken.answer) {
    under_way_[number] = {request.id(), std::move(taken.call)};
    return;
  }
  send(
      fitting(*std::move(taken.answer), false), [&](std::size_t bytes) { return request.make_response(bytes); },
      [&](rpc::CallStatus status) { request.answer(status); });
}

}  // namespace spindrift::group
