// The kernel hands each call over as it comes, for nothing is cached: files are opened for direct I/O (direct_io, whatever
// the program asks for), and names and attributes are good for no time at all. A write with RWF_DSYNC then comes with
// O_DSYNC among its flags, and no fsync behind it; without direct_io the kernel would send an fsync too, and so make durable
// what was written before. Linux 6.18 was seen to do so.
#include "forgetful_fs.hpp"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <map>
#include <vector>

#include <spindrift/core/file_descriptor.hpp>

bool spindrift::store::enter_own_mounts() {
  return ::unshare(CLONE_NEWNS) == 0 && ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
}

#ifdef SPINDRIFT_HAS_FUSE
#define FUSE_USE_VERSION 35
#include <fuse_lowlevel.h>

namespace spindrift::store {
namespace {

constexpr const char* forget_attribute = "user.forget";

struct MemoryFile {
  std::vector<char> now;
  std::vector<char> durable;
};

/// The files, by the numbers that the kernel knows them by.
class ForgetfulFiles {
 public:
  explicit ForgetfulFiles(ForgetfulMount::Options options) : options_(options) {}

  using Names = std::map<std::string, fuse_ino_t>;
  [[nodiscard]] const Names& names() const { return names_; }
  [[nodiscard]] bool has_fallocate() const { return options_.has_fallocate; }
  /// Null: there is none, or none any more.
  [[nodiscard]] MemoryFile* file(fuse_ino_t number) {
    const auto found = files_.find(number);
    return found == files_.end() ? nullptr : &found->second;
  }
  /// 0: there is none.
  [[nodiscard]] fuse_ino_t number(const std::string& name) const {
    const auto found = names_.find(name);
    return found == names_.end() ? 0 : found->second;
  }
  fuse_ino_t make(const std::string& name) {
    files_[++last_];
    return names_[name] = last_;
  }
  bool remove(const std::string& name) { return names_.erase(name) > 0; }
  bool rename(const std::string& from, const std::string& to) {
    const auto named = names_.extract(from);
    if (!named.empty()) names_[to] = named.mapped();
    return !named.empty();
  }
  void sync_names() { durable_names_ = names_; }

  /// Whether there is space to let the file grow to that size.
  bool grow(MemoryFile& file, std::uint64_t size) {
    std::uint64_t used = 0;
    for (const auto& [name, number] : names_) used += files_[number].now.size();
    if (size > file.now.size() && used + (size - file.now.size()) > options_.bytes_max) return false;
    if (size > file.now.size()) file.now.resize(size);
    return true;
  }

  /// Files that are left get new numbers: those that the kernel knows are of files that are gone.
  void forget() {
    std::map<fuse_ino_t, MemoryFile> left;
    for (auto& [name, number] : durable_names_) {
      MemoryFile& file = left[++last_];
      file.now = file.durable = files_[number].durable;
      number = last_;
    }
    files_ = std::move(left);
    names_ = durable_names_;
  }

