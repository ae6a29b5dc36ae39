// DC queue pairs without an adapter: what they ask of rdma-core, call by call, and what they make of its completions.
#include <catch2/catch.hpp>

#include <arpa/inet.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include <spindrift/kernel/verbs/verbs_connections.hpp>
#include <spindrift/kernel/verbs/dc.hpp>
#include <spindrift/kernel/verbs/verbs_device.hpp>

using namespace spindrift;
using namespace spindrift::kernel;
using namespace spindrift::kernel::verbs;
using Kind = PhysicalOperation::Kind;

namespace {

struct Change {
  ibv_qp_attr state;
  int mask;
};
struct Creation {
  ibv_qp_init_attr_ex asked;
  mlx5dv_qp_init_attr of_dc;
};
struct Posted {
  char what = 0;  ///< w, i: with immediate data, r or s
  std::uint64_t id = 0;
  unsigned flags = 0;
  std::uint64_t address = 0;
  std::uint32_t key = 0;
  ibv_ah* way = nullptr;
  std::uint32_t target = 0;
  std::uint64_t access_key = 0;
  std::vector<ibv_sge> pieces;
};

/// The demands on the adapter that is not there. One record at a time, since the calls are plain functions.
struct Record {
  std::vector<Creation> created;
  std::vector<Change> changes;
  std::vector<ibv_ah_attr> ways;
  std::vector<Posted> posted;
  std::vector<ibv_recv_wr> buffers;
  int destroyed = 0, ways_destroyed = 0, lists_begun = 0, lists_ended = 0;
  int refuse_change_to = -1;  ///< a state
  int refuse_list = 0;        ///< an errno
  bool order_held = true;     ///< kind, then address, then bytes, between begin and end
  bool in_list = false;

  mlx5dv_qp_ex mlx5{};
  std::array<ibv_qp_ex, 2> queue_pairs{};
  std::array<ibv_ah, 4> address_handles{};
  ibv_srq shared_queue{};
};
Record* record = nullptr;

void begin_one(char what, ibv_qp_ex* pair, std::uint32_t key, std::uint64_t address) {
  record->order_held &= record->in_list;
  record->posted.push_back({what, pair->wr_id, pair->wr_flags, address, key, nullptr, 0, 0, {}});
}

ibv_qp* create_qp(ibv_context* /*context*/, ibv_qp_init_attr_ex* asked, mlx5dv_qp_init_attr* of_dc) {
  ibv_qp_ex& made = record->queue_pairs.at(record->created.size());
  record->created.push_back({*asked, *of_dc});
  made.qp_base.qp_num = 0x100 + static_cast<std::uint32_t>(record->created.size());
  made.wr_start = [](ibv_qp_ex*) {
    record->in_list = true;
    ++record->lists_begun;
  };
  made.wr_complete = [](ibv_qp_ex*) {
    record->in_list = false;
    ++record->lists_ended;
    return record->refuse_list;
  };
  made.wr_rdma_write = [](ibv_qp_ex* pair, std::uint32_t key, std::uint64_t to) { begin_one('w', pair, key, to); };
  made.wr_rdma_read = [](ibv_qp_ex* pair, std::uint32_t key, std::uint64_t to) { begin_one('r', pair, key, to); };
  made.wr_rdma_write_imm = [](ibv_qp_ex* pair, std::uint32_t key, std::uint64_t to, __be32) {
    begin_one('i', pair, key, to);
  };
  made.wr_send = [](ibv_qp_ex* pair) { begin_one('s', pair, 0, 0); };
  made.wr_set_sge_list = [](ibv_qp_ex*, std::size_t count, const ibv_sge* pieces) {
    Posted& last = record->posted.back();
    record->order_held &= last.way != nullptr;
    last.pieces.assign(pieces, pieces + count);
  };
  record->mlx5.wr_set_dc_addr = [](mlx5dv_qp_ex*, ibv_ah* way, std::uint32_t target, std::uint64_t key) {
    Posted& last = record->posted.back();
    last.way = way;
    last.target = target;
    last.access_key = key;
  };
  return &made.qp_base;
}

int change(ibv_qp* /*pair*/, ibv_qp_attr* state, int mask) {
  record->changes.push_back({*state, mask});
  return static_cast<int>(state->qp_state) == record->refuse_change_to ? EINVAL : 0;
}

ibv_ah* make_way(ibv_pd* /*domain*/, ibv_ah_attr* way) {
  if (record->ways.size() == record->address_handles.size()) {
    errno = ENOMEM;
    return nullptr;
  }
  record->ways.push_back(*way);
  return &record->address_handles.at(record->ways.size() - 1);
}

int take_buffers(ibv_srq* /*queue*/, ibv_recv_wr* work, ibv_recv_wr** /*refused*/) {
  for (; work != nullptr; work = work->next) record->buffers.push_back(*work);
  return 0;
}

const DcCalls recorded{
    .is_supported = [](ibv_device*) { return true; },
    .create_qp = create_qp,
    .to_mlx5 = [](ibv_qp_ex*) { return &record->mlx5; },
    .to_extended = [](ibv_qp* pair) { return reinterpret_cast<ibv_qp_ex*>(pair); },
    .modify_qp = change,
    .destroy_qp = [](ibv_qp*) { return record->destroyed += 1, 0; },
    .create_ah = make_way,
    .destroy_ah = [](ibv_ah*) { return record->ways_destroyed += 1, 0; },
    .create_srq =
        [](ibv_pd* domain, ibv_srq_init_attr*) {
          record->shared_queue.context = domain->context;
          return &record->shared_queue;
        },
    .destroy_srq = [](ibv_srq*) { return 0; },
};

constexpr std::uint32_t initiator_life = 9;

struct Dc {
  Dc() {
    record = &calls;
    context.ops.post_srq_recv = take_buffers;
    domain.context = &context;
    shared.calls = &recorded;
    shared.context = &context;
    shared.domain = &domain;
    shared.completions = &completions;
    shared.port = 2;
    shared.gid.raw[15] = 1;
    shared.gid_index = 3;
    shared.mtu = IBV_MTU_4096;
    own.add(7, memory);
  }

