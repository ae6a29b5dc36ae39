// cpp-httplib reads requests and writes answers. Which connections it serves, how long, and on which threads is decided
// here: its own pool serves the oldest first, though they may say nothing, and its timeouts begin anew with each byte.
#include "bounded_server.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include <httplib.h>

#include <spindrift/core/clock.hpp>
#include <spindrift/core/limits.hpp>

namespace spindrift::tools {
namespace {

constexpr Duration request_time = std::chrono::seconds(1);
constexpr Duration answer_time = std::chrono::seconds(5);
constexpr std::size_t request_bytes_max = 4096;

/// One request and its answer, within bounds of bytes and time that begin with the connection.
class BoundedStream final : public httplib::Stream {
 public:
  /// `ending` becomes readable when nothing is to be waited for any more.
  BoundedStream(socket_t socket, int ending)
      : socket_(socket), ending_(ending), deadline_(SystemClock().now() + request_time) {}

  [[nodiscard]] bool is_readable() const override { return at_ < size_ || wait_for(POLLIN); }
  [[nodiscard]] bool is_writable() const override { return wait_for(POLLOUT); }

  ssize_t read(char* to, std::size_t size) override {
    if (at_ == size_) {
      if (size_ == buffer_.size() || !wait_for(POLLIN)) return -1;
      const ssize_t got = ::recv(socket_, buffer_.data() + size_, buffer_.size() - size_, 0);
      if (got <= 0) return got;
      size_ += static_cast<std::size_t>(got);
    }
    const std::size_t count = std::min(size, size_ - at_);
    std::copy_n(buffer_.data() + at_, count, to);
    at_ += count;
    return static_cast<ssize_t>(count);
  }

  ssize_t write(const char* bytes, std::size_t size) override {
    if (!std::exchange(answering_, true)) deadline_ = SystemClock().now() + answer_time;
    for (;;) {
      if (!wait_for(POLLOUT)) return -1;
      const ssize_t sent = ::send(socket_, bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (sent >= 0 || (errno != EAGAIN && errno != EINTR)) return sent;
    }
  }

  /// A piece of an answer is written, which has its own time. What the other side does not take is soon noticed.
  void begin_piece() {
    constexpr int sent_ahead_bytes = 1 << 16;
    if (!std::exchange(in_pieces_, true))
      ::setsockopt(socket_, SOL_SOCKET, SO_SNDBUF, &sent_ahead_bytes, sizeof sent_ahead_bytes);
    deadline_ = SystemClock().now() + answer_time;
  }

  // Nobody asks who calls.
  void get_remote_ip_and_port(std::string&, int&) const override {}
  void get_local_ip_and_port(std::string&, int&) const override {}
  [[nodiscard]] socket_t socket() const override { return socket_; }

 private:
  [[nodiscard]] bool wait_for(short events) const {
    std::array<pollfd, 2> sources{
        {{.fd = socket_, .events = events, .revents = 0}, {.fd = ending_, .events = POLLIN, .revents = 0}}};
    for (;;) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline_ - SystemClock().now()).count();
      if (left <= 0) return false;
      const int ready = ::poll(sources.data(), sources.size(), static_cast<int>(left));
      if (ready > 0) return sources[1].revents == 0;
      if (ready < 0 && errno != EINTR) return false;
    }
  }

  socket_t socket_;
  int ending_;
  Time deadline_;
  bool answering_ = false;
  bool in_pieces_ = false;
  std::array<char, request_bytes_max> buffer_{};
  std::size_t at_ = 0;
  std::size_t size_ = 0;
};

FileDescriptor make_event() {
  FileDescriptor event(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!event) throw Exception(system_error("eventfd", errno));
  return event;
}

/// The connection that this thread serves.
thread_local BoundedStream* served = nullptr;

/// Whether the connection of the task that this thread runs is to be closed without a word.
thread_local bool gives_up = false;

/// Connections that wait for a thread. The newest is served next.
class NewestFirst final : public httplib::TaskQueue {
 public:
  /// Throws resource.
  explicit NewestFirst(int threads) {
    for (int i = 0; i < threads; ++i) {
      auto thread = start_thread([this] { work(); });
      if (!thread) {
        shutdown();
        throw Exception(std::move(thread).error());
      }
      threads_.push_back(std::move(thread).value());
    }
  }

