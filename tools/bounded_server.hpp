// A server of HTTP within bounds: a few threads serve one request per connection. A request has a second to come, and the
// newest connection is the next to be served: those that say nothing keep nobody from being answered.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <spindrift/core/file_descriptor.hpp>

namespace spindrift::tools {

struct HttpRequest {
  std::string method;
  std::string path;
  std::string host;  ///< as the header says, with a port or without
  // Browsers say by the headers Origin and Sec-Fetch-Site which page asks; empty: nothing is said.
  std::string origin{};
  std::string site{};
};
struct HttpAnswer {
  int status = 200;
  std::string type = "text/plain; charset=utf-8";
  std::string body{};
  std::vector<std::pair<std::string, std::string>> headers{};
  /// Set: the body goes on, piece by piece, until it returns nothing, or the other side has not taken one within five
  /// seconds. It may wait, and ends its wait when the server is about to end. It keeps a thread for as long.
  std::function<std::optional<std::string>()> pieces{};
};
/// A text, and a line's end.
[[nodiscard]] HttpAnswer http_text(int status, const std::string& text);

class BoundedServer {
 public:
  /// Called by several threads at once.
  using Handler = std::function<HttpAnswer(const HttpRequest&)>;

  /// Serves from now on. Throws resource.
  BoundedServer(FileDescriptor listening, int threads, Handler handler);
  /// Ends at once; requests that are being read are not answered.
  ~BoundedServer();
  BoundedServer(const BoundedServer&) = delete;
  BoundedServer& operator=(const BoundedServer&) = delete;

  static constexpr int waiting_max = 64;  ///< connections beyond those that are served; of more, the oldest are closed

 private:
  class Serving;
  std::unique_ptr<Serving> serving_;
};

}  // namespace spindrift::tools