  TargetName target(std::uint8_t host) {
    TargetName name;
    name.gid[15] = host;
    name.number = 0x400000U + host;
    name.key = 0x1000U + host;
    return name;
  }
  PhysicalOperation operation(Kind kind, std::uint64_t id, PeerHandle peer) {
    PhysicalOperation made;
    made.kind = kind;
    made.signaled = true;
    made.peer = peer;
    made.id = id;
    made.local = memory.data();
    made.bytes = 8;
    made.local_key = 7;
    made.remote_address = 0x5000 + id;
    made.remote_key = 77;
    return made;
  }
  std::vector<PhysicalEvent> events(DcInitiator& initiator) {
    std::vector<PhysicalEvent> all(64);
    all.resize(initiator.queue().events().take(all));
    return all;
  }
  [[nodiscard]] std::vector<ibv_qp_state> states() const {
    std::vector<ibv_qp_state> all;
    for (const Change& each : calls.changes) all.push_back(each.state.qp_state);
    return all;
  }

  Record calls;
  ibv_context context{};
  ibv_pd domain{};
  ibv_cq completions{};
  DcPort shared;
  std::vector<std::byte> memory = std::vector<std::byte>(64);
  OwnMemory own;
  DeviceSizes sizes{.send_depth = 8, .receive_buffers = 4, .peers_max = 2, .message_bytes_max = 256};
  Result<PeerHandle> add(const TargetName& peer) {
    return peers.add(peer, [&] { return way_to(shared, peer); });
  }

  DcPeers peers{sizes.peers_max};
};

/// With an initiator that is ready, and two peers.
struct Ready : Dc {
  Ready() {
    REQUIRE(initiator.open().ok());
    one = value_or_throw(add(target(1)));
    two = value_or_throw(add(target(2)));
  }
  DcInitiator initiator{shared, peers, initiator_life, sizes, own};
  PeerHandle one, two;

