// Creating, sealing, proving and mapping memfds.
#include <spindrift/fabric/shm/region.hpp>

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <cerrno>
#include <limits>
#include <string>

namespace spindrift::fabric::shm {
namespace {

constexpr int size_seals = F_SEAL_SHRINK | F_SEAL_GROW;
constexpr std::size_t memfd_name_bytes_max = 200;
constexpr std::size_t huge_page_bytes = std::size_t{2} << 20;

/// Whether this process's own limit explains that so many bytes cannot be mapped: without one, or for more than that, the
/// peer sent what nobody could map.
bool limited_below(std::size_t bytes) noexcept {
  rlimit limit{};
  return ::getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && bytes < limit.rlim_cur;
}

}  // namespace

Mapping::Mapping(Mapping&& other) noexcept : memory_(std::exchange(other.memory_, {})) {}

Mapping& Mapping::operator=(Mapping&& other) noexcept {
  std::swap(memory_, other.memory_);
  return *this;
}

Mapping::~Mapping() {
  if (!memory_.empty()) ::munmap(memory_.data(), memory_.size());
}

Result<Mapping> Mapping::of(int descriptor, std::size_t bytes, bool writable) {
  void* at = ::mmap(nullptr, bytes, PROT_READ | (writable ? PROT_WRITE : 0), MAP_SHARED, descriptor, 0);
  if (at == MAP_FAILED) {
    return system_error("map " + std::to_string(bytes) + " bytes of shared memory", errno)
        .fix("free memory, or raise the address space limit (ulimit -v)");
  }
  ::madvise(at, bytes, MADV_DONTFORK);  // a child would write into what others read of its parent
  // A wish: the host's settings may refuse it, and a page that is short of memory is a small one then.
  if (bytes >= huge_page_bytes) ::madvise(at, bytes, MADV_HUGEPAGE);
  return Mapping({static_cast<std::byte*>(at), bytes});
}

Result<OwnSegment> OwnSegment::create(std::size_t bytes, std::string_view name) {
  if (bytes == 0 || bytes > static_cast<std::size_t>(std::numeric_limits<off_t>::max())) {
    return Error(ErrorKind::bad_argument, "a region of " + std::to_string(bytes) + " bytes").at(std::string(name));
  }
  const std::string shown = "spindrift:" + std::string(name.substr(0, memfd_name_bytes_max));
  FileDescriptor descriptor(::memfd_create(shown.c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!descriptor) return system_error("memfd_create", errno).at(shown).fix("raise the limit of open files (ulimit -n)");
  if (::ftruncate(descriptor.get(), static_cast<off_t>(bytes)) != 0) {
    return system_error("ftruncate to " + std::to_string(bytes) + " bytes", errno).at(shown);
  }
  SPINDRIFT_TRY_ASSIGN(Mapping mapping, Mapping::of(descriptor.get(), bytes, true));
  return OwnSegment(std::move(descriptor), std::move(mapping));
}

Result<void> OwnSegment::seal(Access access) {
  if (sealed_for_ == access) return {};
  if (sealed_for_) {
    return Error(ErrorKind::bad_argument, "the region is already exposed for the other kind of access")
        .fix("allocate one region for peers that read and another for peers that write");
  }
  const int seals = size_seals | F_SEAL_SEAL | (access == Access::read ? F_SEAL_FUTURE_WRITE : 0);
  if (::fcntl(descriptor_.get(), F_ADD_SEALS, seals) != 0) return system_error("seal a region", errno);
  sealed_for_ = access;
  return {};
}

Result<PeerSegment> PeerSegment::open(FileDescriptor descriptor, std::uint64_t bytes, Access access) {
  const int seals = ::fcntl(descriptor.get(), F_GET_SEALS);
  if (seals < 0 || (seals & size_seals) != size_seals) {
    return Error(ErrorKind::bad_input, "the peer sent memory whose size is not sealed");
  }
  // Huge pages can run out at the first touch and then raise SIGBUS; ordinary shared memory cannot.
  struct statfs file_system {};
  if (::fstatfs(descriptor.get(), &file_system) != 0 || file_system.f_type != TMPFS_MAGIC) {
    return Error(ErrorKind::bad_input, "the peer sent something else than ordinary shared memory");
  }
  struct stat status {};
  if (::fstat(descriptor.get(), &status) != 0 || status.st_size <= 0 ||
      static_cast<std::uint64_t>(status.st_size) != bytes) {
    return Error(ErrorKind::bad_input, "the peer sent memory of another size than it said");
  }
  if (access == Access::write && (seals & (F_SEAL_WRITE | F_SEAL_FUTURE_WRITE)) != 0) {
    return Error(ErrorKind::bad_input, "the peer sent memory for writing that is sealed against it");
  }
  auto mapping = Mapping::of(descriptor.get(), bytes, access == Access::write);
  if (mapping) return PeerSegment(std::move(mapping).value(), access);
  if (limited_below(bytes)) return std::move(mapping).error();
  return Error(ErrorKind::bad_input, "the peer sent memory that cannot be mapped").because(std::move(mapping).error());
}

}  // namespace spindrift::fabric::shm
