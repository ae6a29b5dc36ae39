// The additions of RDMA devices: a member that was evicted cannot write, and errors where there is no device. Tests that
// need a device run where there is one.
#include "../skip.hpp"
#include "harness.hpp"

#include <poll.h>

#include <cstring>

#include <spindrift/fabric/verbs/device.hpp>
#include <spindrift/fabric/verbs/verbs.hpp>

using namespace spindrift;
using namespace spindrift::fabric;
using namespace spindrift::fabric::test;

namespace {

const std::string no_device = "no RDMA device with an IPv4 address";

bool all_zero(std::span<const std::byte> memory) {
  return std::all_of(memory.begin(), memory.end(), [](const std::byte& byte) { return byte == std::byte{0}; });
}

std::vector<Provider> verbs_providers() {
  std::vector<Provider> all = providers();
  std::erase_if(all, [](const Provider& each) { return !each.name.starts_with("verbs"); });
  return all;
}

/// Two identities of rdma_cm with a queue pair each, connected without the fabric's protocol.
struct BarePair {
  std::unique_ptr<verbs::Device> target = open(1);
  std::unique_ptr<verbs::Device> source = open(2);
  verbs::Handle<rdma_cm_id> called;
  verbs::Handle<rdma_cm_id> caller;

  BarePair() {
    value_or_throw(target->listen());
    caller = value_or_throw(source->call(address(1), 1));
    const std::array<std::byte, 8> greeting{};
    await(*source, RDMA_CM_EVENT_ADDR_RESOLVED);
    value_or_throw(source->make_queue_pair(*caller, source->domain()));
    REQUIRE(verbs::loaded_library().resolve_route(caller.get(), 2000) == 0);
    await(*source, RDMA_CM_EVENT_ROUTE_RESOLVED);
    value_or_throw(source->connect(*caller, greeting));
    called.reset(await(*target, RDMA_CM_EVENT_CONNECT_REQUEST));
    value_or_throw(target->make_queue_pair(*called, target->domain()));
    value_or_throw(target->accept(*called, greeting));
    await(*source, RDMA_CM_EVENT_ESTABLISHED);
  }
  ~BarePair() {
    for (rdma_cm_id* const id : {called.get(), caller.get()}) {
      if (id->qp != nullptr) verbs::loaded_library().cm_destroy_qp(id);
    }
  }

  static verbs::SocketAddress address(std::uint32_t node) {
    return value_or_throw(connected::resolve(verbs_address_of(NodeId(node)).endpoint, true));
  }
  static std::unique_ptr<verbs::Device> open(std::uint32_t node) {
    return value_or_throw(verbs::Device::open(address(node), {.memory_windows = true}));
  }
  static rdma_cm_id* await(verbs::Device& device, rdma_cm_event_type kind) {
    const verbs::RdmaCoreCalls& lib = verbs::loaded_library();
    rdma_cm_event* event = nullptr;
    pollfd ready{device.events_descriptor(), POLLIN, 0};
    const Time limit = now() + hang;
    while (lib.get_cm_event(&device.events(), &event) != 0 && now() < limit) static_cast<void>(::poll(&ready, 1, 1000));
    REQUIRE(event != nullptr);
    REQUIRE(lib.event_str(event->event) == std::string(lib.event_str(kind)));
    rdma_cm_id* const id = event->id;
    lib.ack_cm_event(event);
    return id;
  }

  /// Writes an 8-byte word from the caller's side and waits for its end.
  ibv_wc_status write(std::uint64_t word, std::uint64_t address_there, std::uint32_t key) {
    ibv_sge piece{reinterpret_cast<std::uintptr_t>(&word), sizeof word, 0};
    ibv_send_wr work{};
    work.opcode = IBV_WR_RDMA_WRITE;
    work.send_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE;
    work.sg_list = &piece;
    work.num_sge = 1;
    work.wr.rdma.remote_addr = address_there;
    work.wr.rdma.rkey = key;
    ibv_send_wr* refused = nullptr;
    REQUIRE(ibv_post_send(caller->qp, &work, &refused) == 0);
    ibv_wc completion{};
    const Time limit = now() + hang;
    int count = 0;
    while (count == 0 && now() < limit) count = ibv_poll_cq(&source->completions(), 1, &completion);
    REQUIRE(count == 1);
    return completion.status;
  }
};

}  // namespace