  void enqueue(std::function<void()> task) override {
    std::function<void()> oldest;
    {
      const std::lock_guard lock(mutex_);
      tasks_.push_back(std::move(task));
      if (tasks_.size() > BoundedServer::waiting_max) {
        oldest = std::move(tasks_.front());
        tasks_.pop_front();
      }
    }
    changed_.notify_one();
    if (oldest) give_up(oldest);
  }

  void shutdown() override {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
    for (const auto& task : tasks_) give_up(task);
  }

 private:
  static void give_up(const std::function<void()>& task) {
    gives_up = true;
    task();
    gives_up = false;
  }

  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return ending_ || !tasks_.empty(); });
      if (ending_) return;
      const std::function<void()> task = std::move(tasks_.back());
      tasks_.pop_back();
      lock.unlock();
      task();
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;
  bool ending_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace

HttpAnswer http_text(int status, const std::string& text) { return {.status = status, .body = text + "\n"}; }

class BoundedServer::Serving final : httplib::Server {
 public:
  Serving(FileDescriptor listening, int threads, BoundedServer::Handler handler)
      : listening_(std::move(listening)),
        ending_(make_event()),
        handler_(std::move(handler)),
        queue_(std::make_unique<NewestFirst>(threads)) {
    set_pre_routing_handler([this](const httplib::Request& request, httplib::Response& response) {
      answer(request, response);
      return HandlerResponse::Handled;
    });
    new_task_queue = [this] { return queue_.release(); };
    svr_sock_ = listening_.get();
    auto thread = start_thread([this] { listen_after_bind(); });
    if (!thread) {
      queue_->shutdown();
      throw Exception(std::move(thread).error());
    }
    thread_ = std::move(thread).value();
  }

  ~Serving() override {
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto told = ::write(ending_.get(), &one, sizeof one);
    svr_sock_ = INVALID_SOCKET;
    ::shutdown(listening_.get(), SHUT_RDWR);  // ends the wait for the next connection
    thread_.join();
  }
  Serving(const Serving&) = delete;
  Serving& operator=(const Serving&) = delete;

 private:
  void answer(const httplib::Request& request, httplib::Response& response) const {
    HttpAnswer answer = handler_({request.method, request.path, request.get_header_value("Host"),
                                  request.get_header_value("Origin"), request.get_header_value("Sec-Fetch-Site")});
    response.status = answer.status;
    for (const auto& [name, value] : answer.headers) response.set_header(name, value);
    if (!answer.pieces) return response.set_content(answer.body, answer.type);
    response.set_content_provider(answer.type, [pieces = std::move(answer.pieces)](std::size_t, httplib::DataSink& sink) {
      const std::optional<std::string> piece = pieces();
      if (!piece) {
        sink.done();
        return true;
      }
      served->begin_piece();
      return sink.write(piece->data(), piece->size());
    });
  }

  bool process_and_close_socket(socket_t socket) override {
    const FileDescriptor connection(socket);
    if (gives_up) return false;
    try {
      BoundedStream stream(socket, ending_.get());
      served = &stream;
      bool closed = false;
      // Parts of a page that are asked for again and again would make a short request a long answer.
      const auto whole = [](httplib::Request& request) { request.ranges.clear(); };
      const bool done = process_request(stream, true, closed, whole);
      ::shutdown(socket, SHUT_RDWR);
      return done;
    } catch (...) {  // what a stranger sends ends its connection and nothing else
      return false;
    }
  }

  FileDescriptor listening_;
  FileDescriptor ending_;
  BoundedServer::Handler handler_;
  std::unique_ptr<NewestFirst> queue_;  // until the thread has taken it over
  std::thread thread_;
};

BoundedServer::BoundedServer(FileDescriptor listening, int threads, Handler handler)
    : serving_(std::make_unique<Serving>(std::move(listening), threads, std::move(handler))) {}

BoundedServer::~BoundedServer() = default;

}  // namespace spindrift::tools
