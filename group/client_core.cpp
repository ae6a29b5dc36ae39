// The thread of a client.
#include <spindrift/group/client_core.hpp>

#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include <spindrift/core/config/addresses.hpp>
#include <spindrift/core/limits.hpp>
#include <spindrift/fabric/tcp/socket.hpp>
#include <spindrift/fabric/tls/credentials.hpp>

namespace spindrift::clients {
namespace {

constexpr Duration sleep_max = std::chrono::seconds(60);
constexpr Duration closing_max = std::chrono::seconds(1);
constexpr std::size_t head_bytes_max = 1024;  // of requests and answers, without arguments and results
constexpr std::size_t arguments_bytes_max = rpc::message_bytes_most - head_bytes_max;

Error wrong(const std::string& what, const std::string& fix) {
  return Error(ErrorKind::bad_argument, what).at("options of a spindrift::Client").fix(fix);
}

Result<void> check(const ClientOptions& options) {
  if (options.members.empty())
    return wrong("they name no member", "give host:port of some members, where they listen for clients");
  for (const std::string& each : options.members) {
    auto parsed = config::parse_host_port(each);
    if (!parsed || !config::is_callable(*std::move(parsed)))
      return wrong("nobody can be called at " + each, "write host:port, as 10.0.0.1:7600");
  }
  if (options.result_bytes_max > arguments_bytes_max || options.requests_max == 0)
    return wrong("a result has less than 8 MiB, and there is room for one request at least", "choose other bounds");
  if (options.give_up_after <= Duration{} || options.answer_within <= Duration{})
    return wrong("times that requests have are above 0", "give them some");
  return {};
}

/// The address cannot even be called.
Error not_callable(const Error& why) {
  if (why.kind() == ErrorKind::unsupported) {
    return Error(ErrorKind::unsupported, "without keys this client proves nothing, and calls members on loopback alone")
        .fix("give ClientOptions.keys the directory of a key of the role client, as spindrift keys makes it");
  }
  return Error(why.kind(), why.message()).fix("correct the host in ClientOptions.members, or what names it");
}

/// A connection is over, or none came to be, for a reason that may not be known.
Error not_reached(const std::optional<Error>& why) {
  if (!why) return Error(ErrorKind::member_lost, "the connection ended").fix(std::string(reach_fix));
  const std::string& words = why->message();
  if (words.starts_with(fabric::tcp::connection_ended) || words.starts_with(fabric::tcp::connection_broke)) {
    return Error(ErrorKind::member_lost, words + " before the member answered")
        .fix("see its log for the reason: it may have no place for another client, or other keys, or none, where this "
             "client has some; or something else listens there");
  }
  if (!why->fix().empty()) return *why;
  return Error(*why).fix(std::string(reach_fix));
}

Error gone() { return Error(ErrorKind::group_closed, "the client of this request is gone"); }

}  // namespace

std::vector<Ended> CallerLink::step(Time now) {
  now_ = now;
  CallerStep step = caller_->step(now);
  due_ = step.due;
  if (step.hang_up) hang_up();
  if (step.connect) connect(*step.connect, now);
  for (CallerStep::Attempt& each : step.send) send(std::move(each), now);
  return std::move(step.ended);
}

void CallerLink::connect(const std::string& address, Time now) {
  const auto route = transport_.call(address, turns_[address]++);
  if (!route) {
    due_ = now;
    return caller_->on_lost(not_callable(route.error()), now);
  }
  route_ = *route;
  const auto session = endpoint_.connect(route_, *this);
  if (session) {
    session_ = *session;
    return;
  }
  due_ = now;
  transport_.hang_up(route_);
  caller_->on_lost(session.error(), now);
}

// Its calls end before `close` returns; the caller knows none of them any more.
void CallerLink::hang_up() {
  const rpc::SessionId over = std::exchange(session_, {});
  endpoint_.close(over);
  transport_.hang_up(route_);
}

void CallerLink::send(CallerStep::Attempt&& attempt, Time now) {
  rpc::OutgoingCall call{.type = call_type, .handler = this, .tag = attempt.number};
  call.request = endpoint_.buffer(attempt.request.size());
  std::ranges::copy(attempt.request, call.request.data().begin());
  if (buffers_.empty()) buffers_.push_back(endpoint_.buffer(head_bytes_max + result_bytes_));
  call.response = std::move(buffers_.back());
  buffers_.pop_back();
  if (endpoint_.call(session_, call)) return;
  due_ = now;
  caller_->on_answer(attempt.number, rpc::CallStatus::overloaded, {}, now);
}

void CallerLink::on_answer(rpc::CallAnswer&& answer) {
  caller_->on_answer(answer.tag, answer.status, answer.response.data(), now_);
  answer.response.resize(answer.response.capacity());
  buffers_.push_back(std::move(answer.response));
}

void CallerLink::on_session(rpc::SessionId session, rpc::SessionChange change) {
  if (session != session_) return;
  if (change == rpc::SessionChange::connected) return caller_->on_connected(now_);
  session_ = {};
  const auto why = transport_.why_over(route_);
  transport_.hang_up(route_);
  const bool full = change == rpc::SessionChange::no_credits || change == rpc::SessionChange::payload_differs;
  caller_->on_lost(full ? Error(ErrorKind::resource, "that member has no place for another client")
                              .fix("end some clients, or call other members")
                        : not_reached(why),
                   now_);
}

ClientCore::ClientCore(ClientOptions options) : options_(std::move(options)) {
  value_or_throw(check(options_));
  rpc::StreamOptions stream;
  if (!options_.keys.empty())
    stream.credentials = value_or_throw(fabric::tls::Credentials::load_client(options_.keys, options_.group_name));
  transport_ = value_or_throw(rpc::StreamTransport::open(std::move(stream)));
  endpoint_ = std::make_unique<rpc::RpcEndpoint>(*transport_, tokens_, rpc::over_tcp());
  bell_ = FileDescriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!bell_) throw Exception(system_error("eventfd", errno));
  bell_.keep_from_children();
  process_ = process_generation();
  thread_ = value_or_throw(start_thread([this] { run(); }));
}

