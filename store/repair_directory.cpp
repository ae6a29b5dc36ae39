// Why a crash does no harm. The damaged journal's files are read alone. The new one lies in a directory whose name no node
// looks at until it is whole, with all files and their names synced. Then the file system exchanges both names by one
// operation, which a journaling one does or does not do; so under the node's name there is the one or the other, and never
// none, which its node would take for a journal that is to begin. Each directory keeps all of its files throughout.
#include <spindrift/store/repair_directory.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include <spindrift/core/check.hpp>
#include <spindrift/core/guarded_directory.hpp>
#include <spindrift/store/held_storage.hpp>

namespace spindrift::store {
namespace {

constexpr const char* unfinished_end = ".repairing";

/// The parts of the path of a directory.
struct PathParts {
  std::string above;
  std::string name;
};

PathParts split(const std::string& directory) {
  const std::size_t slash = directory.rfind('/');
  CHECK(slash != std::string::npos && slash + 1 < directory.size());
  return {slash == 0 ? "/" : directory.substr(0, slash), directory.substr(slash + 1)};
}

Result<void> sync_names_in(const FileDescriptor& above, const PathParts& of) {
  if (::fsync(above.get()) == 0) return {};
  return system_error("fsync", errno).at(of.above);
}

std::string unfinished_name(const PathParts& of) { return of.name + unfinished_end; }

/// An earlier attempt left a directory there, or nothing. A link would have the new journal written over what it leads to,
/// and that take the damaged one's name.
Result<void> require_no_link(const PathParts& of) {
  const std::string path = of.above + "/" + unfinished_name(of);
  struct stat found {};
  if (::lstat(path.c_str(), &found) != 0) return errno == ENOENT ? Result<void>() : system_error("lstat", errno).at(path);
  if (S_ISDIR(found.st_mode)) return {};
  return Error(ErrorKind::refused, "it is a link or a file, and a repair writes the new journal to a directory of that name")
      .at(path)
      .fix("find out who put it there, and move it away");
}

/// A name that is a mount's is not exchanged, and each attempt would leave a whole journal.
Result<void> require_no_mount(const std::string& directory) {
  struct statx found {};
  if (::statx(AT_FDCWD, directory.c_str(), 0, STATX_TYPE, &found) != 0) return system_error("statx", errno).at(directory);
  if ((found.stx_attributes & STATX_ATTR_MOUNT_ROOT) == 0) return {};
  return Error(ErrorKind::unsupported, "it is a mount point, whose name cannot be that of a repaired journal")
      .at(directory)
      .fix(
          "copy the directory to another file system, to <file_path>/<group_name>/<id> of a configuration with another "
          "[PERS] file_path, repair it there, and bring its files back");
}

/// An unfinished journal of an earlier attempt is this node's.
Result<void> require_own(Storage& fresh, const JournalOwner& owner, const std::string& path) {
  SPINDRIFT_TRY_ASSIGN(const auto segments, outline(fresh, std::nullopt));
  for (const FoundSegment& segment : segments) {
    if (segment.head.owner == owner) continue;
    return Error(ErrorKind::refused, "it has a journal of another node or group, and a repair writes the new journal there")
        .at(path)
        .fix("find out who put it there, and move it away");
  }
  return {};
}

/// The first name for a kept one that nothing has.
Result<std::string> give_free_name(int above, const std::string& from, const PathParts& of) {
  for (unsigned count = 1;; ++count) {
    std::string name = of.name + ".damaged-" + std::to_string(count);
    if (::renameat2(above, from.c_str(), above, name.c_str(), RENAME_NOREPLACE) == 0) return name;
    if (errno == EINVAL || errno == ENOSYS)
      return Error(ErrorKind::unsupported, "the file system cannot rename without replacing").at(of.above);
    if (errno != EEXIST) return system_error("renameat2", errno).at(of.above + "/" + from);
  }
}

Error cannot_exchange(const std::string& directory, const std::string& repaired, int error_number) {
  // That of a mount, or of one of two layers, has a name that is not exchanged.
  const bool unknown = error_number == EINVAL || error_number == ENOSYS || error_number == EBUSY || error_number == EXDEV;
  if (!unknown) return system_error("renameat2", error_number).at(directory);
  return Error(ErrorKind::unsupported, "the file system does not exchange these two names at once")
      .at(directory)
      .fix("the repaired journal is in " + repaired + ": while the node is stopped, move " + directory +
           " away, and that one to its name");
}

}  // namespace

std::string DirectoryRepair::fresh_directory() const { return directory_ + unfinished_end; }

std::vector<Storage*> DirectoryRepair::sources() const {
  std::vector<Storage*> sources;
  for (const auto& each : others_) sources.push_back(each.get());
  return sources;
}

Result<DirectoryRepair> DirectoryRepair::open(const std::string& directory, const JournalOwner& owner,
                                              const std::vector<std::string>& from) {
  // A link stays, and what it leads to is repaired where that lies.
  std::error_code failed;
  const std::string real = std::filesystem::canonical(directory, failed).string();
  if (failed) return system_error("realpath", failed.value()).at(directory);
  SPINDRIFT_TRY(require_no_mount(real));
  SPINDRIFT_TRY(require_no_link(split(real)));
  SPINDRIFT_TRY_ASSIGN(FileStorage own, FileStorage::open_at(real));
  DirectoryRepair repair(real, std::make_unique<FileStorage>(std::move(own)));
  for (const std::string& each : from) {
    SPINDRIFT_TRY_ASSIGN(FileStorage files, FileStorage::open_to_read(each));
    repair.others_.push_back(std::make_unique<HeldStorage>(std::make_unique<FileStorage>(std::move(files))));
  }
  SPINDRIFT_TRY_ASSIGN(repair.plan_, plan_repair(*repair.own_, owner, repair.sources()));
  return repair;
}

// A name that was never used is not replaced, so what somebody has kept stays.
Result<std::string> DirectoryRepair::run(const Digest& name, const Watcher& watcher) {
  const auto tell = [&](RepairStep step) {
    if (watcher) watcher(step);
  };
  const PathParts named = split(directory_);
  const std::string unfinished = unfinished_name(named);
  SPINDRIFT_TRY(require_no_link(named));
  SPINDRIFT_TRY_ASSIGN(const FileDescriptor above, open_guarded_directory(named.above, 0));
  SPINDRIFT_TRY_ASSIGN(FileStorage fresh, FileStorage::open_at(named.above + "/" + unfinished));
  SPINDRIFT_TRY(require_own(fresh, plan_.owner, named.above + "/" + unfinished));
  tell(RepairStep::begun);
  SPINDRIFT_TRY(write_repaired(*own_, plan_, sources(), fresh, name));
  tell(RepairStep::written);
  SPINDRIFT_TRY_ASSIGN(const std::string kept, give_free_name(above.get(), unfinished, named));
  SPINDRIFT_TRY(sync_names_in(above, named));
  tell(RepairStep::named);
  const std::string path = named.above + "/" + kept;
  if (::renameat2(above.get(), named.name.c_str(), above.get(), kept.c_str(), RENAME_EXCHANGE) != 0)
    return cannot_exchange(directory_, path, errno);
  tell(RepairStep::exchanged);
  SPINDRIFT_TRY(sync_names_in(above, named));
  return path;
}

}  // namespace spindrift::store