  std::size_t post(const PhysicalOperation& operation) { return initiator.post({&operation, 1}); }
  [[nodiscard]] std::uint32_t number(std::size_t of) const { return decode_token(calls.posted.at(of).id).which; }
};

}  // namespace

TEST_CASE_METHOD(Dc, "a DC target has its key, its shared buffers, rights for both accesses, and goes to INIT and RTR") {
  ReceiveBuffers buffers(sizes);
  buffers.start(5);
  shared.buffers_key = 31;
  {
    const auto opened = value_or_throw(DcTarget::open(shared, 5, 0xfeedface, buffers));
    REQUIRE(calls.created.size() == 1);
    const Creation& made = calls.created[0];
    CHECK(made.asked.qp_type == IBV_QPT_DRIVER);
    CHECK(made.asked.srq == &calls.shared_queue);
    CHECK(made.asked.pd == &domain);
    CHECK(made.asked.recv_cq == &completions);
    CHECK(made.of_dc.comp_mask == MLX5DV_QP_INIT_ATTR_MASK_DC);
    CHECK(made.of_dc.dc_init_attr.dc_type == MLX5DV_DCTYPE_DCT);
    CHECK(made.of_dc.dc_init_attr.dct_access_key == 0xfeedface);
    REQUIRE(states() == std::vector<ibv_qp_state>{IBV_QPS_INIT, IBV_QPS_RTR});
    const Change& first = calls.changes[0];
    CHECK(first.mask == (IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS));
    CHECK(first.state.port_num == 2);
    CHECK(first.state.qp_access_flags == (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ));
    const Change& second = calls.changes[1];
    CHECK(second.mask == (IBV_QP_STATE | IBV_QP_PATH_MTU | IBV_QP_AV | IBV_QP_MIN_RNR_TIMER));
    CHECK(second.state.path_mtu == IBV_MTU_4096);
    CHECK(second.state.min_rnr_timer != 0);  // which would be the longest there is
    CHECK(second.state.ah_attr.is_global == 1);
    CHECK(second.state.ah_attr.grh.sgid_index == 3);
    CHECK(second.state.ah_attr.port_num == 2);
    REQUIRE(calls.buffers.size() == 4);
    for (const ibv_recv_wr& each : calls.buffers) {
      CHECK(decode_token(each.wr_id).life == 5);
      CHECK(decode_token(each.wr_id).receive);
    }
    CHECK(opened->name().number == 0x101);
    CHECK(opened->name().key == 0xfeedface);
    CHECK(opened->name().gid[15] == 1);
    buffers.spent(2);
    REQUIRE(opened->give_buffers().ok());
    CHECK(decode_token(calls.buffers.back().wr_id).which == 2);
  }
  CHECK(calls.destroyed == 1);
}

TEST_CASE_METHOD(Dc, "a DC initiator goes to INIT, RTR and RTS, with a bounded time for peers that have no buffer") {
  {
    DcInitiator initiator(shared, peers, initiator_life, sizes, own);
    CHECK(initiator.post({}) == 0);
    REQUIRE(initiator.open().ok());
    const Creation& made = calls.created.at(0);
    CHECK(made.asked.cap.max_send_wr == 8);
    CHECK(made.asked.cap.max_send_sge == 2);
    CHECK((made.asked.comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) != 0);
    CHECK((made.asked.send_ops_flags & IBV_QP_EX_WITH_RDMA_READ) != 0);
    CHECK(made.of_dc.dc_init_attr.dc_type == MLX5DV_DCTYPE_DCI);
    REQUIRE(states() == std::vector<ibv_qp_state>{IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS});
    // An initiator gives no rights: nobody comes to it.
    CHECK(calls.changes[0].mask == (IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT));
    CHECK(calls.changes[1].state.path_mtu == IBV_MTU_4096);
    CHECK(calls.changes[2].state.rnr_retry < 7);
    CHECK(calls.changes[2].state.max_rd_atomic > 0);
    CHECK((calls.changes[2].mask & IBV_QP_SQ_PSN) != 0);
  }
  CHECK(calls.destroyed == 1);
}

