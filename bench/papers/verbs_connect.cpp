// Two queue pairs of this process reach each other by the port's own address.
#include <spindrift/bench/papers/verbs_connect.hpp>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include <spindrift/bench/reached.hpp>
#include <spindrift/core/clock.hpp>
#include <spindrift/fabric/load_library.hpp>
#include <spindrift/fabric/verbs/library.hpp>
#include <spindrift/fabric/verbs/verbs.hpp>
#include <spindrift/kernel/pool.hpp>

namespace spindrift::bench {

namespace {

using fabric::verbs::Handle;
using fabric::verbs::RdmaCoreCalls;

constexpr Duration patience = std::chrono::seconds(10);
/// As the queue pairs of the fabric `verbs`.
constexpr std::uint32_t send_depth = 256;
constexpr std::uint32_t receive_depth = 64;
constexpr std::uint8_t tries = 6;
constexpr std::uint8_t answer_time = 16;  // 4.096 µs times 2^16
constexpr std::uint8_t not_ready_pause = 12;

/// A port that is up, and an address of it.
struct ActivePort {
  Handle<ibv_context> context;
  ibv_port_attr attributes{};
  std::uint8_t number = 0;
  ibv_gid_entry gid{};
};

/// Finds an address of the port: one that is routed if there is any, RoCE's second version before its first.
std::optional<ibv_gid_entry> gid_of(ibv_context& context, std::uint32_t port) {
  std::optional<ibv_gid_entry> best;
  const auto worth = [](const ibv_gid_entry& entry) {
    return 2 * (fabric::verbs::within_the_link(entry.gid) ? 0 : 1) + (entry.gid_type == IBV_GID_TYPE_ROCE_V1 ? 0 : 1);
  };
  for (const ibv_gid_entry& entry : fabric::verbs::gids_of(context)) {
    if (entry.port_num == port && (!best || worth(entry) > worth(*best))) best = entry;
  }
  return best;
}

std::optional<ActivePort> port_that_is_up(const RdmaCoreCalls& lib, Handle<ibv_context> context) {
  ibv_device_attr device{};
  if (context == nullptr || lib.query_device(context.get(), &device) != 0) return std::nullopt;
  ActivePort port{std::move(context), {}, 0, {}};
  for (std::uint32_t number = 1; number <= device.phys_port_cnt; ++number) {
    port.number = static_cast<std::uint8_t>(number);
    auto* const attributes = reinterpret_cast<_compat_ibv_port_attr*>(&port.attributes);
    if (lib.query_port(port.context.get(), port.number, attributes) != 0 || port.attributes.state != IBV_PORT_ACTIVE)
      continue;
    const auto gid = gid_of(*port.context, number);
    if (!gid) continue;
    port.gid = *gid;
    return port;
  }
  return std::nullopt;
}

ActivePort first_port() {
  auto ports = fabric::verbs_ports();  // says what is missing
  if (!ports) {
    throw Exception(Error(ErrorKind::unsupported, "there are no queue pairs of verbs here to measure")
                        .because(std::move(ports).error()));
  }
  const RdmaCoreCalls& lib = fabric::verbs::loaded_library();
  int count = 0;
  const Handle<ibv_device*> devices(lib.get_device_list(&count));
  for (int i = 0; devices != nullptr && i < count; ++i) {
    auto port = port_that_is_up(lib, Handle<ibv_context>(lib.open_device(devices.get()[i])));
    if (port) return *std::move(port);
  }
  throw Exception(Error(ErrorKind::unsupported, "no RDMA device has an active port with an address")
                      .fix("see which there are (rdma link), and bring up the interface below one (ip link set eth0 up)"));
}

class VerbsRun final : public VerbsConnect {
 public:
  explicit VerbsRun(ActivePort port)
      : port_(std::move(port)), memory_(registered_bytes, std::byte{1}), virtual_completions_(64) {}

