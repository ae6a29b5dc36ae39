// The bytes of samples, walked by their type: to be checked, as JSON, and as a key.
#include <spindrift/dds/dynamic_sample.hpp>

#include <charconv>
#include <cmath>
#include <map>
#include <mutex>
#include <set>

#include <spindrift/dds/cdr.hpp>
#include <spindrift/dds/json_sample.hpp>
#include <spindrift/dds/map_key.hpp>
#include <spindrift/dds/plain_value.hpp>

namespace spindrift::topics {
namespace {

/// Takes values as they lie in memory. All bytes are there: the sample has the size of its type.
class PlaceReader {
 public:
  explicit PlaceReader(std::span<const std::byte> bytes) : bytes_(bytes) {}
  template <class T>
  T get() {
    align(sizeof(T));
    const std::byte* const from = bytes_.data() + at_;
    at_ += sizeof(T);
    if constexpr (std::is_same_v<T, bool>) {
      bools_hold_ = bools_hold_ && *from <= std::byte{1};
      return *from == std::byte{1};
    } else {
      T value;
      std::memcpy(&value, from, sizeof value);
      return value;
    }
  }
  static std::string get_text() { return {}; }
  static std::uint32_t get_count(std::size_t) { return 0; }
  static void fail(const char*) {}
  std::size_t begin(const DynamicKind& kind) {
    align(kind.alignment);
    return at_;
  }
  void end(const DynamicKind& kind, std::size_t begin) { at_ = begin + kind.size; }
  [[nodiscard]] bool ok() const noexcept { return bools_hold_; }
  [[nodiscard]] Result<void> finish() {
    if (!bools_hold_) return wrong_bool();
    return {};
  }

 private:
  void align(std::size_t alignment) { at_ = (at_ + alignment - 1) / alignment * alignment; }

  std::span<const std::byte> bytes_;
  std::size_t at_ = 0;
  bool bools_hold_ = true;
};

/// Takes values from CDR.
class WireReader {
 public:
  explicit WireReader(std::span<const std::byte> bytes) : reader_(bytes) {}
  template <class T>
  T get() {
    T value{};
    ok_ = ok_ && reader_.get(value);
    return value;
  }
  std::string get_text() { return get<std::string>(); }
  std::uint32_t get_count(std::size_t element_bytes_min) {
    std::uint32_t count = 0;
    ok_ = ok_ && reader_.get_count(element_bytes_min, count);
    return ok_ ? count : 0;
  }
  void fail(const char* what) {
    ok_ = false;
    reader_.fail(what);
  }
  static std::size_t begin(const DynamicKind&) { return 0; }
  static void end(const DynamicKind&, std::size_t) {}
  [[nodiscard]] bool ok() const noexcept { return ok_; }
  [[nodiscard]] Result<void> finish() { return reader_.finish(); }

 private:
  CdrReader reader_;
  bool ok_ = true;
};

// The things that values are made into: nothing, JSON, or the bytes of a key.

struct NothingMade {
  struct Value {};
  template <class T>
  static Value plain(T) {
    return {};
  }
  static Value text(const std::string&) { return {}; }
  static Value list() { return {}; }
  static Value object() { return {}; }
  static void append(Value&, const Value&) {}
  static void put(Value&, const std::string&, const Value&) {}
};

/// The shortest number that is read as this one: 0.1 and not 0.10000000149011612.
double shortest(float value) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, value).ptr;
  double number = 0;
  std::from_chars(text, end, number);
  return number;
}

struct Json {
  using Value = SampleJson;
  template <class T>
  static Value plain(T value) {
    if constexpr (std::is_floating_point_v<T>) {
      if (std::isnan(value)) return "NaN";
      if (std::isinf(value)) return value < 0 ? "-Infinity" : "Infinity";
      if constexpr (sizeof(T) == 4) return shortest(value);
      return value;
    } else if constexpr (std::is_same_v<T, char>) {
      const auto byte = static_cast<unsigned char>(value);
      if (byte >= 0x80) return byte;
      return std::string(1, value);
    } else {
      return value;
    }
  }
  static Value text(std::string text) { return text; }
  static Value list() { return Value::array(); }
  static Value object() { return Value::object(); }
  static void append(Value& to, Value each) { to.push_back(std::move(each)); }
  // No name comes twice, which `emplace` would look for from the first on.
  static void put(Value& to, const std::string& name, Value each) {
    to.get_ref<Value::object_t&>().emplace_back(name, std::move(each));
  }
};

