// One walk over a sample's type that takes values in one form and puts them in another.
#include <spindrift/dds/portable_sample.hpp>

#include <algorithm>
#include <cstring>
#include <string>

#include <spindrift/dds/plain_value.hpp>

namespace spindrift::topics {
namespace {

enum class Form : std::uint8_t { in_place, traveling, portable };

constexpr std::size_t encapsulation_bytes = 4;

Form own_form(const DynamicType& type) { return type.in_place() ? Form::in_place : Form::traveling; }

/// Takes values from bytes. After something that is not there, nothing is.
class FormSource {
 public:
  FormSource(Form form, std::span<const std::byte> bytes) : form_(form), bytes_(bytes) {
    if (form_ == Form::in_place) return;
    base_ = at_ = encapsulation_bytes;
    ok_ = bytes_.size() >= at_ && bytes_[0] == std::byte{0} && bytes_[1] <= std::byte{1};
    if (ok_) swaps_ = bytes_[1] == std::byte{0};
  }
  [[nodiscard]] Form form() const noexcept { return form_; }
  [[nodiscard]] bool ok() const noexcept { return ok_; }
  [[nodiscard]] bool swaps() const noexcept { return swaps_; }
  [[nodiscard]] bool finished(std::size_t padding_max) const noexcept { return ok_ && rest() <= padding_max; }
  [[nodiscard]] std::size_t at() const noexcept { return at_; }
  [[nodiscard]] std::size_t rest() const noexcept { return bytes_.size() - at_; }
  void fail() noexcept { ok_ = false; }

  void align(std::size_t alignment) {
    const std::size_t to = base_ + (at_ - base_ + alignment - 1) / alignment * alignment;
    ok_ = ok_ && to <= bytes_.size();
    if (ok_) at_ = to;
  }
  /// Null: they are not there.
  const std::byte* take(std::size_t count) {
    ok_ = ok_ && count <= rest();
    if (!ok_) return nullptr;
    const std::byte* const from = bytes_.data() + at_;
    at_ += count;
    return from;
  }
  /// The same, and they stay.
  const std::byte* peek(std::size_t count) {
    const std::byte* const from = take(count);
    if (from != nullptr) at_ -= count;
    return from;
  }
  std::uint32_t take_count() {
    align(sizeof(std::uint32_t));
    const std::byte* const from = take(sizeof(std::uint32_t));
    if (from == nullptr) return 0;
    std::uint32_t count = 0;
    std::memcpy(&count, from, sizeof count);
    return swaps_ ? __builtin_bswap32(count) : count;
  }
  void pass_to(std::size_t at) {
    ok_ = ok_ && at <= bytes_.size();
    if (ok_) at_ = at;
  }

 private:
  Form form_;
  std::span<const std::byte> bytes_;
  std::size_t base_ = 0;
  std::size_t at_ = 0;
  bool swaps_ = false;
  bool ok_ = true;
};

/// Appends values, in the order of this machine, which is little endian, unless they are to be portable in the other one.
class FormSink {
 public:
  explicit FormSink(Form form, ByteOrder order = ByteOrder::little) : form_(form), swaps_(order == ByteOrder::big) {
    if (form_ == Form::in_place) return;
    bytes_ = {std::byte{0}, std::byte{swaps_ ? std::uint8_t{0} : std::uint8_t{1}}, std::byte{0}, std::byte{0}};
    base_ = encapsulation_bytes;
  }
  [[nodiscard]] Form form() const noexcept { return form_; }
  [[nodiscard]] bool swaps() const noexcept { return swaps_; }
  [[nodiscard]] std::size_t at() const noexcept { return bytes_.size(); }
  void align(std::size_t alignment) {
    bytes_.resize(base_ + (bytes_.size() - base_ + alignment - 1) / alignment * alignment);
  }
  void put(const std::byte* from, std::size_t count) { bytes_.insert(bytes_.end(), from, from + count); }
  void put_count(std::uint32_t count) {
    if (swaps_) count = __builtin_bswap32(count);
    align(sizeof count);
    put(reinterpret_cast<const std::byte*>(&count), sizeof count);
  }
  void fill_to(std::size_t at) { bytes_.resize(at); }
  std::vector<std::byte> finish() { return std::move(bytes_); }

 private:
  Form form_;
  bool swaps_;
  std::size_t base_ = 0;
  std::vector<std::byte> bytes_;
};

class Conversion {
 public:
  Conversion(const DynamicType& type, FormSource& from, FormSink& to) : type_(type), from_(from), to_(to) {}

