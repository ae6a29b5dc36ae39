// The repair of a journal in a directory: a new one is written beside it, and the two directories exchange their names.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <spindrift/core/digest.hpp>
#include <spindrift/core/result.hpp>
#include <spindrift/store/file_storage.hpp>
#include <spindrift/store/repair.hpp>

namespace spindrift::store {

/// The steps of a repair, behind each of which it may be interrupted: the directory has the journal as it was, all of it, or
/// the repaired one, all of it.
enum class RepairStep : std::uint8_t {
  begun,      ///< the new directory is there
  written,    ///< it has the whole journal, durably
  named,      ///< and the name under which the old one is to be kept
  exchanged,  ///< and the old one's name, which has that name now; durably when the next call returns
};

/// Holds the lock of the journal, so its node does not start meanwhile. Move-only, not thread-safe.
class DirectoryRepair {
 public:
  /// Looks what is to be done; changes nothing. `from`: directories of other journals, which may be written meanwhile. All
  /// are absolute. Errors: as of `FileStorage` and `plan_repair`; unsupported (the directory is a mount point).
  [[nodiscard]] static Result<DirectoryRepair> open(const std::string& directory, const JournalOwner& owner,
                                                    const std::vector<std::string>& from);
  [[nodiscard]] const RepairPlan& plan() const noexcept { return plan_; }
  /// The directory to which `run` writes the new journal.
  [[nodiscard]] std::string fresh_directory() const;

  using Watcher = std::function<void(RepairStep)>;
  /// The plan is possible. The path under which the damaged journal is kept. `name`: of the new journal, drawn at random.
  /// Errors: as of `write_repaired`; unsupported (the file system does not exchange names), refused, resource.
  [[nodiscard]] Result<std::string> run(const Digest& name, const Watcher& watcher = {});

 private:
  DirectoryRepair(std::string directory, std::unique_ptr<Storage> own)
      : directory_(std::move(directory)), own_(std::move(own)) {}
  [[nodiscard]] std::vector<Storage*> sources() const;

  std::string directory_;
  std::unique_ptr<Storage> own_;
  std::vector<std::unique_ptr<Storage>> others_;
  RepairPlan plan_;
};

}  // namespace spindrift::store
