// The peers that a device over libfabric has taken in, by name and by handle.
#include <catch2/catch.hpp>

#include <optional>
#include <set>
#include <variant>

#include <spindrift/kernel/ofi/ofi_shared.hpp>
#include <spindrift/kernel/peer_table.hpp>

using namespace spindrift;
using namespace spindrift::kernel;
using namespace spindrift::kernel::ofi;

namespace {

OfiName name_of(std::uint16_t port, std::uint8_t host = 1) {
  OfiName name;
  name.connectionless = Wire::net;
  name.address = {0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, host};
  name.connectionless_port = port;
  return name;
}

/// The handle, or nothing if there are too many.
std::optional<PeerHandle> add(Peers& peers, const OfiName& name) {
  const auto handle = peers.add(name, [] { return Result(std::monostate{}); });
  return handle ? std::optional(*handle) : std::nullopt;
}

}  // namespace

TEST_CASE("who is taken in twice has one handle, and is forgotten when it has been forgotten twice") {
  Peers peers(4);
  const PeerHandle first = *add(peers, name_of(1));
  const PeerHandle other = *add(peers, name_of(1, 2));
  CHECK(first != other);
  CHECK(*add(peers, name_of(1)) == first);
  CHECK_FALSE(peers.remove(first));
  REQUIRE(peers.find(first) != nullptr);
  CHECK(peers.find(first)->name == name_of(1));
  CHECK(peers.remove(first));
  CHECK(peers.find(first) == nullptr);
  CHECK_FALSE(peers.remove(first));
  CHECK_FALSE(peers.remove(PeerHandle()));
  CHECK_FALSE(peers.remove(PeerHandle(5)));
  CHECK(peers.find(other)->name == name_of(1, 2));
}

TEST_CASE("there are as many peers as there may be, each with a handle of its own, and a free handle is used again") {
  constexpr std::uint16_t most = 300;
  Peers peers(most);
  std::set<PeerHandle> handles;
  for (std::uint16_t port = 1; port <= most; ++port) handles.insert(*add(peers, name_of(port)));
  CHECK(handles.size() == most);
  CHECK_FALSE(handles.contains(PeerHandle()));
  CHECK_FALSE(add(peers, name_of(most + 1)));
  const PeerHandle known = *add(peers, name_of(7));  // which is there
  CHECK_FALSE(peers.remove(known));
  CHECK(peers.remove(known));
  CHECK(*add(peers, name_of(most + 1)) == known);
  CHECK(peers.find(known)->name == name_of(most + 1));
  CHECK_FALSE(add(peers, name_of(7)));
  for (const PeerHandle handle : handles) CHECK(peers.remove(handle));
  for (std::uint16_t port = 1; port <= most; ++port) CHECK(handles.erase(*add(peers, name_of(port))) == 1);
}
