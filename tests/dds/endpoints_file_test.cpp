// The file in which members show their domain's endpoints: what is none is refused with the reason, and none outlives its
// process.
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include <catch2/catch.hpp>

#include <spindrift/dds/domain_observer.hpp>
#include <spindrift/dds/endpoints_file.hpp>
#include <spindrift/group/status.hpp>

#include "dds_fixture.hpp"

namespace spindrift::test {
namespace {

using topics::EndpointFacts;
using topics::EndpointKind;
using topics::ShownDomain;

/// As this process shows it.
ShownDomain shown() {
  ShownDomain shown;
  const auto process = static_cast<std::uint64_t>(::getpid());
  shown.by = {NodeId(3), process, group::process_start_ticks(process)};
  shown.view = ViewId(7);
  shown.messages = 12;
  shown.carriers = {{"orders", "of-orders"}};
  for (const std::uint32_t number : {1U, 2U}) {
    EndpointFacts facts{.id = {3, number, 5}, .kind = EndpointKind::topic, .topic = "readings", .type = "a type"};
    facts.qos.partitions = {"north", "*"};
    shown.endpoints.emplace(facts.id, facts);
  }
  return shown;
}

/// The directory of a group without members.
class Files {
 public:
  Files() : directory_(value_or_throw(topics::open_endpoints_directory(topics::DomainCore::config(0, "")))) {}
  [[nodiscard]] const GuardedDirectory& directory() const { return directory_; }
  [[nodiscard]] std::string path() const { return directory_.path() + "/3.endpoints"; }
  void write(std::span<const std::byte> bytes) const {
    value_or_throw(topics::write_endpoints(directory_, NodeId(3), bytes));
  }
  /// The reason why it is refused.
  [[nodiscard]] Error refusal() const {
    auto read = topics::read_endpoints(directory_, "3.endpoints");
    REQUIRE_FALSE(read.ok());
    CHECK(read.error().place() == path());
    CHECK_FALSE(read.error().fix().empty());
    const auto here = value_or_throw(topics::look_at_endpoints(directory_));
    CHECK(here.newest == nullptr);
    REQUIRE(here.fault);
    CHECK_THROWS_AS(topics::DomainObserver(0, "", {}).suffices(), Exception);
    return std::move(read).error();
  }

