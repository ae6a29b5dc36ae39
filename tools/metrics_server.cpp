// Which requests are answered, and how.
#include "metrics_server.hpp"

#include <utility>

namespace spindrift::tools {
namespace {

HttpAnswer answer(const HttpRequest& request, const char* content_type, const MetricsServer::Page& make) {
  if (request.path != "/metrics") return http_text(404, "there is nothing here but /metrics");
  if (request.method != "GET" && request.method != "HEAD") {
    HttpAnswer refusal = http_text(405, "/metrics is read by GET");
    refusal.headers.emplace_back("Allow", "GET, HEAD");
    return refusal;
  }
  Result<std::string> page = make();
  if (!page) return http_text(503, page.error().to_string());
  return {.type = content_type, .body = std::move(page).value()};
}

}  // namespace

MetricsServer::MetricsServer(FileDescriptor listening, const char* content_type, Page page)
    : server_(std::move(listening), threads, [content_type, make = std::move(page)](const HttpRequest& request) {
        return answer(request, content_type, make);
      }) {}

}  // namespace spindrift::tools
