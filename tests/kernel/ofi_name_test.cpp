// The metadata of a device over libfabric, byte by byte, and the options that make none.
#include <catch2/catch.hpp>

#include <cstring>
#include <string>

#include <spindrift/kernel/ofi/ofi_name.hpp>
#include <spindrift/kernel/ofi/ofi_device.hpp>

using namespace spindrift;
using namespace spindrift::kernel;
using namespace spindrift::kernel::ofi;

namespace {

OfiName example() {
  OfiName name;
  name.connectionless = Wire::tcp_rxm;
  name.connected = Wire::tcp;
  name.address = {0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7};
  name.connectionless_port = 0x1234;
  name.connected_port = 0x5678;
  return name;
}

}  // namespace

TEST_CASE("a name of either family comes back as it was") {
  OfiName name = example();
  CHECK(decode(encode(name)) == name);
  CHECK(port_of(socket_address(name.address, 77)) == 77);
  CHECK(address_of(socket_address(name.address, 77)) == name.address);
  name.address = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 1};
  CHECK(decode(encode(name)) == name);
  CHECK(port_of(socket_address(name.address, 77)) == 77);
  CHECK(address_of(socket_address(name.address, 77)) == name.address);
  CHECK(socket_address(name.address, 77).storage.ss_family == AF_INET);
  name.connected = Wire::none;
  name.connected_port = 0;
  CHECK(decode(encode(name)) == name);
}

TEST_CASE("the bytes of a name are these") {
  const Metadata metadata = encode(example());
  const unsigned char expected[] = {'O', 1, 1, 3, 0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7, 0x12, 0x34, 0x56, 0x78};
  REQUIRE(metadata.size == sizeof expected);
  CHECK(std::memcmp(metadata.bytes.data(), expected, sizeof expected) == 0);
}

TEST_CASE("no change of a name's head, and no length but its own, is taken for a name") {
  const Metadata good = encode(example());
  for (unsigned size = 0; size < 256; ++size) {
    Metadata other = good;
    other.size = static_cast<std::uint8_t>(size);
    CHECK(decode(other).has_value() == (size == good.size));
  }
  for (unsigned value = 0; value < 256; ++value) {
    const auto with = [&](std::size_t place) {
      Metadata other = good;
      other.bytes[place] = static_cast<std::byte>(value);
      return decode(other);
    };
    CHECK(with(0).has_value() == (value == 'O'));
    CHECK(with(1).has_value() == (value == 1));
    CHECK(with(2).has_value() == (value == 1 || value == 2));
    CHECK(with(3).has_value() == (value == 3));
  }
}

TEST_CASE("addresses that no single host has are refused") {
  OfiName name = example();
  const auto refused = [&](std::array<std::uint8_t, 16> address) {
    name.address = address;
    return !decode(encode(name)).has_value();
  };
  CHECK(refused({}));
  CHECK(refused({0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}));
  CHECK(refused({0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 0, 0}));
  CHECK(refused({0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 224, 0, 0, 1}));
  CHECK(refused({0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 255, 255, 255, 255}));
  CHECK_FALSE(refused({0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1}));
}

TEST_CASE("options that make no device are refused with the reason") {
  const auto refusal = [](auto change) {
    OfiDeviceOptions options;
    options.listen = "127.0.0.1:0";
    change(options);
    const auto made = make_ofi_device(options);
    REQUIRE_FALSE(made.ok());
    CHECK_FALSE(made.error().message().empty());
    return made.error().kind();
  };
  CHECK(refusal([](auto& o) { o.connectionless = "sockets"; }) == ErrorKind::bad_argument);
  CHECK(refusal([](auto& o) { o.connected = "tcp;ofi_rxm"; }) == ErrorKind::bad_argument);
  CHECK(refusal([](auto& o) { o.connectionless = o.connected = ""; }) == ErrorKind::bad_argument);
  CHECK(refusal([](auto& o) { o.listen = "nonsense"; }) == ErrorKind::bad_argument);
  CHECK(refusal([](auto& o) { o.listen = "0.0.0.0:0"; }) == ErrorKind::bad_argument);
  CHECK(refusal([](auto& o) { o.sizes.send_depth = 0; }) == ErrorKind::bad_argument);
  CHECK(refusal([](auto& o) { o.sizes.receive_buffers = 1u << 17; }) == ErrorKind::bad_argument);
  CHECK(refusal([](auto& o) { o.answer_max = {}; }) == ErrorKind::bad_argument);
  CHECK(refusal([](auto& o) { o.listen = "192.0.2.1:0"; }) == ErrorKind::resource);  // an address of nobody (RFC 5737)
}

TEST_CASE("a port that is in use is refused") {
  for (const bool connectionless : {true, false}) {
    OfiDeviceOptions options;
    options.listen = "127.0.0.1:0";
    (connectionless ? options.connected : options.connectionless) = "";
    const auto first = make_ofi_device(options);
    REQUIRE(first.ok());
    const auto name = decode((*first)->metadata());
    REQUIRE(name.has_value());
    options.listen = "127.0.0.1:" + std::to_string(connectionless ? name->connectionless_port : name->connected_port);
    const auto second = make_ofi_device(options);
    REQUIRE_FALSE(second.ok());
    CHECK(second.error().kind() == ErrorKind::resource);
  }
}

TEST_CASE("libfabric's verbs makes no device, of either class, and the error says what the provider lacks") {
  OfiDeviceOptions options;
  options.listen = "127.0.0.1:0";
  options.connectionless = "verbs;ofi_rxm";
  options.connected = "";
  const auto connectionless = make_ofi_device(options);
  REQUIRE_FALSE(connectionless.ok());
  CHECK(connectionless.error().kind() == ErrorKind::unsupported);
  CHECK_THAT(connectionless.error().to_string(), Catch::Contains("FI_MR_PROV_KEY"));
  options.connectionless = "tcp;ofi_rxm";
  options.connected = "verbs";
  const auto connected = make_ofi_device(options);
  REQUIRE_FALSE(connected.ok());
  CHECK(connected.error().kind() == ErrorKind::unsupported);
  CHECK_THAT(connected.error().to_string(), Catch::Contains("FI_DELIVERY_COMPLETE"));
  CHECK_THAT(connected.error().fix(), Catch::Contains("fabric = verbs"));
}
