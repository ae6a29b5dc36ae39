// `spindrift metrics`, as a client sees it that speaks HTTP by hand, well or badly.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include <catch2/catch.hpp>

#include "command.hpp"
#include "command_group.hpp"
#include "exit_code.hpp"

using namespace spindrift;
using namespace spindrift::test;
using namespace spindrift::tools;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;

namespace {

/// A connection to a port of this host.
class Client {
 public:
  explicit Client(std::uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const timeval patience{.tv_sec = 30, .tv_usec = 0};
    ::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    if (::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
      throw std::runtime_error("connect");
  }

  void say(std::string_view text) const {
    while (!text.empty()) {
      const auto sent = ::send(socket_.get(), text.data(), text.size(), MSG_NOSIGNAL);
      if (sent <= 0) return;  // it has hung up, as it may
      text.remove_prefix(static_cast<std::size_t>(sent));
    }
  }
  /// Everything until the other end hangs up, which it does within the client's patience.
  [[nodiscard]] std::string answer() const {
    std::string text;
    std::array<char, 4096> buffer;
    ssize_t got = 0;
    while ((got = ::recv(socket_.get(), buffer.data(), buffer.size(), 0)) > 0)
      text.append(buffer.data(), static_cast<std::size_t>(got));
    CHECK_FALSE((got < 0 && errno == EAGAIN));
    return text;
  }

 private:
  FileDescriptor socket_;
};

/// A node that waits for its group, and the server of its metrics.
struct MetricsFixture : GroupFixture {
  MetricsFixture() : node(arguments("node", 0)), server({"metrics", "--config", config, "--listen", "127.0.0.1:0"}) {
    REQUIRE(node.wait_for("joining"));
    REQUIRE(server.wait_for("/metrics\n"));
    const std::string& told = server.output();
    port = static_cast<std::uint16_t>(std::stoul(told.substr(told.rfind(':') + 1)));
    while (!std::filesystem::exists(directory.path() + "/spindrift/status/0.status")) ::usleep(1000);
  }

  [[nodiscard]] std::string ask(const std::string& request) const {
    const Client client(port);
    client.say(request);
    return client.answer();
  }
  [[nodiscard]] std::string scrape() const { return ask("GET /metrics HTTP/1.1\r\nHost: here\r\n\r\n"); }

  [[nodiscard]] std::size_t threads_of_server() const {
    const std::filesystem::directory_iterator tasks("/proc/" + std::to_string(server.id()) + "/task");
    return static_cast<std::size_t>(std::distance(begin(tasks), end(tasks)));
  }

