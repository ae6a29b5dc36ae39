// Logging: levels per room, one complete line per event, values quoted when they need it.
#include <catch2/catch.hpp>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include <sys/stat.h>
#include <unistd.h>

#include <spindrift/core/config/config.hpp>
#include <spindrift/core/log.hpp>
#include <spindrift/core/log_file.hpp>
#include <spindrift/core/log_levels.hpp>

namespace {

using namespace spindrift;

/// A log file that disappears with the test, and logging back as it was.
class LogFile {
 public:
  explicit LogFile(log::Level level)
      : path_(std::filesystem::temp_directory_path() / ("spindrift-log-test-" + std::to_string(::getpid()))) {
    REQUIRE(log::configure(level, path_.string()));
  }
  ~LogFile() {
    (void)log::configure(log::Level::warn, "");
    std::filesystem::remove(path_);
  }
  [[nodiscard]] std::string path() const { return path_; }
  [[nodiscard]] std::string text() const {
    REQUIRE(log::await_written(std::chrono::seconds(60)));
    std::ostringstream text;
    text << std::ifstream(path_).rdbuf();
    return text.str();
  }

 private:
  std::filesystem::path path_;
};

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("a log line carries time, level, room, event and fields") {
  const LogFile file(log::Level::info);
  log::info(log::Room::smc, "ring_full", {{"node", NodeId(3)}, {"bytes", 4096}, {"why", "slow peer"}});
  const std::string text = file.text();
  CHECK(text.rfind("time=", 0) == 0);
  CHECK(contains(text, "Z level=info room=smc event=ring_full node=3 bytes=4096 why=\"slow peer\"\n"));
}

TEST_CASE("a log value cannot break its line or imitate another field") {
  const LogFile file(log::Level::info);
  log::info(log::Room::core, "event", {{"a", "x\ny=1"}, {"b", "say \"no\" \\"}, {"c", ""}, {"d", std::string("\x01", 1)}});
  const std::string text = file.text();
  CHECK(contains(text, R"(a="x\ny=1" b="say \"no\" \\" c="" d="\x01")"));
  CHECK(std::count(text.begin(), text.end(), '\n') == 1);
}

TEST_CASE("a room's level decides alone what the room writes") {
  const LogFile file(log::Level::warn);
  log::set_level(log::Room::sst, log::Level::trace);
  CHECK(log::enabled(log::Room::sst, log::Level::trace));
  CHECK_FALSE(log::enabled(log::Room::smc, log::Level::info));
  log::trace(log::Room::sst, "heard");
  log::info(log::Room::smc, "unheard");
  CHECK(contains(file.text(), "event=heard"));
  CHECK_FALSE(contains(file.text(), "unheard"));
}

TEST_CASE("no room is silenced by a level above error, except by off") {
  const LogFile file(log::Level::off);
  CHECK_FALSE(log::enabled(log::Room::core, log::Level::error));
  CHECK_FALSE(log::enabled(log::Room::core, log::Level::off));
}

TEST_CASE("a level specification sets every room, then single rooms") {
  const LogFile file(log::Level::off);
  REQUIRE(log::set_levels("info, smc=trace ,fabric=off"));
  CHECK(log::enabled(log::Room::core, log::Level::info));
  CHECK_FALSE(log::enabled(log::Room::core, log::Level::debug));
  CHECK(log::enabled(log::Room::smc, log::Level::trace));
  CHECK_FALSE(log::enabled(log::Room::fabric, log::Level::error));
}

TEST_CASE("a wrong level specification names the word and changes nothing") {
  const LogFile file(log::Level::error);
  const auto wrong_level = log::set_levels("info,smc=loud");
  REQUIRE_FALSE(wrong_level);
  CHECK(wrong_level.error().kind() == ErrorKind::bad_config);
  CHECK(contains(wrong_level.error().message(), "\"loud\""));
  CHECK(contains(wrong_level.error().fix(), "trace, debug, info, warn, error, off"));
  CHECK_FALSE(log::enabled(log::Room::core, log::Level::info));

  const auto wrong_room = log::set_levels("cellar=info");
  REQUIRE_FALSE(wrong_room);
  CHECK(contains(wrong_room.error().message(), "\"cellar\""));
  CHECK(contains(wrong_room.error().fix(), "smc"));
  CHECK_FALSE(log::set_levels(""));
  CHECK_FALSE(log::set_levels("info,"));
}

TEST_CASE("a log file that cannot be written is an error with its path") {
  const std::string directory = std::filesystem::temp_directory_path() / "spindrift-never-made";
  const auto made = log::set_file(directory + "/log");
  REQUIRE_FALSE(made);
  CHECK(contains(made.error().to_string(), "No such file"));
  CHECK_FALSE(std::filesystem::exists(directory));
  const auto refused = log::configure(log::Level::info, "/proc/spindrift/log");
  REQUIRE_FALSE(refused);
  CHECK(refused.error().kind() == ErrorKind::resource);
  CHECK(refused.error().place() == "/proc/spindrift/log");
  CHECK_FALSE(refused.error().fix().empty());
}

TEST_CASE("a pipe that nobody reads is no log file, and is not waited for") {
  const std::string pipe = std::filesystem::temp_directory_path() / ("spindrift-log-pipe-" + std::to_string(::getpid()));
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  const auto refused = log::set_file(pipe);
  std::filesystem::remove(pipe);
  REQUIRE_FALSE(refused);
  CHECK(contains(refused.error().to_string(), "nobody reads this pipe"));
}

TEST_CASE("a log file that is renamed is made anew") {
  const LogFile file(log::Level::info);
  log::info(log::Room::core, "before");
  CHECK(contains(file.text(), "event=before"));
  const std::string rotated = file.path() + ".1";
  std::filesystem::rename(file.path(), rotated);
  log::info(log::Room::core, "after");
  CHECK(contains(file.text(), "event=after"));
  CHECK_FALSE(contains(file.text(), "event=before"));
  std::filesystem::remove(rotated);
}

TEST_CASE("a configuration that says nothing of the log leaves it as it is, and the last that does wins") {
  const LogFile file(log::Level::info);
  const auto config = [](const std::string& text) { return value_or_throw(Config::parse("[SPINDRIFT]\n" + text, "test")); };
  REQUIRE(config("").begin_logging());
  log::info(log::Room::core, "kept");
  REQUIRE(config("log_level = error\n").begin_logging());
  log::warn(log::Room::core, "dropped");
  REQUIRE(config("log_level = warn\n").begin_logging());
  log::warn(log::Room::core, "back");
  const std::string text = file.text();
  CHECK(contains(text, "event=kept"));
  CHECK_FALSE(contains(text, "event=dropped"));
  CHECK(contains(text, "event=back"));
  const auto refused = config("log_file = /proc/spindrift/log\n").begin_logging();
  REQUIRE_FALSE(refused);
  CHECK(refused.error().kind() == ErrorKind::resource);
}
