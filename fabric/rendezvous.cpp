// The directory, its locks and its sockets. Starting processes take turns by a lock on the directory itself, so that
// cleaning up never looks like a live node to somebody who starts at the same time.
#include <spindrift/fabric/rendezvous.hpp>

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <set>
#include <system_error>
#include <utility>

#include <spindrift/core/log.hpp>

namespace spindrift::fabric {
namespace {

constexpr std::string_view lock_suffix = ".lock";
constexpr std::string_view socket_suffix = ".sock";
constexpr std::string_view new_socket_suffix = ".sock.new";
constexpr std::string_view counters_suffix = ".counters";
constexpr std::size_t group_name_length_max = 64;
constexpr int backlog = 256;

std::string file_name(NodeId node, std::string_view suffix) { return std::to_string(node.value()).append(suffix); }

std::optional<NodeId> node_of_file(std::string_view name, std::string_view suffix) noexcept {
  if (!name.ends_with(suffix)) return std::nullopt;
  const std::string_view digits = name.substr(0, name.size() - suffix.size());
  std::uint32_t id = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), id);
  if (error != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
  if (digits.size() > 1 && digits.front() == '0') return std::nullopt;  // nobody of us writes leading zeros
  return NodeId(id);
}

bool valid_group_name(std::string_view name) noexcept {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
  };
  return !name.empty() && name.size() <= group_name_length_max && name.front() != '.' &&
         std::all_of(name.begin(), name.end(), allowed);
}

/// An address through the open directory: any path fits into sun_path, and nobody can swap the directory under us.
sockaddr_un address_in(int directory, const std::string& name) noexcept {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/%s", directory, name.c_str());
  return address;
}

Result<FileDescriptor> new_socket() {
  FileDescriptor socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return system_error("socket", errno).fix("raise the limit of open files (ulimit -n)");
  return socket;
}

Result<void> make_directory(const std::string& path) {
  if (::mkdir(path.c_str(), S_IRWXU) == 0 || errno == EEXIST) return {};
  return system_error("mkdir", errno).at(path).fix("choose a runtime directory that this user may write");
}

/// What the holder of a lock file wrote into it.
std::string pid_in(int lock) {
  std::array<char, 16> text{};
  const ssize_t bytes = ::pread(lock, text.data(), text.size(), 0);
  const auto length = static_cast<std::size_t>(std::max<ssize_t>(bytes, 0));
  const std::string pid(text.data(),
                        std::find_if(text.data(), text.data() + length, [](char c) { return c < '0' || c > '9'; }));
  return pid.empty() ? "unknown" : pid;
}

}  // namespace

Result<Rendezvous> Rendezvous::open(const std::string& runtime_directory, const std::string& group_name) {
  if (!valid_group_name(group_name)) {
    return Error(ErrorKind::bad_argument, "\"" + group_name + "\" cannot name a group on this host")
        .fix("use 1 to 64 characters of A-Z a-z 0-9 . _ -, not beginning with a dot");
  }
  const std::string path = runtime_directory + "/" + group_name;
  SPINDRIFT_TRY(make_directory(runtime_directory));
  SPINDRIFT_TRY(make_directory(path));

  FileDescriptor directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!directory) return system_error("open", errno).at(path).fix("remove it, or choose another runtime directory");
  struct stat status {};
  if (::fstat(directory.get(), &status) != 0) return system_error("fstat", errno).at(path);
  if (status.st_uid != ::geteuid()) {
    return Error(ErrorKind::refused, "the directory belongs to user " + std::to_string(status.st_uid) +
                                         ", this process runs as user " + std::to_string(::geteuid()))
        .at(path)
        .fix("run all processes of the group as one user, or choose another runtime directory");
  }
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return Error(ErrorKind::refused, "others than its owner may write the directory").at(path).fix("chmod 700 " + path);
  }
  return Rendezvous(std::move(directory), path);
}

Rendezvous::~Rendezvous() {
  if (!lock_) return;
  remove(self_, socket_suffix);
  remove(self_, lock_suffix);
}

void Rendezvous::remove(NodeId node, std::string_view suffix) const noexcept {
  ::unlinkat(directory_.get(), file_name(node, suffix).c_str(), 0);  // absent is as good as removed
}

Result<std::optional<FileDescriptor>> Rendezvous::try_lock(NodeId node) const {
  const std::string name = file_name(node, lock_suffix);
  while (true) {
    FileDescriptor lock(::openat(directory_.get(), name.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!lock) return system_error("open", errno).at(path_ + "/" + name);
    if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
      if (errno == EWOULDBLOCK) return std::optional<FileDescriptor>();
      return system_error("flock", errno).at(path_ + "/" + name);
    }
    // A node that ends removes its file: the lock counts only on the file that the name still means.
    struct stat held {};
    struct stat named {};
    if (::fstat(lock.get(), &held) == 0 && ::fstatat(directory_.get(), name.c_str(), &named, AT_SYMLINK_NOFOLLOW) == 0 &&
        held.st_ino == named.st_ino) {
      return std::optional<FileDescriptor>(std::move(lock));
    }
  }
}

