// The device over rdma-core beyond what every device is tried with: what it refuses, whom it turns away, and how it wakes
// who sleeps. What needs a device runs where there is one.
#include "../skip.hpp"
#include "device_conformance.hpp"

#include <poll.h>

#include <array>

#include <spindrift/fabric/verbs/device.hpp>
#include <spindrift/fabric/verbs/verbs.hpp>
#include <spindrift/kernel/verbs/verbs_name.hpp>
#include <spindrift/kernel/verbs/verbs_device.hpp>

using namespace conformance;
namespace rdma = spindrift::fabric::verbs;

namespace {

const std::string no_device = "no RDMA device with an IPv4 address";

const Provider* over_rdma_core() {
  for (const Provider& each : providers()) {
    if (each.name.starts_with("verbs")) return &each;
  }
  return nullptr;
}

bool readable(int descriptor) {
  pollfd waits{descriptor, POLLIN, 0};
  return ::poll(&waits, 1, 0) == 1;
}

ErrorKind refusal(const VerbsDeviceOptions& options) {
  const auto made = make_verbs_device(options);
  REQUIRE_FALSE(made.ok());
  return made.error().kind();
}

}  // namespace

TEST_CASE("what every device promises is tried over rdma-core too") {
  if (over_rdma_core() == nullptr) return spindrift::test::skip(no_device);
  SUCCEED("providers() gives it to the conformance tests");
}

TEST_CASE("options that make no device over rdma-core are refused") {
  VerbsDeviceOptions good;
  good.listen = "192.0.2.1:0";
  VerbsDeviceOptions options = good;
  options.listen = "nonsense";
  CHECK(refusal(options) == ErrorKind::bad_argument);
  options.listen = "0.0.0.0:0";
  CHECK(refusal(options) == ErrorKind::bad_argument);
  options = good;
  options.sizes.send_depth = 0;
  CHECK(refusal(options) == ErrorKind::bad_argument);
  options = good;
  options.sizes.receive_buffers = 1U << 17U;
  CHECK(refusal(options) == ErrorKind::bad_argument);
  options = good;
  options.answer_max = {};
  CHECK(refusal(options) == ErrorKind::bad_argument);
  // An address of nobody (RFC 5737): no device, or none that has it.
  CHECK(refusal(good) == (over_rdma_core() == nullptr ? ErrorKind::unsupported : ErrorKind::refused));
}

TEST_CASE("a connectionless half is refused where the adapter has no DC, with what to use instead") {
  const auto ports = fabric::verbs_ports();
  if (over_rdma_core() == nullptr) return spindrift::test::skip(no_device);
  if (why_no_dc(ports->front().device).empty()) return spindrift::test::skip("the adapter has DC");
  VerbsDeviceOptions options;
  options.listen = ports->front().addresses.front() + ":0";
  options.connectionless = true;
  const auto made = make_verbs_device(options);
  REQUIRE_FALSE(made.ok());
  CHECK(made.error().kind() == ErrorKind::unsupported);
  CHECK_THAT(made.error().message(), Catch::Contains("no DC queue pairs: "));
  CHECK_THAT(made.error().fix(), Catch::Contains("connected class alone"));
}

TEST_CASE("a write with news makes who sleeps look, and takes none of its buffers for good") {
  if (over_rdma_core() == nullptr) return spindrift::test::skip(no_device);
  DeviceSizes sizes;
  sizes.receive_buffers = 2;
  World world(*over_rdma_core(), sizes);
  Station& a = world.station();
  Station& b = world.station();
  Area local(*a.device, 8, fabric::Access::write);
  Area remote(*b.device, 8, fabric::Access::write);
  const Route route = world.connect(a, b);
  for (std::uint64_t id = 1; id <= 6; ++id) {
    REQUIRE(world.until([&] { return b.device->may_block(); }, &b));
    PhysicalOperation write = operation(Kind::write, id, route.peer, local, 0, 8, remote.keys);
    write.news = true;
    world.carry_out(route, write, &b);
    REQUIRE(world.until([&] { return readable(b.device->descriptor()); }, &b));
    b.poll();
  }
  CHECK(route.there->messages().empty());
  // The buffers are there for messages.
  for (std::uint64_t id = 10; id < 12; ++id)
    CHECK(world.carry_out(route, operation(Kind::send, id, route.peer, local, 0, 8)) == OperationStatus::done);
  REQUIRE(world.until([&] { return route.there->count(EventKind::received) == 2; }));
}

TEST_CASE("who calls from another protocol is turned away, and others are not") {
  if (over_rdma_core() == nullptr) return spindrift::test::skip(no_device);
  World world(*over_rdma_core());
  Station& a = world.station();
  Station& b = world.station();
  const auto name = verbs::decode(b.device->metadata());
  REQUIRE(name);
  const auto there = socket_address(name->address, name->port);
  const auto stranger = value_or_throw(rdma::Device::open(socket_address(name->address, 0), {}));
  const rdma::Handle<rdma_cm_id> call = value_or_throw(stranger->call(there, 1));
  const auto next = [&] {
    rdma_cm_event* event = nullptr;
    REQUIRE(world.until([&] { return rdma::loaded_library().get_cm_event(&stranger->events(), &event) == 0; }));
    const rdma_cm_event_type kind = event->event;
    rdma::loaded_library().ack_cm_event(event);
    return kind;
  };
  REQUIRE(next() == RDMA_CM_EVENT_ADDR_RESOLVED);
  value_or_throw(stranger->make_queue_pair(*call, stranger->domain()));
  REQUIRE(rdma::loaded_library().resolve_route(call.get(), 2000) == 0);
  REQUIRE(next() == RDMA_CM_EVENT_ROUTE_RESOLVED);
  value_or_throw(stranger->connect(*call, std::array<std::byte, 32>{}));
  CHECK(next() == RDMA_CM_EVENT_REJECTED);
  rdma::loaded_library().cm_destroy_qp(call.get());
  CHECK(b.lines.empty());
  Area local(*a.device, 8, fabric::Access::write);
  Area remote(*b.device, 8, fabric::Access::write);
  const Route route = world.connect(a, b);
  CHECK(world.carry_out(route, operation(Kind::write, 1, route.peer, local, 0, 8, remote.keys)) == OperationStatus::done);
}
