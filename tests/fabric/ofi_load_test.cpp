// The loading of libfabric leaves the process that loads it as it was, and some things are refused when a provider is
// opened.
#include "child.hpp"
#include "harness.hpp"

#include <signal.h>

#include <spindrift/fabric/ofi/provider.hpp>

using namespace spindrift;
using namespace spindrift::fabric;
using namespace spindrift::fabric::test;

TEST_CASE("a process that uses libfabric and aborts dies of it, and leaves no file where it was") {
  const TemporaryDirectory directory;
  Child child(directory.path(), "2", "abort", {address_of(NodeId(2)).endpoint, address_of(NodeId(1)).endpoint, "ofi:tcp"});
  const int status = child.reap();
  CHECK(WIFSIGNALED(status));
  CHECK(WTERMSIG(status) == SIGABRT);
  std::vector<std::string> left;
  for (const auto& entry : std::filesystem::directory_iterator(directory.path())) left.push_back(entry.path().filename());
  CHECK(left == std::vector<std::string>{"group"});  // where it met its peers
}

TEST_CASE("the signals' handlers stay when libfabric is loaded") {
  const auto handler_of = [](int signal) {
    struct sigaction action {};
    return ::sigaction(signal, nullptr, &action) == 0 ? action.sa_handler : SIG_ERR;
  };
  std::vector<void (*)(int)> before;
  for (int signal = 1; signal < NSIG; ++signal) before.push_back(handler_of(signal));
  const TemporaryDirectory directory;
  const Endpoint endpoint(1, make_tcp_or_throw(NodeId(1), directory.path()));
  for (int signal = 1; signal < NSIG; ++signal) {
    CAPTURE(signal);
    CHECK(handler_of(signal) == before.at(static_cast<std::size_t>(signal) - 1));
  }
}

TEST_CASE("an address that has no numbers is refused with the reason") {
  const auto refused = ofi::Provider::open("tcp", connected::SocketAddress{});
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().kind() == ErrorKind::bad_argument);
  REQUIRE(refused.error().cause() != nullptr);
  CHECK_THAT(refused.error().cause()->message(), Catch::StartsWith("getnameinfo: "));
  CHECK_FALSE(refused.error().fix().empty());
}
