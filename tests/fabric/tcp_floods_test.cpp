// Floods at the port of the TCP fabric with keys: thousands of connections that say nothing, or too little, or that join and
// leave with a good key. They cost a member little, keep nobody out, and the log stays one that people read.
#include "tcp_members.hpp"

#include "../sanitized.hpp"
#include "../skip.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <spindrift/fabric/refused_callers.hpp>
#include <spindrift/fabric/tcp/admission.hpp>

using namespace spindrift;
using namespace spindrift::fabric;
using namespace spindrift::fabric::test;

namespace {

constexpr std::size_t silent_callers = 10'000;
constexpr std::size_t silent_max = 128;  ///< of them that a member keeps
constexpr std::size_t pending_max = 64;  ///< callers that prove themselves
constexpr std::size_t own_descriptors = 200;
constexpr std::size_t own_connections = 8;
// A sanitizer keeps what was freed for a while. A session of TLS for each silent caller would be two gigabytes.
constexpr std::size_t memory_max = std::size_t{spindrift::test::sanitized ? 700 : 32} << 20U;
constexpr double calls_at_once = 50;  ///< of one node
constexpr double calls_per_second = 10;

/// Raises the process's limit for as long as it lives.
class DescriptorLimit {
 public:
  explicit DescriptorLimit(rlim_t wanted) {
    REQUIRE(::getrlimit(RLIMIT_NOFILE, &before_) == 0);
    rlimit raised = before_;
    raised.rlim_cur = std::min(raised.rlim_max, std::max(raised.rlim_cur, wanted));
    enough_ = raised.rlim_cur >= wanted && ::setrlimit(RLIMIT_NOFILE, &raised) == 0;
  }
  ~DescriptorLimit() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  DescriptorLimit(const DescriptorLimit&) = delete;
  DescriptorLimit& operator=(const DescriptorLimit&) = delete;
  [[nodiscard]] bool enough() const { return enough_; }

 private:
  rlimit before_{};
  bool enough_ = false;
};

/// The resident memory of this process, which both members are in.
std::size_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::size_t pages = 0;
  statm >> pages >> pages;
  return pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

std::string nth_source(std::size_t n) {
  return "127.9." + std::to_string(n / 250 % 250) + "." + std::to_string(n % 250 + 1);
}

/// Calls of node 2 that stay open, and say so much as each is told to.
class Callers {
 public:
  void call(const std::string& source, std::span<const std::byte> word = {}) {
    const sockaddr_in to = socket_address_of(address_of(NodeId(2)).endpoint), from = socket_address_of(source + ":0");
    FileDescriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | (word.empty() ? SOCK_NONBLOCK : 0), 0));
    const int on = 1;
    REQUIRE(::setsockopt(socket.get(), IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on) == 0);
    REQUIRE(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&from), sizeof from) == 0);
    const int done = ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to);
    if (done != 0 && errno == EADDRNOTAVAIL) return;  // its address has no port left
    REQUIRE((done == 0 || errno == EINPROGRESS));
    if (!word.empty()) REQUIRE(::send(socket.get(), word.data(), word.size(), MSG_NOSIGNAL) > 0);
    sockets_.push_back(std::move(socket));
  }
  /// The oldest call again, from that address.
  void renew(const std::string& source) {
    sockets_.pop_front();
    call(source);
  }
  /// Those that the member has not ended.
  [[nodiscard]] std::size_t open() const {
    return static_cast<std::size_t>(std::count_if(sockets_.begin(), sockets_.end(), [](const FileDescriptor& each) {
      std::byte byte{};
      return ::recv(each.get(), &byte, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN;
    }));
  }
  [[nodiscard]] std::size_t count() const { return sockets_.size(); }

 private:
  std::deque<FileDescriptor> sockets_;
};

/// Node 3 comes in, while `meanwhile` goes on.
void check_comes_in(Members& members, Endpoint& c, const std::function<void()>& meanwhile) {
  c.connect(members.b);
  members.exchange_until([&] {
    meanwhile();
    c.pump();
    return c.count(Event::Kind::connected) == 1;
  });
  CHECK(await(members.b, Event::Kind::connected, {&members.a, &c}).node == NodeId(3));
}

void check_silence_costs_little(const std::function<std::string(std::size_t)>& source) {
  const DescriptorLimit limit(silent_callers + own_descriptors + silent_max + pending_max);
  if (!limit.enough()) return spindrift::test::skip("the limit of descriptors (ulimit -Hn) is less than 10,400");
  Keys keys;
  Members members(keys);
  Endpoint c(3, keys.fabric(NodeId(3), members.directory.path()));
  const Log log(members.directory);
  const Time begun = now();
  Callers callers;
  const std::size_t descriptors = held().descriptors, memory = resident_bytes();
  std::size_t held_most = 0;
  const auto call_some = [&] {
    for (int i = 0; i < 50 && callers.count() < silent_callers; ++i) callers.call(source(callers.count()));
  };
  while (callers.count() < silent_callers) {
    call_some();
    members.exchange();
    if (callers.count() % 500 == 0) held_most = std::max(held_most, held().descriptors - descriptors - callers.count());
  }
  std::size_t renewed = 0;
  check_comes_in(members, c, [&] {
    for (int i = 0; i < 10; ++i) callers.renew(source(renewed++));
  });
  held_most = std::max(held_most, held().descriptors - descriptors - callers.count());
  CHECK(held_most <= silent_max + pending_max + own_connections);
  // A caller whose last packet found no space believes in a connection that the member does not have.
  // Node 3 goes on meanwhile, for a crowded machine may take longer here than a member may be silent.
  members.exchange_until([&] {
    c.pump();
    return held().descriptors - descriptors - callers.count() <= own_connections;
  });
  CHECK(resident_bytes() - std::min(memory, resident_bytes()) < memory_max);
  members.check_undisturbed();
  const std::string told = log.text();
  CHECK_THAT(told, Catch::Contains("too many callers at once") && Catch::Contains("127.9."));
  using Refused = RefusedCallers<tcp::Source>;
  const auto periods = static_cast<std::size_t>((now() - begun) / Refused::between_lines) + 1;
  CHECK(count_of(told, "event=refused") <= periods * Refused::lines_max);
  CHECK(count_of(told, "too many callers at once") <= periods);
}

}  // namespace

