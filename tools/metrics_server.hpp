// A server of HTTP with one page: GET /metrics. A few threads serve one request per connection. A request has a second to
// come, and the newest connection is the next to be served: those that say nothing keep no scrape from being answered.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include <spindrift/core/file_descriptor.hpp>
#include <spindrift/core/result.hpp>

namespace spindrift::tools {

class MetricsServer {
 public:
  /// Makes the page; an error is the answer "503", with its text. Called by several threads at once.
  using Page = std::function<Result<std::string>()>;

  /// Serves from now on. Throws resource.
  MetricsServer(FileDescriptor listening, const char* content_type, Page page);
  /// Ends at once; requests that are being read are not answered.
  ~MetricsServer();
  MetricsServer(const MetricsServer&) = delete;
  MetricsServer& operator=(const MetricsServer&) = delete;

  static constexpr int threads = 4;
  static constexpr int waiting_max = 64;  ///< connections beyond those; of more, the oldest are closed

 private:
  class Serving;
  std::unique_ptr<Serving> serving_;
};

}  // namespace spindrift::tools
