// Lines for a place that stands still: who writes them goes on, none is written twice or out of order, and what is lost is
// counted.
#include <catch2/catch.hpp>

#include <csignal>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <latch>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <spindrift/core/line_writer.hpp>

namespace {

using namespace spindrift;

constexpr std::chrono::seconds limit{60};

/// A place that takes no line before it is opened.
class Gate {
 public:
  void bring(const Line& line, std::uint64_t lost) {
    came_.count_down_once();
    open_.wait();
    const std::lock_guard lock(mutex_);
    lines_.push_back(line.text);
    lost_ += lost;
  }
  void await_first() { came_.wait(); }
  void open() { open_.count_down(); }
  [[nodiscard]] std::vector<std::string> lines() const {
    const std::lock_guard lock(mutex_);
    return lines_;
  }
  [[nodiscard]] std::uint64_t lost() const {
    const std::lock_guard lock(mutex_);
    return lost_;
  }

 private:
  class Once {
   public:
    void count_down_once() {
      if (!done_.exchange(true)) latch_.count_down();
    }
    void wait() { latch_.wait(); }

   private:
    std::atomic<bool> done_{false};
    std::latch latch_{1};
  };

  Once came_;
  std::latch open_{1};
  mutable std::mutex mutex_;
  std::vector<std::string> lines_;
  std::uint64_t lost_ = 0;
};

LineWriter writer_to(const std::shared_ptr<Gate>& gate) {
  return LineWriter([gate](const Line& line, std::uint64_t lost) { gate->bring(line, lost); });
}

}  // namespace

TEST_CASE("lines of many threads are each written once, those of one thread in order") {
  const auto gate = std::make_shared<Gate>();
  gate->open();
  LineWriter writer = writer_to(gate);
  constexpr int threads = 4;
  constexpr int lines = 200;
  {
    std::vector<std::jthread> writers;
    for (int t = 0; t < threads; ++t)
      writers.emplace_back([&writer, t] {
        for (int i = 0; i < lines; ++i) writer.write(std::to_string(t) + " " + std::to_string(i));
      });
  }
  REQUIRE(writer.await_written(limit));
  std::array<int, threads> next{};
  for (const std::string& line : gate->lines()) {
    const int thread = std::stoi(line);
    CHECK(std::stoi(line.substr(line.find(' '))) == next.at(static_cast<std::size_t>(thread))++);
  }
  CHECK(next == std::array<int, threads>{lines, lines, lines, lines});
  CHECK(gate->lost() == 0);
}

TEST_CASE("a place that stands still stops nobody, and what exceeds the bound is counted") {
  const auto gate = std::make_shared<Gate>();
  LineWriter writer = writer_to(gate);
  writer.write("first");
  gate->await_first();
  constexpr std::size_t more = 100;
  for (std::size_t i = 0; i < LineWriter::lines_max + more; ++i) writer.write(std::to_string(i));
  CHECK(gate->lines().empty());
  CHECK_FALSE(writer.await_written(std::chrono::milliseconds(0)));
  gate->open();
  REQUIRE(writer.await_written(limit));
  writer.write("last");
  REQUIRE(writer.await_written(limit));
  const auto lines = gate->lines();
  CHECK(lines.size() == 1 + LineWriter::lines_max + 1);
  CHECK(lines.front() == "first");
  CHECK(lines.back() == "last");
  CHECK(gate->lost() == more);
}

TEST_CASE("long lines are bounded in bytes, too") {
  const auto gate = std::make_shared<Gate>();
  LineWriter writer = writer_to(gate);
  writer.write("first");
  gate->await_first();
  const std::string line(LineWriter::bytes_max / 4, 'x');
  for (int i = 0; i < 6; ++i) writer.write(line);
  gate->open();
  REQUIRE(writer.await_written(limit));
  writer.write("last");
  REQUIRE(writer.await_written(limit));
  CHECK(gate->lines().size() == 1 + 4 + 1);
  CHECK(gate->lost() == 2);
}

TEST_CASE("a writer that ends while its place stands still is gone, and its lines arrive if the place takes them again") {
  const auto gate = std::make_shared<Gate>();
  {
    LineWriter writer = writer_to(gate);
    writer.write("first");
    writer.write("second");
  }
  CHECK(gate->lines().empty());
  gate->open();
  while (gate->lines().size() < 2) std::this_thread::yield();
  CHECK(gate->lines() == std::vector<std::string>{"first", "second"});
}

TEST_CASE("a signal of the program is not handled by the writer's thread") {
  static std::atomic<pthread_t> handled_by;
  handled_by = pthread_t{};
  struct sigaction before {};
  struct sigaction action {};
  action.sa_handler = [](int) { handled_by = ::pthread_self(); };
  REQUIRE(::sigaction(SIGUSR1, &action, &before) == 0);
  const auto gate = std::make_shared<Gate>();
  pthread_t of_writer{};
  LineWriter writer([&](const Line&, std::uint64_t) {
    of_writer = ::pthread_self();
    ::kill(::getpid(), SIGUSR1);
  });
  writer.write("line");
  REQUIRE(writer.await_written(limit));
  while (handled_by.load() == pthread_t{}) std::this_thread::yield();
  CHECK(handled_by.load() != of_writer);
  REQUIRE(::sigaction(SIGUSR1, &before, nullptr) == 0);
}

TEST_CASE("a forked child writes its lines itself") {
  std::array<int, 2> pipe{};
  REQUIRE(::pipe(pipe.data()) == 0);
  LineWriter writer([&pipe](const Line& line, std::uint64_t) {
    static_cast<void>(::write(pipe[1], line.text.data(), line.text.size()));
  });
  writer.write("parent ");
  REQUIRE(writer.await_written(limit));
  const pid_t child = ::fork();
  if (child == 0) {
    writer.write("child");
    ::_exit(writer.await_written(std::chrono::milliseconds(0)) ? 0 : 1);
  }
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  std::array<char, 64> text{};
  const auto size = ::read(pipe[0], text.data(), text.size());
  ::close(pipe[0]);
  ::close(pipe[1]);
  CHECK(std::string(text.data(), static_cast<std::size_t>(size)) == "parent child");
}
