// Counters in memory or in a file. The file is a 64-byte header and `capacity` entries of 128 bytes; an entry's name is
// complete before the header's count includes it, so a reader that takes the count first never sees half a name.
#include <spindrift/core/counters.hpp>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <unordered_map>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include <spindrift/core/file_descriptor.hpp>
#include <spindrift/core/log.hpp>

namespace spindrift {
namespace {

constexpr std::uint64_t file_magic = 0x31544e4354464453;  // "SDFTCNT1", read as text
constexpr std::uint64_t file_version = 1;
constexpr std::size_t name_bytes = 120;
constexpr std::size_t capacity_max = std::size_t{1} << 20;

struct Header {
  std::uint64_t magic;
  std::uint64_t version;
  std::uint64_t capacity;
  std::uint64_t count;  ///< entries in use; written with release after the entry's name
  std::array<std::uint64_t, 4> reserved;
};
static_assert(sizeof(Header) == 64);

struct FileEntry {
  std::array<char, name_bytes> name;  ///< NUL-padded
  std::uint64_t value;
};
static_assert(sizeof(FileEntry) == 128 && offsetof(FileEntry, value) == name_bytes);

constexpr std::size_t file_bytes(std::size_t capacity) { return sizeof(Header) + capacity * sizeof(FileEntry); }

bool name_fits(std::string_view name) {
  if (name.empty() || name.size() >= name_bytes) return false;
  for (const char c : name) {
    if (c <= ' ' || c > '~') return false;
  }
  return true;
}

Error file_error(const std::string& path, const char* call, int error_number) {
  return system_error(call, error_number).at(path).fix("check that the runtime directory exists, is writable and has space");
}

/// Exactly `size` bytes from `offset`, or false with errno (0 when the file ended early).
bool read_exactly(int file, void* to, std::size_t size, std::size_t offset) {
  auto* at = static_cast<char*>(to);
  while (size > 0) {
    const ssize_t got = ::pread(file, at, size, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      if (got == 0) errno = 0;
      return false;
    }
    at += got;
    offset += static_cast<std::size_t>(got);
    size -= static_cast<std::size_t>(got);
  }
  return true;
}

Error broken(const std::string& path, std::string what) {
  return Error(ErrorKind::bad_input, "not a counters file: " + std::move(what))
      .at(path)
      .fix("name the counters file of a running node of this version");
}

/// The name in an entry if it is well formed: allowed characters, then nothing but NUL.
Result<std::string> entry_name(const FileEntry& entry, std::size_t index, const std::string& path) {
  const std::size_t length = ::strnlen(entry.name.data(), name_bytes);
  const std::string_view name(entry.name.data(), length);
  for (std::size_t i = length; i < name_bytes; ++i) {
    if (entry.name[i] != '\0') return broken(path, fmt::format("entry {} has bytes after its name", index));
  }
  if (!name_fits(name)) return broken(path, fmt::format("entry {} has no valid name", index));
  return std::string(name);
}

}  // namespace

thread_local std::uint64_t Counter::sink_ = 0;

/// The file behind a block, which disappears with it.
struct OwnFile {
  std::string path{};
  FileDescriptor descriptor{};
  dev_t device = 0;
  ino_t inode = 0;
  pid_t process = 0;

  /// The inode tells whether somebody replaced it meanwhile; and a child that was forked has this object too, but not the
  /// file.
  void remove() const noexcept {
    struct stat status {};
    if (path.empty() || process != ::getpid() || ::stat(path.c_str(), &status) != 0) return;
    if (status.st_dev == device && status.st_ino == inode) ::unlink(path.c_str());
  }
};

/// One mapping, anonymous or of a file: as long as the file may become, of which only what is there is touched.
class CounterBlock::Storage {
 public:
  Storage(void* memory, std::size_t capacity, std::size_t capacity_most, OwnFile file = {}) noexcept
      : memory_(static_cast<std::byte*>(memory)), capacity_(capacity), capacity_most_(capacity_most),
        grows_(capacity_most > capacity), file_(std::move(file)) {
    *header() = Header{file_magic, file_version, capacity, 0, {}};
  }
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;
  ~Storage() {
    file_.remove();
    ::munmap(memory_, file_bytes(capacity_most_));
  }

  Counter counter(std::string_view name) {
    const auto found = index_.find(std::string(name));
    if (found != index_.end()) return Counter(&entry(found->second)->value);
    CHECK(name_fits(name));
    const std::size_t index = index_.size();
    if (index == capacity_ && !grow(1)) return Counter(&nowhere_);
    std::memcpy(entry(index)->name.data(), name.data(), name.size());
    index_.emplace(name, index);
    std::atomic_ref(header()->count).store(index + 1, std::memory_order_release);
    return Counter(&entry(index)->value);
  }

  CounterRun run(std::size_t count, const std::function<std::string(std::size_t)>& name_of) {
    const std::string first = name_of(0);
    auto found = index_.find(first);
    if (found == index_.end()) {
      const std::size_t index = index_.size();
      if (index + count > capacity_ && !grow(index + count - capacity_)) return {&nowhere_, 0};
      for (std::size_t i = 0; i < count; ++i) static_cast<void>(counter(name_of(i)));
      CHECK(index_.size() == index + count);  // none of them was there
      found = index_.find(first);
    }
    return {&entry(found->second)->value, sizeof(FileEntry) / sizeof(std::uint64_t)};
  }

  std::vector<CounterValue> values() const {
    std::vector<CounterValue> result;
    const std::size_t count = std::atomic_ref(header()->count).load(std::memory_order_acquire);
    for (std::size_t i = 0; i < count; ++i) {
      result.push_back({entry(i)->name.data(), Counter(&entry(i)->value).get()});
    }
    return result;
  }

