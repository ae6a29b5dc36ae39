// Which requests are answered, and how.
#include "web/page_server.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <cctype>
#include <memory>
#include <optional>

#include "web/page_files.hpp"

namespace spindrift::tools {
namespace {

/// Behind the streams, for requests of files.
constexpr int more_threads = 4;

/// Nothing but what is served here is loaded, run or shown, nor is this page shown within another.
constexpr const char* content_policy =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'";

HttpAnswer guarded(HttpAnswer answer) {
  answer.headers.insert(answer.headers.end(), {{"Content-Security-Policy", content_policy},
                                               {"X-Content-Type-Options", "nosniff"},
                                               {"Cross-Origin-Resource-Policy", "same-origin"},
                                               {"Referrer-Policy", "no-referrer"},
                                               {"Cache-Control", "no-store"}});
  return answer;
}

/// A page of another origin asks, or one of another program on this host: it would take the place of those who look on.
bool is_foreign(const HttpRequest& request) {
  const bool other_site = !request.site.empty() && request.site != "same-origin" && request.site != "none";
  return other_site || (!request.origin.empty() && request.origin != "http://" + request.host);
}

}  // namespace

bool is_address(const std::string& host) {
  std::string name = host;
  if (name.starts_with('[')) {
    const auto end = name.find(']');
    name = end == std::string::npos ? "" : name.substr(1, end - 1);
  } else {
    name = name.substr(0, name.find(':'));
  }
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  in6_addr address{};
  return name == "localhost" || ::inet_pton(AF_INET, name.c_str(), &address) == 1 ||
         ::inet_pton(AF_INET6, name.c_str(), &address) == 1;
}

PageServer::PageServer(FileDescriptor listening, FrameHub& hub, std::function<std::string()> beginning)
    : hub_(hub),
      beginning_(std::move(beginning)),
      server_(std::move(listening), streams_max + more_threads,
              [this](const HttpRequest& request) { return guarded(answer(request)); }) {}

PageServer::~PageServer() { hub_.close(); }

HttpAnswer PageServer::answer(const HttpRequest& request) {
  if (!is_address(request.host)) return http_text(421, "ask for this page by an address, or as localhost");
  if (request.method != "GET" && request.method != "HEAD") {
    HttpAnswer refusal = http_text(405, "this page is read by GET");
    refusal.headers.emplace_back("Allow", "GET, HEAD");
    return refusal;
  }
  // A link to the page itself may be on any page.
  if (request.path != "/" && is_foreign(request)) return http_text(403, "another page asks for this; open / by its address");
  if (request.path == "/events") return stream();
  const auto files = page_files();
  const auto found = std::ranges::find(files, request.path, &PageFile::path);
  if (found == files.end()) return http_text(404, "there is nothing here of that name");
  return {.type = std::string(found->type), .body = std::string(found->text)};
}

HttpAnswer PageServer::stream() {
  if (++streams_ > streams_max) {
    --streams_;
    return http_text(503, "so many browsers look on that no more are served; close one");
  }
  const std::shared_ptr<void> counted(nullptr, [this](void*) { --streams_; });
  const auto place = std::make_shared<FrameHub::Place>(hub_.begin());
  const auto first = std::make_shared<bool>(true);
  HttpAnswer answer{.type = "text/event-stream"};
  answer.pieces = [this, counted, place, first]() -> std::optional<std::string> {
    if (std::exchange(*first, false)) return "retry: 1000\nevent: beginning\ndata: " + beginning_() + "\n\n";
    const std::uint64_t dropped = place->dropped;
    const auto frame = hub_.next(*place);
    if (!frame) return std::nullopt;
    std::string piece = "data: " + *frame + "\n\n";
    if (place->dropped != dropped) piece += "event: dropped\ndata: " + std::to_string(place->dropped) + "\n\n";
    return piece;
  };
  return answer;
}

}  // namespace spindrift::tools
