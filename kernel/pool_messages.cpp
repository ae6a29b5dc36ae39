// Messages: who may come in, whose turn it is, and bytes that are fetched because they are too many to be sent.
#include <algorithm>
#include <cstring>
#include <utility>

#include <spindrift/core/check.hpp>
#include <spindrift/kernel/pool_parts.hpp>

namespace spindrift::kernel {
namespace {

/// The node and its start.
std::uint64_t caller_of(const vq_header& header) { return std::uint64_t{header.node} << 32 | header.start; }

}  // namespace

void Pool::on_received(Physical& physical, const PhysicalEvent& event) {
  const auto* const bytes = reinterpret_cast<const unsigned char*>(event.bytes.data());
  const auto size = static_cast<std::uint32_t>(event.bytes.size());
  const vq_verdict verdict = vq_on_message(&core_, &physical.core, event.id, bytes, size);
  vq_header header{};
  Seat* seat = nullptr;
  if (vq_read_header(bytes, size, &header) != 0) {
    const auto metadata = event.bytes.subspan(sizeof header, header.metadata_bytes);
    const auto payload = event.bytes.subspan(sizeof header + metadata.size());
    if (verdict == VQ_STRANGER) {
      Call call{.header = header, .metadata = {}, .payload = {payload.begin(), payload.end()}, .came = now_};
      call.metadata.size = static_cast<std::uint8_t>(std::min(metadata.size(), Metadata::bytes_max));
      std::copy_n(metadata.begin(), call.metadata.size, call.metadata.bytes.begin());
      if (metadata.size() <= Metadata::bytes_max) {
        on_call(std::move(call));
      } else {
        ++counts_.rejected;
      }
    } else if (header.hello == 0) {
      seat = seat_of(PairId(header.to));
    }
    if (seat != nullptr && verdict == VQ_KEPT) keep(*seat, header, payload);
  }
  physical.queue_pair->give_back(event.id);
  if (seat == nullptr) return;
  if (verdict == VQ_KEPT) serve(*seat);
  if (vq_owes(&core_, seat->id.value()) != 0) owing_.insert(seat->id);
}

// A copy, so that who takes none of its messages keeps no buffer from the others.
void Pool::keep(Seat& seat, const vq_header& header, std::span<const std::byte> payload) {
  const std::size_t place = (header.sequence - 1) & (seat.messages.size() - 1);
  seat.kept[place].assign(payload.begin(), payload.end());
  seat.messages[place].payload = reinterpret_cast<const unsigned char*>(seat.kept[place].data());
}

void Pool::on_call(Call call) {
  if (!listeners_.contains(Port(call.header.to))) {
    ++counts_.rejected;
  } else if (const auto heard = hear(call); !heard && heard.error().kind() == ErrorKind::bad_argument) {
    ++counts_.rejected;
  } else if (!heard) {
    wait(std::move(call));
  }
}

// Errors: bad_argument if it can never be taken; others if it cannot now.
Result<void> Pool::hear(const Call& call) {
  const vq_header& header = call.header;
  Listener& listener = listeners_.find(Port(header.to))->second;
  // Its first message was heard here by a user who has closed the pair since: it is not to be heard twice.
  if (listener.heard.contains({caller_of(header), header.from})) return {};
  const auto accepted = accept(listener, call);
  if (!accepted) return accepted.error();
  Seat* const seat = *accepted;
  const auto* const bytes = reinterpret_cast<const unsigned char*>(call.payload.data());
  if (vq_keep(&core_, seat->id.value(), nullptr, 0, &header, bytes) == VQ_KEPT) {  // a copy, in no queue pair's buffer
    keep(*seat, header, call.payload);
    serve(*seat);
  }
  if (vq_owes(&core_, seat->id.value()) != 0) owing_.insert(seat->id);
  return {};
}

void Pool::wait(Call call) {
  const bool waits = std::any_of(calls_.begin(), calls_.end(), [&](const Call& other) {
    return caller_of(other.header) == caller_of(call.header) && other.header.from == call.header.from;
  });
  if (waits) return;
  if (calls_.size() < waiting_calls_max) {
    calls_.push_back(std::move(call));
  } else {
    ++counts_.rejected;
  }
}

void Pool::take_waiting_calls() {
  if (calls_.empty() || !any_freed_) return;
  for (Call& call : std::exchange(calls_, {})) {
    if (now_ - call.came > options_.call_wait_max) {
      ++counts_.rejected;  // its caller has given it up
    } else if (!hear(call)) {
      calls_.push_back(std::move(call));
    }
  }
  any_freed_ = false;  // a call that gives back its peer because there is no pair has freed nothing
}

// The pair for a stranger at one of the ports: the one that it has, or a new one. Errors: as `hear`.
Result<Pool::Seat*> Pool::accept(Listener& listener, const Call& call) {
  const Listener::Caller key{caller_of(call.header), call.header.from};
  if (const auto known = listener.accepted.find(key); known != listener.accepted.end()) return seat_of(known->second);
  if (listener.accepted.size() >= listener.pairs_max) return Error(ErrorKind::resource, "the port has all its pairs");
  auto peer = take_in(call.metadata);
  if (!peer) return std::move(peer).error();
  ++(*peer)->second.pairs;
  auto pair = create(*listener.completions, {});
  if (!pair) {
    leave(*peer);
    return std::move(pair).error();
  }
  const auto bound = bind_pair(*pair, *peer, call.header.from, true);
  CHECK(bound.ok());
  Seat& seat = *seat_of(*pair);
  seat.accepted_by = &listener;
  seat.stranger_node = key.first;
  seat.stranger = key.second;
  listener.accepted.emplace(key, *pair);
  listener.newcomers.push_back(*pair);
  ++counts_.accepted;
  return &seat;
}

Result<void> Pool::post_receive(PairId pair, std::span<std::byte> buffer, const MemoryKeys& memory, std::uint64_t context) {
  Seat* const seat = seat_of(pair);
  if (seat == nullptr) return Error(ErrorKind::group_closed, "there is no such virtual queue pair");
  if (seat->accepted_by != nullptr || !seat->wants_messages) {
    return Error(ErrorKind::bad_argument, "this virtual queue pair takes no receives")
        .fix("take messages of an accepted one by pop_message, and create others with messages");
  }
  if (failure(pair)) return Error(ErrorKind::member_lost, "the virtual queue pair failed").fix("close it");
  seat->receives.push_back({buffer, memory, context});
  serve(*seat);
  return {};
}

// Brings the messages that are there to where the user takes them.
void Pool::serve(Seat& seat) {
  if (seat.accepted_by != nullptr) return announce(seat);
  while (!seat.receives.empty() && !seat.fetching) {
    const vq_message* const message = vq_next_message(&core_, seat.id.value());
    if (message == nullptr) return;
    const Seat::Receive receive = seat.receives.front();
    const bool fits = message->bytes <= receive.buffer.size();
    if (fits && message->large != 0) return fetch(seat, *message, receive.buffer.first(message->bytes), receive.memory);
    if (fits && message->bytes > 0) std::memcpy(receive.buffer.data(), message->payload, message->bytes);
    seat.completions->received_.push_back(
        {seat.id, receive.context, message->bytes, Completion::Kind::receive, fits ? Status::done : Status::local_error});
    seat.receives.pop_front();
    consume(seat);
  }
}

// Of an accepted pair: one message at a time is in its listener's list, with its bytes.
void Pool::announce(Seat& seat) {
  if (seat.announced || seat.fetching) return;
  const vq_message* const message = vq_next_message(&core_, seat.id.value());
  if (message == nullptr) return;
  if (message->large != 0 && !seat.has_fetched) {
    if (seat.fetched.empty()) {
      if (message->bytes > options_.fetch_bytes_max) return fail(seat, VQ_LOCAL_ERROR);
      seat.fetched.resize(message->bytes);
      auto memory = register_memory(seat.fetched, fabric::Access::read);
      if (!memory) {
        seat.fetched.clear();
        return fail(seat, VQ_LOCAL_ERROR);
      }
      seat.fetched_memory = *memory;
    }
    return fetch(seat, *message, seat.fetched, seat.fetched_memory);
  }
  seat.announced = true;
  seat.accepted_by->ready.push_back(seat.id);
}

Result<std::optional<Pool::Message>> Pool::pop_message(Port port) {
  const auto found = listeners_.find(port);
  if (found == listeners_.end()) return Error(ErrorKind::group_closed, "nobody has bound this port").fix("bind it first");
  std::deque<PairId>& ready = found->second.ready;
  if (ready.empty()) return std::optional<Message>{};
  Seat& seat = *seat_of(ready.front());
  ready.pop_front();
  const vq_message* const message = vq_next_message(&core_, seat.id.value());
  CHECK(message != nullptr);
  Message taken{seat.id, {}};
  if (message->large != 0) {
    const auto given_back = deregister(seat.fetched_memory);
    CHECK(given_back.ok());  // its read is over
    taken.bytes = std::move(seat.fetched);
    seat.fetched.clear();
    seat.has_fetched = false;
  } else {
    taken.bytes = std::move(seat.kept[static_cast<std::size_t>(message - seat.messages.data())]);
  }
  seat.announced = false;
  seat.heard = true;
  consume(seat);
  announce(seat);
  return std::optional(std::move(taken));
}

Result<std::optional<PairId>> Pool::next_accepted(Port port) {
  const auto found = listeners_.find(port);
  if (found == listeners_.end()) return Error(ErrorKind::group_closed, "nobody has bound this port").fix("bind it first");
  std::deque<PairId>& newcomers = found->second.newcomers;
  if (newcomers.empty()) return std::optional<PairId>{};
  const PairId pair = newcomers.front();
  newcomers.pop_front();
  seat_of(pair)->heard = true;
  return std::optional(pair);
}

bool Pool::has_message(PairId pair) const noexcept {
  return vq_next_message(const_cast<vq_pool*>(&core_), pair.value()) != nullptr;
}

std::optional<std::vector<std::byte>> Pool::take_message(PairId pair) {
  Seat* const seat = seat_of(pair);
  const vq_message* const message = seat == nullptr ? nullptr : vq_next_message(&core_, pair.value());
  if (message == nullptr) return std::nullopt;
  if (message->large != 0) {
    if (!failure(pair)) fail(*seat, VQ_LOCAL_ERROR);
    return std::nullopt;
  }
  auto bytes = std::move(seat->kept[static_cast<std::size_t>(message - seat->messages.data())]);
  if (std::exchange(seat->announced, false)) std::erase(seat->accepted_by->ready, pair);
  seat->heard = true;
  consume(*seat);
  if (seat->accepted_by != nullptr) announce(*seat);
  return bytes;
}

void Pool::consume(Seat& seat) {
  vq_consume(&core_, seat.id.value());
  if (vq_pay(&core_, seat.id.value()) != 0) owing_.insert(seat.id);
}

void Pool::pay_credits() {
  std::erase_if(owing_, [this](PairId pair) { return vq_pay(&core_, pair.value()) == 0; });
}

// By a pair of its own, so that a sender that names memory which it does not have fails itself alone.
void Pool::fetch(Seat& seat, const vq_message& message, std::span<std::byte> to, const MemoryKeys& memory) {
  if (seat.fetcher != PairId{} && failure(seat.fetcher)) close(std::exchange(seat.fetcher, PairId{}));
  if (seat.fetcher == PairId{}) {
    auto fetcher = create(fetched_, {.once = false, .messages = false});
    if (!fetcher) {
      fetching_later_.insert(seat.id);
      return;
    }
    ++(*seat.peer)->second.pairs;
    const auto bound = bind_pair(*fetcher, *seat.peer, 0, true);
    CHECK(bound.ok());
    seat.fetcher = *fetcher;
  }
  const vq_request request{.wr_id = seat.id.value(),
                           .local = reinterpret_cast<std::uint64_t>(to.data()),
                           .remote = message.address,
                           .local_key = memory.local_key,
                           .remote_key = message.key,
                           .bytes = message.bytes,
                           .operation = VQ_READ,
                           .flags = VQ_SIGNALED};
  const std::int32_t posted = vq_post(&core_, seat.fetcher.value(), &request, 1, nullptr);
  seat.fetching = posted == 1;
  if (posted == 0 || posted == VQ_LOOK_UP) fetching_later_.insert(seat.id);
  if (posted != VQ_LOOK_UP) {
    seat.asking.reset();
  } else if (!seat.asking) {
    seat.asking = now_;
  }
  if (posted < 0 && posted != VQ_LOOK_UP) fail(seat, posted == VQ_BAD_LOCAL ? VQ_LOCAL_ERROR : VQ_ACCESS_REFUSED);
}

void Pool::take_fetched() {
  vq_completion done{};
  while (vq_take(&fetched_.completions_, &done, 1) == 1) {
    if (Seat* const seat = seat_of(PairId(done.wr_id))) on_fetched(*seat, done);
  }
  for (const PairId pair : std::exchange(fetching_later_, {})) {
    Seat* const seat = seat_of(pair);
    if (seat == nullptr || failure(pair)) continue;
    if (seat->asking && now_ - *seat->asking > options_.look_up_max) {
      fail(*seat, VQ_ACCESS_REFUSED);
    } else {
      serve(*seat);
    }
  }
}

void Pool::on_fetched(Seat& seat, const vq_completion& done) {
  seat.fetching = false;
  if (done.status != VQ_DONE) return fail(seat, static_cast<std::uint8_t>(done.status));
  if (failure(seat.id)) return flush_receives();
  if (seat.accepted_by != nullptr) {
    seat.has_fetched = true;
    return announce(seat);
  }
  CHECK(!seat.receives.empty());  // only here are they taken while one is fetched
  const Seat::Receive receive = seat.receives.front();
  seat.receives.pop_front();
  seat.completions->received_.push_back({seat.id, receive.context, done.bytes, Completion::Kind::receive, Status::done});
  consume(seat);
  serve(seat);
}

}  // namespace spindrift::kernel