Result<void> Rendezvous::claim(NodeId self) {
  if (::flock(directory_.get(), LOCK_EX) != 0) return system_error("flock", errno).at(path_);
  auto claimed = claim_locked(self);
  ::flock(directory_.get(), LOCK_UN);
  return claimed;
}

Result<void> Rendezvous::claim_locked(NodeId self) {
  auto lock = try_lock(self);
  if (!lock) return std::move(lock).error();
  if (!*lock) {
    const FileDescriptor held(::openat(directory_.get(), file_name(self, lock_suffix).c_str(), O_RDONLY | O_CLOEXEC));
    const std::string node = std::to_string(self.value());
    return Error(ErrorKind::refused, "node " + node + " is already running as pid " + pid_in(held.get()))
        .at(path_)
        .fix("stop that process, or give this one another node id");
  }
  lock_ = std::move(**lock);
  self_ = self;
  const std::string pid = std::to_string(::getpid()) + "\n";
  if (::ftruncate(lock_.get(), 0) != 0 || ::pwrite(lock_.get(), pid.data(), pid.size(), 0) < 0) {
    return system_error("write the pid", errno).at(path_ + "/" + file_name(self, lock_suffix));
  }
  remove(self, socket_suffix);
  remove_stale_files();
  return {};
}

void Rendezvous::remove_stale_files() const {
  const int listing = ::openat(directory_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* directory = listing < 0 ? nullptr : ::fdopendir(listing);
  if (directory == nullptr) return;  // stale files hurt nobody but the eye; the next start tries again
  std::set<NodeId> nodes;
  while (const dirent* entry = ::readdir(directory)) {
    for (const auto suffix : {lock_suffix, socket_suffix, new_socket_suffix, counters_suffix}) {
      if (const auto node = node_of_file(entry->d_name, suffix)) nodes.insert(*node);
    }
  }
  ::closedir(directory);
  for (const NodeId node : nodes) {
    if (node == self_) continue;
    const auto lock = try_lock(node);
    if (!lock || !*lock) continue;
    for (const auto suffix : {socket_suffix, new_socket_suffix, counters_suffix, lock_suffix}) remove(node, suffix);
    log::info(log::Room::fabric, "stale_files_removed", {{"node", node}, {"directory", path_}});
  }
}

Result<FileDescriptor> Rendezvous::listen() {
  SPINDRIFT_TRY_ASSIGN(auto socket, new_socket());
  remove(self_, new_socket_suffix);
  const std::string hidden = file_name(self_, new_socket_suffix);
  const std::string name = file_name(self_, socket_suffix);
  const sockaddr_un address = address_in(directory_.get(), hidden);
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return system_error("bind", errno).at(path_ + "/" + hidden);
  }
  if (::listen(socket.get(), backlog) != 0) return system_error("listen", errno).at(path_ + "/" + hidden);
  if (::renameat(directory_.get(), hidden.c_str(), directory_.get(), name.c_str()) != 0) {
    return system_error("rename", errno).at(path_ + "/" + name);
  }
  return socket;
}

Result<std::optional<FileDescriptor>> Rendezvous::call(NodeId node) const {
  SPINDRIFT_TRY_ASSIGN(auto socket, new_socket());
  const std::string name = file_name(node, socket_suffix);
  const sockaddr_un address = address_in(directory_.get(), name);
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
    return std::optional<FileDescriptor>(std::move(socket));
  }
  if (errno == ENOENT || errno == ECONNREFUSED) return std::optional<FileDescriptor>();
  return system_error("connect", errno).at(path_ + "/" + name);
}

Result<FileDescriptor> Rendezvous::watch_arrivals() const {
  FileDescriptor watch(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  if (!watch) return system_error("inotify_init1", errno).fix("raise the sysctl fs.inotify.max_user_instances");
  const std::string through = "/proc/self/fd/" + std::to_string(directory_.get());
  if (::inotify_add_watch(watch.get(), through.c_str(), IN_MOVED_TO | IN_ONLYDIR) < 0) {
    return system_error("inotify_add_watch", errno).at(path_).fix("raise the sysctl fs.inotify.max_user_watches");
  }
  return watch;
}

std::optional<NodeId> Rendezvous::node_of_socket(std::string_view file_name) noexcept {
  return node_of_file(file_name, socket_suffix);
}

}  // namespace spindrift::fabric
