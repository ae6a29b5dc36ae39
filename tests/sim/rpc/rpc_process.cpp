// The application of a process in a run of calls.
#include "rpc_process.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace spindrift::sim {
namespace {

constexpr std::uint8_t type_handled = 1;
constexpr std::uint8_t type_unhandled = 7;
constexpr std::byte own_again{0xee};

std::uint32_t work_draw(Random& random) { return static_cast<std::uint32_t>(random.below(1000)); }

}  // namespace

RpcProcess::RpcProcess(const RpcWorld& world, std::uint32_t node)
    : world_(world),
      node_(node),
      port_(world.network, world.plan, world.books, node),
      endpoint_(port_, *this, world.plan.options) {
  port_.watch(endpoint_.counts());
  SPINDRIFT_CHECK(endpoint_.handle(type_handled, *this).ok());
}

Time RpcProcess::next_due() const {
  const Time due = endpoint_.next_due();
  return intents_.empty() ? due : std::min(due, intents_.begin()->first);
}

void RpcProcess::step(Time now) {
  while (!intents_.empty() && intents_.begin()->first <= now) {
    const Intent intent = intents_.begin()->second;
    intents_.erase(intents_.begin());
    carry_out(intent);
  }
  endpoint_.step(now);
  check_sessions();
  world_.books.check_kept(node_, kept_bytes());
}

void RpcProcess::check_sessions() {
  for (const auto& [server, id] : sessions_) {
    const rpc::ClientSession* session = endpoint_.session(id);
    if (session == nullptr) {
      world_.books.violated("C7", fmt::format("a session with node {} is gone, and nobody was told", server));
      return;
    }
    if (session->ends().credits > 0)
      world_.books.check_credits(session->credits(), session->open_calls(), session->ends().credits);
  }
}

std::optional<rpc::SessionId> RpcProcess::session_with(std::uint32_t server) {
  if (const auto known = sessions_.find(server); known != sessions_.end()) return known->second;
  const auto made = endpoint_.connect(port_.route_to(server), *this);
  if (!made) {
    if (!world_.plan.scarce) world_.books.violated("C7", "there is no credit for a session: " + made.error().to_string());
    return std::nullopt;
  }
  sessions_.emplace(server, *made);
  return *made;
}

void RpcProcess::on_session(rpc::SessionId session, rpc::SessionChange change) {
  if (change == rpc::SessionChange::connected) return;
  const auto with =
      std::find_if(sessions_.begin(), sessions_.end(), [&](const auto& entry) { return entry.second == session; });
  if (with == sessions_.end()) return world_.books.violated("C7", "a session ends that was over");
  const std::uint32_t server = with->first;
  sessions_.erase(with);
  if (change == rpc::SessionChange::no_credits && world_.plan.scarce) return;
  world_.books.on_lost(node_, server);
}

std::uint32_t RpcProcess::another_node() {
  return (node_ + 1 + static_cast<std::uint32_t>(world_.random.below(world_.plan.nodes - 1))) % world_.plan.nodes;
}

BookedCall RpcProcess::draw_call(std::uint32_t server) {
  Random& random = world_.random;
  BookedCall call{.caller = node_, .server = server};
  call.response_bytes = static_cast<std::uint32_t>(random.spread(1, world_.plan.bytes_max)) - 1;
  call.response_room = call.response_bytes;
  if (call.response_bytes > 0 && random.chance(1, 20)) --call.response_room;
  call.handled_type = !random.chance(1, 30);
  if (work_draw(random) < world_.plan.given_up && random.chance(1, 2))
    call.deadline = world_.scheduler.time() + Duration(static_cast<Ticks>(random.spread(1, 64)) * millisecond);
  return call;
}

void RpcProcess::call_somebody() {
  Random& random = world_.random;
  BookedCall call = draw_call(another_node());
  RpcOrder::Work work = RpcOrder::Work::now;
  if (work_draw(random) < world_.plan.later) work = RpcOrder::Work::later;
  if (work_draw(random) < world_.plan.nested) work = RpcOrder::Work::nested;
  if (random.chance(1, 40)) work = RpcOrder::Work::fail;
  call.fails = work == RpcOrder::Work::fail;
  make_call(call, work, std::nullopt);
}

void RpcProcess::call_for_certain(std::uint32_t server) {
  BookedCall call{.caller = node_, .server = server, .response_bytes = 700, .response_room = 700};
  call.has_to_be_answered = true;
  make_call(call, RpcOrder::Work::now, std::nullopt);
}

bool RpcProcess::make_call(BookedCall call, RpcOrder::Work work, std::optional<Intent> then) {
  const auto session = session_with(call.server);
  if (!session) return false;
  Random& random = world_.random;
  if (world_.books.hostile(node_) || world_.books.hostile(call.server))
    call.deadline = world_.scheduler.time() + std::chrono::milliseconds(50);
  const CallNumber number = world_.books.begin(call);
  rpc::OutgoingCall out{.type = call.handled_type ? type_handled : type_unhandled, .handler = this, .tag = number};
  out.request = endpoint_.buffer(RpcOrder::bytes + random.spread(1, world_.plan.bytes_max) - 1);
  out.response = endpoint_.buffer(call.response_room);
  out.deadline = call.deadline;
  RpcOrder{number, call.response_bytes, work}.write(out.request.data());
  const auto made = endpoint_.call(*session, out);
  if (!made) {
    world_.books.of(number).orphan = true;
    world_.books.of(number).has_to_be_answered = false;
    // A session that is about to be told to have ended takes nothing any more.
    const bool ending = made.error().kind() == ErrorKind::group_closed && endpoint_.session(*session)->ended();
    if (made.error().kind() != ErrorKind::would_block && !ending)
      world_.books.violated("C4", "a call is refused: " + made.error().to_string());
    return false;
  }
  open_.emplace(number, Open{call.server, std::move(then)});
  if (!call.has_to_be_answered) draw_end(number, *made, call);
  return true;
}