TEST_CASE(
    "10,000 connections from one address that say nothing cost a member little, and who has a key comes in meanwhile") {
  check_silence_costs_little([](std::size_t) { return "127.9.9.9"; });
}

TEST_CASE(
    "10,000 connections from many addresses that say nothing cost a member little, and who has a key comes in meanwhile") {
  check_silence_costs_little([](std::size_t n) { return nth_source(n % 2500); });
}

TEST_CASE("callers who begin to prove themselves and stop, from many addresses, keep nobody out") {
  Keys keys;
  Members members(keys);
  Callers callers;
  const Bytes word{std::byte{22}};
  for (std::size_t source = 0; source < pending_max / 8; ++source) {
    for (int i = 0; i < 8; ++i) callers.call(nth_source(source), word);
    members.exchange();
  }
  Endpoint c(3, keys.fabric(NodeId(3), members.directory.path()));
  check_comes_in(members, c, [] {});
  CHECK(callers.open() >= pending_max / 2);  // it did not wait for them to be given up
  members.exchange_until([&] { return callers.open() == 0; });
  members.check_undisturbed();
}

namespace {

/// Joins and leaves with node 3's key as fast as it can, one at a time from each of so many addresses.
class Storm {
 public:
  Storm(const Keys& keys, std::size_t sources) : pair_(keys.pair_of(keys.member(3))), sources_(sources) {}

  void step() {
    while (under_way_.size() < 8) {
      Stranger caller(connection_to(address_of(NodeId(2)).endpoint, nth_source(calls_ % sources_)), caller_with(&pair_));
      caller.say(greeting_as(NodeId(3), 1000 + calls_++));
      under_way_.push_back(std::move(caller));
    }
    for (Stranger& each : under_way_) {
      const bool greeted = each.heard().size() >= sizeof(connected::GreetingBytes);
      if (greeted) {
        each.say(alive_frame());
        each.step();
        ++joined_;
      }
      if (greeted || each.over()) each = Stranger(FileDescriptor(), nullptr);
    }
    std::erase_if(under_way_, [](Stranger& each) { return each.over(); });
  }
  [[nodiscard]] std::size_t calls() const { return calls_; }
  [[nodiscard]] std::size_t joined() const { return joined_; }

 private:
  const tls::KeyPair pair_;
  const std::size_t sources_;
  std::vector<Stranger> under_way_;
  std::size_t calls_ = 0;
  std::size_t joined_ = 0;
};

}  // namespace

TEST_CASE(
    "a storm of joins with a good key, from one address or many, is taken as often as a node may call, and disturbs "
    "nobody") {
  Keys keys;
  Members members(keys);
  const Log log(members.directory);
  const std::size_t descriptors = held().descriptors;
  const Time begun = now();
  std::size_t joined = 0;
  for (const std::size_t sources : {1U, 40U}) {
    CAPTURE(sources);
    const std::size_t before = members.b.count(Event::Kind::connected);
    {
      Storm storm(keys, sources);
      members.exchange_until(
          [&] {
            storm.step();
            return storm.calls() >= 300;
          },
          [&] { return std::to_string(storm.calls()) + " calls, " + std::to_string(storm.joined()) + " joined"; });
      joined += storm.joined();
    }
    // The member still holds connections of callers that are gone, and may take some of them for joins.
    members.exchange_until(
        [&] {
          return held().descriptors <= descriptors &&
                 members.b.count(Event::Kind::lost) == members.b.count(Event::Kind::connected);
        },
        [&] {
          return std::to_string(descriptors) + " descriptors before, " + std::to_string(held().descriptors) + " now; " +
                 std::to_string(members.b.count(Event::Kind::connected)) + " came, " +
                 std::to_string(members.b.count(Event::Kind::lost)) + " left";
        });
    // Both storms are judged together, for a descriptor that was open at the first look may hide a join that comes later.
    const auto seconds = std::chrono::duration<double>(now() - begun).count();
    const std::size_t came = members.b.count(Event::Kind::connected);
    CHECK(came > before);
    CHECK(static_cast<double>(came) <= calls_at_once + calls_per_second * (seconds + 1));
    CHECK(joined >= came);
  }
  for (int i = 0; i < 10; ++i) members.exchange();
  CHECK(members.a.inbox.empty());
  const auto of_node_3 = [](const Event& event) { return event.node == NodeId(3); };
  CHECK(std::all_of(members.b.inbox.begin(), members.b.inbox.end(), of_node_3));
}