 private:
  ForgetfulMount::Options options_;
  std::map<fuse_ino_t, MemoryFile> files_;  // also those without a name, which may be open, or be there again
  Names names_;
  Names durable_names_;
  fuse_ino_t last_ = FUSE_ROOT_ID;
};

ForgetfulFiles& files_of(fuse_req_t request) { return *static_cast<ForgetfulFiles*>(fuse_req_userdata(request)); }

void reply(fuse_req_t request, int error_number) { fuse_reply_err(request, error_number); }

struct stat status_of(fuse_ino_t number, const MemoryFile* file) {
  struct stat status {};
  status.st_ino = number;
  status.st_uid = ::geteuid();
  status.st_gid = ::getegid();
  status.st_nlink = 1;
  status.st_mode = file == nullptr ? S_IFDIR | 0700U : S_IFREG | 0600U;
  status.st_size = file == nullptr ? 0 : static_cast<off_t>(file->now.size());
  status.st_blocks = status.st_size / 512;
  return status;
}

fuse_entry_param entry_of(ForgetfulFiles& files, fuse_ino_t number) {
  fuse_entry_param entry{};
  entry.ino = number;
  entry.generation = 1;
  entry.attr = status_of(number, files.file(number));
  return entry;
}

void on_lookup(fuse_req_t request, fuse_ino_t, const char* name) {
  ForgetfulFiles& files = files_of(request);
  const fuse_ino_t number = files.number(name);
  if (number == 0) return reply(request, ENOENT);
  const fuse_entry_param entry = entry_of(files, number);
  fuse_reply_entry(request, &entry);
}

void on_getattr(fuse_req_t request, fuse_ino_t number, fuse_file_info*) {
  const MemoryFile* const file = files_of(request).file(number);
  if (number != FUSE_ROOT_ID && file == nullptr) return reply(request, ESTALE);
  const struct stat status = status_of(number, file);
  fuse_reply_attr(request, &status, 0);
}

void on_create(fuse_req_t request, fuse_ino_t, const char* name, mode_t, fuse_file_info* opened) {
  ForgetfulFiles& files = files_of(request);
  if (files.number(name) != 0) return reply(request, EEXIST);
  const fuse_entry_param entry = entry_of(files, files.make(name));
  opened->direct_io = 1;
  fuse_reply_create(request, &entry, opened);
}

void on_open(fuse_req_t request, fuse_ino_t number, fuse_file_info* opened) {
  if (files_of(request).file(number) == nullptr) return reply(request, ESTALE);
  opened->direct_io = 1;
  fuse_reply_open(request, opened);
}

void on_read(fuse_req_t request, fuse_ino_t number, std::size_t size, off_t at, fuse_file_info*) {
  const MemoryFile* const file = files_of(request).file(number);
  if (file == nullptr) return reply(request, EIO);
  const std::size_t from = std::min(static_cast<std::size_t>(at), file->now.size());
  fuse_reply_buf(request, file->now.data() + from, std::min(size, file->now.size() - from));
}

void on_write(fuse_req_t request, fuse_ino_t number, const char* from, std::size_t size, off_t at, fuse_file_info* opened) {
  ForgetfulFiles& files = files_of(request);
  MemoryFile* const file = files.file(number);
  if (file == nullptr) return reply(request, EIO);
  const std::size_t end = static_cast<std::size_t>(at) + size;
  if (!files.grow(*file, end)) return reply(request, ENOSPC);
  std::copy_n(from, size, file->now.begin() + at);
  if ((opened->flags & O_DSYNC) != 0) {
    if (file->durable.size() < end) file->durable.resize(end);
    std::copy_n(from, size, file->durable.begin() + at);
  }
  fuse_reply_write(request, size);
}

void on_fallocate(fuse_req_t request, fuse_ino_t number, int mode, off_t at, off_t size, fuse_file_info*) {
  ForgetfulFiles& files = files_of(request);
  MemoryFile* const file = files.file(number);
  if (!files.has_fallocate() || mode != 0) return reply(request, EOPNOTSUPP);
  if (file == nullptr) return reply(request, EIO);
  reply(request, files.grow(*file, static_cast<std::uint64_t>(at + size)) ? 0 : ENOSPC);
}

void on_fsync(fuse_req_t request, fuse_ino_t number, int, fuse_file_info*) {
  MemoryFile* const file = files_of(request).file(number);
  if (file == nullptr) return reply(request, EIO);
  file->durable = file->now;
  reply(request, 0);
}

void on_fsyncdir(fuse_req_t request, fuse_ino_t, int, fuse_file_info*) {
  files_of(request).sync_names();
  reply(request, 0);
}

void on_unlink(fuse_req_t request, fuse_ino_t, const char* name) {
  reply(request, files_of(request).remove(name) ? 0 : ENOENT);
}

void on_rename(fuse_req_t request, fuse_ino_t, const char* from, fuse_ino_t, const char* to, unsigned int flags) {
  if (flags != 0) return reply(request, EINVAL);
  reply(request, files_of(request).rename(from, to) ? 0 : ENOENT);
}

void on_readdir(fuse_req_t request, fuse_ino_t, std::size_t size, off_t from, fuse_file_info*) {
  ForgetfulFiles& files = files_of(request);
  std::vector<char> entries(size);
  std::size_t used = 0;
  off_t index = 0;
  for (const auto& [name, number] : files.names()) {
    if (index++ < from) continue;
    const struct stat status = status_of(number, files.file(number));
    const std::size_t more = fuse_add_direntry(request, entries.data() + used, size - used, name.c_str(), &status, index);
    if (more > size - used) break;
    used += more;
  }
  fuse_reply_buf(request, entries.data(), used);
}

void on_setxattr(fuse_req_t request, fuse_ino_t, const char* name, const char*, std::size_t, int) {
  if (std::string(name) != forget_attribute) return reply(request, EOPNOTSUPP);
  files_of(request).forget();
  reply(request, 0);
}

fuse_lowlevel_ops operations() {
  fuse_lowlevel_ops all{};
  all.lookup = on_lookup;
  all.getattr = on_getattr;
  all.create = on_create;
  all.open = on_open;
  all.read = on_read;
  all.write = on_write;
  all.fallocate = on_fallocate;
  all.fsync = on_fsync;
  all.fsyncdir = on_fsyncdir;
  all.unlink = on_unlink;
  all.rename = on_rename;
  all.readdir = on_readdir;
  all.setxattr = on_setxattr;
  return all;
}

/// The process of the file system, which ends with the one that it is for.
[[noreturn]] void serve(fuse_session* session, pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() == parent) fuse_session_loop(session);
  ::_exit(0);
}

}  // namespace

