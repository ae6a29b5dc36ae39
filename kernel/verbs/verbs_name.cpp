// Between a device's name and its bytes. What comes from a peer is taken byte by byte or not at all.
#include <spindrift/kernel/verbs/verbs_name.hpp>

#include <algorithm>
#include <span>

namespace spindrift::kernel::verbs {
namespace {

constexpr std::uint8_t form = 'V';
constexpr std::uint8_t version = 1;
constexpr std::uint8_t has_connected = 1;
constexpr std::uint8_t has_target = 2;

/// What there is of a target's GID.
enum class GidForm : std::uint8_t { none, address, link_local, whole };

constexpr std::array<std::uint8_t, 8> link_local_prefix{0xfe, 0x80};
constexpr std::array<std::uint8_t, 12> mapped_prefix{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

bool is_mapped(const HostAddress& address) {
  return std::equal(mapped_prefix.begin(), mapped_prefix.end(), address.begin());
}

/// The shortest; nothing if none has room.
std::optional<GidForm> form_of(const VerbsName& name) {
  if (!name.target) return GidForm::none;
  const auto& gid = name.target->gid;
  if (gid == name.address) return GidForm::address;
  if (std::equal(link_local_prefix.begin(), link_local_prefix.end(), gid.begin())) return GidForm::link_local;
  if (is_mapped(name.address)) return GidForm::whole;
  return std::nullopt;
}

/// Writes a name's bytes one behind another.
class NameWriter {
 public:
  void put(std::span<const std::uint8_t> bytes) {
    for (const std::uint8_t byte : bytes) metadata_.bytes[metadata_.size++] = std::byte{byte};
  }
  void put(std::uint32_t number, std::size_t count) {
    while (count-- > 0) metadata_.bytes[metadata_.size++] = static_cast<std::byte>(number >> 8 * count);
  }
  [[nodiscard]] const Metadata& metadata() const noexcept { return metadata_; }

 private:
  Metadata metadata_;
};

/// Reads them; behind the end there are zeros, and `exact` is false.
class NameReader {
 public:
  explicit NameReader(const Metadata& metadata) : metadata_(metadata) {}
  template <std::size_t Count>
  void take(std::span<std::uint8_t, Count> bytes) {
    for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(number(1));
  }
  [[nodiscard]] std::uint32_t number(std::size_t count) {
    std::uint32_t number = 0;
    for (; count > 0; --count, ++at_) {
      const std::size_t size = std::min<std::size_t>(metadata_.size, Metadata::bytes_max);
      number = number << 8 | (at_ < size ? std::to_integer<std::uint32_t>(metadata_.bytes[at_]) : 0);
    }
    return number;
  }
  [[nodiscard]] bool exact() const noexcept { return at_ == metadata_.size; }

 private:
  const Metadata& metadata_;
  std::size_t at_ = 0;
};

}  // namespace

std::optional<Metadata> encode(const VerbsName& name) {
  const auto gid_form = form_of(name);
  if (!gid_form) return std::nullopt;
  NameWriter writer;
  writer.put(form, 1);
  writer.put(version, 1);
  writer.put((name.port != 0 ? has_connected : 0U) | (name.target ? has_target : 0U), 1);
  writer.put(static_cast<std::uint8_t>(*gid_form), 1);
  writer.put(name.port, 2);
  writer.put(name.target ? name.target->lid : 0, 2);
  const std::span<const std::uint8_t> address(name.address);
  writer.put(*gid_form == GidForm::whole ? address.last(address.size() - mapped_prefix.size()) : address);
  if (!name.target) return writer.metadata();
  const std::span<const std::uint8_t> gid(name.target->gid);
  if (*gid_form == GidForm::link_local) writer.put(gid.last(gid.size() - link_local_prefix.size()));
  if (*gid_form == GidForm::whole) writer.put(gid);
  writer.put(name.target->number, 3);
  writer.put(name.target->key, 4);
  return writer.metadata();
}

// Each name has one encoding, so what was taken wrongly does not come back as it was.
std::optional<VerbsName> decode(const Metadata& metadata) {
  NameReader reader(metadata);
  if (reader.number(1) != form || reader.number(1) != version) return std::nullopt;
  const std::uint32_t classes = reader.number(1);
  const std::uint32_t gid_form = reader.number(1);
  if (gid_form > static_cast<std::uint32_t>(GidForm::whole)) return std::nullopt;
  VerbsName name;
  name.port = static_cast<std::uint16_t>(reader.number(2));
  TargetName target;
  target.lid = static_cast<std::uint16_t>(reader.number(2));
  const std::span address(name.address);
  if (GidForm{static_cast<std::uint8_t>(gid_form)} == GidForm::whole) {
    std::copy(mapped_prefix.begin(), mapped_prefix.end(), name.address.begin());
    reader.take(address.last<4>());
  } else {
    reader.take(address);
  }
  switch (GidForm{static_cast<std::uint8_t>(gid_form)}) {
    case GidForm::none: break;
    case GidForm::address: target.gid = name.address; break;
    case GidForm::link_local:
      std::copy(link_local_prefix.begin(), link_local_prefix.end(), target.gid.begin());
      reader.take(std::span(target.gid).last<8>());
      break;
    case GidForm::whole: reader.take(std::span(target.gid)); break;
  }
  if ((classes & has_target) != 0) {
    target.number = reader.number(3);
    target.key = reader.number(4);
    if (target.number == 0) return std::nullopt;
    name.target = target;
  }
  const bool reachable = name.port != 0 || name.target;
  if (!reachable || !reader.exact() || !names_one_host(name.address) || encode(name) != metadata) return std::nullopt;
  return name;
}

}  // namespace spindrift::kernel::verbs
