// Posting to one peer, with what finds no space kept in order.
#include <spindrift/core/fabric/verbs/lane.hpp>

#include <arpa/inet.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace spindrift::fabric::verbs {
namespace {

constexpr std::size_t staging_bytes = 8 * staged_bytes_max;
constexpr std::size_t waiting_bytes_max = 64U << 20U;
constexpr std::size_t waiting_max = 1U << 18U;
constexpr std::size_t buffers_bytes = std::size_t{Credits::buffers} * buffer_bytes;
constexpr std::size_t message_bytes_whole_max = connected::header_bytes + connected::message_bytes_max;

bool takes_a_buffer(const ibv_send_wr& work) {
  return work.opcode == IBV_WR_SEND_WITH_IMM || work.opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
}

}  // namespace

Lane::Lane(State first, NodeId of, std::uint32_t its_number, Device& device, Handle<rdma_cm_id> id)
    : state(first), node(of), number(its_number), device_(device), id_(std::move(id)), staging_(staging_bytes) {}

Lane::~Lane() { close(); }

// Destroying the queue pair is what ends every access of the peer for good: its packets name a queue pair that is not there,
// whatever rights still stand. Windows go before it, since they are bound to it and a device may keep it until they are gone
// (rxe waits for that); registrations go after it, since it may be using them.
void Lane::close() {
  for (auto& [key, grant] : granted) grant.window.reset();
  if (id_ != nullptr && std::exchange(has_queue_pair_, false)) {
    loaded_library().disconnect(id_.get());
    loaded_library().cm_destroy_qp(id_.get());
  }
  id_.reset();
  for (const Flight& flight : std::exchange(flights_, {})) {
    if (flight.region != nullptr) --flight.region->reading;
  }
  for (const Request& request : std::exchange(waiting_, {})) {
    if (request.region != nullptr) --request.region->reading;
  }
  batched_ = 0;
  while (!granted.empty()) static_cast<void>(revoke(granted.begin()->first));
  sources_.clear();
  staging_registered_.reset();
  buffers_registered_.reset();
  own_domain_.reset();
}

Result<void> Lane::open() {
  if (!device_.limits().memory_windows) {
    auto own = device_.make_domain();
    if (!own) return std::move(own).error();
    own_domain_ = std::move(own).value();
  }
  if (auto made = device_.make_queue_pair(*id_, domain()); !made) return made;
  has_queue_pair_ = true;
  buffers_ = std::make_unique_for_overwrite<std::byte[]>(buffers_bytes);
  staging_memory_ = std::make_unique_for_overwrite<std::byte[]>(staging_bytes);
  auto in = device_.register_memory(domain(), {buffers_.get(), buffers_bytes}, IBV_ACCESS_LOCAL_WRITE);
  if (!in) return std::move(in).error();
  buffers_registered_ = std::move(in).value();
  auto out = device_.register_memory(domain(), {staging_memory_.get(), staging_bytes}, IBV_ACCESS_LOCAL_WRITE);
  if (!out) return std::move(out).error();
  staging_registered_ = std::move(out).value();
  for (std::uint32_t i = 0; i < Credits::buffers; ++i) returned_.push_back(i);
  give_buffers();
  credits_ = {};  // both sides know of the first ones
  if (broken_) return Error(ErrorKind::resource, *broken_);
  return {};
}

void Lane::give_buffers() {
  if (returned_.empty() || broken_ || !has_queue_pair_) return;
  std::array<ibv_recv_wr, Credits::buffers> works{};
  std::array<ibv_sge, Credits::buffers> pieces{};
  const std::size_t count = std::min(returned_.size(), works.size());
  for (std::size_t i = 0; i < count; ++i) {
    std::byte* const begin = buffers_.get() + std::size_t{returned_[i]} * buffer_bytes;
    pieces[i] = {reinterpret_cast<std::uintptr_t>(begin), buffer_bytes, buffers_registered_->lkey};
    works[i] = {.wr_id = encode(Token{number, true, returned_[i]}), .next = nullptr, .sg_list = &pieces[i], .num_sge = 1};
    if (i > 0) works[i - 1].next = &works[i];
  }
  ibv_recv_wr* refused = nullptr;
  if (const int failed = ibv_post_recv(id_->qp, works.data(), &refused); failed != 0)
    return break_down(system_error("ibv_post_recv", failed).message());
  credits_.gave_back(static_cast<std::uint32_t>(count));
  returned_.clear();
}

std::optional<std::span<const std::byte>> Lane::received(std::uint32_t buffer, std::uint32_t bytes, std::uint32_t immediate,
                                                         bool message) {
  const Immediate said = decode_immediate(ntohl(immediate));
  if (!credits_.on_told(said.given)) break_down("it gave back buffers that it never had");
  if (!message || broken_) return std::nullopt;
  const std::span<const std::byte> part(buffers_.get() + std::size_t{buffer} * buffer_bytes, std::min(bytes, buffer_bytes));
  if (std::exchange(message_over_, !said.more)) {
    message_.clear();
    if (!said.more) return part;
  }
  if (message_.size() + part.size() > message_bytes_whole_max) {
    break_down("it sent a message that never ends");
    return std::nullopt;
  }
  message_.insert(message_.end(), part.begin(), part.end());
  if (said.more) return std::nullopt;
  return message_;
}

