// A group's life in a member's audit: who came, who was turned away, whose key was taken back, and who is gone.
#include <catch2/catch.hpp>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/inotify.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <regex>
#include <sstream>

#include "group_fixture.hpp"

#include <spindrift/core/clock.hpp>
#include <spindrift/core/file_descriptor.hpp>
#include <spindrift/group/group_audit.hpp>

using namespace spindrift;
using fabric::tls::Authority;
using fabric::tls::Identity;

namespace {

constexpr unsigned members = 3;
const std::string who_begins = "founders = 0, 1\njoin_timeout_ms = 20000\n";

struct AuditedGroup {
  explicit AuditedGroup(const std::string& fabric) : fixture(fabric) {
    watch = FileDescriptor(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
    REQUIRE(::inotify_add_watch(watch.get(), fixture.directory().c_str(), IN_MODIFY | IN_CREATE) >= 0);
  }

  [[nodiscard]] std::string file(unsigned node) const { return fixture.directory() + "/" + std::to_string(node) + ".audit"; }
  [[nodiscard]] std::unique_ptr<Group> member(unsigned node) const {
    return std::make_unique<Group>(fixture.config(node, members, who_begins + "audit_file = " + file(node) + "\n"));
  }
  /// The same with a directory of keys that its authority does not write to: of what is revoked it hears from the others.
  [[nodiscard]] std::unique_ptr<Group> member_elsewhere(unsigned node) const {
    const std::string keys = fixture.directory() + "/keys/";
    const std::string elsewhere = fixture.directory() + "/elsewhere/";
    std::filesystem::create_directory(elsewhere);
    std::filesystem::copy(keys + std::to_string(node), elsewhere + std::to_string(node));
    std::ostringstream text;
    text << std::ifstream(fixture.file(node, members, who_begins + "audit_file = " + file(node) + "\n")).rdbuf();
    std::string config = text.str();
    config.replace(config.find(keys), keys.size(), elsewhere);
    return std::make_unique<Group>(value_or_throw(Config::parse(config, "elsewhere.cfg")));
  }
  void found() {
    std::thread other([this] { groups[1] = member(1); });
    groups[0] = member(0);
    other.join();
  }
  [[nodiscard]] std::string text(unsigned node) const {
    std::ostringstream text;
    text << std::ifstream(file(node)).rdbuf();
    return text.str();
  }
  [[nodiscard]] std::string founders() const { return text(0) + text(1); }
  /// Waits until a founder's audit has such a line; the pattern's first group.
  std::string await(const std::string& pattern) {
    const Time limit = SystemClock().now() + std::chrono::seconds(30);
    std::smatch found;
    std::string now = founders();
    for (; !std::regex_search(now, found, std::regex(pattern)); now = founders()) {
      if (SystemClock().now() > limit) FAIL("no founder's audit has a line " << pattern << "\n" << now);
      pollfd changed{watch.get(), POLLIN, 0};
      static_cast<void>(::poll(&changed, 1, 1000));
      std::array<char, 4096> told;
      while (::read(watch.get(), told.data(), told.size()) > 0) continue;
    }
    return found.size() > 1 ? found[1].str() : "";
  }

  GroupFixture fixture;
  FileDescriptor watch;
  std::array<std::unique_ptr<Group>, members> groups;
};

/// Calls the address "host:port" and says something that no member says; its own port.
std::uint16_t babble_at(const std::string& address) {
  const auto colon = address.rfind(':');
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<std::uint16_t>(std::stoi(address.substr(colon + 1))));
  REQUIRE(::inet_pton(AF_INET, address.substr(0, colon).c_str(), &to.sin_addr) == 1);
  const FileDescriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  REQUIRE(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0);
  const std::string_view words = "GET / HTTP/1.1\r\n\r\n";
  REQUIRE(::send(socket.get(), words.data(), words.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(words.size()));
  sockaddr_in own{};
  socklen_t size = sizeof own;
  REQUIRE(::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&own), &size) == 0);
  std::array<char, 64> answer;
  while (::recv(socket.get(), answer.data(), answer.size(), 0) > 0) continue;  // until it is closed
  return ntohs(own.sin_port);
}

}  // namespace

