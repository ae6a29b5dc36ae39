// Promises on names: which there are, what is behind them, and which of them a crash leaves.
#include <spindrift/store/conformance_trial.hpp>

#include <algorithm>
#include <array>

namespace spindrift::store {
namespace {

using File = Trial::File;
using Text = Trial::Text;
using Names = Trial::Names;

Result<bool> names_are_sorted(Trial& trial) {
  for (const char* name : {"c", "a", "10", "9", "b.segment", "b-1", "b"}) SPINDRIFT_TRY(trial.create(name, 1));
  SPINDRIFT_TRY_ASSIGN(const Names first, trial.names());
  SPINDRIFT_TRY(trial.remove("a"));
  SPINDRIFT_TRY(trial.rename("9", "d"));
  SPINDRIFT_TRY(trial.rename("c", "b"));
  SPINDRIFT_TRY_ASSIGN(const Names second, trial.names());
  return first == Names{"10", "9", "a", "b", "b-1", "b.segment", "c"} && second == Names{"10", "b", "b-1", "b.segment", "d"};
}

Result<bool> missing_file_is_bad_input(Trial& trial) {
  SPINDRIFT_TRY(trial.make("removed", "a"));
  SPINDRIFT_TRY(trial.remove("removed"));
  SPINDRIFT_TRY(trial.make("renamed", "b"));
  SPINDRIFT_TRY(trial.rename("renamed", "b"));
  for (const char* name : {"none", "removed", "renamed"}) {
    const auto opened = trial.open(name);
    if (opened || opened.error().kind() != ErrorKind::bad_input) return false;
  }
  return true;
}

Result<bool> missing_file_cannot_go(Trial& trial) {
  const auto renamed = trial.rename("none", "a");
  const auto removed = trial.remove("none");
  return !renamed && renamed.error().kind() == ErrorKind::resource && !removed &&
         removed.error().kind() == ErrorKind::resource;
}

Result<bool> renamed_file_is_in_place_of_another(Trial& trial) {
  SPINDRIFT_TRY(trial.make("a", "aaaa"));
  SPINDRIFT_TRY(trial.make("b", "bb"));
  SPINDRIFT_TRY(trial.rename("a", "b"));
  SPINDRIFT_TRY_ASSIGN(const Text from, trial.text("a"));
  SPINDRIFT_TRY_ASSIGN(const Text to, trial.text("b"));
  return !from && to == "aaaa";
}

// After a crash.

/// Whether a crash left it out, or whole.
bool missing_or(const Text& text, std::string_view whole) { return !text || text == whole; }

Result<bool> synced_names_survive(Trial& trial) {
  SPINDRIFT_TRY(trial.make("a", "aa"));
  SPINDRIFT_TRY(trial.make("b", "bb"));
  SPINDRIFT_TRY(trial.make_durable("c", "cc"));
  trial.crash();
  SPINDRIFT_TRY_ASSIGN(const Names names, trial.names());
  return names == Names{"a", "b", "c"};
}

Result<bool> unsynced_name_is_missing_or_whole(Trial& trial) {
  SPINDRIFT_TRY(trial.make_durable("a", "aa"));
  SPINDRIFT_TRY(trial.make("b", "bb"));
  trial.crash();
  SPINDRIFT_TRY_ASSIGN(const Text durable, trial.text("a"));
  SPINDRIFT_TRY_ASSIGN(const Text unsynced, trial.text("b"));
  return durable == "aa" && missing_or(unsynced, "bb");
}

/// Behind a crash: nothing has the one name any more, and the other one's file that text.
Result<bool> has_moved(Trial& trial, std::string_view from, std::string_view to, std::string_view expected) {
  trial.crash();
  SPINDRIFT_TRY_ASSIGN(const Text old_text, trial.text(from));
  SPINDRIFT_TRY_ASSIGN(const Text new_text, trial.text(to));
  return !old_text && new_text == expected;
}

Result<bool> synced_rename_survives(Trial& trial) {
  SPINDRIFT_TRY(trial.make_durable("a", "aaaa"));
  SPINDRIFT_TRY(trial.rename("a", "b"));
  SPINDRIFT_TRY(trial.sync_names());
  return has_moved(trial, "a", "b", "aaaa");
}

Result<bool> new_file_may_be_renamed_first(Trial& trial) {
  {
    SPINDRIFT_TRY_ASSIGN(const File file, trial.make("a", "aaaa"));
    SPINDRIFT_TRY(trial.rename("a", "b"));
    SPINDRIFT_TRY(trial.rename("b", "c"));
    SPINDRIFT_TRY(trial.sync_names());
    SPINDRIFT_TRY(write_durably(*file, 1, "d"));
    SPINDRIFT_TRY(write(*file, 2, "e"));
    SPINDRIFT_TRY(file->sync());
  }
  trial.crash();
  SPINDRIFT_TRY_ASSIGN(const Names names, trial.names());
  SPINDRIFT_TRY_ASSIGN(const Text text, trial.text("c"));
  return names == Names{"c"} && text == "adea";
}

Result<bool> unsynced_rename_has_one_name(Trial& trial) {
  SPINDRIFT_TRY(trial.make_durable("a", "aaaa"));
  SPINDRIFT_TRY(trial.rename("a", "b"));
  trial.crash();
  SPINDRIFT_TRY_ASSIGN(const Text from, trial.text("a"));
  SPINDRIFT_TRY_ASSIGN(const Text to, trial.text("b"));
  return from ? from == "aaaa" && !to : to == "aaaa";
}

Result<bool> synced_replacement_survives(Trial& trial) {
  SPINDRIFT_TRY(trial.make_durable("b", "bb"));
  SPINDRIFT_TRY(trial.make_durable("a", "aaaa"));
  SPINDRIFT_TRY(trial.rename("a", "b"));
  SPINDRIFT_TRY(trial.sync_names());
  return has_moved(trial, "a", "b", "aaaa");
}

Result<bool> unsynced_replacement_leaves_a_whole_file(Trial& trial) {
  SPINDRIFT_TRY(trial.make_durable("b", "bb"));
  SPINDRIFT_TRY(trial.make_durable("a", "aaaa"));
  SPINDRIFT_TRY(trial.rename("a", "b"));
  trial.crash();
  SPINDRIFT_TRY_ASSIGN(const Text from, trial.text("a"));
  SPINDRIFT_TRY_ASSIGN(const Text to, trial.text("b"));
  return from ? from == "aaaa" && to == "bb" : to == "aaaa";
}

Result<bool> new_file_replaces_whole(Trial& trial) {
  SPINDRIFT_TRY(trial.make_durable("b", "bb"));
  SPINDRIFT_TRY(trial.make("a", "aaaa"));
  SPINDRIFT_TRY(trial.rename("a", "b"));
  trial.crash();
  SPINDRIFT_TRY_ASSIGN(const Text from, trial.text("a"));
  SPINDRIFT_TRY_ASSIGN(const Text to, trial.text("b"));
  return missing_or(from, "aaaa") && (to == "bb" || (!from && to == "aaaa"));
}

Result<bool> synced_remove_survives(Trial& trial) {
  SPINDRIFT_TRY(trial.make_durable("a", "aa"));
  SPINDRIFT_TRY(trial.make_durable("b", "bb"));
  SPINDRIFT_TRY(trial.remove("a"));
  SPINDRIFT_TRY(trial.sync_names());
  trial.crash();
  SPINDRIFT_TRY_ASSIGN(const Names names, trial.names());
  return names == Names{"b"};
}

Result<bool> unsynced_remove_leaves_a_whole_file(Trial& trial) {
  SPINDRIFT_TRY(trial.make_durable("a", "aa"));
  SPINDRIFT_TRY(trial.make_durable("b", "bb"));
  SPINDRIFT_TRY(trial.remove("a"));
  trial.crash();
  SPINDRIFT_TRY_ASSIGN(const Text removed, trial.text("a"));
  SPINDRIFT_TRY_ASSIGN(const Text other, trial.text("b"));
  return missing_or(removed, "aa") && other == "bb";
}

Result<bool> name_given_again_survives(Trial& trial) {
  SPINDRIFT_TRY(trial.make_durable("a", "aaaa"));
  SPINDRIFT_TRY(trial.remove("a"));
  SPINDRIFT_TRY(trial.make_durable("a", "bb"));
  SPINDRIFT_TRY(trial.make_durable("a", "ccc"));
  trial.crash();
  SPINDRIFT_TRY_ASSIGN(const Text text, trial.text("a"));
  return text == "ccc";
}

constexpr std::array promises{
    StoragePromise{"the names are not those of the files, in their order", names_are_sorted},
    StoragePromise{"a file that is not there is opened, or the error is not bad_input", missing_file_is_bad_input},
    StoragePromise{"a file that is not there is renamed or removed, or the error is not resource", missing_file_cannot_go},
    StoragePromise{"a renamed file is not in place of the one that had its name", renamed_file_is_in_place_of_another},
    StoragePromise{"a new name is not there after sync_names and a crash", synced_names_survive},
    StoragePromise{"a new file whose name is not durable is neither missing nor whole after a crash, or harms another",
                   unsynced_name_is_missing_or_whole},
    StoragePromise{"a renamed file has not its new name alone after sync_names and a crash", synced_rename_survives},
    StoragePromise{"a file that is renamed before its name is durable is not whole after sync_names and a crash",
                   new_file_may_be_renamed_first},
    StoragePromise{"a renamed file has not one of both names after a crash, or is not whole", unsynced_rename_has_one_name},
    StoragePromise{"a file in place of another is not whole after sync_names and a crash", synced_replacement_survives},
    StoragePromise{"a file that another replaces is gone before the other's name is durable",
                   unsynced_replacement_leaves_a_whole_file},
    StoragePromise{"a file that a new one replaces is gone before the new one's name is durable", new_file_replaces_whole},
    StoragePromise{"a removed file is there again after sync_names and a crash, or another is not", synced_remove_survives},
    StoragePromise{"a removed file is neither missing nor whole after a crash, or harms another",
                   unsynced_remove_leaves_a_whole_file},
    StoragePromise{"a name that is given again has not its last file after a crash", name_given_again_survives},
};

}  // namespace

std::span<const StoragePromise> promises_of_names() noexcept { return promises; }

}  // namespace spindrift::store
