// Looking at the place of a journal, as a member finds it or makes it.
#include <sys/statvfs.h>
#include <sys/vfs.h>

#include <fcntl.h>
#include <linux/magic.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <utility>

#include <spindrift/core/guarded_directory.hpp>

#include "doctor.hpp"

namespace spindrift::tools {
namespace {

namespace files = std::filesystem;

/// The innermost directory that is there, of those that a member makes and the one above them.
files::path made_so_far(const files::path& node) {
  files::path at = node;
  std::error_code unknown;
  for (int made = 0; made < 3 && !files::exists(at, unknown); ++made) at = at.parent_path();
  return at;
}

Error unfit(Error why, const std::string& path) {
  const ErrorKind kind = why.kind();
  return Error(kind, "members keep their journals there")
      .at(path)
      .because(std::move(why).fix("name in [PERS] file_path a directory that this user alone may write, and whose parent is "
                                  "there; or chown it to the user that runs the members"));
}

bool is_in_memory(int directory) {
  struct statfs kind {};
  return ::fstatfs(directory, &kind) == 0 && (kind.f_type == TMPFS_MAGIC || kind.f_type == RAMFS_MAGIC);
}

}  // namespace

JournalFacts look_at_journal(const JournalNeeds& needs) {
  JournalFacts facts;
  const std::string path = made_so_far(needs.place.of(needs.node));
  const auto directory = open_guarded_directory(path, 0);
  if (!directory) {
    facts.error = unfit(directory.error(), path);
    return facts;
  }
  const int at = directory->get();
  if (::faccessat(at, ".", W_OK | X_OK, AT_EACCESS) != 0) {
    facts.error = unfit(system_error("access", errno), path);
  } else if (auto content = group::read_journal(needs.place, needs.node); !content) {
    facts.error = group::unusable_journal(needs.place, needs.node, std::move(content).error());
  }
  facts.in_memory = is_in_memory(at);
  struct statvfs space {};
  if (::fstatvfs(at, &space) == 0) facts.free_bytes = std::uint64_t{space.f_bavail} * space.f_frsize;
  return facts;
}

}  // namespace spindrift::tools
