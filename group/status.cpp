// The status as JSON. Reading trusts nothing: every field has its type and range, or the file is refused by name.
#include <spindrift/group/status.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <limits>
#include <mutex>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include <spindrift/core/bytes.hpp>
#include <spindrift/core/file_descriptor.hpp>
#include <spindrift/core/log.hpp>
#include <spindrift/core/process.hpp>
#include <spindrift/views/member.hpp>

namespace spindrift::group {
namespace {

using Json = nlohmann::json;

constexpr std::uint64_t format_version = 6;
/// One mutex for all of the process, which says its last word once.
std::mutex last_word_mutex;
bool last_word_said = false;  // behind the mutex
constexpr std::size_t file_bytes_max = 4U << 20U;
constexpr std::size_t list_max = 4096;
constexpr std::uint64_t process_max = static_cast<std::uint64_t>(std::numeric_limits<int>::max());

// ---- writing

Json to_json(const std::vector<NodeId>& nodes) {
  Json list = Json::array();
  for (const NodeId node : nodes) list.push_back(node.value());
  return list;
}

Json to_json(const MemberStatus::Change& change) {
  Json failed = Json::array();
  for (const views::Removal& each : change.failed) {
    failed.push_back(
        {{"node", each.node.value()}, {"reason", each.reason}, {"by", each.by ? Json(each.by->value()) : Json()}});
  }
  return {{"view", change.view.value()},      {"at_ms", change.at_ms},        {"members", to_json(change.members)},
          {"joined", to_json(change.joined)}, {"left", to_json(change.left)}, {"failed", failed}};
}

Json to_json(const std::optional<MemberStatus::Pause>& pause) {
  if (!pause) return nullptr;
  return {{"since_ms", pause->since_ms}, {"messages", pause->messages}};
}

Json to_json(const MemberStatus::SubgroupEntry& subgroup) {
  return {{"name", subgroup.name},
          {"mode", subgroup.mode == DeliveryMode::ordered ? "ordered" : "unordered"},
          {"storage", subgroup.storage == SubgroupStorage::logged ? "logged" : "memory"},
          {"members", to_json(subgroup.members)},
          {"senders", to_json(subgroup.senders)},
          {"inadequate", subgroup.inadequate},
          {"blocked", subgroup.blocked},
          {"paused", to_json(subgroup.paused)}};
}

Json to_json(const MemberStatus::End& end) { return {{"kind", end.kind}, {"reason", end.reason}, {"at_ms", end.at_ms}}; }

Json to_json(const MemberStatus::Predecessor& before) {
  return {{"process", before.process},
          {"view", before.view ? Json(before.view->value()) : Json()},
          {"end", before.end ? to_json(*before.end) : Json()},
          {"began_ms", before.began_ms}};
}

std::string text_of(const MemberStatus& status) {
  Json json{{"version", format_version},
            {"group", status.group},
            {"node", status.node.value()},
            {"incarnation", status.incarnation},
            {"process", status.process},
            {"process_started", status.beginning.ticks},
            {"partition_safety", status.partition_safety},
            {"state", status.state},
            {"state_since_ms", status.state_since_ms},
            {"view", status.view ? Json(status.view->value()) : Json()},
            {"end", status.end ? to_json(*status.end) : Json()},
            {"before", status.beginning.before ? to_json(*status.beginning.before) : Json()},
            {"agreed", status.beginning.agreed},
            {"journal", status.beginning.journal},
            {"began_ms", status.beginning.at_ms},
            {"looks_for", status.waits.group},
            {"leave_waits", status.waits.leave},
            {"handler_at_work", status.waits.handler},
            {"sends_wait", status.waits.sends},
            {"majority_lost", status.waits.majority},
            {"protocol", status.roster.version},
            {"version_held", status.roster.version_held},
            {"sizes_differ", status.roster.sizes_differ}};
  json["members"] = Json::array();
  for (const MemberStatus::MemberEntry& member : status.members) {
    json["members"].push_back(
        {{"node", member.node.value()}, {"incarnation", member.incarnation}, {"since_ms", member.since_ms}});
  }
  json["drained"] = to_json(status.roster.drained);
  json["subgroups"] = Json::array();
  for (const MemberStatus::SubgroupEntry& subgroup : status.subgroups) json["subgroups"].push_back(to_json(subgroup));
  json["changes"] = Json::array();
  for (const MemberStatus::Change& change : status.changes) json["changes"].push_back(to_json(change));
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

// ---- reading

/// Thrown within this file, and turned into a Result where it leaves.
struct Broken {
  std::string what;
};

/// An object of the file and what it is called there.
class Fields {
 public:
  Fields(const Json& object, std::string name) : object_(object), name_(std::move(name)) {
    if (!object_.is_object()) throw Broken{name_ + " is no object"};
  }

  [[nodiscard]] const Json& any(const char* field) const {
    const auto found = object_.find(field);
    if (found == object_.end()) throw Broken{name_ + " has no field " + field};
    return *found;
  }
  [[nodiscard]] std::uint64_t number(const char* field, std::uint64_t most = ~std::uint64_t{0}) const {
    const Json& value = any(field);
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() > most) throw broken(field, "is no number in range");
    return value.get<std::uint64_t>();
  }
  [[nodiscard]] NodeId node(const char* field) const {
    return NodeId(static_cast<std::uint32_t>(number(field, std::numeric_limits<std::uint32_t>::max())));
  }
  [[nodiscard]] bool flag(const char* field) const {
    if (!any(field).is_boolean()) throw broken(field, "is neither true nor false");
    return any(field).get<bool>();
  }
  /// Fit for a terminal, whatever it holds: the directory may be another user's.
  [[nodiscard]] std::string text(const char* field) const {
    if (!any(field).is_string()) throw broken(field, "is no text");
    return printable(std::as_bytes(std::span(any(field).get_ref<const std::string&>())));
  }
  [[nodiscard]] const Json& list(const char* field, std::size_t most = list_max) const {
    if (!any(field).is_array() || any(field).size() > most) throw broken(field, "is no list, or too long");
    return any(field);
  }
  [[nodiscard]] std::vector<NodeId> nodes(const char* field) const {
    std::vector<NodeId> ids;
    std::set<NodeId> known;
    for (const Json& value : list(field, member_count_max)) {
      if (!value.is_number_unsigned() || value.get<std::uint64_t>() > std::numeric_limits<std::uint32_t>::max())
        throw broken(field, "holds something that is no node id");
      ids.emplace_back(value.get<std::uint32_t>());
      if (!known.insert(ids.back()).second) throw broken(field, "names a node twice");
    }
    return ids;
  }

 private:
  [[nodiscard]] Broken broken(const char* field, const char* what) const { return {name_ + ": " + field + " " + what}; }

  const Json& object_;
  std::string name_;
};

MemberStatus::Change change_from(const Json& json) {
  const Fields fields(json, "a change");
  MemberStatus::Change change{.view = ViewId(fields.number("view")),
                        .at_ms = fields.number("at_ms"),
                        .members = fields.nodes("members"),
                        .joined = fields.nodes("joined"),
                        .left = fields.nodes("left"),
                        .failed = {}};
  for (const Json& each : fields.list("failed", member_count_max)) {
    const Fields removal(each, "a removal");
    change.failed.push_back({removal.node("node"), removal.text("reason"), {}});
    if (!removal.any("by").is_null()) change.failed.back().by = removal.node("by");
  }
  return change;
}

// Members of earlier releases do not say which handlers they have paused.
std::optional<MemberStatus::Pause> pause_from(const Json& subgroup) {
  const auto found = subgroup.find("paused");
  if (found == subgroup.end() || found->is_null()) return std::nullopt;
  const Fields fields(*found, "a pause");
  return MemberStatus::Pause{fields.number("since_ms"), fields.number("messages")};
}

MemberStatus::SubgroupEntry subgroup_from(const Json& json) {
  const Fields fields(json, "a subgroup");
  const std::string mode = fields.text("mode");
  if (mode != "ordered" && mode != "unordered") throw Broken{"a subgroup's mode is neither ordered nor unordered"};
  // Members of releases before there was another storage do not name theirs.
  const std::string storage = json.contains("storage") ? fields.text("storage") : "memory";
  if (storage != "memory" && storage != "logged") throw Broken{"a subgroup's storage is neither memory nor logged"};
  return {.name = fields.text("name"),
          .mode = mode == "ordered" ? DeliveryMode::ordered : DeliveryMode::unordered,
          .members = fields.nodes("members"),
          .senders = fields.nodes("senders"),
          .inadequate = fields.text("inadequate"),
          .blocked = fields.text("blocked"),
          .storage = storage == "logged" ? SubgroupStorage::logged : SubgroupStorage::memory,
          .paused = pause_from(json)};
}

bool names_a_state(std::string_view name) {
  using State = views::MemberState;
  constexpr std::array states{State::idle,     State::looking,    State::installing, State::active, State::changing,
                              State::concluding, State::departing, State::stranded, State::left, State::failed};
  return std::any_of(states.begin(), states.end(), [name](State state) { return to_string(state) == name; });
}

std::optional<MemberStatus::End> end_from(const Json& json) {
  if (json.is_null()) return std::nullopt;
  const Fields end(json, "the end");
  return MemberStatus::End{end.text("kind"), end.text("reason"), end.number("at_ms")};
}

MemberStatus::Predecessor predecessor_from(const Json& json) {
  const Fields fields(json, "the process before");
  MemberStatus::Predecessor before;
  before.process = fields.number("process", process_max);
  if (!fields.any("view").is_null()) before.view = ViewId(fields.number("view"));
  before.end = end_from(fields.any("end"));
  before.began_ms = fields.number("began_ms");
  return before;
}

std::map<std::string, std::string> agreed_from(const Json& json) {
  if (!json.is_object() || json.size() > list_max) throw Broken{"the file: agreed is no object, or too long"};
  std::map<std::string, std::string> agreed;
  for (const auto& [name, value] : json.items()) {
    const Fields fields(json, "agreed");
    agreed.emplace(printable(std::as_bytes(std::span(name))), fields.text(name.c_str()));
  }
  return agreed;
}

MemberStatus status_from(const Json& json) {
  const Fields fields(json, "the file");
  if (fields.number("version") != format_version) throw Broken{"it is of another version"};
  MemberStatus status;
  status.group = fields.text("group");
  status.node = fields.node("node");
  status.incarnation = fields.number("incarnation");
  status.process = fields.number("process", process_max);
  status.beginning.ticks = fields.number("process_started");
  status.partition_safety = fields.flag("partition_safety");
  status.state = fields.text("state");
  status.state_since_ms = fields.number("state_since_ms");
  if (!names_a_state(status.state)) throw Broken{"the file: state is none that a member can be in"};
  if (!fields.any("view").is_null()) status.view = ViewId(fields.number("view"));
  for (const Json& each : fields.list("members", member_count_max)) {
    const Fields member(each, "a member");
    status.members.push_back({member.node("node"), member.number("incarnation"), member.number("since_ms")});
  }
  status.roster.drained = fields.nodes("drained");
  for (const Json& each : fields.list("subgroups")) status.subgroups.push_back(subgroup_from(each));
  for (const Json& each : fields.list("changes", MemberStatus::changes_max)) status.changes.push_back(change_from(each));
  for (std::size_t i = 1; i < status.changes.size(); ++i) {
    if (status.changes[i].view <= status.changes[i - 1].view) throw Broken{"its changes are out of order"};
  }
  status.beginning.at_ms = fields.number("began_ms");
  status.waits.group = fields.text("looks_for");
  status.waits.leave = fields.text("leave_waits");
  status.waits.handler = fields.text("handler_at_work");
  status.waits.sends = fields.text("sends_wait");
  status.waits.majority = fields.text("majority_lost");
  status.roster.sizes_differ = fields.text("sizes_differ");
  status.roster.version_held = fields.text("version_held");
  status.roster.version = static_cast<std::uint32_t>(fields.number("protocol"));
  status.beginning.agreed = agreed_from(fields.any("agreed"));
  if (json.contains("journal")) status.beginning.journal = fields.text("journal");  // earlier releases do not name it
  status.end = end_from(fields.any("end"));
  if (!fields.any("before").is_null()) status.beginning.before = predecessor_from(fields.any("before"));
  return status;
}

Result<std::string> read_file(const std::string& path) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file) return system_error("open", errno).at(path);
  struct stat about {};
  if (::fstat(file.get(), &about) != 0) return system_error("fstat", errno).at(path);
  if (!S_ISREG(about.st_mode)) return Error(ErrorKind::bad_input, "not a status file: no regular file").at(path);
  std::string text;
  std::array<char, 16384> buffer{};
  for (;;) {
    const ssize_t count = ::read(file.get(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return system_error("read", errno).at(path);
    if (count == 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(count));
    if (text.size() > file_bytes_max) return Error(ErrorKind::bad_input, "not a status file: it is too large").at(path);
  }
}

}  // namespace

Result<void> write_last_status(const std::string& path, MemberStatus::End end) {
  const std::lock_guard lock(last_word_mutex);
  last_word_said = true;
  SPINDRIFT_TRY_ASSIGN(MemberStatus status, read_status(path));
  if (status.process != static_cast<std::uint64_t>(::getpid())) return {};
  status.end = std::move(end);
  return write_status(path, status);
}

Result<void> write_status_unless_over(const std::string& path, const MemberStatus& status) {
  const std::lock_guard lock(last_word_mutex);
  return last_word_said ? Result<void>{} : write_status(path, status);
}

Result<void> write_status(const std::string& path, const MemberStatus& status) {
  const std::string temporary = path + ".new";
  FileDescriptor file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!file) return system_error("open", errno).at(temporary);
  const std::string text = text_of(status);
  for (std::string_view rest = text; !rest.empty();) {
    const ssize_t count = ::write(file.get(), rest.data(), rest.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return system_error("write", count < 0 ? errno : EIO).at(temporary);
    rest.remove_prefix(static_cast<std::size_t>(count));
  }
  file.reset();
  if (::rename(temporary.c_str(), path.c_str()) != 0) return system_error("rename", errno).at(path);
  return {};
}

Result<MemberStatus> read_status(const std::string& path) {
  SPINDRIFT_TRY_ASSIGN(const auto text, read_file(path));
  const auto refuse = [&](const std::string& what) {
    return Error(ErrorKind::bad_input, "not a status file: " + what)
        .at(path)
        .fix("remove it, or look with the version that wrote it");
  };
  const Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) return refuse("it is no JSON");
  try {
    return status_from(json);
  } catch (const Broken& broken) {
    return refuse(broken.what);
  }
}

std::optional<MemberStatus::Predecessor> predecessor_at(const std::string& path) {
  const auto status = read_status(path);
  if (!status) return std::nullopt;
  if (!status->view && status->beginning.before && status->beginning.before->view) return status->beginning.before;
  return MemberStatus::Predecessor{status->process, status->view, status->end, status->beginning.at_ms};
}

// The state says Z or X of one that has ended and waits to be reaped.
std::uint64_t process_start_ticks(std::uint64_t process) {
  const auto task = task_state(static_cast<pid_t>(process));
  return !task || task->state == 'Z' || task->state == 'X' ? 0 : task->started;
}

bool process_stopped(std::uint64_t process) {
  const auto task = task_state(static_cast<pid_t>(process));
  return task && (task->state == 'T' || task->state == 't');
}

bool runs(const MemberStatus& status) {
  if (status.end) return false;
  const std::uint64_t started = process_start_ticks(status.process);
  return started != 0 && (status.beginning.ticks == 0 || started == status.beginning.ticks);
}

std::uint64_t wall_clock_ns() {
  const auto since_epoch = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(since_epoch).count());
}

std::uint64_t wall_clock_ms() { return wall_clock_ns() / 1'000'000; }

}  // namespace spindrift::group
