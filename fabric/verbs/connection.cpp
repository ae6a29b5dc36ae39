// Posting to one peer, with what finds no space kept in order.
#include <spindrift/fabric/verbs/connection.hpp>

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <numeric>
#include <utility>

namespace spindrift::fabric::verbs {
namespace {

constexpr std::size_t staging_bytes = 8 * staged_bytes_max;
/// The most bytes of own regions that are posted before a completion tells that they have gone.
constexpr std::uint64_t untold_bytes_max = 32768;
constexpr std::size_t buffers_bytes = std::size_t{Credits::buffers} * buffer_bytes;
constexpr std::size_t message_bytes_whole_max = connected::header_bytes + connected::message_bytes_max;

bool takes_a_buffer(const ibv_send_wr& work) {
  return work.opcode == IBV_WR_SEND_WITH_IMM || work.opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
}

/// In the shared domain; nobody reaches it from outside but through a window.
using Source = connected::HeldRegistration<Handle<ibv_mr>>;

ibv_mr& source_of(const connected::OwnRegion& region) { return *static_cast<const Source&>(*region.registration).handle(); }

/// The peer's right to a region, through its queue pair alone: by a window, or in a domain of its own.
class PeerRight final : public connected::Registration {
 public:
  PeerRight(QueuePair& owner, Handle<ibv_mw> bound) : owner_(&owner), window_(std::move(bound)) {}
  explicit PeerRight(Handle<ibv_mr> in_its_domain) : registered_(std::move(in_its_domain)) {}
  ~PeerRight() override { close_window(); }

  void close_window() {
    if (window_ != nullptr) owner_->unbind(window_.get());
    window_.reset();
  }