void Lane::post(Request request) {
  if (broken_) return;
  if (request.region != nullptr) ++request.region->reading;
  if (waiting_.empty() && offer(request)) return;
  if (broken_) {
    if (request.region != nullptr) --request.region->reading;
    return;
  }
  if (request.copied && request.owned.empty()) request.owned.assign(request.local, request.local + request.bytes);
  waiting_bytes_ += request.owned.size();
  if (waiting_.size() >= waiting_max || waiting_bytes_ > waiting_bytes_max)
    break_down("it takes nothing of what waits for it");
  waiting_.push_back(std::move(request));
}

void Lane::flush() {
  if (!has_queue_pair_) return;
  give_buffers();
  while (!waiting_.empty() && !broken_) {
    const std::size_t bytes = waiting_.front().owned.size();
    if (!offer(waiting_.front())) break;
    waiting_bytes_ -= bytes;
    waiting_.pop_front();
  }
  const bool wanted = credits_.telling_is_due() || (news_owed_ && credits_.may_post(false));
  if (!broken_ && state == State::up && wanted) {
    Request request;
    request.kind = Request::Kind::tell;
    if (offer(request)) news_owed_ = false;  // if there is no space, the next flush tries again
  }
  ring();
}

// Whether it is on its way.
bool Lane::offer(Request& request) {
  const bool tells = request.kind == Request::Kind::tell;
  if (flights_.size() + (tells ? 0 : 1) >= device_.limits().send_depth) return false;
  if ((tells || request.kind == Request::Kind::send) && !credits_.may_post(tells)) return false;
  if (batched_ == batch_max) ring();
  if (broken_) return false;
  ibv_send_wr work{};
  ibv_sge piece{};
  Flight flight;
  if (!stage(request, flight, work, piece)) return false;
  flight.sequence = ++sequence_;
  flight.signaled = request.signaled;
  flight.context = request.context;
  flight.region = request.region;
  flight.staged_end = staging_.end();
  work.wr_id = encode(Token{number, false, flight.sequence});
  describe(request, work);
  // Often enough that neither the queue nor the staging is ever full of requests that nothing tells the end of.
  const bool due =
      ++unsignaled_ >= device_.limits().send_depth / 4 || staging_.end() - staged_signaled_ >= staging_bytes / 4;
  if (request.signaled || due || flight.filled != nullptr || request.kind == Request::Kind::mark) {
    work.send_flags |= IBV_SEND_SIGNALED;
    unsignaled_ = 0;
    staged_signaled_ = staging_.end();
  }
  batch_[batched_] = work;
  pieces_[batched_] = piece;
  ++batched_;
  flights_.push_back(flight);
  return true;
}

// Where the device finds the bytes, or puts them. False: no space to copy them to.
bool Lane::stage(const Request& request, Flight& flight, ibv_send_wr& work, ibv_sge& piece) {
  if (request.bytes == 0) return true;
  work.num_sge = 1;
  piece.length = request.bytes;
  const bool reads = request.kind == Request::Kind::read;
  const bool small = !reads && request.bytes <= device_.limits().inline_bytes;
  if (small) work.send_flags |= IBV_SEND_INLINE;
  if (request.region != nullptr && request.owned.empty()) {
    piece.addr = reinterpret_cast<std::uintptr_t>(request.local);
    piece.lkey = key_of(*request.region);
    return true;
  }
  // What is inline is copied when the doorbell rings, and the caller's bytes stay until then.
  if (small && request.kind == Request::Kind::write && request.owned.empty()) {
    piece.addr = reinterpret_cast<std::uintptr_t>(request.local);
    return true;
  }
  const auto offset = staging_.take(request.bytes);
  if (!offset) return false;
  std::byte* const staged = staging_memory_.get() + *offset;
  piece.addr = reinterpret_cast<std::uintptr_t>(staged);
  piece.lkey = staging_registered_->lkey;
  if (reads) {
    flight.filled = request.local;
    flight.staged = staged;
    flight.bytes = request.bytes;
  } else {
    std::memcpy(staged, request.owned.empty() ? request.local : request.owned.data(), request.bytes);
  }
  return true;
}

