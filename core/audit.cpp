// From events to lines, and from lines to a file.
#include <spindrift/core/audit.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <utility>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <spindrift/core/log_value.hpp>

namespace spindrift {
namespace {

constexpr std::array<std::string_view, audit_kind_count> names = {"began",
                                                                  "proved",
                                                                  "refused",
                                                                  "cut_off",
                                                                  "joined",
                                                                  "left",
                                                                  "removed",
                                                                  "stopped",
                                                                  "key_changed",
                                                                  "authorities_changed",
                                                                  "revocations_changed",
                                                                  "keys_rejected"};

/// Events of these kinds strangers can cause as often as they like.
bool bounded(AuditKind kind) { return kind == AuditKind::refused || kind == AuditKind::proved; }

/// At the level that is the default, nothing is invisible that somebody may have to act on and that nobody else says. The
/// end of this very member is an error of its program's, too.
log::Level level_of(AuditKind kind, bool own) {
  if (kind == AuditKind::removed && own) return log::Level::info;
  switch (kind) {
    case AuditKind::began:
    case AuditKind::proved:
    case AuditKind::joined:
    case AuditKind::left:
    case AuditKind::stopped: return log::Level::info;
    case AuditKind::keys_rejected: return log::Level::error;
    case AuditKind::refused:
    case AuditKind::cut_off:
    case AuditKind::removed:
    case AuditKind::key_changed:
    case AuditKind::authorities_changed:
    case AuditKind::revocations_changed: break;
  }
  return log::Level::warn;
}

std::string cut(std::string text) {
  constexpr std::size_t value_bytes_max = 1000;
  if (text.size() <= value_bytes_max) return text;
  text.resize(value_bytes_max);
  return text + "...";
}

/// A field for each thing that is known.
std::vector<log::Field> fields_of(AuditEvent event) {
  std::vector<log::Field> fields;
  const auto add = [&fields](std::string_view key, const std::string& text) {
    if (!text.empty()) fields.emplace_back(key, cut(text));
  };
  if (event.subject) fields.emplace_back("subject", *event.subject);
  if (event.by) fields.emplace_back("by", *event.by);
  add("address", event.address);
  add("from", event.from);
  add("to", event.to);
  if (event.certificate) {
    add("identity", event.certificate->identity);
    add("serial", event.certificate->serial);
    add("fingerprint", event.certificate->fingerprint);
  }
  add("reason", event.reason);
  for (log::Field& field : event.more) fields.emplace_back(field.key, cut(std::move(field.value)));
  return fields;
}

std::string text_of(std::chrono::system_clock::time_point at) {
  const auto now = std::chrono::floor<std::chrono::microseconds>(at);
  const auto seconds = std::chrono::floor<std::chrono::seconds>(now);
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:06}Z", fmt::gmtime(std::chrono::system_clock::to_time_t(seconds)),
                     (now - seconds).count());
}

/// Appends lines to a file that may be full, be renamed or be forbidden meanwhile.
class AuditFile {
 public:
  explicit AuditFile(std::string path) : path_(std::move(path)) {}

  void append(const Line& line, std::uint64_t lost) {
    lost_ += lost;
    std::string text = fmt::format("{}time={} {}", torn_ ? "\n" : "", text_of(line.at), line.text);
    if (lost_ > 0) text += fmt::format(" lost={}", lost_);
    text += '\n';
    const auto file = open_audit_file(path_, AbsentFile::make);  // anew if somebody has renamed it
    if (!file) return on_failure(file.error());
    const ssize_t written = ::write(file->get(), text.data(), text.size());
    if (written != static_cast<ssize_t>(text.size())) {
      torn_ = torn_ || written > 0;
      return on_failure(system_error("write it", written < 0 ? errno : ENOSPC).at(path_).fix("see to the disk"));
    }
    torn_ = false;
    lost_ = 0;
    complaint_.clear();
  }

 private:
  // Told once, until the file can be written again.
  void on_failure(const Error& why) {
    ++lost_;
    std::string complaint = why.to_string();
    if (complaint_ == complaint) return;
    complaint_ = std::move(complaint);
    log::error(log::Room::audit, "the audit file cannot be written", {{"reason", complaint_}});
  }

  const std::string path_;
  std::string complaint_;   ///< as it was told last; empty: the file can be written
  std::uint64_t lost_ = 0;  ///< lines that the file lacks
  bool torn_ = false;       ///< the file's last line is not whole
};

std::unique_ptr<LineWriter> writer_to(const std::string& path) {
  if (path.empty()) return nullptr;
  return std::make_unique<LineWriter>([file = std::make_shared<AuditFile>(path)](const Line& line, std::uint64_t lost) {
    file->append(line, lost);
  });
}

}  // namespace

Result<FileDescriptor> open_audit_file(const std::string& path, AbsentFile absent) {
  constexpr mode_t owner_alone = S_IRUSR | S_IWUSR;
  const int flags = O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
  FileDescriptor file(::open(path.c_str(), absent == AbsentFile::make ? flags | O_CREAT : flags, owner_alone));
  if (!file) return system_error("open it", errno).at(path).fix("name a file in a directory that this user may write");
  struct stat found {};
  if (::fstat(file.get(), &found) != 0) return system_error("look at it", errno).at(path);
  if (S_ISREG(found.st_mode) && found.st_uid == ::geteuid() && (found.st_mode & (S_IWGRP | S_IWOTH)) == 0) return file;
  return Error(ErrorKind::bad_config, "it is no file of this user that nobody else may write")
      .at(path)
      .fix("name another file, or chown and chmod 600 this one");
}

const SystemClock AuditTrail::system_clock;

std::string_view to_string(AuditKind kind) noexcept { return names.at(static_cast<std::size_t>(kind)); }

AuditTrail::AuditTrail(std::string group, NodeId node, const std::string& file, const Clock& clock)
    : clock_(clock), group_(std::move(group)), node_(node), file_(writer_to(file)) {}

void AuditTrail::write(AuditEvent event) {
  const std::lock_guard lock(mutex_);
  if (!within_budget(event)) return;
  const AuditKind kind = event.kind;
  const log::Level level = level_of(kind, !group_.empty() && event.subject == node_);
  std::vector<log::Field> fields = fields_of(std::move(event));
  if (!group_.empty()) {
    const std::array whose{log::Field("group", group_), log::Field("node", node_)};
    fields.insert(fields.begin(), whose.begin(), whose.end());
  }
  const std::string_view name = to_string(kind);
  if (log::enabled(log::Room::audit, level)) log::write_fields(log::Room::audit, level, name, fields);
  if (!file_) return;
  std::string line = fmt::format("event={}", name);
  for (const log::Field& field : fields) {
    line += ' ';
    line += field.key;
    line += '=';
    log::append_value(line, field.value, log::Plain::ascii);
  }
  file_->write(std::move(line));
}

bool AuditTrail::await_written(std::chrono::milliseconds limit) { return !file_ || file_->await_written(limit); }

/// Whether the event is to be told of; it says then how many before it were not.
bool AuditTrail::within_budget(AuditEvent& event) {
  if (!bounded(event.kind)) return true;
  Budget& budget = budgets_.at(static_cast<std::size_t>(event.kind));
  if (const Time now = clock_.now(); now >= budget.until) {
    budget.until = now + between_lines;
    budget.lines = 0;
  }
  if (budget.lines == lines_max) {
    ++budget.unsaid;
    return false;
  }
  ++budget.lines;
  if (const std::uint64_t unsaid = std::exchange(budget.unsaid, 0); unsaid > 0) event.more.emplace_back("unsaid", unsaid);
  return true;
}

}  // namespace spindrift
