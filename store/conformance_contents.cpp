// Promises on what is in a file: as long as there is power, and after a crash.
#include <spindrift/store/conformance_trial.hpp>

#include <array>

namespace spindrift::store {
namespace {

using File = Trial::File;
using Text = Trial::Text;

constexpr std::string_view four_zeros = "0000";

Result<bool> new_file_is_zeros(Trial& trial) {
  SPINDRIFT_TRY_ASSIGN(const File file, trial.create("a", 4));
  SPINDRIFT_TRY_ASSIGN(const std::string text, text_of(*file));
  return text == four_zeros;
}

Result<bool> replacement_is_zeros(Trial& trial) {
  SPINDRIFT_TRY(trial.make("a", "aaaaaa"));
  SPINDRIFT_TRY(trial.create("a", 4));
  SPINDRIFT_TRY_ASSIGN(const Text replaced, trial.text("a"));
  SPINDRIFT_TRY(trial.make("b", "bbbb"));
  SPINDRIFT_TRY(trial.remove("b"));
  SPINDRIFT_TRY(trial.create("b", 4));
  SPINDRIFT_TRY_ASSIGN(const Text again, trial.text("b"));
  return replaced == four_zeros && again == four_zeros;
}

Result<bool> open_file_has_its_size(Trial& trial) {
  SPINDRIFT_TRY_ASSIGN(const File made, trial.create("a", 5));
  SPINDRIFT_TRY_ASSIGN(const File opened, trial.open("a"));
  return made->bytes() == 5 * block_bytes && opened->bytes() == 5 * block_bytes;
}

Result<bool> last_write_is_read(Trial& trial) {
  SPINDRIFT_TRY_ASSIGN(const File file, trial.create("a", 6));
  SPINDRIFT_TRY(write(*file, 0, "aaaa"));
  SPINDRIFT_TRY(write(*file, 1, "bb"));
  SPINDRIFT_TRY_ASSIGN(const std::string first, text_of(*file));
  SPINDRIFT_TRY(write_durably(*file, 2, "cc"));
  SPINDRIFT_TRY(write(*file, 3, "d"));
  SPINDRIFT_TRY(file->sync());
  SPINDRIFT_TRY_ASSIGN(const std::string second, text_of(*file));
  SPINDRIFT_TRY(write_durably(*file, 0, "e"));
  SPINDRIFT_TRY(write_durably(*file, 0, "f"));
  SPINDRIFT_TRY_ASSIGN(const std::string third, text_of(*file));
  return first == "abba00" && second == "abcd00" && third == "fbcd00";
}

Result<bool> part_is_read(Trial& trial) {
  SPINDRIFT_TRY_ASSIGN(const File file, trial.make("a", "abcd"));
  Blocks part(2 * block_bytes);
  SPINDRIFT_TRY(file->read(block_bytes, part));
  return part == blocks_of("bc", 1);
}

Result<bool> other_opening_reads_the_same(Trial& trial) {
  SPINDRIFT_TRY_ASSIGN(const File first, trial.create("a", 4));
  SPINDRIFT_TRY_ASSIGN(const File second, trial.open("a"));
  SPINDRIFT_TRY(write(*first, 0, "ab"));
  SPINDRIFT_TRY_ASSIGN(const std::string before, text_of(*second));
  SPINDRIFT_TRY(write_durably(*second, 1, "cd"));
  SPINDRIFT_TRY_ASSIGN(const std::string after, text_of(*first));
  return before == "ab00" && after == "acd0";
}

// After a crash.

Result<bool> synced_file_survives(Trial& trial) {
  SPINDRIFT_TRY(trial.make_durable("a", "abcd"));
  trial.crash();
  SPINDRIFT_TRY_ASSIGN(const Text text, trial.text("a"));
  return text == "abcd";
}

Result<bool> name_may_be_durable_first(Trial& trial) {
  {
    SPINDRIFT_TRY_ASSIGN(const File file, trial.create("a", 4));
    SPINDRIFT_TRY(trial.sync_names());
    SPINDRIFT_TRY(write(*file, 0, "abcd"));
    SPINDRIFT_TRY(file->sync());
  }
  trial.crash();
  SPINDRIFT_TRY_ASSIGN(const Text text, trial.text("a"));
  return text == "abcd";
}

Result<bool> size_and_zeros_survive(Trial& trial) {
  {
    SPINDRIFT_TRY_ASSIGN(const File file, trial.create("a", 4));
    SPINDRIFT_TRY(file->sync());
    SPINDRIFT_TRY(trial.sync_names());
  }
  trial.crash();
  SPINDRIFT_TRY_ASSIGN(const Text text, trial.text("a"));
  return text == four_zeros;
}

Result<bool> durable_write_survives(Trial& trial) {
  {
    SPINDRIFT_TRY_ASSIGN(const File file, trial.make_durable("a", "aaaa"));
    SPINDRIFT_TRY(write_durably(*file, 1, "bc"));
    SPINDRIFT_TRY(write_durably(*file, 2, "d"));
  }
  trial.crash();
  SPINDRIFT_TRY_ASSIGN(const Text text, trial.text("a"));
  return text == "abda";
}

Result<bool> begun_write_survives(Trial& trial) {
  {
    SPINDRIFT_TRY_ASSIGN(const File file, trial.make_durable("a", "aaaa"));
    const Blocks first = blocks_of("bc", 1);
    SPINDRIFT_TRY(file->begin_write(1 * block_bytes, first));
    SPINDRIFT_TRY(file->finish_write());
    const Blocks second = blocks_of("d", 2);
    SPINDRIFT_TRY(file->begin_write(2 * block_bytes, second));
    SPINDRIFT_TRY(file->finish_write());
    SPINDRIFT_TRY(file->finish_write());
    SPINDRIFT_TRY_ASSIGN(const std::string text, text_of(*file));
    if (text != "abda") return false;
  }
  trial.crash();
  SPINDRIFT_TRY_ASSIGN(const Text text, trial.text("a"));
  return text == "abda";
}

Result<bool> durable_write_of_zeros_survives(Trial& trial) {
  {
    SPINDRIFT_TRY_ASSIGN(const File file, trial.create("a", 4));
    SPINDRIFT_TRY(file->sync());
    SPINDRIFT_TRY(trial.sync_names());
    SPINDRIFT_TRY(write_durably(*file, 3, "a"));
  }
  trial.crash();
  SPINDRIFT_TRY_ASSIGN(const Text text, trial.text("a"));
  return text == "000a";
}

Result<bool> durable_write_supersedes_earlier_ones(Trial& trial) {
  {
    SPINDRIFT_TRY_ASSIGN(const File file, trial.make_durable("a", "aaaa"));
    SPINDRIFT_TRY(write(*file, 1, "b"));
    SPINDRIFT_TRY(write_durably(*file, 1, "c"));
  }
  trial.crash();
  SPINDRIFT_TRY_ASSIGN(const Text text, trial.text("a"));
  return text == "acaa";
}

Result<bool> lost_write_harms_its_blocks_alone(Trial& trial) {
  {
    SPINDRIFT_TRY_ASSIGN(const File file, trial.make_durable("a", "aaaaaa"));
    SPINDRIFT_TRY(write_durably(*file, 0, "b"));
    SPINDRIFT_TRY(write(*file, 1, "c"));
    SPINDRIFT_TRY(write_durably(*file, 2, "d"));
    SPINDRIFT_TRY(write(*file, 4, "e"));
  }
  trial.crash();
  SPINDRIFT_TRY_ASSIGN(Text text, trial.text("a"));
  if (!text || text->size() != 6) return false;
  (*text)[1] = (*text)[4] = damaged_mark;
  return text == "b?da?a";
}

Result<bool> sync_covers_all_writes(Trial& trial) {
  {
    SPINDRIFT_TRY_ASSIGN(const File file, trial.make_durable("a", "aaaaaa"));
    SPINDRIFT_TRY(write(*file, 4, "bb"));
    SPINDRIFT_TRY(write(*file, 0, "c"));
    SPINDRIFT_TRY(write_durably(*file, 2, "d"));
    SPINDRIFT_TRY(write(*file, 2, "e"));
    SPINDRIFT_TRY(write(*file, 5, "f"));
    SPINDRIFT_TRY(file->sync());
  }
  trial.crash();
  SPINDRIFT_TRY_ASSIGN(const Text text, trial.text("a"));
  return text == "caeabf";
}

Result<bool> sync_covers_other_openings(Trial& trial) {
  SPINDRIFT_TRY(trial.make_durable("a", "aaaa"));
  {
    SPINDRIFT_TRY_ASSIGN(const File first, trial.open("a"));
    SPINDRIFT_TRY(write(*first, 1, "b"));
  }
  {
    SPINDRIFT_TRY_ASSIGN(const File second, trial.open("a"));
    SPINDRIFT_TRY(second->sync());
  }
  trial.crash();
  SPINDRIFT_TRY_ASSIGN(const Text text, trial.text("a"));
  return text == "abaa";
}

Result<bool> files_are_apart(Trial& trial) {
  {
    SPINDRIFT_TRY_ASSIGN(const File first, trial.make("a", "aaaa"));
    SPINDRIFT_TRY_ASSIGN(const File second, trial.make("b", "bbbb"));
    SPINDRIFT_TRY(trial.sync_names());
    SPINDRIFT_TRY(write(*first, 1, "c"));
    SPINDRIFT_TRY(write(*second, 2, "d"));
    SPINDRIFT_TRY(second->sync());
  }
  trial.crash();
  SPINDRIFT_TRY_ASSIGN(Text first, trial.text("a"));
  SPINDRIFT_TRY_ASSIGN(const Text second, trial.text("b"));
  if (!first || first->size() != 4) return false;
  (*first)[1] = damaged_mark;
  return first == "a?aa" && second == "bbdb";
}

Result<bool> read_content_stays(Trial& trial) {
  {
    SPINDRIFT_TRY_ASSIGN(const File file, trial.make_durable("a", "aaaa"));
    SPINDRIFT_TRY(write_durably(*file, 1, "b"));
  }
  trial.crash();
  SPINDRIFT_TRY_ASSIGN(const Text first, trial.text("a"));
  trial.crash();
  SPINDRIFT_TRY_ASSIGN(const Text second, trial.text("a"));
  return first == "abaa" && second == "abaa";
}

constexpr std::array promises{
    StoragePromise{"a new file is not full of zeros", new_file_is_zeros},
    StoragePromise{"a new file in place of another, or of one that was removed, is not full of zeros", replacement_is_zeros},
    StoragePromise{"a file has another size than it was made with", open_file_has_its_size},
    StoragePromise{"a read gives something else than what was written last", last_write_is_read},
    StoragePromise{"a read of a part gives something else than that part", part_is_read},
    StoragePromise{"a file that is open twice reads differently", other_opening_reads_the_same},
    StoragePromise{"a synced file with a durable name is not whole after a crash", synced_file_survives},
    StoragePromise{"a file that is synced after its name was made durable is not whole after a crash",
                   name_may_be_durable_first},
    StoragePromise{"a synced file that nobody wrote into has not its size, or no zeros, after a crash",
                   size_and_zeros_survive},
    StoragePromise{"a durable write is not there after a crash", durable_write_survives},
    StoragePromise{"a write that was begun and finished is not there, or not after a crash", begun_write_survives},
    StoragePromise{"a durable write into a new file is not there after a crash, or not alone",
                   durable_write_of_zeros_survives},
    StoragePromise{"a durable write over one that is not durable is not there after a crash",
                   durable_write_supersedes_earlier_ones},
    StoragePromise{"a crash takes blocks that were durable and not written since", lost_write_harms_its_blocks_alone},
    StoragePromise{"a write before a sync is not there after a crash", sync_covers_all_writes},
    StoragePromise{"a sync leaves out what was written before the file was opened", sync_covers_other_openings},
    StoragePromise{"a sync of one file, or a crash behind it, harms another file", files_are_apart},
    StoragePromise{"a second crash takes what was there after the first", read_content_stays},
};

}  // namespace

std::span<const StoragePromise> promises_of_contents() noexcept { return promises; }

}  // namespace spindrift::store