TEST_CASE_METHOD(Dc, "a state that the adapter refuses is told with its name, and nothing is posted then") {
  calls.refuse_change_to = IBV_QPS_RTR;
  DcInitiator initiator(shared, peers, initiator_life, sizes, own);
  const auto opened = initiator.open();
  REQUIRE_FALSE(opened.ok());
  CHECK_THAT(opened.error().to_string(), Catch::Contains("DC initiator to RTR"));
  const PhysicalOperation write = operation(Kind::write, 1, PeerHandle(1));
  CHECK(initiator.post({&write, 1}) == 0);
  CHECK(calls.lists_begun == 0);
}

TEST_CASE_METHOD(Ready, "each request names its peer's way, target and key, and a list is one doorbell") {
  PhysicalOperation news = operation(Kind::write, 4, two);
  news.news = true;
  news.signaled = false;
  const std::string header = "before";
  PhysicalOperation send = operation(Kind::send, 3, two);
  send.header = std::as_bytes(std::span(header));
  const PhysicalOperation list[] = {operation(Kind::write, 1, one), operation(Kind::read, 2, two), send, news};
  REQUIRE(initiator.post(list) == 4);
  CHECK(calls.lists_begun == 1);
  CHECK(calls.lists_ended == 1);
  CHECK(calls.order_held);
  REQUIRE(calls.posted.size() == 4);
  const std::string kinds = {calls.posted[0].what, calls.posted[1].what, calls.posted[2].what, calls.posted[3].what};
  CHECK(kinds == "wrsi");
  CHECK(calls.posted[0].target == 0x400001);
  CHECK(calls.posted[0].access_key == 0x1001);
  CHECK(calls.posted[0].way == &calls.address_handles[0]);
  CHECK(calls.posted[1].target == 0x400002);
  CHECK(calls.posted[1].access_key == 0x1002);
  CHECK(calls.posted[1].way == &calls.address_handles[1]);
  CHECK(calls.posted[0].address == 0x5001);
  CHECK(calls.posted[0].key == 77);
  CHECK(calls.posted[2].pieces.size() == 2);
  CHECK(calls.posted[3].flags == 0);
  CHECK(calls.posted[0].flags == IBV_SEND_SIGNALED);
  for (const Posted& each : calls.posted) CHECK(decode_token(each.id).life == initiator_life);
}

TEST_CASE_METHOD(Ready, "ways lead to the peer's GID, by LID on InfiniBand, and a peer is taken in once") {
  CHECK(calls.ways.at(1).grh.dgid.raw[15] == 2);
  CHECK(calls.ways.at(1).is_global == 1);
  CHECK(calls.ways.at(1).grh.sgid_index == 3);
  CHECK(calls.ways.at(1).port_num == 2);
  CHECK(value_or_throw(add(target(1))) == one);
  CHECK(add(target(3)).error().kind() == ErrorKind::resource);
  static_cast<void>(peers.remove(one));
  CHECK(peers.find(one) != nullptr);
  static_cast<void>(peers.remove(one));
  CHECK(peers.find(one) == nullptr);
  CHECK(calls.ways_destroyed == 1);
  static_cast<void>(peers.remove(one));
  static_cast<void>(peers.remove(PeerHandle(77)));
  shared.lid = 12;
  TargetName far = target(4);
  far.lid = 0x33;
  CHECK(value_or_throw(add(far)) == one);
  CHECK(calls.ways.back().is_global == 0);
  CHECK(calls.ways.back().dlid == 0x33);
}

TEST_CASE_METHOD(Ready, "an operation to nobody is refused in its turn and never reaches the adapter") {
  REQUIRE(post(operation(Kind::write, 1, PeerHandle(9))) == 1);
  CHECK(calls.lists_begun == 0);
  const auto told = events(initiator);
  REQUIRE(told.size() == 1);
  CHECK(told[0].status == OperationStatus::local_error);
}