TEST_CASE("the audit says who joined, who was refused, whose key was revoked, and who was removed, with who and why") {
  AuditedGroup group("tcp");
  group.found();
  const std::string whose = " group=test node=0 subject=";
  group.await("event=began" + whose + "0 identity=spindrift://test/0 serial=[0-9A-F]+ fingerprint=[0-9a-f]{64} fabric=tcp");
  group.await("event=joined" + whose + "1 address=127[0-9.]+:7411 view=0 incarnation=[0-9]+");

  // A member that is the first to see its own revocation ends by itself, and nobody has to cut it off.
  group.groups[2] = group.member_elsewhere(2);
  const std::string serial = group.await("event=proved" + whose +
                                         "2 (?:from|to)=\"127[0-9.]+ port [0-9]+\" identity=spindrift://test/2 "
                                         "serial=([0-9A-F]+) fingerprint=[0-9a-f]{64}\n");
  group.await("event=joined" + whose + "2 address=\\S+ view=1 ");

  const std::uint16_t port = babble_at(group.fixture.config(0, members).address_of(NodeId(0)));
  group.await("event=refused group=test node=0 from=\"127[0-9.]+ port " + std::to_string(port) +
              "\" reason=\"[^\n]+ times=1");

  const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  {
    Authority authority = value_or_throw(Authority::open(group.fixture.directory() + "/keys"));
    REQUIRE(value_or_throw(authority.revoke(value_or_throw(Identity::of_member("test", NodeId(2))), now)) == 1);
    REQUIRE(authority.rotate(value_or_throw(Identity::of_member("test", NodeId(0))),
                             fabric::tls::valid_for(now, std::chrono::days(1))));
  }
  group.await("event=revocations_changed group=test node=0 (?:by=[12] )?reason=\"[^\"]+\" added=" + serial +
              " gone=\"\" revoked=1\n");
  group.await(
      "event=key_changed group=test node=0 identity=spindrift://test/0 serial=[0-9A-F]+ [^\n]+ serial_before=[0-9A-F]+");
  group.await("event=removed" + whose + "2 by=[01] address=\\S+ reason=\"[^\n]+\" view=2\n");
  const std::string end = group.founders();  // either of the two was the first to look
  CHECK(std::regex_search(
      end, std::regex("event=cut_off group=test node=[01] subject=2 identity=spindrift://test/2 serial=" + serial +
                      " [^\n]+certificate revoked")));
  CHECK(group.text(0).find("BEGIN") == std::string::npos);

  CHECK_THROWS_AS(group.groups[2]->wait(), Exception);
  group.groups[1]->leave();
  group.await("event=left" + whose + "1 view=3\n");
  group.groups[0]->leave();
  group.await("event=left" + whose + "0\n");
  CHECK(std::regex_search(group.text(2), std::regex("event=stopped group=test node=2 subject=2 reason=\"[^\n]*this node's "
                                                    "certificate is revoked")));
}

TEST_CASE("the audit says of whom nothing was proved, and was refused for another configuration, which node and why") {
  AuditedGroup group("shm");
  group.found();
  const std::string other = who_begins + "suspect_after_ms = 501\n";
  CHECK_THROWS_AS(Group(group.fixture.config(2, members, other)), Exception);
  // The first refusal ends it: the other founder may never have heard of it.
  group.await("event=refused group=test node=[01] subject=2 address=\\S+ reason=\"[^\n]*configuration");
}

TEST_CASE("a node that is turned away again and again is told of once a minute for each reason, with how often it was so") {
  const GroupFixture fixture;
  const std::string path = fixture.directory() + "/0.audit";
  AuditTrail audit("test", NodeId(0), path);
  group::RefusedNodes refused_nodes;
  const Time start{};
  const auto told = [&] {
    REQUIRE(audit.await_written(std::chrono::seconds(10)));
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  };
  const auto lines = [&] {
    const std::string text = told();
    return std::count(text.begin(), text.end(), '\n');
  };
  for (int call = 0; call < 60; ++call)
    refused_nodes.tell(audit, NodeId(1), "it was removed", "", start + std::chrono::seconds(call));
  CHECK(lines() == 1);
  refused_nodes.tell(audit, NodeId(2), "it was removed", "", start);
  refused_nodes.tell(audit, NodeId(1), "it is drained", "", start);
  CHECK(lines() == 3);
  refused_nodes.tell(audit, NodeId(1), "it was removed", "", start + group::RefusedNodes::until_repeated);
  CHECK(lines() == 4);
  CHECK_THAT(told(), Catch::Contains("subject=1 reason=\"it was removed\" times=60"));
}
