// The server of the demo's page: whom it answers, and that browsers which take nothing hold up nobody.
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include <spindrift/fabric/connected/socket_address.hpp>

#include "listening_socket.hpp"
#include "web/frame_hub.hpp"
#include "web/page_files.hpp"
#include "web/page_server.hpp"
#include "web/topic_meter.hpp"
#include "web/track.hpp"

using namespace spindrift;
using namespace spindrift::tools;
using Catch::Matchers::Contains;
using Catch::Matchers::EndsWith;
using Catch::Matchers::StartsWith;

namespace {

constexpr int patience_ms = 60'000;

/// A client that says what it is told to.
class Client {
 public:
  explicit Client(const std::string& address) {
    const auto to = fabric::connected::resolve(address, false).value();
    socket_ = FileDescriptor(::socket(to.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    REQUIRE(::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&to.storage), to.bytes) == 0);
  }
  void ask(const std::string& first_line, const std::string& host = "127.0.0.1") const {
    const std::string request = first_line + " HTTP/1.1\r\nHost: " + host + "\r\n\r\n";
    REQUIRE(::send(socket_.get(), request.data(), request.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(request.size()));
  }
  /// Reads until the text is there, or the end. All that was read.
  const std::string& read_until(const std::string& text) {
    while (read_.find(text) == std::string::npos && read_some()) {
    }
    return read_;
  }
  const std::string& read_all() {
    while (read_some()) {
    }
    return read_;
  }

 private:
  bool read_some() {
    pollfd source{.fd = socket_.get(), .events = POLLIN, .revents = 0};
    if (::poll(&source, 1, patience_ms) <= 0) return false;
    std::array<char, 65536> buffer;
    const auto count = ::recv(socket_.get(), buffer.data(), buffer.size(), 0);
    if (count > 0) read_.append(buffer.data(), static_cast<std::size_t>(count));
    return count > 0;
  }

  FileDescriptor socket_;
  std::string read_;
};

struct Served {
  ListeningSocket socket = listen_at("127.0.0.1:0").value();
  FrameHub hub;
  PageServer server{std::move(socket.descriptor), hub, [] { return std::string("{\"track\":[]}"); }};