void Lane::describe(const Request& request, ibv_send_wr& work) {
  switch (request.kind) {
    case Request::Kind::send:
      work.opcode = IBV_WR_SEND_WITH_IMM;
      work.imm_data = htonl(encode(Immediate{request.more, credits_.posted()}));
      return;
    case Request::Kind::tell:
      work.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
      work.imm_data = htonl(encode(Immediate{false, credits_.posted()}));
      return;
    case Request::Kind::bind:
      work.opcode = IBV_WR_BIND_MW;
      work.bind_mw.mw = request.window;
      work.bind_mw.rkey = request.remote_key;
      work.bind_mw.bind_info = {
          .mr = request.region->registered.get(),
          .addr = reinterpret_cast<std::uintptr_t>(request.region->memory.data()),
          .length = request.region->memory.size(),
          .mw_access_flags = request.access == Access::write ? 0U + IBV_ACCESS_REMOTE_WRITE : 0U + IBV_ACCESS_REMOTE_READ};
      return;
    case Request::Kind::write:
    case Request::Kind::mark: work.opcode = IBV_WR_RDMA_WRITE; break;
    case Request::Kind::read: work.opcode = IBV_WR_RDMA_READ; break;
  }
  work.wr.rdma.remote_addr = request.address;
  work.wr.rdma.rkey = request.remote_key;
}

void Lane::carry_news() {
  for (std::size_t i = batched_; i-- > 0;) {
    ibv_send_wr& work = batch_[i];
    if (takes_a_buffer(work)) return;  // a message tells as well
    if (work.opcode != IBV_WR_RDMA_WRITE || work.num_sge == 0) continue;
    if (!credits_.may_post(false)) {
      news_owed_ = true;
      return;
    }
    work.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
    work.imm_data = htonl(encode(Immediate{false, credits_.posted()}));
    return;
  }
}

void Lane::ring() {
  if (batched_ == 0 || broken_ || !has_queue_pair_) return;
  carry_news();
  for (std::size_t i = 0; i < batched_; ++i) {
    batch_[i].sg_list = &pieces_[i];
    batch_[i].next = i + 1 < batched_ ? &batch_[i + 1] : nullptr;
  }
  ibv_send_wr* refused = nullptr;
  const int failed = ibv_post_send(id_->qp, batch_.data(), &refused);
  batched_ = 0;
  if (failed != 0) break_down(system_error("ibv_post_send", failed).message());
}

std::optional<Lane::Flight> Lane::take_finished(std::uint32_t sequence) {
  if (flights_.empty() || static_cast<std::int32_t>(sequence - flights_.front().sequence) < 0) return std::nullopt;
  const Flight flight = flights_.front();
  flights_.pop_front();
  staging_.give_back(flight.staged_end);
  if (flight.filled != nullptr) std::memcpy(flight.filled, flight.staged, flight.bytes);
  if (flight.region != nullptr) --flight.region->reading;
  return flight;
}

void Lane::mark() {
  if (unsignaled_ == 0 && waiting_.empty()) return;
  Request request;
  request.kind = Request::Kind::mark;
  post(std::move(request));
}

Result<void> Lane::make_source(OwnRegion& region) {
  if (own_domain_ == nullptr) {
    if (region.registered != nullptr) return {};
    auto made = device_.register_memory(device_.domain(), region.memory, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
    if (!made) return std::move(made).error();
    region.registered = std::move(made).value();
    return {};
  }
  if (sources_.contains(&region)) return {};
  auto made = device_.register_memory(*own_domain_, region.memory, IBV_ACCESS_LOCAL_WRITE);
  if (!made) return std::move(made).error();
  sources_.emplace(&region, std::move(made).value());
  return {};
}

std::uint32_t Lane::key_of(const OwnRegion& region) const {
  return own_domain_ == nullptr ? region.registered->lkey : sources_.at(&region)->lkey;
}

Result<Exposure> Lane::grant(RegionKey key, OwnRegion& region, Access access) {
  Exposure exposure{key, 0, reinterpret_cast<std::uintptr_t>(region.memory.data()), region.memory.size(), access};
  Grant grant{key, &region, access, nullptr, nullptr};
  if (own_domain_ == nullptr) {
    if (auto made = make_source(region); !made) return std::move(made).error();
    auto window = device_.make_window();
    if (!window) return std::move(window).error();
    exposure.remote_key = ibv_inc_rkey((*window)->rkey);
    Request bind;
    bind.kind = Request::Kind::bind;
    bind.window = window->get();
    bind.region = &region;
    bind.access = access;
    bind.remote_key = static_cast<std::uint32_t>(exposure.remote_key);
    grant.window = std::move(window).value();
    post(std::move(bind));
  } else {
    const int rights =
        access == Access::write ? IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE : 0 | IBV_ACCESS_REMOTE_READ;
    auto made = device_.register_memory(*own_domain_, region.memory, rights);
    if (!made) return std::move(made).error();
    exposure.remote_key = (*made)->rkey;
    grant.registered = std::move(made).value();
  }
  granted.emplace(exposure.remote_key, std::move(grant));
  ++region.granted;
  return exposure;
}

OwnRegion* Lane::revoke(std::uint64_t remote_key) {
  const auto at = granted.find(remote_key);
  if (at == granted.end()) return nullptr;
  OwnRegion* const region = at->second.memory;
  for (Request& request : waiting_) {
    if (request.kind == Request::Kind::bind && request.window == at->second.window.get()) request.kind = Request::Kind::mark;
  }
  granted.erase(at);
  --region->granted;
  return region;
}

void Lane::break_down(std::string why) {
  if (!broken_) broken_ = std::move(why);
}

}  // namespace spindrift::fabric::verbs