  void start(const std::string& provider) {
    const RdmaCoreCalls& lib = fabric::verbs::loaded_library();
    fabric::LoadedLibrary verbs("libibverbs.so.1");
    if (!verbs.find(modify_, "ibv_modify_qp").error().empty()) throw Exception(Error(ErrorKind::unsupported, verbs.error()));
    domain_.reset(lib.alloc_pd(port_.context.get()));
    if (domain_ == nullptr) throw Exception(system_error("ibv_alloc_pd", errno));
    completions_.reset(lib.create_cq(port_.context.get(), static_cast<int>(send_depth), nullptr, nullptr, 0));
    if (completions_ == nullptr) throw Exception(system_error("ibv_create_cq", errno));
    words_registered_.reset(
        lib.reg_mr(domain_.get(), words_.data(), sizeof words_, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE));
    if (words_registered_ == nullptr) throw Exception(system_error("ibv_reg_mr", errno));
    virtual_device_ = open_loopback_device(provider, {.send_depth = 16, .receive_buffers = 16});
    pool_ = value_or_throw(kernel::Pool::open(*virtual_device_, {}));
    peer_ = elsewhere(virtual_device_->metadata(), 1);
    // This pair stays, so that the peer is known from here on.
    connect_virtually();
  }

  [[nodiscard]] std::string device() const override {
    return std::string(port_.context->device->name) + ", port " + std::to_string(port_.number);
  }

  VerbsTimes measure(std::uint32_t samples) override {
    VerbsTimes times;
    for (std::uint32_t sample = 0; sample < samples; ++sample) {
      connect_two(times);
      register_once(times);
      const Time before = clock_.now();
      auto pair = connect_virtually();
      times.virtual_pair.push_back(since(before));
      pool_->close(pair);
    }
    return times;
  }

 private:
  [[nodiscard]] std::uint64_t since(Time start) const { return static_cast<std::uint64_t>((clock_.now() - start).count()); }

  kernel::PairId connect_virtually() {
    auto pair = value_or_throw(pool_->create(virtual_completions_, {}));
    value_or_throw(pool_->connect(pair, peer_, kernel::Port(1)));
    return pair;
  }

  void register_once(VerbsTimes& times) {
    const Time before = clock_.now();
    const Handle<ibv_mr> registered(
        fabric::verbs::loaded_library().reg_mr(domain_.get(), memory_.data(), memory_.size(), IBV_ACCESS_LOCAL_WRITE));
    if (registered == nullptr) {
      throw Exception(Error(system_error("ibv_reg_mr", errno)).fix("let this process lock memory (ulimit -l unlimited)"));
    }
    times.register_memory.push_back(since(before));
  }

  Handle<ibv_qp> create() {
    ibv_qp_init_attr wishes{};
    wishes.send_cq = wishes.recv_cq = completions_.get();
    wishes.qp_type = IBV_QPT_RC;
    wishes.cap = {
        .max_send_wr = send_depth, .max_recv_wr = receive_depth, .max_send_sge = 1, .max_recv_sge = 1, .max_inline_data = 0};
    Handle<ibv_qp> made(fabric::verbs::loaded_library().create_qp(domain_.get(), &wishes));
    if (made == nullptr) throw Exception(system_error("ibv_create_qp", errno));
    return made;
  }

  void modify(ibv_qp& queue_pair, ibv_qp_attr attributes, int which, std::vector<std::uint64_t>& times) {
    const Time before = clock_.now();
    if (const int failed = modify_(&queue_pair, &attributes, which); failed != 0)
      throw Exception(system_error("ibv_modify_qp", failed));
    times.push_back(since(before));
  }

  void to_init(ibv_qp& queue_pair, VerbsTimes& times) {
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_INIT;
    attributes.port_num = port_.number;
    attributes.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
    modify(queue_pair, attributes, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS, times.to_init);
  }