/// As add_key of C++ types.
struct KeyBytes {
  using Value = std::string;
  template <class T>
  static Value plain(T value) {
    return {reinterpret_cast<const char*>(&value), sizeof value};
  }
  static Value text(const std::string& text) { return plain(text.size()) + text; }
  static Value list() { return {}; }
  static Value object() { return {}; }
  static void append(Value& to, const Value& each) { to += each; }
  static void put(Value& to, const std::string&, const Value& each) { to += each; }
};

template <class Make, class Source>
typename Make::Value value_of(const DynamicType& type, const DynamicKind& kind, Source& source);

template <class Make, class Source>
typename Make::Value map_of(const DynamicType& type, const DynamicKind& kind, Source& source) {
  const DynamicKind& key = type.kinds()[kind.key];
  const DynamicKind& element = type.kinds()[kind.element];
  auto object = Make::object();
  std::set<std::string> keys;
  const std::uint32_t count = source.get_count(key.wire_bytes_min + element.wire_bytes_min);
  for (std::uint32_t each = 0; each < count && source.ok(); ++each) {
    const auto [text, is_new] = keys.insert(map_key_text(value_of<Json>(type, key, source)));
    if (!is_new && source.ok()) source.fail(doubled_key);
    if (source.ok()) Make::put(object, *text, value_of<Make>(type, element, source));
  }
  return object;
}

template <class Make, class Source>
typename Make::Value choice_of(const DynamicType& type, const DynamicKind& kind, Source& source) {
  auto object = Make::object();
  const DynamicField* const member = with_plain(written_kind(type, type.kinds()[kind.key]).kind, [&](auto plain) {
    const auto d = source.template get<typename decltype(plain)::type>();
    Make::put(object, std::string(discriminator_name), Make::plain(d));
    return member_of(kind, label_number(d));
  });
  if (member == nullptr && kind.is_variant && source.ok()) source.fail(no_member_told);
  if (member != nullptr && source.ok())
    Make::put(object, member->name, value_of<Make>(type, type.kinds()[member->kind], source));
  return object;
}

template <class Make, class Source>
typename Make::Value value_of(const DynamicType& type, const DynamicKind& kind, Source& source) {
  const auto element = [&]() -> const DynamicKind& { return type.kinds()[kind.element]; };
  const auto list_of = [&](std::uint64_t count) {
    auto list = Make::list();
    for (std::uint64_t each = 0; each < count && source.ok(); ++each)
      Make::append(list, value_of<Make>(type, element(), source));
    return list;
  };
  switch (kind.kind) {
    case FieldKind::string: return Make::text(source.get_text());
    case FieldKind::sequence: return list_of(source.get_count(element().wire_bytes_min));
    case FieldKind::map: return map_of<Make>(type, kind, source);
    case FieldKind::choice: return choice_of<Make>(type, kind, source);
    case FieldKind::optional:
      if (!source.template get<bool>()) return {};
      return value_of<Make>(type, element(), source);
    case FieldKind::enumeration: return value_of<Make>(type, element(), source);
    case FieldKind::array: {
      const std::size_t begin = source.begin(kind);
      auto list = list_of(kind.count);
      source.end(kind, begin);
      return list;
    }
    case FieldKind::aggregate: {
      const std::size_t begin = source.begin(kind);
      auto object = Make::object();
      for (const DynamicField& each : kind.fields) {
        if (source.ok()) Make::put(object, each.name, value_of<Make>(type, type.kinds()[each.kind], source));
      }
      source.end(kind, begin);
      return object;
    }
    default:
      return with_plain(kind.kind,
                        [&](auto plain) { return Make::plain(source.template get<typename decltype(plain)::type>()); });
  }
}