 private:
  Domain domain_;
  GuardedDirectory directory_;
};

}  // namespace

TEST_CASE("what a member shows of its domain is read as it was written, as long as it lives") {
  const Files files;
  files.write(topics::bytes_of(shown()));
  const auto read = value_or_throw(topics::read_endpoints(files.directory(), "3.endpoints"));
  REQUIRE(read);
  CHECK(*read == shown());
  CHECK(topics::look_at_endpoints(files.directory())->newest != nullptr);
  ShownDomain of_another = shown();
  ++of_another.by.started;
  files.write(topics::bytes_of(of_another));
  CHECK(topics::look_at_endpoints(files.directory())->newest == nullptr);
  CHECK_FALSE(topics::look_at_endpoints(files.directory())->fault);
}

TEST_CASE("of what several members show that of the latest message counts") {
  const Files files;
  const auto write = [&](std::uint32_t node, std::uint64_t view, std::uint64_t messages) {
    ShownDomain some = shown();
    some.by.node = NodeId(node);
    some.view = ViewId(view);
    some.messages = messages;
    value_or_throw(topics::write_endpoints(files.directory(), NodeId(node), topics::bytes_of(some)));
  };
  write(1, 7, 9);
  write(2, 8, 1);
  write(3, 8, 0);
  CHECK(topics::look_at_endpoints(files.directory())->newest->by.node == NodeId(2));
}

TEST_CASE("what is no member's file of endpoints is refused with its path and the reason") {
  const Files files;
  const std::vector<std::byte> good = topics::bytes_of(shown());
  SECTION("garbage") {
    files.write(std::as_bytes(std::span("this is no such file, but long enough to be one")));
    CHECK(files.refusal().kind() == ErrorKind::bad_input);
    CHECK_THAT(files.refusal().to_string(), Catch::Contains("does not begin like such a file"));
  }
  SECTION("cut off, anywhere") {
    for (std::size_t size = 0; size < good.size(); ++size) {
      const auto parsed = topics::parse_endpoints(std::span(good).first(size));
      REQUIRE_FALSE(parsed.ok());
      REQUIRE(parsed.error().kind() == ErrorKind::bad_input);
    }
    files.write(std::span(good).first(good.size() - 1));
    CHECK_THAT(files.refusal().to_string(), Catch::Contains("endpoint 2 of 2 is none"));
  }
  SECTION("longer than it says") {
    std::vector<std::byte> longer = good;
    longer.push_back(std::byte{0});
    files.write(longer);
    CHECK_THAT(files.refusal().to_string(), Catch::Contains("goes on behind its end"));
  }
  SECTION("of another node") {
    ShownDomain other = shown();
    other.by.node = NodeId(4);
    files.write(topics::bytes_of(other));
    CHECK_THAT(files.refusal().to_string(), Catch::Contains("another node wrote it"));
  }
  SECTION("too large") {
    files.write(good);
    REQUIRE(::truncate(files.path().c_str(), static_cast<off_t>(topics::endpoints_file_bytes_max) + 1) == 0);
    CHECK_THAT(files.refusal().to_string(), Catch::Contains("it is too large"));
    CHECK(topics::write_endpoints(files.directory(), NodeId(3), std::vector<std::byte>(topics::endpoints_file_bytes_max + 1))
              .error()
              .kind() == ErrorKind::resource);
  }
  SECTION("others may write it") {
    files.write(good);
    REQUIRE(::chmod(files.path().c_str(), 0666) == 0);
    CHECK(files.refusal().kind() == ErrorKind::refused);
    CHECK_THAT(files.refusal().to_string(), Catch::Contains("others than this user and root can have written"));
  }
  SECTION("another user's, where this test may give it away") {
    files.write(good);
    if (::chown(files.path().c_str(), 12345, static_cast<gid_t>(-1)) == 0) {
      CHECK(files.refusal().kind() == ErrorKind::refused);
      CHECK_THAT(files.refusal().to_string(), Catch::Contains("it is user 12345's"));
    }
  }
  SECTION("a link") {
    files.write(good);
    std::filesystem::rename(files.path(), files.path() + ".elsewhere");
    std::filesystem::create_symlink(files.path() + ".elsewhere", files.path());
    CHECK_THAT(files.refusal().to_string(), Catch::Contains("it is a link"));
  }
  SECTION("a socket") {
    const FileDescriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
    const std::string path = files.path();
    REQUIRE(path.size() < sizeof address.sun_path);
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    REQUIRE(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
    CHECK_THAT(files.refusal().to_string(), Catch::Contains("it is no regular file") && Catch::Contains("remove the file"));
  }
}

TEST_CASE("where a member of another release shows its domain otherwise, observing does not suffice") {
  const Files files;
  std::vector<std::byte> bytes = topics::bytes_of(shown());
  bytes[7] = std::byte{'2'};
  files.write(bytes);
  CHECK(topics::read_endpoints(files.directory(), "3.endpoints").error().kind() == ErrorKind::unsupported);
  CHECK_FALSE(topics::DomainObserver(0, "", {}).suffices());
}

TEST_CASE("a participant shows what is in the domain until it leaves") {
  const Domain domain;
  const std::string path = domain.directory() + "/dds-0/endpoints/0.endpoints";
  {
    const dds::domain::DomainParticipant participant(0);
    const dds::topic::Topic<Reading> topic(participant, "readings");
    const topics::DomainObserver observer(0, "", {});
    CHECK(observer.suffices());
    for (std::uint64_t seen = topics::ProcessBell::of_process().rung(); observer.topics().empty();
         seen = topics::ProcessBell::of_process().rung()) {
      topics::ProcessBell::of_process().wait(seen, std::chrono::steady_clock::now() + std::chrono::seconds(20));
    }
    CHECK(observer.topics().front().name == "readings");
    CHECK(std::filesystem::exists(path));
  }
  topics::await_endings();
  CHECK_FALSE(std::filesystem::exists(path));
}

}  // namespace spindrift::test
