// The directory, its locks and its sockets. Starting processes take turns, so that cleaning up never looks like a live node
// to somebody who starts at the same time.
#include <spindrift/fabric/rendezvous.hpp>

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <set>
#include <system_error>
#include <utility>

#include <spindrift/core/log.hpp>
#include <spindrift/core/process.hpp>
#include <spindrift/core/runtime_path.hpp>
#include <spindrift/fabric/host_sockets.hpp>

namespace spindrift::fabric {
namespace {

constexpr std::string_view lock_suffix = ".lock";
constexpr std::string_view socket_suffix = ".sock";
constexpr std::string_view new_socket_suffix = ".sock.new";
/// A node may leave these behind when it dies; its lock, which says that it is dead, goes last.
constexpr std::array left_behind{socket_suffix, new_socket_suffix, counters_suffix, lock_suffix};
constexpr const char* turn_file = "claims.lock";
constexpr std::size_t group_name_length_max = 64;

bool valid_group_name(std::string_view name) noexcept {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
  };
  return !name.empty() && name.size() <= group_name_length_max && name.front() != '.' &&
         std::all_of(name.begin(), name.end(), allowed);
}

/// Whether the holder of a lock has ended soon, or has given it back. One that runs on is waited for a moment alone: it may
/// just have been killed.
bool await_end(std::optional<pid_t> holder) {
  constexpr int moment_ms = 50;
  constexpr int most_ms = 10'000;  // for gigabytes to be taken down on a busy machine
  if (!holder) return true;        // another look tells
  if (*holder == ::getpid()) return false;
  const FileDescriptor process = open_process(*holder);
  if (!process) return errno == ESRCH;
  pollfd wait{.fd = process.get(), .events = POLLIN, .revents = 0};
  if (::poll(&wait, 1, moment_ms) > 0) return true;
  return is_over(process, *holder) && ::poll(&wait, 1, most_ms) > 0;
}

}  // namespace

Result<Rendezvous> Rendezvous::open(const std::string& runtime_directory, const std::string& group_name) {
  if (!valid_group_name(group_name)) {
    return Error(ErrorKind::bad_argument, "\"" + group_name + "\" cannot name a group on this host")
        .fix("use 1 to 64 characters of A-Z a-z 0-9 . _ -, not beginning with a dot");
  }
  SPINDRIFT_TRY_ASSIGN(GuardedDirectory directory, GuardedDirectory::open(runtime_directory, group_name));
  return Rendezvous(std::move(directory));
}

Rendezvous::~Rendezvous() {
  if (!lock_ || !lock_->ours()) return;
  remove(self_, socket_suffix);
  remove(self_, lock_suffix);
}

void Rendezvous::remove(NodeId node, std::string_view suffix) const noexcept {
  ::unlinkat(directory_.descriptor(), node_file_name(node, suffix).c_str(), 0);  // absent is as good as removed
}

Result<std::optional<NodeLock>> Rendezvous::try_lock(NodeId node) const {
  const std::string name = node_file_name(node, lock_suffix);
  auto lock = NodeLock::try_take(directory_.descriptor(), name);
  if (!lock) return std::move(lock).error().at(directory_.path() + "/" + name);
  return lock;
}

// Others know of a death before the kernel has given back what the process held: whoever starts its node again may come in
// between.
Result<void> Rendezvous::claim(NodeId self) {
  SPINDRIFT_TRY_ASSIGN(bool claimed, try_claim(self));
  if (claimed) return {};
  const auto holder = NodeLock::holder(directory_.descriptor(), node_file_name(self, lock_suffix));
  if (await_end(holder)) {
    SPINDRIFT_TRY_ASSIGN(claimed, try_claim(self));
  }
  if (claimed) return {};
  const std::string process = holder ? std::to_string(*holder) : "unknown";
  return Error(ErrorKind::refused, "node " + std::to_string(self.value()) + " is already running as pid " + process)
      .at(directory_.path())
      .fix("stop that process, or give this one another node id");
}

Result<bool> Rendezvous::try_claim(NodeId self) {
  const auto turn = Turn::wait(directory_.descriptor(), turn_file);
  if (!turn) return Error(turn.error()).at(directory_.path() + "/" + turn_file);
  SPINDRIFT_TRY_ASSIGN(auto lock, try_lock(self));
  if (!lock) return false;
  lock_.emplace(std::move(*lock));
  self_ = self;
  remove(self, socket_suffix);
  remove_stale_files();
  return true;
}

Result<std::set<NodeId>> Rendezvous::nodes_with(std::span<const std::string_view> suffixes) const {
  std::set<NodeId> nodes;
  const int listing = ::openat(directory_.descriptor(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* directory = listing < 0 ? nullptr : ::fdopendir(listing);
  if (directory == nullptr) return system_error("open", errno).at(directory_.path());
  while (const dirent* entry = ::readdir(directory)) {
    for (const auto suffix : suffixes) {
      if (const auto node = node_of_file(entry->d_name, suffix)) nodes.insert(*node);
    }
  }
  ::closedir(directory);
  return nodes;
}

Result<std::vector<NodeId>> Rendezvous::others(const std::function<bool(NodeId)>& live) const {
  SPINDRIFT_TRY_ASSIGN(const std::set<NodeId> nodes, nodes_with(std::span(&lock_suffix, 1)));
  std::vector<NodeId> others;
  for (const NodeId node : nodes) {
    if (lock_ && node == self_) continue;
    if ((live && live(node)) || is_claimed(directory_, node)) others.push_back(node);
  }
  return others;
}

bool Rendezvous::is_claimed(const GuardedDirectory& directory, NodeId node) {
  return NodeLock::held(directory.descriptor(), node_file_name(node, lock_suffix));
}

void Rendezvous::remove_stale_files() const {
  const auto nodes = nodes_with(left_behind);
  if (!nodes) return;  // they hurt nobody but the eye; the next start tries again
  for (const NodeId node : *nodes) {
    if (node == self_) continue;
    const auto lock = try_lock(node);
    if (!lock || !*lock) continue;
    for (const auto suffix : left_behind) remove(node, suffix);
    log::info(log::Room::fabric, "stale_files_removed", {{"node", node}, {"directory", directory_.path()}});
  }
}

Result<FileDescriptor> Rendezvous::listen() { return listen_in(directory_, node_file_name(self_, socket_suffix)); }

Result<std::optional<FileDescriptor>> Rendezvous::call(NodeId node) const {
  return call_in(directory_, node_file_name(node, socket_suffix));
}

Result<std::optional<FileDescriptor>> Rendezvous::watch_arrivals() const { return watch_directory(directory_); }

bool Rendezvous::in_place() const noexcept {
  struct stat socket {};
  return lock_ && lock_->named(directory_.descriptor()) &&
         ::fstatat(directory_.descriptor(), node_file_name(self_, socket_suffix).c_str(), &socket, AT_SYMLINK_NOFOLLOW) == 0;
}

Error Rendezvous::displaced() const {
  return Error(ErrorKind::resource,
               "this directory, or what this node has in it, was removed or renamed while the node ran: no process finds "
               "the node any more, and a second group of this name could begin")
      .at(directory_.path())
      .fix("leave the directory alone as long as members run, and start them again");
}

std::optional<NodeId> Rendezvous::node_of_socket(std::string_view file_name) noexcept {
  return node_of_file(file_name, socket_suffix);
}

}  // namespace spindrift::fabric