  void convert(const DynamicKind& kind) {
    switch (kind.kind) {
      case FieldKind::string: return convert_text();
      case FieldKind::sequence: {
        const DynamicKind& element = type_.kinds()[kind.element];
        const std::uint32_t count = from_.take_count();
        if (count > from_.rest() / element.wire_bytes_min) from_.fail();
        if (!from_.ok()) return;
        to_.put_count(count);
        return convert_all(element, count);
      }
      case FieldKind::map: return convert_map(type_.kinds()[kind.key], type_.kinds()[kind.element]);
      case FieldKind::choice: return convert_choice(kind, written_kind(type_, type_.kinds()[kind.key]));
      case FieldKind::optional: return convert_optional(type_.kinds()[kind.element]);
      case FieldKind::enumeration: return convert_all(type_.kinds()[kind.element], 1);
      case FieldKind::array:
      case FieldKind::aggregate: return convert_fixed(kind);
      default: return convert_all(kind, 1);
    }
  }

 private:
  void convert_fixed(const DynamicKind& kind) {
    if (from_.form() == Form::in_place) from_.align(kind.alignment);
    if (to_.form() == Form::in_place) to_.align(kind.alignment);
    const std::size_t source = from_.at(), sink = to_.at();
    if (kind.kind == FieldKind::array) convert_all(type_.kinds()[kind.element], kind.count);
    for (const DynamicField& each : kind.fields) {
      if (from_.ok()) convert(type_.kinds()[each.kind]);
    }
    if (from_.form() == Form::in_place) from_.pass_to(source + kind.size);
    if (to_.form() == Form::in_place && from_.ok()) to_.fill_to(sink + kind.size);
  }

  /// So many values behind each other, at once where they are plain.
  void convert_all(const DynamicKind& kind, std::uint64_t count) {
    if (kind.wire_bytes_min == 0) return;  // whoever holds it passes over the place that it has in memory
    if (!is_plain(kind.kind)) {
      for (std::uint64_t each = 0; each < count && from_.ok(); ++each) convert(kind);
      return;
    }
    if (count == 0) return;
    from_.align(kind.size);
    const std::byte* const values = count <= from_.rest() ? from_.take(count * kind.size) : nullptr;
    if (values == nullptr) return from_.fail();
    to_.align(kind.size);
    if (from_.swaps() == to_.swaps() || kind.size == 1) return to_.put(values, count * kind.size);
    for (std::uint64_t each = 0; each < count; ++each) {
      std::byte turned[8];
      std::reverse_copy(values + each * kind.size, values + (each + 1) * kind.size, turned);
      to_.put(turned, kind.size);
    }
  }

  /// The bytes of a sequence of structs of both.
  void convert_map(const DynamicKind& key, const DynamicKind& element) {
    const std::uint32_t count = from_.take_count();
    if (count > from_.rest() / (key.wire_bytes_min + element.wire_bytes_min)) from_.fail();
    if (!from_.ok()) return;
    to_.put_count(count);
    for (std::uint32_t each = 0; each < count && from_.ok(); ++each) {
      convert(key);
      if (from_.ok()) convert(element);
    }
  }

  void convert_choice(const DynamicKind& kind, const DynamicKind& discriminator) {
    from_.align(discriminator.size);
    const std::byte* const value = from_.peek(discriminator.size);
    if (value == nullptr) return;
    std::byte own[8];
    std::copy_n(value, discriminator.size, own);
    if (from_.swaps()) std::reverse(own, own + discriminator.size);
    convert_all(discriminator, 1);
    const DynamicField* const member = with_plain(discriminator.kind, [&](auto plain) {
      typename decltype(plain)::type d{};
      if constexpr (std::is_same_v<decltype(d), bool>)
        d = own[0] != std::byte{0};
      else
        std::memcpy(&d, own, sizeof d);
      return member_of(kind, label_number(d));
    });
    if (member != nullptr && from_.ok()) convert(type_.kinds()[member->kind]);
  }

  void convert_text() {
    const std::uint32_t length = from_.take_count();
    const std::byte* const text = from_.take(length);
    if (text == nullptr) return;
    to_.put_count(length);
    to_.put(text, length);
  }

  void convert_optional(const DynamicKind& element) {
    const bool nothing = element.wire_bytes_min == 0;  // of which there are no sequences
    std::uint32_t count = 0;
    if (from_.form() == Form::portable && !nothing)
      count = from_.take_count();
    else if (const std::byte* const flag = from_.take(1))
      count = std::to_integer<std::uint32_t>(*flag);
    if (count > 1) from_.fail();
    if (!from_.ok()) return;
    const std::byte flag{static_cast<unsigned char>(count)};
    if (to_.form() == Form::portable && !nothing)
      to_.put_count(count);
    else
      to_.put(&flag, 1);
    if (count == 1) convert(element);
  }