TEST_CASE("what every fabric promises is tried over verbs too") {
  if (verbs_providers().empty()) return spindrift::test::skip(no_device);
  SUCCEED("providers() gives it to the conformance tests");
}

TEST_CASE("without an RDMA device the fabric verbs is refused with what makes one") {
  if (!verbs_providers().empty()) return spindrift::test::skip("there is an RDMA device");
  const TemporaryDirectory directory;
  const auto made = make_verbs({.self = NodeId(1), .runtime_directory = directory.path(), .group_name = "group"});
  const Result<void> refused = made ? made.value()->listen({NodeId(1), "127.0.0.1:7400"}) : Result<void>(made.error());
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().kind() == ErrorKind::unsupported);
  CHECK_THAT(refused.error().message(),
             Catch::StartsWith("no RDMA device") || Catch::StartsWith("rdma-core cannot be loaded"));
  CHECK_THAT(refused.error().fix(), Catch::Contains("[SPINDRIFT] fabric = ofi:tcp"));
  CHECK_FALSE(try_verbs_address("127.0.0.1:7400").ok());
}

TEST_CASE("an address that no RDMA device has is refused with those that are there") {
  if (verbs_providers().empty()) return spindrift::test::skip(no_device);
  const TemporaryDirectory directory;
  const auto fabric =
      value_or_throw(make_verbs({.self = NodeId(1), .runtime_directory = directory.path(), .group_name = "group"}));
  const auto refused = fabric->listen({NodeId(1), "192.0.2.77:7400"});
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().kind() == ErrorKind::refused);
  CHECK_THAT(refused.error().message(), Catch::Contains("there are: ") && Catch::Contains(" of "));
}

TEST_CASE("who was disconnected writes nothing from then on, though it goes on writing and does not know") {
  const auto all = verbs_providers();
  if (all.empty()) return spindrift::test::skip(no_device);
  const auto provider = GENERATE_COPY(from_range(all));
  CAPTURE(provider.name);
  Pair pair(provider);
  const Region region = value_or_throw(pair.a.fabric->allocate(4096, "mirror"));
  value_or_throw(pair.a.fabric->expose(pair.b_at_a, region.key, Access::write));
  const Event exposed = await(pair.b, Event::Kind::exposed, {&pair.a});
  std::array<std::byte, 64> local{};
  local.fill(std::byte{7});
  Operation write;
  write.peer = pair.a_at_b;
  write.local = local.data();
  write.bytes = local.size();
  write.region = exposed.region;
  write.copied = true;
  for (int i = 0; i < 100; ++i) value_or_throw(pair.b.fabric->post({&write, 1}));
  drive({&pair.a}, [&] { return std::atomic_ref(region.memory[0]).load(std::memory_order_acquire) == std::byte{7}; });
  pair.a.fabric->disconnect(pair.b_at_a);
  std::memset(region.memory.data(), 0, region.memory.size());
  for (int i = 0; i < 100; ++i) value_or_throw(pair.b.fabric->post({&write, 1}));
  await(pair.b, Event::Kind::lost, {&pair.a});
  CHECK(all_zero(region.memory));
}

TEST_CASE("destroying the queue pair is enough to end a peer's access, though its right to the memory stands") {
  if (verbs_providers().empty()) return spindrift::test::skip(no_device);
  const TemporaryDirectory directory;  // a port of its own
  alignas(4096) static std::array<std::byte, 4096> memory;
  memory.fill(std::byte{0});
  BarePair pair;
  const auto registered = value_or_throw(
      pair.target->register_memory(pair.target->domain(), memory, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE));
  const auto address = reinterpret_cast<std::uintptr_t>(memory.data());
  REQUIRE(pair.write(~std::uint64_t{0}, address, registered->rkey) == IBV_WC_SUCCESS);
  CHECK_FALSE(all_zero(memory));
  memory.fill(std::byte{0});
  verbs::loaded_library().cm_destroy_qp(pair.called.get());
  CHECK(pair.write(~std::uint64_t{0}, address, registered->rkey) == IBV_WC_RETRY_EXC_ERR);  // nobody answers
  CHECK(all_zero(memory));
}
