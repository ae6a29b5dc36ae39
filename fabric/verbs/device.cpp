// Opening the device of an address, and what is asked of rdma-core for each connection.
#include <spindrift/fabric/verbs/device.hpp>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include <spindrift/fabric/verbs/verbs.hpp>
#include <spindrift/core/log.hpp>

namespace spindrift::fabric::verbs {
namespace {

constexpr std::size_t queue_pairs_first = 8;
constexpr int backlog = 128;
constexpr std::uint8_t tries = 6;              // again; the most there are is 7, which rxe takes for ever
constexpr std::uint8_t waits_for_buffers = 7;  // for ever; but a peer has always one
constexpr std::uint8_t answer_time =
    16;  // 4.096 µs times 2^16, so a lost packet costs 0.3 s, a dead link is told in 2 to 8 s

Result<void> make_nonblocking(int descriptor) {
  const int flags = ::fcntl(descriptor, F_GETFL);
  if (flags < 0 || ::fcntl(descriptor, F_SETFL, flags | O_NONBLOCK) < 0) return system_error("fcntl", errno);
  return {};
}

sockaddr* address_in(SocketAddress& address) { return reinterpret_cast<sockaddr*>(&address.storage); }

std::string devices_there() {
  const auto ports = verbs_ports();
  if (!ports) return "none";
  std::string names;
  for (const VerbsPort& port : ports.value()) {
    for (const std::string& address : port.addresses) names += (names.empty() ? "" : ", ") + address + " of " + port.device;
  }
  return names.empty() ? "devices without an address" : names;
}

Error no_device(int code) {
  return Error(ErrorKind::refused, "no RDMA device has this node's address; there are: " + devices_there())
      .because(system_error("rdma_bind_addr", code))
      .fix("give this node such an address in [SPINDRIFT] addresses, or use [SPINDRIFT] fabric = ofi:tcp");
}

Error cannot_listen(const char* what) {
  return Error(ErrorKind::resource, "cannot listen at this node's address")
      .because(system_error(what, errno))
      .fix("see whether another process has the port (rdma resource show cm_id, ss -ltnp)");
}

}  // namespace

Result<std::unique_ptr<Device>> Device::open(const SocketAddress& at, const QueuePairLimits& wishes) {
  SPINDRIFT_TRY(verbs_ports());
  const RdmaCoreCalls& lib = loaded_library();
  std::unique_ptr<Device> device(new Device);
  device->address_ = at;
  device->limits_ = wishes;
  device->events_.reset(lib.create_event_channel());
  if (device->events_ == nullptr) {
    return Error(system_error("rdma_create_event_channel", errno)).fix("load the kernel's rdma_cm: modprobe rdma_ucm");
  }
  SPINDRIFT_TRY(make_nonblocking(device->events_descriptor()));
  SPINDRIFT_TRY_ASSIGN(device->listener_, device->make_id(nullptr));
  rdma_cm_id* const listener = device->listener_.get();
  if (lib.bind_addr(listener, address_in(device->address_)) != 0) {
    if (errno == ENODEV || errno == EADDRNOTAVAIL) return no_device(errno);
    return cannot_listen("rdma_bind_addr");
  }
  if (listener->verbs == nullptr) return no_device(ENODEV);  // an address of all devices, or of the loopback
  std::memcpy(&device->address_.storage, &listener->route.addr.src_storage, device->address_.bytes);
  SPINDRIFT_TRY(device->open_queues());
  return device;
}

Result<void> Device::open_queues() {
  const RdmaCoreCalls& lib = loaded_library();
  ibv_context* const context = listener_->verbs;
  ibv_device_attr device{};
  if (const int failed = lib.query_device(context, &device); failed != 0) return system_error("ibv_query_device", failed);
  ibv_port_attr port{};
  const int failed = lib.query_port(context, listener_->port_num, reinterpret_cast<_compat_ibv_port_attr*>(&port));
  if (failed != 0) return system_error("ibv_query_port", failed);
  limits_.send_depth = std::min(limits_.send_depth, static_cast<std::uint32_t>(device.max_qp_wr));
  limits_.receive_depth = std::min(limits_.receive_depth, static_cast<std::uint32_t>(device.max_qp_wr));
  limits_.operation_bytes_max = std::min<std::uint64_t>(limits_.operation_bytes_max, port.max_msg_sz);
  limits_.reads_max = static_cast<std::uint8_t>(std::clamp(device.max_qp_rd_atom, 1, int{limits_.reads_max}));
  limits_.memory_windows = limits_.memory_windows && (device.device_cap_flags & IBV_DEVICE_MEM_WINDOW_TYPE_2B) != 0;
  SPINDRIFT_TRY_ASSIGN(domain_, make_domain());
  channel_.reset(lib.create_comp_channel(context));
  if (channel_ == nullptr) return system_error("ibv_create_comp_channel", errno);
  SPINDRIFT_TRY(make_nonblocking(channel_->fd));
  completions_max_ = queue_pairs_first * (limits_.send_depth + limits_.receive_depth);
  completions_max_ = std::min(completions_max_, static_cast<std::size_t>(device.max_cqe));
  completions_.reset(lib.create_cq(context, static_cast<int>(completions_max_), nullptr, channel_.get(), 0));
  if (completions_ == nullptr) return system_error("ibv_create_cq", errno);
  return try_queue_pair();
}

// How many bytes go inline no attribute tells; a device refuses what is too much.
Result<void> Device::try_queue_pair() {
  const RdmaCoreCalls& lib = loaded_library();
  while (true) {
    ibv_qp_init_attr wish = wishes();
    const Handle<ibv_qp> trial(lib.create_qp(domain_.get(), &wish));
    if (trial == nullptr) {
      if (limits_.inline_bytes == 0) return system_error("ibv_create_qp", errno);
      limits_.inline_bytes = limits_.inline_bytes > 64 ? limits_.inline_bytes / 2 : 0;
      continue;
    }
    if (lib.query_qp_data_in_order != nullptr)
      in_order_ = lib.query_qp_data_in_order(trial.get(), IBV_WR_RDMA_WRITE, 0) == 1 ? 1 : 0;
    return {};
  }
}

// A write is visible in 64-byte lines of any order, which the fabric's promise allows; that of two writes the later comes
// later is the transport's, so an answer of no is no reason to refuse the device.
void Device::tell_choices() {
  const ibv_context& context = *listener_->verbs;
  const char* const order = in_order_ == 1 ? "yes, says the device"
                            : in_order_ == 0
                                ? "not promised; the order of writes is, by the reliable connection"
                                : "rdma-core does not say; the order of writes holds, by the reliable connection";
  log::info(log::Room::fabric, "listens",
            {{"device", context.device->name},
             {"port", listener_->port_num},
             {"gid", gid_in_use(*listener_)},
             {"inline_bytes", limits_.inline_bytes},
             {"rights", limits_.memory_windows ? "memory windows of type 2" : "a protection domain per peer"},
             {"bytes_in_order", order}});
}

ibv_qp_init_attr Device::wishes() noexcept {
  ibv_qp_init_attr wish{};
  wish.send_cq = completions_.get();
  wish.recv_cq = completions_.get();
  wish.cap.max_send_wr = limits_.send_depth;
  wish.cap.max_recv_wr = limits_.receive_depth;
  wish.cap.max_send_sge = limits_.pieces;
  wish.cap.max_recv_sge = 1;
  wish.cap.max_inline_data = limits_.inline_bytes;
  wish.qp_type = IBV_QPT_RC;
  wish.sq_sig_all = 0;
  return wish;
}

Result<void> Device::listen() {
  if (loaded_library().listen(listener_.get(), backlog) == 0) return {};
  return cannot_listen("rdma_listen");
}

Result<Handle<rdma_cm_id>> Device::make_id(void* context) {
  rdma_cm_id* id = nullptr;
  if (loaded_library().create_id(events_.get(), &id, context, RDMA_PS_TCP) != 0)
    return system_error("rdma_create_id", errno);
  return Handle<rdma_cm_id>(id);
}

Result<Handle<rdma_cm_id>> Device::call(const SocketAddress& peer, std::uint32_t number) {
  SPINDRIFT_TRY_ASSIGN(auto id,
                       make_id(reinterpret_cast<void*>(std::uintptr_t{number})));  // NOLINT: a number, never followed
  SocketAddress from = address_;
  SocketAddress to = peer;
  if (from.storage.ss_family == AF_INET) reinterpret_cast<sockaddr_in*>(&from.storage)->sin_port = 0;
  if (from.storage.ss_family == AF_INET6) reinterpret_cast<sockaddr_in6*>(&from.storage)->sin6_port = 0;
  if (from.storage.ss_family != to.storage.ss_family) {
    return Error(ErrorKind::resource, "the peer's address is of another family than this node's")
        .fix("give all nodes IPv4 addresses, or all IPv6 addresses, in [SPINDRIFT] addresses");
  }
  if (loaded_library().resolve_addr(id.get(), address_in(from), address_in(to), way_found_in_ms) != 0)
    return system_error("rdma_resolve_addr", errno);
  return id;
}

Result<void> Device::make_room(std::size_t queue_pairs) {
  const std::size_t needed = queue_pairs * (limits_.send_depth + limits_.receive_depth);
  if (needed <= completions_max_) return {};
  const std::size_t size = std::max(needed, 2 * completions_max_);
  int failed = loaded_library().resize_cq(completions_.get(), static_cast<int>(size));
  completions_max_ = size;
  if (failed != 0 && size != needed) {
    failed = loaded_library().resize_cq(completions_.get(), static_cast<int>(needed));
    completions_max_ = needed;
  }
  if (failed == 0) return {};
  completions_max_ = static_cast<std::size_t>(completions_->cqe);
  return Error(system_error("the completion queue cannot grow for another peer: ibv_resize_cq", failed))
      .fix("use fewer members, or [SPINDRIFT] fabric = ofi:tcp");
}

Result<void> Device::make_queue_pair(rdma_cm_id& id, ibv_pd& domain) {
  if (id.verbs != listener_->verbs)
    return Error(ErrorKind::resource, "the way to the peer leads over another device than this node's address");
  std::uint8_t time = answer_time;
  static_cast<void>(loaded_library().set_option(&id, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &time,
                                                sizeof time));  // kernels since 5.2
  ibv_qp_init_attr wish = wishes();
  if (loaded_library().cm_create_qp(&id, &domain, &wish) != 0) return system_error("rdma_create_qp", errno);
  return {};
}

rdma_conn_param Device::parameters(std::span<const std::byte> greeting) const noexcept {
  rdma_conn_param parameters{};
  parameters.private_data = greeting.data();
  parameters.private_data_len = static_cast<std::uint8_t>(greeting.size());
  parameters.responder_resources = limits_.reads_max;
  parameters.initiator_depth = limits_.reads_max;
  parameters.retry_count = tries;
  parameters.rnr_retry_count = waits_for_buffers;
  return parameters;
}

Result<void> Device::connect(rdma_cm_id& id, std::span<const std::byte> greeting) {
  rdma_conn_param asked = parameters(greeting);
  if (loaded_library().connect(&id, &asked) != 0) return system_error("rdma_connect", errno);
  return {};
}

Result<void> Device::accept(rdma_cm_id& id, std::span<const std::byte> greeting) {
  rdma_conn_param granted = parameters(greeting);
  if (loaded_library().accept(&id, &granted) != 0) return system_error("rdma_accept", errno);
  return {};
}

Result<Handle<ibv_mr>> Device::register_memory(ibv_pd& domain, std::span<std::byte> memory, int access) {
  ibv_mr* const registered = (loaded_library().reg_mr)(&domain, memory.data(), memory.size(), access);
  if (registered != nullptr) return Handle<ibv_mr>(registered);
  return Error(system_error("ibv_reg_mr of " + std::to_string(memory.size()) + " bytes", errno))
      .fix("allow more locked memory: ulimit -l unlimited, or LimitMEMLOCK=infinity in the service's unit");
}

Result<Handle<ibv_mw>> Device::make_window() {
  ibv_mw* const window = ibv_alloc_mw(domain_.get(), IBV_MW_TYPE_2);
  if (window == nullptr) return system_error("ibv_alloc_mw", errno);
  return Handle<ibv_mw>(window);
}

Result<Handle<ibv_pd>> Device::make_domain() {
  ibv_pd* const domain = loaded_library().alloc_pd(listener_->verbs);
  if (domain == nullptr) return system_error("ibv_alloc_pd", errno);
  return Handle<ibv_pd>(domain);
}

void Device::arm() noexcept {
  if (!std::exchange(armed_, true)) static_cast<void>(ibv_req_notify_cq(completions_.get(), 0));
}

void Device::disarm() noexcept {
  ibv_cq* queue = nullptr;
  void* context = nullptr;
  while (loaded_library().get_cq_event(channel_.get(), &queue, &context) == 0) {
    loaded_library().ack_cq_events(queue, 1);
    armed_ = false;
  }
}

}  // namespace spindrift::fabric::verbs