 private:
  // The file is longer before its header says so: a reader takes what the header says.
  [[nodiscard]] bool grow(std::size_t count) {
    CHECK(grows_);
    const std::size_t next = std::min(capacity_most_, capacity_ + std::max(count, grows_by));
    int why = 0;
    if (next >= capacity_ + count) why = ::posix_fallocate(file_.descriptor.get(), 0, static_cast<off_t>(file_bytes(next)));
    if (next < capacity_ + count || why != 0) {
      if (!std::exchange(told_, true)) {
        log::warn(log::Room::core, "counters that are new from here on count into nowhere",
                  {{"counters", index_.size()},
                   {"because", why != 0 ? system_error("posix_fallocate", why).message()
                                        : std::string("a process has no more than so many in its time")}});
      }
      return false;
    }
    capacity_ = next;
    std::atomic_ref(header()->capacity).store(next, std::memory_order_release);
    return true;
  }

  Header* header() const noexcept { return reinterpret_cast<Header*>(memory_); }
  FileEntry* entry(std::size_t index) const noexcept {
    return reinterpret_cast<FileEntry*>(memory_ + sizeof(Header)) + index;
  }

  static constexpr std::size_t grows_by = 1024;

  std::byte* memory_;
  std::size_t capacity_;
  std::size_t capacity_most_;
  const bool grows_;
  OwnFile file_;
  std::uint64_t nowhere_ = 0;
  bool told_ = false;  // that there is no more room
  std::unordered_map<std::string, std::size_t> index_;
};

CounterBlock::CounterBlock(std::unique_ptr<Storage> storage) noexcept : storage_(std::move(storage)) {}
CounterBlock::CounterBlock(CounterBlock&& other) noexcept = default;
CounterBlock& CounterBlock::operator=(CounterBlock&& other) noexcept = default;
CounterBlock::~CounterBlock() = default;

CounterBlock CounterBlock::in_memory(std::size_t capacity) {
  CHECK(capacity <= capacity_max);
  void* const memory = ::mmap(nullptr, file_bytes(capacity), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  return CounterBlock(std::make_unique<Storage>(memory, capacity, capacity));
}

Result<CounterBlock> CounterBlock::in_file(const std::string& path, std::size_t capacity, std::size_t capacity_most) {
  capacity_most = std::min(std::max(capacity, capacity_most), capacity_max);
  CHECK(capacity <= capacity_max);
  const std::string temporary = fmt::format("{}.{}.new", path, ::getpid());
  ::unlink(temporary.c_str());  // left by a dead process that had our process id
  FileDescriptor file(::open(temporary.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (!file) return file_error(path, "open", errno);
  const auto fail = [&](const char* call, int error_number) -> Error {
    ::unlink(temporary.c_str());
    return file_error(path, call, error_number);
  };
  // Allocated, not merely truncated: a full file system must refuse here, not kill us with SIGBUS at the first write.
  const int allocated = ::posix_fallocate(file.get(), 0, static_cast<off_t>(file_bytes(capacity)));
  if (allocated != 0) return fail("posix_fallocate", allocated);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return fail("fstat", errno);
  void* const memory = ::mmap(nullptr, file_bytes(capacity_most), PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (memory == MAP_FAILED) return fail("mmap", errno);
  if (capacity_most == capacity) file.reset();
  OwnFile own{path, std::move(file), status.st_dev, status.st_ino, ::getpid()};
  auto storage = std::make_unique<Storage>(memory, capacity, capacity_most, std::move(own));
  if (::rename(temporary.c_str(), path.c_str()) != 0) return fail("rename", errno);
  return CounterBlock(std::move(storage));
}

Result<std::vector<CounterValue>> CounterBlock::read_file(const std::string& path) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file) return system_error("open", errno).at(path).fix("name the counters file of a running node");
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return system_error("fstat", errno).at(path);
  if (!S_ISREG(status.st_mode)) return broken(path, "not a regular file");
  Header header{};
  if (!read_exactly(file.get(), &header, sizeof(header), 0)) return broken(path, "shorter than its header");
  if (header.magic != file_magic) return broken(path, "the first eight bytes are not those of a counters file");
  if (header.version != file_version) return broken(path, fmt::format("version {} is not {}", header.version, file_version));
  if (header.capacity > capacity_max) return broken(path, fmt::format("capacity {} is out of range", header.capacity));
  if (header.count > header.capacity) {
    return broken(path, fmt::format("{} counters in a file for {}", header.count, header.capacity));
  }
  const auto size = static_cast<std::uint64_t>(status.st_size);  // it may just grow, by whole entries
  if (size < file_bytes(header.capacity) || (size - sizeof(Header)) % sizeof(FileEntry) != 0) {
    return broken(path, fmt::format("{} bytes where {} belong", status.st_size, file_bytes(header.capacity)));
  }
  // Copied with pread rather than mapped: a file that shrinks meanwhile is then an error and not a signal.
  std::vector<FileEntry> entries(header.count);
  if (!read_exactly(file.get(), entries.data(), entries.size() * sizeof(FileEntry), sizeof(Header))) {
    return broken(path, "it became shorter while it was read");
  }
  std::vector<CounterValue> values;
  values.reserve(entries.size());
  for (std::size_t i = 0; i < entries.size(); ++i) {
    SPINDRIFT_TRY_ASSIGN(auto name, entry_name(entries[i], i, path));
    values.push_back({std::move(name), entries[i].value});
  }
  return values;
}

Counter CounterBlock::counter(std::string_view name) { return storage_->counter(name); }
CounterRun CounterBlock::run(std::size_t count, const std::function<std::string(std::size_t)>& name_of) {
  return storage_->run(count, name_of);
}
std::vector<CounterValue> CounterBlock::values() const { return storage_->values(); }

}  // namespace spindrift
