// Logging on spdlog; no other file includes it. A line is complete on its own: time, level, room, event, fields as
// key=value, and is flushed before write returns, so that a process that dies loses none.
#include <spindrift/core/log.hpp>

#include <fcntl.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <memory>
#include <mutex>
#include <span>

#include <fmt/format.h>
#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <spindrift/core/file_descriptor.hpp>
#include <spindrift/core/log_file.hpp>
#include <spindrift/core/log_levels.hpp>
#include <spindrift/core/log_value.hpp>

namespace spindrift::log {
namespace {

constexpr Level default_level = Level::warn;

std::array<std::atomic<Level>, room_count> levels = {default_level, default_level, default_level, default_level,
                                                     default_level, default_level, default_level, default_level,
                                                     default_level, default_level};
static_assert(room_count == 10, "every room begins at that level");

std::shared_ptr<spdlog::logger> make_logger(spdlog::sink_ptr sink) {
  auto logger = std::make_shared<spdlog::logger>("spindrift", std::move(sink));
  logger->set_formatter(
      std::make_unique<spdlog::pattern_formatter>("time=%Y-%m-%dT%H:%M:%S.%fZ %v", spdlog::pattern_time_type::utc));
  logger->set_level(spdlog::level::trace);
  logger->flush_on(spdlog::level::trace);
  return logger;
}

/// The destination of all lines. It is never destroyed: a thread may log while the process exits.
class Output {
 public:
  Output() : logger_(make_logger(std::make_shared<spdlog::sinks::stderr_sink_mt>())) {}

  void replace(std::shared_ptr<spdlog::logger> logger) {
    const std::lock_guard lock(mutex_);
    logger_ = std::move(logger);
  }
  std::shared_ptr<spdlog::logger> logger() {
    const std::lock_guard lock(mutex_);
    return logger_;
  }

 private:
  std::mutex mutex_;
  std::shared_ptr<spdlog::logger> logger_;
};

Output& output() {
  static auto* const instance = new Output;
  return *instance;
}

LevelTable current_levels() {
  LevelTable table{};
  for (std::size_t i = 0; i < room_count; ++i) table[i] = levels[i].load(std::memory_order_relaxed);
  return table;
}

void apply(const LevelTable& table) {
  for (std::size_t i = 0; i < room_count; ++i) levels[i].store(table[i], std::memory_order_relaxed);
}

Error unwritable(const std::string& file, std::string_view why) {
  return Error(ErrorKind::resource, fmt::format("cannot write the log: {}", why))
      .at(file)
      .fix(
          "name a file in a directory that is there and that this user may write, or leave log_file empty for standard "
          "error");
}

}  // namespace

Result<void> set_file(const std::string& file) {
  if (file.empty()) {
    output().replace(make_logger(std::make_shared<spdlog::sinks::stderr_sink_mt>()));
    return {};
  }
  // The library would make the directories of a mistaken name.
  const FileDescriptor opened(::open(file.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666));
  if (!opened) return unwritable(file, std::strerror(errno));
  try {
    output().replace(make_logger(std::make_shared<spdlog::sinks::basic_file_sink_mt>(file)));
  } catch (const spdlog::spdlog_ex& refused) {
    return unwritable(file, refused.what());
  }
  return {};
}

Result<void> configure(Level level, const std::string& file) {
  SPINDRIFT_TRY(set_file(file));
  LevelTable table{};
  table.fill(level);
  apply(table);
  return {};
}

void set_level(Room room, Level level) noexcept {
  levels[static_cast<std::size_t>(room)].store(level, std::memory_order_relaxed);
}

Result<void> set_levels(std::string_view specification) {
  SPINDRIFT_TRY_ASSIGN(const auto table, parse_levels(specification, current_levels()));
  apply(table);
  return {};
}

bool enabled(Room room, Level level) noexcept {
  return level != Level::off && level >= levels[static_cast<std::size_t>(room)].load(std::memory_order_relaxed);
}

void write_fields(Room room, Level level, std::string_view event, std::span<const Field> fields) {
  std::string line = fmt::format("level={} room={} event=", to_string(level), to_string(room));
  append_value(line, event);
  for (const Field& field : fields) {
    line += ' ';
    line += field.key;
    line += '=';
    append_value(line, field.value);
  }
  // spdlog's own level is open: the level of the room has been tested by the caller.
  output().logger()->log(spdlog::level::critical, spdlog::string_view_t(line.data(), line.size()));
}

}  // namespace spindrift::log