  Command node;
  Command server;
  std::uint16_t port = 0;
};

}  // namespace

TEST_CASE_METHOD(MetricsFixture, "metrics are served until SIGTERM, which is a good end") {
  CHECK_THAT(server.output(), StartsWith("serving group spindrift at http://127.0.0.1:"));
  const std::string page = scrape();
  CHECK_THAT(page, StartsWith("HTTP/1.1 200 OK\r\n") &&
                       Contains("Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n") &&
                       Contains("\r\nConnection: close\r\n"));
  CHECK_THAT(page, Contains("spindrift_node_running{group=\"spindrift\",node=\"0\"} 1\n") &&
                       Contains("# TYPE spindrift_views_installed_total counter\n"));
  const std::string head = ask("HEAD /metrics HTTP/1.1\r\nHost: here\r\n\r\n");
  CHECK_THAT(head, StartsWith("HTTP/1.1 200 OK\r\n") && !Contains("spindrift_node_running"));
  CHECK_THAT(ask("GET / HTTP/1.1\r\n\r\n"),
             StartsWith("HTTP/1.1 404 ") && Contains("\r\n\r\nthere is nothing here but /metrics"));
  CHECK_THAT(ask("DELETE /metrics HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 405 ") && Contains("Allow: GET, HEAD\r\n"));
  const Client silent(port);  // does not hold up the end
  server.send_signal(SIGTERM);
  const CommandResult ended = server.finish();
  CHECK(ended.code == 0);
  CHECK(ended.errors.empty());
}

TEST_CASE_METHOD(MetricsFixture, "requests that are none are answered or hung up on, and the next scrape is served") {
  const std::string line = "GET /metrics HTTP/1.1\r\n";
  for (const std::string& request : {
           std::string("nonsense\r\n\r\n"), std::string("\0\xff\x80\r\n\r\n", 7), std::string("GET /metrics\r\n\r\n"),
           "GET /" + std::string(100000, 'a') + " HTTP/1.1\r\n\r\n", line + std::string(100000, 'h') + ": v\r\n\r\n",
           line + "Range: bytes=" + std::string(3000, '1') + "-\r\n\r\n", line + "Range: bytes=5-1,1-5\r\n\r\n",
           line + "Content-Length: 99999999999999999999\r\n\r\n", line + "Transfer-Encoding: chunked\r\n\r\nzz\r\n",
           std::string("POST /metrics HTTP/1.1\r\nContent-Length: 1000000\r\n\r\nabc"),
           std::string("GET http://[ HTTP/1.1\r\n\r\n"), std::string("GET /metrics%zz%00 HTTP/1.1\r\n\r\n"),
           std::string("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
           line + "Expect: 100-continue\r\n\r\n", line}) {
    CAPTURE(request.substr(0, 60));
    static_cast<void>(ask(request));
    CHECK_THAT(scrape(), StartsWith("HTTP/1.1 200 OK\r\n"));
  }
  CHECK(threads_of_server() <= 6);
}

TEST_CASE_METHOD(MetricsFixture, "who asks for parts of the page, and be it a thousand times, gets it once") {
  std::string ranges;
  for (int i = 0; i < 1000; ++i) ranges += i == 0 ? "0-" : ",0-";
  const std::string page = ask("GET /metrics HTTP/1.1\r\nHost: here\r\nRange: bytes=" + ranges + "\r\n\r\n");
  CHECK_THAT(page, StartsWith("HTTP/1.1 200 OK\r\n"));
  CHECK(page.size() < 2 * scrape().size());
}

TEST_CASE_METHOD(MetricsFixture, "connections that say nothing, or little, are bounded and hold up no scrape") {
  std::vector<std::unique_ptr<Client>> idle;
  for (int i = 0; i < 300; ++i) {
    idle.push_back(std::make_unique<Client>(port));
    if (i % 2 == 0) idle.back()->say("GET /metr");
  }
  CHECK_THAT(scrape(), StartsWith("HTTP/1.1 200 OK\r\n"));
  CHECK(threads_of_server() <= 6);
  const std::filesystem::directory_iterator open("/proc/" + std::to_string(server.id()) + "/fd");
  CHECK(std::distance(begin(open), end(open)) <= 100);  // of 300, most have been hung up on
  for (const auto* client : {&idle.front(), &idle.back()}) CHECK((*client)->answer().find("200 OK") == std::string::npos);
}

TEST_CASE_METHOD(GroupFixture, "a group that is not here is an answer with the reason, and is served as soon as it is") {
  Command server({"metrics", "--config", config, "--listen", "127.0.0.1:0"});
  REQUIRE(server.wait_for("/metrics\n"));
  const auto port = static_cast<std::uint16_t>(std::stoul(server.output().substr(server.output().rfind(':') + 1)));
  const auto scrape = [&] {
    const Client client(port);
    client.say("GET /metrics HTTP/1.0\r\n\r\n");
    return client.answer();
  };
  CHECK_THAT(scrape(), StartsWith("HTTP/1.1 503 ") && Contains(directory.path() + "/spindrift: ") && Contains("; fix: "));
  Command node(arguments("node", 1));
  while (!std::filesystem::exists(directory.path() + "/spindrift/1.counters")) ::usleep(1000);
  CHECK_THAT(scrape(), StartsWith("HTTP/1.1 200 OK\r\n") && Contains("node=\"1\""));
  server.send_signal(SIGINT);
  CHECK(server.finish().code == 0);
}

TEST_CASE_METHOD(MetricsFixture, "an address that cannot be listened at is an error with place, cause and fix") {
  const std::string taken = "127.0.0.1:" + std::to_string(port);
  const CommandResult second = run({"metrics", "--config", config, "--listen", taken});
  CHECK(second.code == number(ExitCode::resource));
  CHECK_THAT(second.errors, Contains(taken + ": listen: Address already in use; fix: end who listens there"));
  for (const char* address : {"9741", "127.0.0.1", "127.0.0.1:", ":9741", "127.0.0.1:65536", "127.0.0.1:http", "::1:9741"}) {
    CAPTURE(address);
    const CommandResult wrong = run({"metrics", "--config", config, "--listen", address});
    CHECK(wrong.code == number(ExitCode::usage));
    CHECK_THAT(wrong.errors, Contains("is not HOST:PORT; fix: write for example"));
  }
  const CommandResult nowhere = run({"metrics", "--config", config, "--listen", "no-such-host.invalid:9741"});
  CHECK(nowhere.code == number(ExitCode::resource));
  CHECK_THAT(nowhere.errors, Contains("cannot resolve no-such-host.invalid: "));
}
