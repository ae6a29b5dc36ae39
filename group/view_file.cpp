// Files of records: locked by who writes them, and read by neighbors when nobody does.
#include <spindrift/group/view_file.hpp>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <utility>

#include <spindrift/core/digest.hpp>
#include <spindrift/core/log.hpp>
#include <spindrift/core/runtime_path.hpp>

namespace spindrift::group {
namespace {

constexpr std::string_view views_directory = "views";
constexpr std::string_view views_suffix = ".views";
constexpr std::string_view unfinished_suffix = ".views.new";
constexpr std::string_view lock_suffix = ".lock";
constexpr std::uint64_t magic = 0x53'57'45'49'56'4e'50'53;  // "SPNVIEWS"
constexpr off_t slots_at = 4096;
constexpr int rereads_max = 1000;

struct FileHeader {
  std::uint64_t magic = 0;
  std::uint32_t version = 0;
  std::uint32_t node = 0;
  std::array<std::byte, 16> boot{};  // of the machine
  std::uint64_t begun = 0;     // number of the store that was begun last
  std::uint64_t complete = 0;  // of the last one that is there
  std::array<std::uint64_t, 2> unused{};
};
static_assert(sizeof(FileHeader) == 64);

struct SlotHead {
  std::uint64_t number = 0;
  std::uint64_t bytes = 0;
  std::array<std::uint64_t, 2> digest{};
};

using Boot = std::array<std::byte, 16>;

/// The same for all processes from one start of the kernel to the next.
Result<Boot> this_boot() {
  constexpr const char* path = "/proc/sys/kernel/random/boot_id";
  const FileDescriptor file(::open(path, O_RDONLY | O_CLOEXEC));
  if (!file) return system_error("open", errno).at(path);
  std::array<char, 64> text{};
  const ssize_t bytes = ::read(file.get(), text.data(), text.size());
  if (bytes <= 0) return system_error("read", bytes == 0 ? EIO : errno).at(path);
  const Digest digest = digest_of(std::string_view(text.data(), static_cast<std::size_t>(bytes)));
  Boot boot{};
  std::copy_n(std::as_bytes(std::span(digest.words)).begin(), boot.size(), boot.begin());
  return boot;
}

std::string number(NodeId node) { return std::to_string(node.value()); }

Error damaged(const std::string& path, const std::string& what, NodeId node) {
  return Error(ErrorKind::bad_input, "the record of views of node " + number(node) + " cannot be read: " + what)
      .at(path)
      .fix("if this node may forget which view of the group it was in last, run spindrift group forget for it on this host, "
           "which says what may be lost");
}

Error taken(const std::string& path, NodeId node) {
  return Error(ErrorKind::refused, "a process of node " + number(node) + " runs on this host and keeps its record of views")
      .at(path)
      .fix("end that process, or give this one another id ([DERECHO] local_id, --id)");
}

Result<void> read_at(int file, std::span<std::byte> to, off_t at, const std::string& path) {
  while (!to.empty()) {
    const ssize_t read = ::pread(file, to.data(), to.size(), at);
    if (read < 0 && errno == EINTR) continue;
    if (read < 0) return system_error("pread", errno).at(path);
    if (read == 0) return Error(ErrorKind::bad_input, "it is too short").at(path);
    to = to.subspan(static_cast<std::size_t>(read));
    at += read;
  }
  return {};
}

Result<void> write_at(int file, std::span<const std::byte> from, off_t at, const std::string& path) {
  while (!from.empty()) {
    const ssize_t written = ::pwrite(file, from.data(), from.size(), at);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return system_error("pwrite", errno).at(path).fix("see that the runtime directory has room");
    from = from.subspan(static_cast<std::size_t>(written));
    at += written;
  }
  return {};
}

Result<void> write_word(int file, std::uint64_t word, std::size_t at, const std::string& path) {
  return write_at(file, std::as_bytes(std::span(&word, 1)), static_cast<off_t>(at), path);
}

Result<void> check_owner(int file, const std::string& path) {
  struct stat status {};
  if (::fstat(file, &status) != 0) return system_error("fstat", errno).at(path);
  const bool own = S_ISREG(status.st_mode) && status.st_uid == ::geteuid() && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
  if (own) return {};
  return Error(ErrorKind::refused, "it is no file that this user alone may write")
      .at(path)
      .fix("chown it to the user that runs the node, and chmod 600 " + path + "; without it the node forgets its last view");
}

/// A store with its number; nothing: none was made since this boot.
using Stored = std::optional<std::pair<std::uint64_t, views::ViewRecord>>;

Result<Stored> read_slot(int file, const std::string& path, NodeId node, std::uint64_t number) {
  const off_t slot = slots_at + static_cast<off_t>(number % 2 * ViewFile::slot_bytes);
  SlotHead head;
  if (const auto read = read_at(file, std::as_writable_bytes(std::span(&head, 1)), slot, path); !read)
    return damaged(path, read.error().message(), node);
  if (head.number != number || head.bytes > ViewFile::slot_bytes - sizeof head)
    return damaged(path, "its last store is not there", node);
  std::vector<std::byte> bytes(head.bytes);
  if (const auto read = read_at(file, bytes, slot + static_cast<off_t>(sizeof head), path); !read)
    return damaged(path, read.error().message(), node);
  ByteReader reader(bytes);
  views::ViewRecord record;
  if (digest_of(std::span<const std::byte>(bytes)).words != head.digest) return damaged(path, "its digest is wrong", node);
  if (!get_record(reader, record) || !reader.complete()) return damaged(path, "its content is impossible", node);
  return Stored(std::pair(number, std::move(record)));
}

/// The file's store that is complete.
Result<Stored> read_record(int file, const std::string& path, NodeId node) {
  FileHeader header;
  if (const auto read = read_at(file, std::as_writable_bytes(std::span(&header, 1)), 0, path); !read)
    return damaged(path, read.error().message(), node);
  if (header.magic != magic) return damaged(path, "it is no such record", node);
  if (header.version != ViewFile::version) {
    return damaged(path, "its version is " + std::to_string(header.version) + ", and this build knows " +
                             std::to_string(ViewFile::version), node);
  }
  if (header.node != node.value()) return damaged(path, "it is that of node " + std::to_string(header.node), node);
  SPINDRIFT_TRY_ASSIGN(const Boot boot, this_boot());
  if (header.boot != boot) return Stored();
  if (header.begun < header.complete || header.begun - header.complete > 1)
    return damaged(path, "its numbers are impossible", node);
  if (header.complete == 0) return Stored();
  return read_slot(file, path, node, header.complete);
}

Result<void> write_header(int file, NodeId node, const std::string& path) {
  SPINDRIFT_TRY_ASSIGN(const Boot boot, this_boot());
  const FileHeader header{magic, ViewFile::version, node.value(), boot, 0, 0, {}};
  return write_at(file, std::as_bytes(std::span(&header, 1)), 0, path);
}

}  // namespace

Result<ViewFile> ViewFile::open(const GuardedDirectory& directory, NodeId node) {
  const std::string name(views_directory);
  const std::string path = directory.path() + "/" + name;
  if (::mkdirat(directory.descriptor(), name.c_str(), S_IRWXU) != 0 && errno != EEXIST)
    return system_error("mkdir", errno).at(path);
  FileDescriptor views(::openat(directory.descriptor(), name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!views) return system_error("open", errno).at(path);
  const std::string record = path + "/" + node_file_name(node, views_suffix);
  SPINDRIFT_TRY_ASSIGN(auto lock, fabric::NodeLock::try_take(views.get(), node_file_name(node, lock_suffix)));
  if (!lock) return taken(record, node);
  ViewFile file(std::move(views), *std::move(lock), record, node);
  SPINDRIFT_TRY(file.open_file());
  return file;
}

Result<void> ViewFile::open_file() {
  file_ = FileDescriptor(
      ::openat(directory_.get(), node_file_name(node_, views_suffix).c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC));
  if (file_) return check_owner(file_.get(), path_);
  return errno == ENOENT ? make_file() : system_error("open", errno).at(path_);
}

// It has its name only with a header in it: a file without one is damaged.
Result<void> ViewFile::make_file() {
  const std::string unfinished = node_file_name(node_, unfinished_suffix);
  const std::string name = node_file_name(node_, views_suffix);
  file_ = FileDescriptor(
      ::openat(directory_.get(), unfinished.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file_) return system_error("open", errno).at(path_);
  SPINDRIFT_TRY(check_owner(file_.get(), path_));
  SPINDRIFT_TRY(write_header(file_.get(), node_, path_));
  if (::renameat(directory_.get(), unfinished.c_str(), directory_.get(), name.c_str()) == 0) return {};
  return system_error("rename", errno).at(path_);
}

Result<void> ViewFile::forget(const GuardedDirectory& directory, NodeId node) {
  SPINDRIFT_TRY_ASSIGN(const ViewFile file, open(directory, node));
  if (::unlinkat(file.directory_.get(), node_file_name(node, views_suffix).c_str(), 0) == 0) return {};
  return system_error("unlink", errno).at(file.path_);
}

Result<std::optional<views::ViewRecord>> ViewFile::load() {
  SPINDRIFT_TRY_ASSIGN(auto known, read_record(file_.get(), path_, node_));
  if (known) {
    stored_ = known->first;
    return std::optional(std::move(known->second));
  }
  SPINDRIFT_TRY(write_header(file_.get(), node_, path_));
  return std::optional<views::ViewRecord>();
}

Result<void> ViewFile::store(const views::ViewRecord& record) {
  ByteWriter writer;
  put_record(writer, record);
  const std::vector<std::byte> bytes = writer.take();
  const SlotHead head{stored_ + 1, bytes.size(), digest_of(std::span<const std::byte>(bytes)).words};
  CHECK(bytes.size() <= slot_bytes - sizeof head);
  ByteWriter slot;
  slot.put(head.number, head.bytes, head.digest).put_bytes(bytes);
  SPINDRIFT_TRY(write_word(file_.get(), head.number, offsetof(FileHeader, begun), path_));
  SPINDRIFT_TRY(write_at(file_.get(), slot.take(), slots_at + static_cast<off_t>(head.number % 2 * slot_bytes), path_));
  SPINDRIFT_TRY(write_word(file_.get(), head.number, offsetof(FileHeader, complete), path_));
  stored_ = head.number;
  return {};
}

Result<std::vector<views::ViewMemory::Neighbor>> ViewFile::neighbors() {
  std::vector<Neighbor> all;
  const int again = ::openat(directory_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);  // closed by closedir
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(again < 0 ? nullptr : ::fdopendir(again), ::closedir);
  if (!entries) return system_error("open", errno).at(path_);
  while (const dirent* const entry = ::readdir(entries.get())) {
    const auto node = node_of_file(entry->d_name, views_suffix);
    if (!node || node == node_) continue;
    if (auto one = neighbor(*node)) all.push_back(*std::move(one));
  }
  std::ranges::sort(all, {}, &Neighbor::node);
  return all;
}

bool ViewFile::runs(NodeId node) const {
  return fabric::NodeLock::held(directory_.get(), node_file_name(node, lock_suffix));
}

// One that cannot be read is as good as lost: it keeps its own node from starting, and no other.
std::optional<views::ViewMemory::Neighbor> ViewFile::neighbor(NodeId node) {
  const bool lives = runs(node);
  auto record = record_of(node);
  if (!record && unreadable_.insert(node).second) {
    log::error(log::Room::group, "the record of views of another node cannot be read, and counts as lost",
               {{"node", node_}, {"whom", node}, {"reason", record.error().to_string()}});
  }
  if (record && !*record) return std::nullopt;
  if (!record && !lives) return std::nullopt;
  return Neighbor{node, lives, record ? **std::move(record) : views::ViewRecord()};
}

// A process that has the record may change it twice while it is read, and end then; so it is read again, the last time when
// nobody has it any more.
Result<std::optional<views::ViewRecord>> ViewFile::record_of(NodeId node) const {
  const std::string name = node_file_name(node, views_suffix);
  const FileDescriptor file(::openat(directory_.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!file && errno == ENOENT) return std::optional<views::ViewRecord>();
  const std::string path = path_.substr(0, path_.rfind('/') + 1) + name;
  if (!file) return system_error("open", errno).at(path);
  SPINDRIFT_TRY(check_owner(file.get(), path));
  auto record = read_record(file.get(), path, node);
  bool may_change = true;
  for (int again = 0; !record && may_change && again < rereads_max; ++again) {
    may_change = runs(node);
    record = read_record(file.get(), path, node);
  }
  if (!record) return std::move(record).error();
  return std::optional(*record ? std::move((*record)->second) : views::ViewRecord());
}

}  // namespace spindrift::group