TEST_CASE_METHOD(Ready, "no more is under way than the initiator is deep") {
  std::vector<PhysicalOperation> list;
  for (std::uint64_t id = 0; id < 20; ++id) list.push_back(operation(Kind::write, id, id % 2 == 0 ? one : two));
  CHECK(initiator.post(list) == 8);
  CHECK(initiator.post(list) == 0);
  initiator.on_completion(number(2), IBV_WC_SUCCESS);
  CHECK(events(initiator).size() == 3);
  CHECK(initiator.post(std::span(list).subspan(8)) == 3);
  CHECK(calls.posted.size() == 11);
}

TEST_CASE_METHOD(Ready,
                 "a failure breaks the initiator when all that it flushed is over, and a reset makes it ready again") {
  const PhysicalOperation list[] = {operation(Kind::write, 1, one), operation(Kind::write, 2, two),
                                    operation(Kind::write, 3, one)};
  REQUIRE(initiator.post(list) == 3);
  CHECK(initiator.reset().error().kind() == ErrorKind::bad_argument);
  initiator.on_completion(number(1), IBV_WC_REM_ACCESS_ERR);
  auto told = events(initiator);
  REQUIRE(told.size() == 2);
  CHECK(told[0].status == OperationStatus::done);
  CHECK(told[1].status == OperationStatus::access_refused);
  CHECK(initiator.post(list) == 0);
  CHECK_FALSE(initiator.reset().ok());
  initiator.on_completion(number(2), IBV_WC_WR_FLUSH_ERR);
  told = events(initiator);
  REQUIRE(told.size() == 2);
  CHECK(told[0].status == OperationStatus::flushed);
  CHECK(told[1].kind == PhysicalEvent::Kind::broken);
  CHECK_THAT(told[1].reason, Catch::Contains("refused"));
  calls.changes.clear();
  REQUIRE(initiator.reset().ok());
  CHECK(states() == std::vector<ibv_qp_state>{IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS});
  CHECK(calls.changes[0].mask == IBV_QP_STATE);
  REQUIRE(post(list[0]) == 1);
  initiator.on_completion(number(3), IBV_WC_SUCCESS);
  told = events(initiator);
  REQUIRE(told.size() == 1);
  CHECK(told[0].status == OperationStatus::done);
}

TEST_CASE_METHOD(Ready, "a peer that does not answer is lost, and one without a buffer is not ready") {
  REQUIRE(post(operation(Kind::write, 1, one)) == 1);
  initiator.on_completion(number(0), IBV_WC_RETRY_EXC_ERR);
  auto told = events(initiator);
  REQUIRE(told.size() == 2);
  CHECK(told[0].status == OperationStatus::peer_lost);
  CHECK(told[1].kind == PhysicalEvent::Kind::broken);
  REQUIRE(initiator.reset().ok());
  REQUIRE(post(operation(Kind::send, 2, two)) == 1);
  initiator.on_completion(number(1), IBV_WC_RNR_RETRY_EXC_ERR);
  told = events(initiator);
  REQUIRE(told.size() == 2);
  CHECK(told[0].status == OperationStatus::not_ready);
}

TEST_CASE_METHOD(Ready, "a list that the adapter refuses is flushed, and so is what it had before") {
  REQUIRE(post(operation(Kind::write, 1, one)) == 1);
  calls.refuse_list = ENOMEM;
  REQUIRE(post(operation(Kind::write, 2, two)) == 1);
  CHECK(calls.changes.back().state.qp_state == IBV_QPS_ERR);
  CHECK(events(initiator).empty());
  initiator.on_completion(number(0), IBV_WC_WR_FLUSH_ERR);
  const auto told = events(initiator);
  REQUIRE(told.size() == 3);
  CHECK(told[0].status == OperationStatus::flushed);
  CHECK(told[1].status == OperationStatus::flushed);
  CHECK(told[2].kind == PhysicalEvent::Kind::broken);
}

TEST_CASE("whether a device has DC is said for one that is not there") { CHECK_FALSE(why_no_dc("no such adapter").empty()); }