/// Calls with a reader of the sample's bytes.
template <class Use>
decltype(auto) with_source(const DynamicType& type, std::span<const std::byte> bytes, const Use& use) {
  if (type.in_place()) {
    PlaceReader source(bytes);
    return use(source);
  }
  WireReader source(bytes);
  return use(source);
}

/// All that is known of types in this process, by their descriptions with names.
struct KnownTypes {
  std::mutex mutex;
  std::map<std::string, std::pair<TypeSupport, std::shared_ptr<const DynamicType>>> all;
  static KnownTypes& of_process() {
    static KnownTypes known;
    return known;
  }
};

TypeSupport support_of(const std::shared_ptr<const DynamicType>& type) {
  TypeSupport made;
  made.name = type->name();
  made.description = type->description();
  made.named = type->named();
  made.identity = digest_of(made.description).words[0];
  made.keyed = !type->keys().empty();
  made.in_place = type->in_place();
  made.in_place_bytes = type->in_place_bytes();
  made.decode = [type](std::span<const std::byte> bytes) -> Result<std::shared_ptr<const void>> {
    SPINDRIFT_TRY_ASSIGN(DynamicSample sample, DynamicSample::from_bytes(type, bytes));
    return std::shared_ptr<const void>(std::make_shared<DynamicSample>(std::move(sample)));
  };
  made.key = [](const void* value) { return static_cast<const DynamicSample*>(value)->key(); };
  return made;
}

const std::string& full_text(const DynamicType& type) { return type.named().empty() ? type.description() : type.named(); }

}  // namespace

Result<DynamicSample> DynamicSample::from_bytes(std::shared_ptr<const DynamicType> type, std::span<const std::byte> bytes) {
  if (type->in_place() && bytes.size() != type->in_place_bytes()) return wrong_size(bytes.size(), type->in_place_bytes());
  SPINDRIFT_TRY(with_source(*type, bytes, [&](auto& source) {
    static_cast<void>(value_of<NothingMade>(*type, type->root(), source));
    return source.finish();
  }));
  return DynamicSample(std::move(type), {bytes.begin(), bytes.end()});
}

Result<DynamicSample> DynamicSample::from_json(std::shared_ptr<const DynamicType> type, const SampleJson& json) {
  SPINDRIFT_TRY_ASSIGN(std::vector<std::byte> bytes, bytes_of_json(*type, json));
  return DynamicSample(std::move(type), std::move(bytes));
}

SampleJson DynamicSample::json() const {
  return with_source(*type_, bytes_, [&](auto& source) { return value_of<Json>(*type_, type_->root(), source); });
}

Digest DynamicSample::key() const {
  if (type_->keys().empty()) return {};
  const std::string bytes = with_source(*type_, bytes_, [&](auto& source) {
    std::vector<std::string> fields;
    for (const DynamicField& each : type_->root().fields)
      fields.push_back(value_of<KeyBytes>(*type_, type_->kinds()[each.kind], source));
    std::string all;
    for (const std::size_t each : type_->keys()) all += fields[each];
    return all;
  });
  return bytes.empty() ? Digest{} : digest_of(bytes);
}

bool is_map_key(const DynamicType& type, const DynamicKind& key, std::string_view name) {
  const FieldKind kind = written_kind(type, key).kind;
  if (kind == FieldKind::string) return true;
  return with_plain(kind, [&](auto plain) { return map_key_of<typename decltype(plain)::type>(name).has_value(); });
}

const TypeSupport& dynamic_type_support(const DynamicType& type) {
  KnownTypes& known = KnownTypes::of_process();
  const std::lock_guard lock(known.mutex);
  const auto found = known.all.find(full_text(type));
  if (found != known.all.end()) return found->second.first;
  const auto shared = std::make_shared<const DynamicType>(type);
  return known.all.emplace(full_text(type), std::pair(support_of(shared), shared)).first->second.first;
}

std::shared_ptr<const DynamicType> dynamic_type_of(const TypeSupport& support) {
  KnownTypes& known = KnownTypes::of_process();
  const std::lock_guard lock(known.mutex);
  return known.all.at(support.named.empty() ? support.description : support.named).second;
}

}  // namespace spindrift::topics
