// Endpoints as a file, and its checks.
#include <spindrift/dds/endpoints_file.hpp>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include <spindrift/core/limits.hpp>
#include <spindrift/core/runtime_path.hpp>
#include <spindrift/core/view.hpp>
#include <spindrift/group/status.hpp>

namespace spindrift::topics {
namespace {

constexpr std::string_view directory_name = "endpoints";
constexpr std::string_view suffix = ".endpoints";
constexpr std::uint64_t current_form = 0x31646e6573647073;  // "spdsend1"
constexpr std::uint64_t release_bits = std::uint64_t{0xff} << 56;
constexpr std::size_t carrier_count_max = 65536;
constexpr std::size_t subgroup_name_bytes_max = 256;
constexpr mode_t writable_by_others = 022;

Error no_endpoints(const std::string& what) {
  return Error(ErrorKind::bad_input, "not a member's endpoints: " + what)
      .fix("remove the file, which its member writes again when a topic, writer or reader comes or goes; or join the domain "
           "(--as participant)");
}

bool get_carriers(ByteReader& from, std::map<std::string, std::string>& carriers) {
  const auto count = from.get<std::uint32_t>();
  if (count > carrier_count_max) return false;
  for (std::uint32_t each = 0; each < count; ++each) {
    auto topic = get_text(from, topic_name_bytes_max);
    auto subgroup = topic ? get_text(from, subgroup_name_bytes_max) : std::nullopt;
    if (!subgroup || !valid_subgroup_name(*subgroup)) return false;
    carriers.emplace(std::move(*topic), std::move(*subgroup));
  }
  return true;
}

Result<void> write_all(int file, std::span<const std::byte> rest) {
  while (!rest.empty()) {
    const ssize_t count = ::write(file, rest.data(), rest.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return system_error("write", count < 0 ? errno : EIO);
    rest = rest.subspan(static_cast<std::size_t>(count));
  }
  return {};
}

/// Whether this user can trust that nobody else wrote it, and that it is a file of a size that a member writes.
Result<void> check_file(int file) {
  struct stat about {};
  if (::fstat(file, &about) != 0) return system_error("fstat", errno);
  if (!S_ISREG(about.st_mode)) return no_endpoints("it is no regular file");
  if ((about.st_uid != ::geteuid() && about.st_uid != 0) || (about.st_mode & writable_by_others) != 0) {
    return Error(ErrorKind::refused, "others than this user and root can have written a member's endpoints: it is user " +
                                         std::to_string(about.st_uid) + "'s, or others may write it")
        .fix("remove the file, and find out who put it there");
  }
  if (static_cast<std::uint64_t>(about.st_size) > endpoints_file_bytes_max) return no_endpoints("it is too large");
  return {};
}

Result<std::vector<std::byte>> read_all(int file) {
  SPINDRIFT_TRY(check_file(file));
  std::vector<std::byte> bytes;
  std::array<std::byte, 16384> piece{};
  for (;;) {
    const ssize_t count = ::read(file, piece.data(), piece.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return system_error("read", errno);
    if (count == 0) return bytes;
    bytes.insert(bytes.end(), piece.begin(), piece.begin() + count);
    if (bytes.size() > endpoints_file_bytes_max) return no_endpoints("it is too large");
  }
}

bool lives(const ShownBy& by) {
  const std::uint64_t started = group::process_start_ticks(by.process);
  return started != 0 && started == by.started;
}

}  // namespace

Result<GuardedDirectory> open_endpoints_directory(const Config& config) {
  SPINDRIFT_TRY_ASSIGN(const auto of_group, GuardedDirectory::open(config.runtime_directory(), config.group_name()));
  return GuardedDirectory::open(of_group.path(), std::string(directory_name));
}

std::vector<std::byte> bytes_of(const ShownDomain& shown) {
  ByteWriter to;
  to.put(current_form, shown.by.node.value(), shown.by.process, shown.by.started, shown.view.value(), shown.messages);
  to.put(static_cast<std::uint32_t>(shown.carriers.size()));
  for (const auto& [topic, subgroup] : shown.carriers) {
    put_text(to, topic);
    put_text(to, subgroup);
  }
  to.put(static_cast<std::uint64_t>(shown.endpoints.size()));
  for (const auto& [id, facts] : shown.endpoints) put(to, facts);
  return to.take();
}

Result<ShownDomain> parse_endpoints(std::span<const std::byte> bytes) {
  ByteReader from(bytes);
  const auto form = from.get<std::uint64_t>();
  if (form != current_form && (form & ~release_bits) == (current_form & ~release_bits)) {
    return Error(ErrorKind::unsupported, "a member of another release shows its endpoints otherwise")
        .fix("use that release's command, or join the domain (--as participant)");
  }
  if (form != current_form) return no_endpoints("it does not begin like such a file");
  ShownDomain shown;
  shown.by.node = NodeId(from.get<std::uint32_t>());
  shown.by.process = from.get<std::uint64_t>();
  shown.by.started = from.get<std::uint64_t>();
  shown.view = ViewId(from.get<std::uint64_t>());
  shown.messages = from.get<std::uint64_t>();
  if (shown.by.process == 0 || shown.by.process > INT32_MAX) return no_endpoints("it names no process");
  if (!get_carriers(from, shown.carriers)) return no_endpoints("what it says of subgroups is none");
  const auto count = from.get<std::uint64_t>();
  for (std::uint64_t each = 0; each < count; ++each) {
    auto facts = get_endpoint(from);
    if (!facts) return no_endpoints("endpoint " + std::to_string(each + 1) + " of " + std::to_string(count) + " is none");
    const EndpointId id = facts->id;
    if (!shown.endpoints.emplace(id, std::move(*facts)).second) return no_endpoints("an endpoint is there twice");
  }
  if (!from.complete()) return no_endpoints("it is cut off, or goes on behind its end");
  return shown;
}

Result<void> write_endpoints(const GuardedDirectory& directory, NodeId node, std::span<const std::byte> bytes) {
  const std::string name = node_file_name(node, suffix);
  const std::string temporary = name + ".new";
  const auto placed = [&](Error error) { return std::move(error).at(directory.path() + "/" + name); };
  if (bytes.size() > endpoints_file_bytes_max) {
    return placed(Error(ErrorKind::resource, "the domain has more endpoints than a file of them holds")
                      .fix("let commands join that domain (--as participant)"));
  }
  FileDescriptor file(::openat(directory.descriptor(), temporary.c_str(),
                               O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file) return placed(system_error("open", errno));
  if (auto written = write_all(file.get(), bytes); !written) return placed(std::move(written).error());
  if (::renameat(directory.descriptor(), temporary.c_str(), directory.descriptor(), name.c_str()) != 0)
    return placed(system_error("rename", errno));
  return {};
}

void remove_endpoints(const GuardedDirectory& directory, NodeId node) noexcept {
  static_cast<void>(::unlinkat(directory.descriptor(), node_file_name(node, suffix).c_str(), 0));
}

Result<std::optional<ShownDomain>> read_endpoints(const GuardedDirectory& directory, const std::string& name) {
  const auto placed = [&](Error error) { return std::move(error).at(directory.path() + "/" + name); };
  const FileDescriptor file(::openat(directory.descriptor(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  if (!file && errno == ENOENT) return std::optional<ShownDomain>();
  if (!file && errno == ELOOP) return placed(no_endpoints("it is a link"));
  if (!file && errno == ENXIO) return placed(no_endpoints("it is no regular file"));  // a socket
  if (!file) return placed(system_error("open", errno));
  auto bytes = read_all(file.get());
  if (!bytes) return placed(std::move(bytes).error());
  auto shown = parse_endpoints(*bytes);
  if (!shown) return placed(std::move(shown).error());
  if (name != node_file_name(shown->by.node, suffix)) return placed(no_endpoints("another node wrote it"));
  return std::optional(std::move(shown).value());
}

Result<ShownHere> look_at_endpoints(const GuardedDirectory& directory) {
  const int listing = ::openat(directory.descriptor(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::unique_ptr<DIR, int (*)(DIR*)> files(listing < 0 ? nullptr : ::fdopendir(listing), ::closedir);
  if (!files) return system_error("open", errno).at(directory.path());
  ShownHere here;
  while (const dirent* entry = ::readdir(files.get())) {
    if (!node_of_file(entry->d_name, suffix)) continue;
    auto read = read_endpoints(directory, entry->d_name);
    if (!read) {
      here.fault = std::move(read).error();
      continue;
    }
    std::optional<ShownDomain> shown = std::move(read).value();
    if (!shown || !lives(shown->by)) continue;
    const auto point = [](const ShownDomain& some) { return std::pair(some.view, some.messages); };
    if (here.newest && point(*here.newest) >= point(*shown)) continue;
    here.newest = std::make_shared<const ShownDomain>(std::move(*shown));
  }
  return here;
}

}  // namespace spindrift::topics
