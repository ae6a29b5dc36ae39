// A process of its own, for the tests in which one dies or is shut out: fabric_peer RUNTIME_DIRECTORY ID ROLE [OWN ADDRESS,
// ADDRESS OF NODE 1, FABRIC]. It links with node 1, over shm or, if it is told where, over that fabric.
//   stay   lives until it is killed        speak  sends three messages, exposes a region, sends one more, then kills itself
//   leave  ends in order once it is told anything                 show   exposes a region, then lives until it is killed
//   flood  fills what it is given to write to with sevens, again and again, until the link is lost
//   mesh   over a fabric of virtual queue pairs, told the whole roster, "id@host:port,…", in the place of node 1's address:
//          links with all of it but the last, which is to call by itself, and writes a byte to the fifo `ready` in the
//          runtime directory when each of those has said that it is linked too; lives until it is killed
//   echo   exposes a region, and repeats in its first word what the first word of node 1's region says, asleep meanwhile
//   abort  goes to the runtime directory and aborts there as soon as it listens
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <spindrift/fabric/fabric_name.hpp>
#include <spindrift/fabric/ofi/ofi.hpp>
#include <spindrift/fabric/tcp/tcp.hpp>
#include <spindrift/fabric/shm/shm.hpp>
#include <spindrift/core/file_descriptor.hpp>
#include <spindrift/core/untrusted.hpp>
#include <spindrift/kernel/provider/vq_fabric.hpp>

using namespace spindrift;
using namespace spindrift::fabric;

namespace {

void send(Fabric& fabric, PeerId to, std::string text) {
  Operation operation;
  operation.kind = Operation::Kind::send;
  operation.peer = to;
  operation.local = reinterpret_cast<std::byte*>(text.data());
  operation.bytes = text.size();
  value_or_throw(fabric.post({&operation, 1}));
}

Region show(Fabric& fabric, PeerId to) {
  const Region region = value_or_throw(fabric.allocate(8192, "shown"));
  region.memory[5000] = std::byte{78};
  value_or_throw(fabric.expose(to, region.key, Access::read));
  return region;
}

void speak_and_die(Fabric& fabric, PeerId to) {
  const Region region = value_or_throw(fabric.allocate(4096, "will"));
  region.memory[0] = std::byte{77};
  for (const char* word : {"one", "two", "three"}) send(fabric, to, word);
  value_or_throw(fabric.expose(to, region.key, Access::read));
  send(fabric, to, "four");
  ::raise(SIGKILL);
}

/// Writes whole regions of sevens; one more each time that one is told to be over.
class Flood {
 public:
  void begin(Fabric& fabric, const Event& exposed) {
    row_ = value_or_throw(fabric.allocate(exposed.region_bytes, "sevens"));
    std::fill(row_.memory.begin(), row_.memory.end(), std::byte{7});
    write_.peer = exposed.peer;
    write_.region = exposed.region;
    write_.local = row_.memory.data();
    write_.bytes = row_.memory.size();
    write_.signaled = true;
    go_on(fabric);
    go_on(fabric);
  }
  void go_on(Fabric& fabric) { value_or_throw(fabric.post({&write_, 1})); }

 private:
  Region row_;
  Operation write_;
};

/// Sleeps until the word of node 1's region changes, repeats it and rings, until it is killed.
[[noreturn]] void echo(Fabric& fabric, const Event& exposed, std::span<std::byte> own) {
  const std::byte* const theirs = value_or_throw(fabric.map(exposed.peer, exposed.region)).data();
  for (std::uint64_t said = 0;;) {
    fabric.prepare_sleep();
    const std::uint64_t heard = load_acquire(theirs);
    if (heard == said) {
      fabric.sleep(never);
      continue;
    }
    fabric.cancel_sleep();
    store_release(own.data(), said = heard);
    fabric.notify();
  }
}

std::unique_ptr<Fabric> make(std::string_view name, NodeId self, const std::string& directory) {
  const FabricName parsed = value_or_throw(FabricName::parse(name));
  if (parsed.shm) return value_or_throw(make_shm({.self = self, .runtime_directory = directory, .group_name = "group"}));
  if (parsed.between_hosts == FabricName::BetweenHosts::vq) {
    return value_or_throw(
        kernel::make_vq({.self = self, .provider = parsed.provider, .runtime_directory = directory, .group_name = "group"}));
  }
  if (parsed.between_hosts == FabricName::BetweenHosts::tcp)
    return value_or_throw(make_tcp({.self = self, .runtime_directory = directory, .group_name = "group"}));
  return value_or_throw(
      make_ofi({.self = self, .provider = parsed.provider, .runtime_directory = directory, .group_name = "group"}));
}

std::vector<Address> roster_of(std::string_view text) {
  std::vector<Address> roster;
  while (!text.empty()) {
    const std::string_view entry = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), entry.size() + 1));
    const std::size_t at = entry.find('@');
    const std::string id(entry.substr(0, at));
    roster.push_back({NodeId(static_cast<std::uint32_t>(std::stoul(id))), std::string(entry.substr(at + 1))});
  }
  return roster;
}