  const DynamicType& type_;
  FormSource& from_;
  FormSink& to_;
};

Error not_of(const DynamicType& type, const FormSource& from) {
  return Error(ErrorKind::bad_input, from.ok() ? std::to_string(from.rest()) + " bytes are behind the last field"
                                               : "the bytes are no sample of type " + type.name())
      .at("byte " + std::to_string(from.at()) + " of a sample")
      .fix("compare the file with its copy, or record it again");
}

/// Errors: bad_input.
Result<std::vector<std::byte>> converted(const DynamicType& type, FormSource from, FormSink to,
                                         std::size_t padding_max = 0) {
  Conversion(type, from, to).convert(type.root());
  if (from.finished(padding_max)) return to.finish();
  return not_of(type, from);
}

bool is_key(const DynamicType& type, std::size_t field) {
  return std::find(type.keys().begin(), type.keys().end(), field) != type.keys().end();
}

/// As portable bytes: all that is zero or empty, of a union the first member, takes the fewest bytes that it can, which are
/// zero.
void put_nothing(const DynamicType& type, const DynamicKind& kind, FormSink& to) {
  if (kind.wire_bytes_min == 0) return;
  switch (kind.kind) {
    case FieldKind::sequence:
    case FieldKind::map:
    case FieldKind::optional: {
      const bool flag = kind.kind == FieldKind::optional && type.kinds()[kind.element].wire_bytes_min == 0;
      const std::byte none{};
      return flag ? to.put(&none, 1) : to.put_count(0);
    }
    case FieldKind::string: {
      const std::byte end{};
      to.put_count(1);
      return to.put(&end, 1);
    }
    case FieldKind::array:
      for (std::uint64_t each = 0; each < kind.count; ++each) put_nothing(type, type.kinds()[kind.element], to);
      return;
    case FieldKind::choice: {
      const DynamicField& first = kind.fields.front();
      const DynamicKind& discriminator = written_kind(type, type.kinds()[kind.key]);
      to.align(discriminator.size);
      to.put(reinterpret_cast<const std::byte*>(first.labels.data()), discriminator.size);  // its low bytes come first
      return put_nothing(type, type.kinds()[first.kind], to);
    }
    case FieldKind::aggregate:
      for (const DynamicField& each : kind.fields) put_nothing(type, type.kinds()[each.kind], to);
      return;
    default: to.align(kind.size); return to.fill_to(to.at() + kind.size);
  }
}

}  // namespace

std::vector<std::byte> portable_bytes(const DynamicSample& sample) {
  const DynamicType& type = *sample.type();
  // Its bytes were checked when it was made.
  return converted(type, FormSource(own_form(type), sample.bytes()), FormSink(Form::portable)).value();
}

Result<DynamicSample> from_portable_bytes(std::shared_ptr<const DynamicType> type, std::span<const std::byte> bytes,
                                          std::size_t padding_max) {
  SPINDRIFT_TRY_ASSIGN(const std::vector<std::byte> own,
                       converted(*type, FormSource(Form::portable, bytes), FormSink(own_form(*type)), padding_max));
  return DynamicSample::from_bytes(std::move(type), own);
}

Result<std::vector<std::byte>> portable_key(const DynamicType& type, std::span<const std::byte> bytes, ByteOrder order) {
  FormSource from(Form::portable, bytes);
  FormSink keys(Form::portable, order);
  for (std::size_t at = 0; at < type.root().fields.size() && from.ok(); ++at) {
    FormSink others(Form::portable);
    Conversion(type, from, is_key(type, at) ? keys : others).convert(type.kinds()[type.root().fields[at].kind]);
  }
  if (!from.ok()) return not_of(type, from);
  return keys.finish();
}

Result<DynamicSample> from_portable_key(std::shared_ptr<const DynamicType> type, std::span<const std::byte> key,
                                        std::size_t padding_max) {
  FormSource from(Form::portable, key);
  FormSink to(Form::portable);
  for (std::size_t at = 0; at < type->root().fields.size(); ++at) {
    const DynamicKind& kind = type->kinds()[type->root().fields[at].kind];
    if (is_key(*type, at))
      Conversion(*type, from, to).convert(kind);
    else
      put_nothing(*type, kind, to);
    if (!from.ok()) break;
  }
  if (!from.finished(padding_max)) return not_of(*type, from);
  return from_portable_bytes(std::move(type), to.finish());
}

}  // namespace spindrift::topics
