// Logging on spdlog; no other file includes it. A line is complete on its own: time, level, room, event, fields as
// key=value. It is flushed before write returns, as long as its destination takes it: a process that dies loses none.
#include <spindrift/core/log.hpp>

#include <fcntl.h>
#include <sys/stat.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <spdlog/logger.h>
#include <spdlog/details/null_mutex.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/basic_file_sink.h>

#include <spindrift/core/file_descriptor.hpp>
#include <spindrift/core/line_writer.hpp>
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

spdlog::sink_ptr with_time(spdlog::sink_ptr sink) {
  sink->set_formatter(
      std::make_unique<spdlog::pattern_formatter>("time=%Y-%m-%dT%H:%M:%S.%fZ %v", spdlog::pattern_time_type::utc));
  return sink;
}

class ErrorSink final : public spdlog::sinks::base_sink<spdlog::details::null_mutex> {
 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    write_to_standard_error({line.data(), line.size()});
  }
  void flush_() override {}
};

/// The file that a name leads to at this moment.
struct FileIdentity {
  dev_t device;
  ino_t number;

  bool operator==(const FileIdentity&) const = default;
};

std::optional<FileIdentity> identity_of(const std::string& path) {
  struct stat found {};
  if (::stat(path.c_str(), &found) != 0) return std::nullopt;
  return FileIdentity{found.st_dev, found.st_ino};
}

/// Brings lines to standard error or to a file. A file that somebody has renamed or removed is made anew, as those expect
/// who rotate logs; as long as it cannot be, lines go on to the old one.
class Destination {
 public:
  /// `path` empty: standard error. Throws spdlog::spdlog_ex.
  explicit Destination(std::string path) : path_(std::move(path)) { open(); }

  void bring(const Line& line, std::uint64_t lost) {
    if (!path_.empty() && identity_of(path_) != opened_) reopen();
    const std::string text = lost == 0 ? line.text : fmt::format("{} lost={}", line.text, lost);
    // spdlog's own level is open: the level of the room has been tested by the caller.
    logger_->log(line.at, spdlog::source_loc{}, spdlog::level::critical, spdlog::string_view_t(text.data(), text.size()));
  }

 private:
  void open() {
    spdlog::sink_ptr sink;
    if (path_.empty()) {
      sink = std::make_shared<ErrorSink>();
    } else {
      sink = std::make_shared<spdlog::sinks::basic_file_sink_mt>(path_);
      opened_ = identity_of(path_);
    }
    logger_ = std::make_unique<spdlog::logger>("spindrift", with_time(std::move(sink)));
    logger_->set_level(spdlog::level::trace);
    logger_->flush_on(spdlog::level::trace);
  }
  void reopen() {
    try {
      open();
    } catch (const spdlog::spdlog_ex&) {
      // The library has closed nothing: the logger is still that of the old file.
    }
  }

  std::string path_;
  std::optional<FileIdentity> opened_;
  std::unique_ptr<spdlog::logger> logger_;
};

std::shared_ptr<LineWriter> writer_to(const std::string& path) {
  return std::make_shared<LineWriter>([destination = std::make_shared<Destination>(path)](
                                          const Line& line, std::uint64_t lost) { destination->bring(line, lost); });
}

/// The destination of all lines. It is never destroyed: a thread may log while the process exits.
class Output {
 public:
  Output() : writer_(writer_to("")) {
    std::atexit([] { static_cast<void>(await_written(LineWriter::farewell)); });
  }

  void replace(std::shared_ptr<LineWriter> writer) {
    {
      const std::lock_guard lock(mutex_);
      writer_.swap(writer);
    }
    // The one before ends here, and may await what it has not written.
  }
  std::shared_ptr<LineWriter> writer() {
    const std::lock_guard lock(mutex_);
    return writer_;
  }

 private:
  std::mutex mutex_;
  std::shared_ptr<LineWriter> writer_;
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
    output().replace(writer_to(""));
    return {};
  }
  // The library would make the directories of a mistaken name, and would wait for the reader of a pipe.
  const FileDescriptor opened(::open(file.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0666));
  if (!opened) return unwritable(file, errno == ENXIO ? "nobody reads this pipe" : std::strerror(errno));
  try {
    output().replace(writer_to(std::filesystem::absolute(file)));
  } catch (const spdlog::spdlog_ex& refused) {
    return unwritable(file, refused.what());
  }
  return {};
}

bool await_written(std::chrono::milliseconds limit) { return output().writer()->await_written(limit); }

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
  output().writer()->write(std::move(line));
}

}  // namespace spindrift::log
