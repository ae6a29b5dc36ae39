// Two rings in memory without a name.
#include <spindrift/rpc/shm/shm_transport.hpp>

#include <bit>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <spindrift/core/check.hpp>
#include <spindrift/core/ids.hpp>
#include <spindrift/core/untrusted.hpp>
#include <spindrift/rpc/wire.hpp>

namespace spindrift::rpc {
namespace {

// A ring: a line with the count of packets that were read, written by the reader; then the places.
constexpr std::size_t word_bytes = 8;

constexpr const char* memory_name = "spindrift:calls";
constexpr int size_seals = F_SEAL_SHRINK | F_SEAL_GROW;

std::size_t place_bytes(const ShmRingOptions& options) {
  const std::size_t bytes = word_bytes + header_bytes + options.payload_bytes;
  return (bytes + cache_line_bytes - 1) / cache_line_bytes * cache_line_bytes;
}
std::size_t ring_bytes(const ShmRingOptions& options) { return cache_line_bytes + options.places * place_bytes(options); }

std::uint64_t word_of(std::uint64_t count, std::uint32_t places, std::size_t bytes) {
  return (count / places + 1) << 32 | bytes;
}

Result<void> check(const ShmRingOptions& options) {
  const bool sound = options.payload_bytes >= payload_bytes_least && options.payload_bytes <= payload_bytes_most &&
                     std::has_single_bit(options.places) && options.places >= 2 && options.places <= 65536 &&
                     options.burst_packets > 0;
  if (sound) return {};
  return Error(ErrorKind::bad_argument,
               "a packet's payload is 512 to 65000 bytes, a ring has 2 to 65536 places, a power of two, "
               "and a burst at least one packet");
}

}  // namespace

class ShmTransport::Mapping {
 public:
  Mapping(void* memory, std::size_t bytes) noexcept : memory_(memory), bytes_(bytes) {}
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  ~Mapping() { ::munmap(memory_, bytes_); }
  [[nodiscard]] std::byte* data() const noexcept { return static_cast<std::byte*>(memory_); }

 private:
  void* memory_;
  std::size_t bytes_;
};

ShmTransport::ShmTransport(FileDescriptor memory, std::unique_ptr<Mapping> mapping, bool creator,
                           const ShmRingOptions& options)
    : options_(options),
      memory_(std::move(memory)),
      mapping_(std::move(mapping)),
      out_(mapping_->data() + (creator ? 0 : ring_bytes(options))),
      in_(mapping_->data() + (creator ? ring_bytes(options) : 0)),
      copies_((header_bytes + options.payload_bytes) * options.burst_packets) {
  burst_.reserve(options.burst_packets);
}

ShmTransport::~ShmTransport() = default;

Result<std::unique_ptr<ShmTransport>> ShmTransport::map(FileDescriptor memory, bool creator, const ShmRingOptions& options) {
  const std::size_t bytes = 2 * ring_bytes(options);
  void* const at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory.get(), 0);
  if (at == MAP_FAILED) return system_error("mmap", errno);
  auto mapping = std::make_unique<Mapping>(at, bytes);
  return std::unique_ptr<ShmTransport>(new ShmTransport(std::move(memory), std::move(mapping), creator, options));
}

Result<std::unique_ptr<ShmTransport>> ShmTransport::create(const ShmRingOptions& options) {
  SPINDRIFT_TRY(check(options));
  FileDescriptor memory(::memfd_create(memory_name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!memory)
    return system_error("memfd_create", errno).at(memory_name).fix("raise the limit of open files (ulimit -n)");
  // Taken now, so that a lack of memory is an error here and no signal later.
  const int failed = ::posix_fallocate(memory.get(), 0, static_cast<off_t>(2 * ring_bytes(options)));
  if (failed != 0) return system_error("posix_fallocate", failed).at(memory_name);
  if (::fcntl(memory.get(), F_ADD_SEALS, size_seals | F_SEAL_SEAL) != 0)
    return system_error("F_ADD_SEALS", errno).at(memory_name);
  return map(std::move(memory), true, options);
}

Result<FileDescriptor> ShmTransport::share() const {
  FileDescriptor shared(::fcntl(memory_.get(), F_DUPFD_CLOEXEC, 0));
  if (!shared)
    return system_error("F_DUPFD_CLOEXEC", errno).at(memory_name).fix("raise the limit of open files (ulimit -n)");
  return shared;
}

Result<std::unique_ptr<ShmTransport>> ShmTransport::open(FileDescriptor memory, const ShmRingOptions& options) {
  SPINDRIFT_TRY(check(options));
  const auto wrong = [](ErrorKind kind, const char* what) {
    return Error(kind, what)
        .at("a descriptor passed over for calls")
        .fix("pass over what ShmTransport::share returns, and give both ends the same ShmRingOptions");
  };
  // The seals come first: from then on the size is what it is.
  const int seals = ::fcntl(memory.get(), F_GET_SEALS);
  if (seals < 0) return wrong(ErrorKind::bad_input, "it is no memory that can keep its size");
  if ((seals & size_seals) != size_seals)
    return wrong(ErrorKind::refused, "the other end could make the memory smaller, which would end this process");
  struct stat status {};
  if (::fstat(memory.get(), &status) != 0) return system_error("fstat", errno);
  if (status.st_uid != ::geteuid()) return wrong(ErrorKind::refused, "the memory belongs to another user");
  if (static_cast<std::size_t>(status.st_size) != 2 * ring_bytes(options))
    return wrong(ErrorKind::bad_input, "the memory has another size: it was made with other options, or is something else");
  return map(std::move(memory), false, options);
}

bool ShmTransport::has_room() {
  if (written_ - peer_read_ < options_.places) return true;
  // The peer's count grows, and never beyond what was written.
  const auto count = read_word(out_).within(peer_read_, written_);
  if (count) peer_read_ = *count;
  return written_ - peer_read_ < options_.places;
}

void ShmTransport::send(std::span<const OutgoingPacket> burst) {
  for (const OutgoingPacket& packet : burst) {
    const std::size_t bytes = packet.header.size() + packet.payload.size();
    CHECK(packet.header.size() == header_bytes && packet.payload.size() <= options_.payload_bytes);
    if (!has_room()) {
      ++unsent_;
      continue;
    }
    std::byte* const place = out_ + cache_line_bytes + place_bytes(options_) * (written_ % options_.places);
    std::memcpy(place + word_bytes, packet.header.data(), packet.header.size());
    if (!packet.payload.empty())
      std::memcpy(place + word_bytes + header_bytes, packet.payload.data(), packet.payload.size());
    store_release(place, word_of(written_, options_.places, bytes));
    ++written_;
  }
}

std::span<const IncomingPacket> ShmTransport::receive() {
  burst_.clear();
  const std::uint64_t before = read_;
  const std::size_t most = header_bytes + options_.payload_bytes;
  for (std::byte* copy = copies_.data(); read_ - before < options_.burst_packets; ++read_) {
    const std::byte* const place = in_ + cache_line_bytes + place_bytes(options_) * (read_ % options_.places);
    const std::uint64_t none = word_of(read_, options_.places, 0);
    const auto word = read_word(place).within(none, none | UINT32_MAX);
    if (!word) break;  // of an earlier turn: nothing has come
    const std::size_t bytes = *word & UINT32_MAX;
    if (bytes < header_bytes || bytes > most) continue;  // no packet
    std::memcpy(copy, place + word_bytes, bytes);
    burst_.push_back({peer(), {copy, bytes}});
    copy += bytes;
  }
  if (read_ != before) store_release(in_, read_);
  return burst_;
}

}  // namespace spindrift::rpc