Result<std::unique_ptr<ForgetfulMount>> ForgetfulMount::mount(const std::string& directory, Options options) {
  if (::access("/dev/fuse", R_OK | W_OK) != 0)
    return Error(ErrorKind::unsupported, "there is no /dev/fuse that this user may open");
  if (::geteuid() == 0 && !enter_own_mounts())
    return Error(ErrorKind::unsupported, "no namespace of mounts can be had here");
  ForgetfulFiles files(options);
  std::string program = "forgetful_fs";
  std::array<char*, 2> arguments{program.data(), nullptr};
  fuse_args all = FUSE_ARGS_INIT(1, arguments.data());
  const fuse_lowlevel_ops calls = operations();
  fuse_session* const session = fuse_session_new(&all, &calls, sizeof calls, &files);
  fuse_opt_free_args(&all);
  if (session == nullptr || fuse_session_mount(session, directory.c_str()) != 0) {
    if (session != nullptr) fuse_session_destroy(session);
    return Error(ErrorKind::unsupported, "no file system of a process can be mounted here");
  }
  const pid_t parent = ::getpid();
  const pid_t process = ::fork();
  if (process == 0) serve(session, parent);
  // Were this process's descriptor of it open, calls would wait for ever when the other process has died.
  const FileDescriptor nothing(::open("/dev/null", O_RDWR | O_CLOEXEC));
  SPINDRIFT_CHECK(process > 0 && ::dup3(nothing.get(), fuse_session_fd(session), O_CLOEXEC) >= 0);
  return std::unique_ptr<ForgetfulMount>(new ForgetfulMount(directory, session, process));
}

ForgetfulMount::~ForgetfulMount() {
  fuse_session_unmount(session_);
  ::kill(process_, SIGKILL);
  ::waitpid(process_, nullptr, 0);
  fuse_session_destroy(session_);
}

void ForgetfulMount::forget() {
  const int failed = ::setxattr(directory_.c_str(), forget_attribute, "", 0, 0);
  SPINDRIFT_CHECK(failed == 0);
}

}  // namespace spindrift::store

#else

namespace spindrift::store {

Result<std::unique_ptr<ForgetfulMount>> ForgetfulMount::mount(const std::string&, Options) {
  return Error(ErrorKind::unsupported, "there was no libfuse 3 when the tests were built");
}
ForgetfulMount::~ForgetfulMount() = default;
void ForgetfulMount::forget() {}

}  // namespace spindrift::store
#endif