 private:
  QueuePair* owner_ = nullptr;
  Handle<ibv_mw> window_;
  Handle<ibv_mr> registered_;
};

}  // namespace

Result<void> RegisteredBytes::open(Device& device, ibv_pd& domain, std::size_t size) {
  bytes = std::make_unique_for_overwrite<std::byte[]>(size);
  SPINDRIFT_TRY_ASSIGN(registered, device.register_memory(domain, {bytes.get(), size}, IBV_ACCESS_LOCAL_WRITE));
  return {};
}

Result<void> MessageBuffers::open(Device& device, ibv_pd& domain) {
  SPINDRIFT_TRY(memory_.open(device, domain, buffers_bytes));
  returned_.resize(Credits::buffers);
  std::iota(returned_.begin(), returned_.end(), 0U);
  return {};
}

Result<std::uint32_t> MessageBuffers::give(ibv_qp& queue_pair, std::uint32_t number) {
  if (returned_.empty()) return 0U;
  std::array<ibv_recv_wr, Credits::buffers> works{};
  std::array<ibv_sge, Credits::buffers> pieces{};
  const std::size_t count = std::min(returned_.size(), works.size());
  for (std::size_t i = 0; i < count; ++i) {
    std::byte* const begin = memory_.bytes.get() + std::size_t{returned_[i]} * buffer_bytes;
    pieces[i] = {reinterpret_cast<std::uintptr_t>(begin), buffer_bytes, memory_.registered->lkey};
    works[i] = {.wr_id = encode(Token{number, true, returned_[i]}), .next = nullptr, .sg_list = &pieces[i], .num_sge = 1};
    if (i > 0) works[i - 1].next = &works[i];
  }
  ibv_recv_wr* refused = nullptr;
  if (const int failed = ibv_post_recv(&queue_pair, works.data(), &refused); failed != 0)
    return system_error("ibv_post_recv", failed);
  returned_.clear();
  return static_cast<std::uint32_t>(count);
}

void MessageBuffers::resume() {
  returned_.insert(returned_.end(), held_.begin(), held_.end());
  held_.clear();
}

Result<std::optional<std::span<const std::byte>>> MessageBuffers::add(std::uint32_t buffer, std::uint32_t bytes, bool more) {
  using Whole = std::optional<std::span<const std::byte>>;
  const std::span part(memory_.bytes.get() + std::size_t{buffer} * buffer_bytes, std::min(bytes, buffer_bytes));
  if (std::exchange(message_over_, !more)) {
    message_.clear();
    if (!more) return Whole(part);
  }
  if (message_.size() + part.size() > message_bytes_whole_max)
    return Error(ErrorKind::bad_input, "it sent a message that never ends");
  message_.insert(message_.end(), part.begin(), part.end());
  return more ? Whole() : Whole(message_);
}

ibv_send_wr* RequestBatch::news_carrier() noexcept {
  for (std::size_t i = works_.size(); i-- > 0;) {
    if (takes_a_buffer(works_[i])) return nullptr;  // a message tells as well
    if (works_[i].opcode == IBV_WR_RDMA_WRITE && works_[i].num_sge > 0) return &works_[i];
  }
  return nullptr;
}

Result<void> RequestBatch::post(ibv_qp& queue_pair) {
  for (std::size_t i = 0; i < works_.size(); ++i) {
    works_[i].sg_list = &pieces_[i];
    works_[i].next = i + 1 < works_.size() ? &works_[i + 1] : nullptr;
  }
  ibv_send_wr* refused = nullptr;
  const int failed = ibv_post_send(&queue_pair, works_.data(), &refused);
  clear();
  return failed == 0 ? Result<void>() : system_error("ibv_post_send", failed);
}

QueuePair::QueuePair(const connected::Opening& opening, std::uint32_t its_number, Device& device, Handle<rdma_cm_id> id)
    : Connection(opening.call),
      number(its_number),
      device_(device),
      greeting_(opening.greeting),
      id_(std::move(id)),
      staging_(staging_bytes) {}

// Destroying the queue pair is what ends every access of the peer for good: its packets name a queue pair that is not there,
// whatever rights still stand. Windows go before it, since they are bound to it and a device may keep it until they are gone
// (rxe waits for that); registrations go after it, since it may be using them.
void QueuePair::close() {
  for (auto& [key, grant] : granted) static_cast<PeerRight&>(*grant.right).close_window();
  if (has_queue_pair()) {
    loaded_library().disconnect(id_.get());
    loaded_library().cm_destroy_qp(id_.get());
  }
  id_.reset();
  for (const Flight& flight : std::exchange(flights_, {})) {
    if (flight.region != nullptr) --flight.region->reading;
  }
  backlog_.drop();
  batch_.clear();
  revoke_all();
  sources_.clear();
  staged_.registered.reset();
  buffers_.close();
  own_domain_.reset();
}

Result<void> QueuePair::open() {
  if (!device_.limits().memory_windows) {
    SPINDRIFT_TRY_ASSIGN(own_domain_, device_.make_domain());
  }
  SPINDRIFT_TRY(device_.make_queue_pair(*id_, domain()));
  SPINDRIFT_TRY(buffers_.open(device_, domain()));
  SPINDRIFT_TRY(staged_.open(device_, domain(), staging_bytes));
  give_buffers();
  credits_ = {};  // both sides know of the first ones
  if (broken()) return Error(ErrorKind::resource, *broken());
  return {};
}

void QueuePair::give_buffers() {
  if (broken() || !has_queue_pair()) return;
  const auto given = buffers_.give(*id_->qp, number);
  if (!given) return break_down(given.error().message());
  credits_.gave_back(given.value());
}

std::optional<std::span<const std::byte>> QueuePair::received(std::uint32_t buffer, std::uint32_t bytes,
                                                              std::uint32_t immediate, bool message) {
  const Immediate said = decode_immediate(ntohl(immediate));
  if (!credits_.on_told(said.given)) break_down("it gave back buffers that it never had");
  if (!message || broken()) return std::nullopt;
  const auto whole = buffers_.add(buffer, bytes, said.more);
  if (whole) return *whole;
  break_down(whole.error().message());
  return std::nullopt;
}

void QueuePair::post(VerbsRequest request) {
  backlog_.post(*this, std::move(request), [this](VerbsRequest& each) { return offer(each); });
}

void QueuePair::send(std::span<const std::byte> message, bool signaled, std::uint64_t context) {
  for (std::size_t done = 0; done < message.size();) {
    const auto part = message.subspan(done, std::min<std::size_t>(message.size() - done, buffer_bytes));
    done += part.size();
    VerbsRequest request;
    request.kind = VerbsRequest::Kind::send;
    request.more = done < message.size();
    request.signaled = signaled && !request.more;
    request.context = context;
    request.bytes = part.size();
    request.owned.assign(part.begin(), part.end());
    post(std::move(request));
  }
}

void QueuePair::transfer(const connected::Transfer& whole) {
  const std::size_t piece_max = whole.region == nullptr ? staged_bytes_max : device_.limits().operation_bytes_max;
  connected::cut(whole, piece_max, [this](const connected::Transfer& piece) {
    post({piece, piece.reads ? VerbsRequest::Kind::read : VerbsRequest::Kind::write});
  });
}

void QueuePair::flush() {
  if (!has_queue_pair()) return;
  give_buffers();
  backlog_.flush(*this, [this](VerbsRequest& each) { return offer(each); });
  const bool wanted = credits_.telling_is_due() || (news_owed_ && credits_.may_post(false));
  if (!broken() && call().state == connected::PeerCall::State::up && wanted) {
    VerbsRequest request;
    request.kind = VerbsRequest::Kind::tell;
    if (offer(request)) news_owed_ = false;  // if there is no space, the next flush tries again
  }
  ring();
}

// Whether it is on its way.
bool QueuePair::offer(VerbsRequest& request) {
  const bool tells = request.kind == VerbsRequest::Kind::tell;
  if (flights_.size() + (tells ? 0 : 1) >= device_.limits().send_depth) return false;
  if ((tells || request.kind == VerbsRequest::Kind::send) && !credits_.may_post(tells)) return false;
  if (batch_.full()) ring();
  if (broken()) return false;
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
  if (request.region != nullptr && request.kind != VerbsRequest::Kind::bind) untold_.bytes += request.bytes;
  ++untold_.count;
  if (request.signaled || completion_is_due() || flight.filled != nullptr || request.kind == VerbsRequest::Kind::mark) {
    work.send_flags |= IBV_SEND_SIGNALED;
    flight.told_bytes = untold_.bytes;
    unsent_bytes += untold_.bytes;
    untold_ = {.staged_begin = staging_.end()};
  }
  batch_.add(work, piece);
  flights_.push_back(flight);
  return true;
}

// Often enough that neither the queue nor the staging is ever full of requests that nothing tells the end of.
bool QueuePair::completion_is_due() const noexcept {
  return untold_.count >= device_.limits().send_depth / 4 || untold_.bytes >= untold_bytes_max ||
         staging_.end() - untold_.staged_begin >= staging_bytes / 4;
}

// Says where the device finds the bytes, or puts them. False: no space to copy them to.
bool QueuePair::stage(const VerbsRequest& request, Flight& flight, ibv_send_wr& work, ibv_sge& piece) {
  if (request.bytes == 0) return true;
  work.num_sge = 1;
  piece.length = static_cast<std::uint32_t>(request.bytes);
  const bool reads = request.kind == VerbsRequest::Kind::read;
  const bool small = !reads && request.bytes <= device_.limits().inline_bytes;
  if (small) work.send_flags |= IBV_SEND_INLINE;
  if (request.region != nullptr && request.owned.empty()) {
    piece.addr = reinterpret_cast<std::uintptr_t>(request.local);
    piece.lkey = key_of(*request.region);
    return true;
  }
  // An inline payload is copied when the doorbell rings, and the caller's bytes stay until then.
  if (small && request.kind == VerbsRequest::Kind::write && request.owned.empty()) {
    piece.addr = reinterpret_cast<std::uintptr_t>(request.local);
    return true;
  }
  const auto offset = staging_.take(request.bytes);
  if (!offset) return false;
  std::byte* const staged = staged_.bytes.get() + *offset;
  piece.addr = reinterpret_cast<std::uintptr_t>(staged);
  piece.lkey = staged_.registered->lkey;
  if (reads) {
    flight.filled = request.local;
    flight.staged = staged;
    flight.bytes = request.bytes;
  } else {
    std::memcpy(staged, request.owned.empty() ? request.local : request.owned.data(), request.bytes);
  }
  return true;
}

void QueuePair::describe(const VerbsRequest& request, ibv_send_wr& work) {
  switch (request.kind) {
    case VerbsRequest::Kind::send:
      work.opcode = IBV_WR_SEND_WITH_IMM;
      work.imm_data = htonl(encode(Immediate{request.more, credits_.posted()}));
      return;
    case VerbsRequest::Kind::tell:
      work.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
      work.imm_data = htonl(encode(Immediate{false, credits_.posted()}));
      return;
    case VerbsRequest::Kind::bind:
      work.opcode = IBV_WR_BIND_MW;
      work.bind_mw.mw = request.window;
      work.bind_mw.rkey = static_cast<std::uint32_t>(request.remote_key);
      work.bind_mw.bind_info = {
          .mr = &source_of(*request.region),
          .addr = reinterpret_cast<std::uintptr_t>(request.region->memory.data()),
          .length = request.region->memory.size(),
          .mw_access_flags = request.access == Access::write ? 0U + IBV_ACCESS_REMOTE_WRITE : 0U + IBV_ACCESS_REMOTE_READ};
      return;
    case VerbsRequest::Kind::write:
    case VerbsRequest::Kind::mark: work.opcode = IBV_WR_RDMA_WRITE; break;
    case VerbsRequest::Kind::read: work.opcode = IBV_WR_RDMA_READ; break;
  }
  work.wr.rdma.remote_addr = request.address;
  work.wr.rdma.rkey = static_cast<std::uint32_t>(request.remote_key);
}

void QueuePair::carry_news() {
  ibv_send_wr* const work = batch_.news_carrier();
  if (work == nullptr) return;
  if (!credits_.may_post(false)) {
    news_owed_ = true;
    return;
  }
  work->opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
  work->imm_data = htonl(encode(Immediate{false, credits_.posted()}));
}

void QueuePair::ring() {
  if (batch_.empty() || broken() || !has_queue_pair()) return;
  carry_news();
  if (const auto posted = batch_.post(*id_->qp); !posted) break_down(posted.error().message());
}

std::optional<QueuePair::Flight> QueuePair::take_finished(std::uint32_t sequence) {
  if (flights_.empty() || static_cast<std::int32_t>(sequence - flights_.front().sequence) < 0) return std::nullopt;
  const Flight flight = flights_.front();
  flights_.pop_front();
  staging_.give_back(flight.staged_end);
  if (flight.filled != nullptr) std::memcpy(flight.filled, flight.staged, flight.bytes);
  if (flight.region != nullptr) --flight.region->reading;
  unsent_bytes -= flight.told_bytes;
  return flight;
}

void QueuePair::mark() {
  if (untold_.count > 0 || !backlog_.empty()) {
    VerbsRequest request;
    request.kind = VerbsRequest::Kind::mark;
    post(std::move(request));
  }
  ring();
}

Result<void> QueuePair::make_source(connected::OwnRegion& region) {
  if (own_domain_ == nullptr) {
    if (region.registration != nullptr) return {};
    SPINDRIFT_TRY_ASSIGN(
        auto made, device_.register_memory(device_.domain(), region.memory, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND));
    region.registration = std::make_unique<Source>(std::move(made));
    return {};
  }
  if (sources_.contains(&region)) return {};
  SPINDRIFT_TRY_ASSIGN(auto made, device_.register_memory(*own_domain_, region.memory, IBV_ACCESS_LOCAL_WRITE));
  sources_.emplace(&region, std::move(made));
  return {};
}

std::uint32_t QueuePair::key_of(const connected::OwnRegion& region) const {
  return own_domain_ == nullptr ? source_of(region).lkey : sources_.at(&region)->lkey;
}

Result<QueuePair::Right> QueuePair::give_right(connected::OwnRegion& region, Access access) {
  Right given{0, reinterpret_cast<std::uintptr_t>(region.memory.data()), nullptr};
  if (own_domain_ == nullptr) {
    SPINDRIFT_TRY(make_source(region));
    SPINDRIFT_TRY_ASSIGN(auto window, device_.make_window());
    given.remote_key = ibv_inc_rkey(window->rkey);
    VerbsRequest bind;
    bind.kind = VerbsRequest::Kind::bind;
    bind.window = window.get();
    bind.region = &region;
    bind.access = access;
    bind.remote_key = given.remote_key;
    given.registration = std::make_unique<PeerRight>(*this, std::move(window));
    post(std::move(bind));
  } else {
    const int rights =
        access == Access::write ? IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE : 0 | IBV_ACCESS_REMOTE_READ;
    SPINDRIFT_TRY_ASSIGN(auto made, device_.register_memory(*own_domain_, region.memory, rights));
    given.remote_key = made->rkey;
    given.registration = std::make_unique<PeerRight>(std::move(made));
  }
  return given;
}

void QueuePair::unbind(const ibv_mw* window) {
  for (VerbsRequest& request : backlog_) {
    if (request.kind == VerbsRequest::Kind::bind && request.window == window) request.kind = VerbsRequest::Kind::mark;
  }
}

}  // namespace spindrift::fabric::verbs