  [[nodiscard]] std::string answer(const std::string& first_line, const std::string& host = "127.0.0.1") const {
    Client client(socket.address);
    client.ask(first_line, host);
    return client.read_all();
  }
};

}  // namespace

TEST_CASE("the page and all that it loads are served, with a policy that lets nothing else in") {
  const Served served;
  const std::string page = served.answer("GET /");
  CHECK_THAT(page, StartsWith("HTTP/1.1 200") && Contains("Content-Type: text/html") && Contains("default-src 'none'"));
  CHECK(page_files().size() > 4);
  for (const PageFile& file : page_files()) {
    const std::string answer = served.answer("GET " + std::string(file.path));
    CHECK_THAT(answer, StartsWith("HTTP/1.1 200") && Contains(std::string(file.type)) && EndsWith(std::string(file.text)));
    CHECK(file.text.find("http://") == std::string_view::npos);
    CHECK(file.text.find("https://") == std::string_view::npos);
  }
}

TEST_CASE("what is not there, and what would change something, is refused") {
  const Served served;
  CHECK_THAT(served.answer("GET /etc/passwd"), StartsWith("HTTP/1.1 404"));
  CHECK_THAT(served.answer("GET /../page.js"), StartsWith("HTTP/1.1 404"));
  CHECK_THAT(served.answer("POST /"), StartsWith("HTTP/1.1 405") && Contains("Allow: GET, HEAD"));
  CHECK_THAT(served.answer("DELETE /events"), StartsWith("HTTP/1.1 405"));
}

TEST_CASE("a request by a name that somebody else gave this host is refused") {
  const Served served;
  CHECK_THAT(served.answer("GET /", "rebound.example"), StartsWith("HTTP/1.1 421"));
  CHECK_THAT(served.answer("GET /events", "rebound.example:80"), StartsWith("HTTP/1.1 421"));
  for (const char* const good :
       {"127.0.0.1", "127.0.0.1:8080", "localhost:1", "LocalHost", "[::1]", "[::1]:8080", "10.1.2.3:5"}) {
    INFO(good);
    CHECK(is_address(good));
  }
  for (const char* const bad : {"", "evil", "127.0.0.1.evil", "localhost.evil", "[", "[]:1", "[::1", "1:2:3"}) {
    INFO(bad);
    CHECK_FALSE(is_address(bad));
  }
}

TEST_CASE("another page's requests take no place of those who look on, and learn nothing") {
  const Served served;
  for (const char* const of :
       {"Sec-Fetch-Site: cross-site", "Sec-Fetch-Site: same-site", "Origin: https://evil.example", "Origin: null"}) {
    INFO(of);
    CHECK_THAT(served.answer("GET /events", std::string("127.0.0.1\r\n") + of), StartsWith("HTTP/1.1 403"));
    CHECK_THAT(served.answer("GET /page.js", std::string("127.0.0.1\r\n") + of), StartsWith("HTTP/1.1 403"));
    CHECK_THAT(served.answer("GET /", std::string("127.0.0.1\r\n") + of), StartsWith("HTTP/1.1 200"));
  }
  CHECK(served.server.streams() == 0);
  for (const char* const of : {"Sec-Fetch-Site: same-origin", "Sec-Fetch-Site: none", "Origin: http://127.0.0.1"})
    CHECK_THAT(served.answer("GET /page.js", std::string("127.0.0.1\r\n") + of),
               StartsWith("HTTP/1.1 200") && Contains("Cross-Origin-Resource-Policy: same-origin"));
}

TEST_CASE("a stream begins with what was, goes on with what comes, and ends with the server") {
  auto served = std::make_unique<Served>();
  Client client(served->socket.address);
  client.ask("GET /events");
  CHECK_THAT(client.read_until("\"track\":[]}\n\n"), Contains("text/event-stream") && Contains("event: beginning"));
  served->hub.publish("{\"n\":1}");
  served->hub.publish("{\"n\":2}");
  CHECK_THAT(client.read_until("data: {\"n\":2}\n\n"), Contains("data: {\"n\":1}\n\n"));
  served.reset();
  CHECK_THAT(client.read_all(), !Contains("dropped"));
}

TEST_CASE("a browser that takes nothing misses frames, which are counted, while others get all") {
  Served served;
  Client stopped(served.socket.address);
  stopped.ask("GET /events");
  static_cast<void>(stopped.read_until("\n\n"));
  Client reading(served.socket.address);
  reading.ask("GET /events");
  static_cast<void>(reading.read_until("beginning"));
  const std::string large(200'000, 'x');
  for (int frame = 0; frame < 60; ++frame) {
    const std::string mark = "frame " + std::to_string(frame) + " ends";
    served.hub.publish(large + mark);
    CHECK_THAT(reading.read_until(mark), Contains(mark));
  }
  CHECK(served.hub.dropped() == 0);  // nobody has asked again: the one that is stopped is within its first frames
  CHECK(reading.read_until("").find("event: dropped") == std::string::npos);
  CHECK_THAT(stopped.read_until("event: dropped"), Contains("event: dropped"));
  CHECK(served.hub.dropped() > 0);
}

TEST_CASE("of more streams than are served the last ones are told so, and the page still comes") {
  const Served served;
  std::vector<std::unique_ptr<Client>> clients;
  for (int each = 0; each < PageServer::streams_max; ++each) {
    clients.push_back(std::make_unique<Client>(served.socket.address));
    clients.back()->ask("GET /events");
    CHECK_THAT(clients.back()->read_until("beginning"), Contains("200"));
  }
  CHECK(served.server.streams() == PageServer::streams_max);
  CHECK_THAT(served.answer("GET /events"), StartsWith("HTTP/1.1 503"));
  CHECK_THAT(served.answer("GET /"), StartsWith("HTTP/1.1 200"));
}

TEST_CASE("a hub keeps so many frames and counts what each reader misses") {
  FrameHub hub;
  hub.publish("before");
  FrameHub::Place place = hub.begin();
  for (int frame = 0; frame < 20; ++frame) hub.publish(std::to_string(frame));
  CHECK(*hub.next(place) == "4");
  CHECK(place.dropped == 4);
  CHECK(*hub.next(place) == "5");
  CHECK(place.dropped == 4);
  CHECK(hub.dropped() == 4);
  hub.close();
  CHECK(hub.next(place) == nullptr);
}

TEST_CASE("a track is of the local position if that is good, else of satellites, and a jump is no way that was flown") {
  using Json = nlohmann::json;
  Track track;
  const auto gps = [&](double time, double lat, int fix = 3) {
    return track.add_gps({{"timestamp", time}, {"lat", lat}, {"lon", 1e8}, {"vel_m_s", 1.0}, {"fix_type", fix}});
  };
  CHECK(gps(0, 6e8, 0).is_null());
  CHECK(gps(0, 6e8).at("north") == 0.0);
  const Json moved = gps(200'000, 6e8 + 100);
  CHECK(moved.at("north").get<double>() == Approx(1.112).epsilon(0.01));
  CHECK(moved.at("joined") == true);
  CHECK(gps(400'000, 6e8 + 1000).at("joined") == false);
  CHECK(track.add_local({{"x", 1.0}, {"y", 2.0}, {"xy_valid", false}}).is_null());
  CHECK(track.add_local({{"x", "NaN"}, {"y", 2.0}, {"xy_valid", true}}).is_null());
  CHECK(track.add_local({{"x", 1.0}, {"y", 2.0}, {"xy_valid", true}, {"timestamp", 5e5}}).at("east") == 2.0);
  CHECK(gps(600'000, 6e8).is_null());
  CHECK(track.json().size() == 4);
}

TEST_CASE("rates are of the last two seconds, or of the time since the beginning") {
  using std::chrono::milliseconds;
  const TopicMeter::Instant begin{};
  TopicMeter meter(begin);
  for (int tick = 1; tick <= 10; ++tick) meter.add("imu", 10, 100, begin + milliseconds(100 * tick));
  CHECK(meter.rate(meter.rows().at("imu"), begin + milliseconds(1000)) == Approx(100));
  meter.add("imu", 0, 0, begin + milliseconds(10'000));
  CHECK(meter.rate(meter.rows().at("imu"), begin + milliseconds(10'000)) == 0);
  CHECK(meter.rows().at("imu").samples == 100);
  CHECK(meter.rows().at("imu").bytes == 1000);
}