void RpcProcess::draw_end(CallNumber number, rpc::CallId made, const BookedCall& call) {
  Random& random = world_.random;
  const Ticks later = static_cast<Ticks>(random.spread(1, 32'000)) * microsecond;
  if (work_draw(random) < world_.plan.given_up && call.deadline == never)
    intend(later, {.kind = Intent::Kind::cancel, .call = number, .made = made});
  if (work_draw(random) < world_.plan.closed) intend(later, {.kind = Intent::Kind::close, .server = call.server});
}

void RpcProcess::carry_out(const Intent& intent) {
  switch (intent.kind) {
    case Intent::Kind::answer: return answer(intent);
    case Intent::Kind::close: return close(intent.server);
    case Intent::Kind::cancel: {
      if (!open_.contains(intent.call)) return;
      world_.books.of(intent.call).canceled = true;
      if (!endpoint_.cancel(intent.made))
        world_.books.violated("C4", fmt::format("call {} cannot be canceled", intent.call));
    }
  }
}

void RpcProcess::close(std::uint32_t server) {
  const auto with = sessions_.find(server);
  if (with == sessions_.end()) return;
  for (const auto& [number, open] : open_) {
    if (open.server == server) world_.books.of(number).closed = true;
  }
  const rpc::SessionId session = with->second;
  sessions_.erase(with);
  endpoint_.close(session);
}

void RpcProcess::answer(const Intent& intent) {
  std::span<const std::byte> kept = intent.kept;
  if (!kept.empty()) {
    const auto order = RpcOrder::read(kept);
    if (!order || order->call != intent.call)
      world_.books.violated("C5", fmt::format("the kept request of call {} was changed", intent.call));
  }
  BookedCall& call = world_.books.of(intent.call);
  const auto room = endpoint_.make_response(intent.request, call.response_bytes);
  if (!room) {
    call.without_room = true;
    return endpoint_.answer(intent.request, rpc::CallStatus::overloaded);
  }
  fill(*room, ~intent.call);
  endpoint_.answer(intent.request);
}

void RpcProcess::on_request(rpc::IncomingRequest& request) {
  world_.books.on_handled(node_, request.bytes());
  const auto order = RpcOrder::read(request.bytes());
  if (!order) return request.answer(rpc::CallStatus::failed);
  Intent intent{.kind = Intent::Kind::answer, .call = order->call, .request = request.id()};
  if (order->work == RpcOrder::Work::fail) return request.answer(rpc::CallStatus::failed);
  if (order->work == RpcOrder::Work::now) return answer(intent);
  if (world_.random.chance(3, 4)) intent.kept = request.keep();
  if (order->work == RpcOrder::Work::nested) {
    BookedCall call{.caller = node_, .server = another_node(), .response_bytes = 10, .response_room = 10};
    // Handlers that call each other may wait in a circle.
    call.deadline = world_.scheduler.time() + std::chrono::milliseconds(50);
    if (make_call(call, RpcOrder::Work::now, intent)) return;
  }
  intend(static_cast<Ticks>(world_.random.spread(1, static_cast<std::uint64_t>(world_.plan.handler_delay_max))), intent);
}

void RpcProcess::on_answer(rpc::CallAnswer&& answer) {
  const CallNumber number = answer.tag;
  world_.scheduler.trace(number << 8 | static_cast<std::uint64_t>(answer.status));
  world_.books.on_answered(number, answer, world_.scheduler.time());
  const auto open = open_.find(number);
  if (open == open_.end()) return world_.books.violated("C4", fmt::format("call {} ends that was not under way", number));
  const std::optional<Intent> then = std::move(open->second.then);
  const std::uint32_t server = open->second.server;
  open_.erase(open);
  const bool again = answer.status == rpc::CallStatus::overloaded && world_.books.of(number).has_to_be_answered;
  take_back(std::move(answer));
  if (again) call_for_certain(server);
  if (then) this->answer(*then);
  if (world_.scheduler.now() < world_.plan.healed_at && world_.random.chance(1, 8)) call_somebody();
}

void RpcProcess::take_back(rpc::CallAnswer&& answer) {
  Returned returned{std::move(answer.request), std::move(answer.response)};
  for (rpc::MessageBuffer* buffer : {&returned.request, &returned.response}) {
    buffer->resize(buffer->capacity());
    std::ranges::fill(buffer->data(), own_again);
    for (std::uint32_t piece = 0; piece < buffer->packets(); ++piece) std::ranges::fill(buffer->header(piece), own_again);
  }
  returned_.push_back(std::move(returned));
  if (returned_.size() <= 16) return;
  check(returned_.front());
  returned_.pop_front();
}

void RpcProcess::check(Returned& returned) {
  for (rpc::MessageBuffer* buffer : {&returned.request, &returned.response}) {
    const auto untouched = [](std::span<const std::byte> bytes) {
      return std::ranges::all_of(bytes, [](std::byte byte) { return byte == own_again; });
    };
    bool all = untouched(buffer->data());
    for (std::uint32_t piece = 0; piece < buffer->packets(); ++piece) all = all && untouched(buffer->header(piece));
    if (!all) world_.books.violated("C5", fmt::format("a buffer of node {} is written to that was given back", node_));
  }
}

void RpcProcess::check_returned() {
  for (Returned& returned : returned_) check(returned);
}

}  // namespace spindrift::sim