ClientCore::~ClientCore() { close(); }

void ClientCore::close() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  static_cast<void>(::eventfd_write(bell_.get(), 1));
  if (thread_.joinable()) thread_.join();
}

void check_process(std::uint32_t generation) {
  if (generation == process_generation()) return;
  throw Exception(Error(ErrorKind::bad_argument, "this client is its parent's: a process that was forked has none of it")
                      .fix("make a spindrift::Client in the child"));
}

std::uint64_t ClientCore::add_caller(std::string subgroup, std::uint64_t digest) {
  check_process(process_);
  if (subgroup.empty() || subgroup.size() > subgroup_bytes_max) {
    throw Exception(Error(ErrorKind::bad_argument, "a subgroup's name has 1 to 255 bytes").at("Client::replicated"));
  }
  const std::lock_guard lock(mutex_);
  orders_.callers.push_back({++made_, std::move(subgroup), digest});
  return made_;
}

std::shared_ptr<const AwaitedAnswer> ClientCore::ask(std::uint64_t caller, Wanted wanted) {
  check_process(process_);
  if (wanted.arguments.size() > arguments_bytes_max) {
    throw Exception(Error(ErrorKind::bad_argument, "the arguments take " + std::to_string(wanted.arguments.size()) +
                                                       " bytes, and a client sends " + std::to_string(arguments_bytes_max))
                        .fix("send less at once"));
  }
  wanted.deadline = clock_.now() + options_.give_up_after;
  auto answer = std::make_shared<AwaitedAnswer>();
  {
    const std::lock_guard lock(mutex_);
    if (closed_) throw Exception(gone());
    if (open_[caller] >= options_.requests_max) {
      throw Exception(Error(ErrorKind::resource, std::to_string(options_.requests_max) +
                                                     " requests of this client are not answered, as many as there may be")
                          .fix("wait for some of the answers, or raise requests_max of its options"));
    }
    ++open_[caller];
    wanted.ticket = ++made_;
    awaited_.emplace(made_, answer);
    orders_.requests.push_back({caller, std::move(wanted)});
  }
  static_cast<void>(::eventfd_write(bell_.get(), 1));
  return answer;
}

void ClientCore::take_orders() {
  eventfd_t rings = 0;
  static_cast<void>(::eventfd_read(bell_.get(), &rings));
  Orders orders;
  {
    const std::lock_guard lock(mutex_);
    std::swap(orders, orders_);
  }
  for (NewCaller& each : orders.callers) {
    MemberChoice members(options_.members, tokens_.next_token());
    CallerOptions options;
    options.answer_within = options_.answer_within;
    auto caller = std::make_unique<ObjectCaller>(std::move(each.subgroup), each.digest, std::move(members), options);
    auto link = std::make_unique<CallerLink>(std::move(caller), *transport_, *endpoint_, options_.result_bytes_max);
    callers_.emplace(each.id, std::move(link));
  }
  for (NewRequest& each : orders.requests) callers_.at(each.caller)->caller().add(std::move(each.wanted));
}

// A step may bring about the next one: a member that cannot even be called is left for another.
Time ClientCore::step_callers(Time now) {
  Time due = never;
  for (auto& [id, link] : callers_) {
    settle(id, link->step(now));
    due = std::min(due, link->due());
  }
  return due;
}

void ClientCore::settle(std::uint64_t caller, std::vector<Ended> ended) {
  for (Ended& each : ended) {
    std::shared_ptr<AwaitedAnswer> answer;
    {
      const std::lock_guard lock(mutex_);
      --open_[caller];
      const auto found = awaited_.find(each.ticket);
      answer = std::move(found->second);
      awaited_.erase(found);
    }
    answer->set(static_cast<AwaitedAnswer::Kind>(each.kind), std::move(each.bytes), each.place, std::move(each.why));
  }
}

void ClientCore::run() {
  Time end = never;
  while (true) {
    take_orders();
    Time now = clock_.now();
    const bool ends = [&] {
      const std::lock_guard lock(mutex_);
      return closed_;
    }();
    if (ends && end == never) {
      end = now + closing_max;
      for (auto& [id, link] : callers_) {
        link->caller().end(gone());
        link->caller().close();
      }
    }
    Time due = step_callers(now);
    const bool all_closed = std::ranges::all_of(callers_, [](const auto& each) { return each.second->caller().closed(); });
    if (ends && (all_closed || now >= end)) break;
    due = std::min({due, end, endpoint_->next_due()});
    static_cast<void>(transport_->wait(due == never ? sleep_max : std::min(sleep_max, due - now), bell_.get()));
    now = clock_.now();
    for (auto& [id, link] : callers_) link->set_time(now);
    static_cast<void>(endpoint_->step(now));
  }
  endpoint_->end();
  static_cast<void>(endpoint_->step(clock_.now()));
  end_awaited();
}

// Those that came while the client was closed already.
void ClientCore::end_awaited() {
  const std::lock_guard lock(mutex_);
  for (auto& [ticket, answer] : awaited_)
    answer->set(AwaitedAnswer::Kind::failed, {}, {}, std::make_exception_ptr(Exception(gone())));
  awaited_.clear();
}

}  // namespace spindrift::clients