  void to_receive(ibv_qp& queue_pair, const ibv_qp& from, VerbsTimes& times) {
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_RTR;
    attributes.path_mtu = port_.attributes.active_mtu;
    attributes.dest_qp_num = from.qp_num;
    attributes.max_dest_rd_atomic = 1;
    attributes.min_rnr_timer = not_ready_pause;
    attributes.ah_attr.port_num = port_.number;
    attributes.ah_attr.dlid = port_.attributes.lid;
    attributes.ah_attr.is_global = 1;
    attributes.ah_attr.grh.dgid = port_.gid.gid;
    attributes.ah_attr.grh.sgid_index = static_cast<std::uint8_t>(port_.gid.gid_index);
    attributes.ah_attr.grh.hop_limit = 1;
    modify(queue_pair, attributes,
           IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
               IBV_QP_MIN_RNR_TIMER,
           times.to_receive);
  }

  void to_send(ibv_qp& queue_pair, VerbsTimes& times) {
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_RTS;
    attributes.timeout = answer_time;
    attributes.retry_cnt = tries;
    attributes.rnr_retry = tries;
    attributes.max_rd_atomic = 1;
    return modify(
        queue_pair, attributes,
        IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC,
        times.to_send);
  }

  /// Both are measured; `all` is of one.
  void connect_two(VerbsTimes& times) {
    std::array<Handle<ibv_qp>, 2> two;
    for (Handle<ibv_qp>& each : two) {
      const Time before = clock_.now();
      auto made = create();
      times.create.push_back(since(before));
      each = std::move(made);
    }
    for (const std::size_t each : {0U, 1U}) {
      to_init(*two[each], times);
      to_receive(*two[each], *two[1 - each], times);
      to_send(*two[each], times);
    }
    for (std::size_t i = times.create.size() - two.size(); i < times.create.size(); ++i)
      times.all.push_back(times.create[i] + times.to_init[i] + times.to_receive[i] + times.to_send[i]);
    write_over(*two[0]);
  }

  /// Shows that both are ready.
  void write_over(ibv_qp& queue_pair) {
    words_[0] = ++written_;
    ibv_sge piece{reinterpret_cast<std::uintptr_t>(&words_[0]), sizeof words_[0], words_registered_->lkey};
    ibv_send_wr work{};
    work.sg_list = &piece;
    work.num_sge = 1;
    work.opcode = IBV_WR_RDMA_WRITE;
    work.send_flags = IBV_SEND_SIGNALED;
    work.wr.rdma.remote_addr = reinterpret_cast<std::uintptr_t>(&words_[1]);
    work.wr.rdma.rkey = words_registered_->rkey;
    ibv_send_wr* refused = nullptr;
    if (const int failed = ibv_post_send(&queue_pair, &work, &refused); failed != 0)
      throw Exception(system_error("ibv_post_send", failed));
    ibv_wc done{};
    const Time start = clock_.now();
    while (ibv_poll_cq(completions_.get(), 1, &done) == 0) {
      if (clock_.now() - start > patience)
        throw Exception(Error(ErrorKind::timed_out, "a write over a new queue pair does not end"));
    }
    if (done.status == IBV_WC_SUCCESS && std::atomic_ref(words_[1]).load(std::memory_order_acquire) == written_) return;
    throw Exception(Error(ErrorKind::member_lost, std::string("a write over a new queue pair failed: ") +
                                                      fabric::verbs::loaded_library().wc_status_str(done.status)));
  }

  const SystemClock clock_;
  ActivePort port_;  // outlives all that is made of it
  std::vector<std::byte> memory_;
  std::array<std::uint64_t, 2> words_{};
  std::uint64_t written_ = 0;
  decltype(&::ibv_modify_qp) modify_ = nullptr;
  Handle<ibv_pd> domain_;
  Handle<ibv_mr> words_registered_;
  Handle<ibv_cq> completions_;
  std::unique_ptr<kernel::PhysicalDevice> virtual_device_;
  kernel::CompletionQueue virtual_completions_;
  std::unique_ptr<kernel::Pool> pool_;  // goes before its device
  kernel::Metadata peer_;
};

}  // namespace

std::unique_ptr<VerbsConnect> VerbsConnect::open(const std::string& provider) {
  auto port = first_port();
  auto run = std::make_unique<VerbsRun>(std::move(port));
  run->start(provider);
  return std::unique_ptr<VerbsConnect>(std::move(run));
}

}  // namespace spindrift::bench