/// Sleeps until something has come. Returns what.
std::span<const Event> await_events(Fabric& fabric, std::span<Event> into) {
  while (true) {
    fabric.prepare_sleep();
    const std::size_t taken = fabric.poll(into);
    if (taken == 0) {
      fabric.sleep(never);
      continue;
    }
    fabric.cancel_sleep();
    return into.first(taken);
  }
}

/// Calls those before it in the roster and is called by those behind it.
[[noreturn]] void mesh(NodeId self, const std::string& directory, const std::vector<Address>& roster,
                       std::string_view name) {
  const auto fabric = value_or_throw(kernel::make_vq({.self = self,
                                                      .provider = value_or_throw(FabricName::parse(name)).provider,
                                                      .runtime_directory = directory,
                                                      .group_name = "group",
                                                      .roster = roster}));
  const auto own = std::find_if(roster.begin(), roster.end(), [&](const Address& each) { return each.node == self; });
  value_or_throw(fabric->listen(*own));
  for (auto each = roster.begin(); each != own; ++each) value_or_throw(fabric->connect(*each));
  std::size_t met = 0;
  std::array<Event, 8> events;
  while (true) {
    for (const Event& event : await_events(*fabric, events)) {
      if (event.kind == Event::Kind::connected) send(*fabric, event.peer, "met");
      if (event.kind != Event::Kind::message || ++met != roster.size() - 2) continue;
      const FileDescriptor ready(::open((directory + "/ready").c_str(), O_WRONLY | O_CLOEXEC));
      if (::write(ready.get(), "!", 1) != 1) std::exit(4);
    }
  }
}

[[noreturn]] void abort_in(const char* directory) {
  const rlimit no_core{0, 0};
  if (::setrlimit(RLIMIT_CORE, &no_core) != 0 || ::chdir(directory) != 0) std::exit(3);
  std::abort();
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 4 && count != 7) return 2;
  const std::string_view role = arguments[3];
  const NodeId self(static_cast<std::uint32_t>(std::strtoul(arguments[2], nullptr, 10)));
  const bool local = count == 4;
  if (role == "mesh") mesh(self, arguments[1], roster_of(arguments[5]), arguments[6]);
  const auto fabric = make(local ? "shm" : arguments[6], self, arguments[1]);
  Flood flood;
  Region shown;
  value_or_throw(fabric->listen({self, local ? "" : arguments[4]}));
  if (role == "abort") abort_in(arguments[1]);
  value_or_throw(fabric->connect({NodeId(1), local ? "" : arguments[5]}));
  std::array<Event, 8> events;
  while (true) {
    for (const Event& event : await_events(*fabric, events)) {
      if (role == "speak" && event.kind == Event::Kind::connected) speak_and_die(*fabric, event.peer);
      if ((role == "show" || role == "echo") && event.kind == Event::Kind::connected) shown = show(*fabric, event.peer);
      if (role == "echo" && event.kind == Event::Kind::exposed) echo(*fabric, event, shown.memory);
      if (role == "flood" && event.kind == Event::Kind::exposed) flood.begin(*fabric, event);
      if (role == "flood" && event.kind == Event::Kind::completed) flood.go_on(*fabric);
      if (role == "flood" && event.kind == Event::Kind::lost) return 0;
      if (role == "leave" && event.kind == Event::Kind::message) return 0;
    }
  }
}
