// XTypes' descriptions of types, written as our descriptions have them, and taken apart from there on.
#include "cyclone_type.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <vector>

// Each of these needs those before it.
#include <dds/ddsi/ddsi_xqos.h>

#include <dds/ddsi/ddsi_typelib.h>

#include <dds/ddsi/ddsi_list_tmpl.h>

#include <dds/ddsi/ddsi_xt_impl.h>

#include <spindrift/dds/type_support.hpp>

namespace spindrift::tools::bridge {
namespace {

using topics::DynamicKind;
using topics::DynamicType;
using topics::FieldKind;

constexpr dds_duration_t answer_within = DDS_SECS(1);

// Numbers of XTypes 1.3 that the library's headers lack.
constexpr std::uint8_t int8_kind = 0x0C;
constexpr std::uint8_t uint8_kind = 0x0D;

struct PlainName {
  std::uint8_t kind;
  const char* name;
};
constexpr std::array plain_names{
    PlainName{DDS_XTypes_TK_BOOLEAN, "bool"},
    PlainName{DDS_XTypes_TK_BYTE, "u8"},
    PlainName{DDS_XTypes_TK_INT16, "i16"},
    PlainName{DDS_XTypes_TK_INT32, "i32"},
    PlainName{DDS_XTypes_TK_INT64, "i64"},
    PlainName{DDS_XTypes_TK_UINT16, "u16"},
    PlainName{DDS_XTypes_TK_UINT32, "u32"},
    PlainName{DDS_XTypes_TK_UINT64, "u64"},
    PlainName{DDS_XTypes_TK_FLOAT32, "f32"},
    PlainName{DDS_XTypes_TK_FLOAT64, "f64"},
    PlainName{DDS_XTypes_TK_CHAR8, "char"},
    PlainName{int8_kind, "i8"},
    PlainName{uint8_kind, "u8"},
    PlainName{DDS_XTypes_TI_STRING8_SMALL, "string"},
    PlainName{DDS_XTypes_TI_STRING8_LARGE, "string"},
    PlainName{DDS_XTypes_TK_STRING8, "string"},
};

Error not_ours(const std::string& what) {
  return Error(ErrorKind::unsupported, what).fix("mirror topics of other types, or change this one");
}

/// The fewest of 8, 16, 32 and 64 bits that have room.
std::uint32_t room_for(std::uint32_t bits) { return bits <= 8 ? 8 : bits <= 16 ? 16 : bits <= 32 ? 32 : 64; }

/// A description that lives as long as this.
class HeldObject {
 public:
  static Result<HeldObject> of(dds_entity_t participant, const DDS_XTypes_TypeIdentifier& id) {
    dds_typeobj_t* object = nullptr;
    const ddsi_typeid asked{id};
    const dds_return_t done = dds_get_typeobj(participant, &asked, answer_within, &object);
    HeldObject held(object);
    if (done == DDS_RETCODE_OK && object->x._d == DDS_XTypes_EK_COMPLETE) return held;
    return Error(ErrorKind::timed_out, "nobody describes a type that it has: " + std::string(dds_strretcode(done)))
        .fix("let its programs run, and build them with a description of their types (idlc without -t)");
  }
  [[nodiscard]] const DDS_XTypes_CompleteTypeObject& operator*() const { return object_->x._u.complete; }

 private:
  struct Free {
    void operator()(dds_typeobj_t* object) const { dds_free_typeobj(object); }
  };
  explicit HeldObject(dds_typeobj_t* object) : object_(object) {}
  std::unique_ptr<dds_typeobj_t, Free> object_;
};

class TypeWriter {
 public:
  explicit TypeWriter(dds_entity_t participant) : participant_(participant) {}

  /// With the names of fields, and the keys of the outermost one.
  Result<std::string> text(const DDS_XTypes_TypeIdentifier& id) {
    SPINDRIFT_TRY_ASSIGN(std::string made, kind(id));
    return made + (keys_.empty() ? "" : " key=" + keys_);
  }

 private:
  /// Somebody wrote it who may mean harm: its levels are bounded, and so is its text, which twofold use of each part
  /// doubles.
  Result<std::string> kind(const DDS_XTypes_TypeIdentifier& id) {
    if (levels_ == topics::type_depth_max) return not_ours("it has too many levels, or holds itself");
    ++levels_;
    auto made = kind_within(id);
    --levels_;
    if (made && made.value().size() > topics::description_bytes_max) return not_ours("its description is too long");
    return made;
  }
  Result<std::string> kind_within(const DDS_XTypes_TypeIdentifier& id) {
    for (const PlainName& each : plain_names) {
      if (each.kind == id._d) return std::string(each.name);
    }
    switch (id._d) {
      case DDS_XTypes_TI_PLAIN_SEQUENCE_SMALL: return sequence(*id._u.seq_sdefn.element_identifier);
      case DDS_XTypes_TI_PLAIN_SEQUENCE_LARGE: return sequence(*id._u.seq_ldefn.element_identifier);
      case DDS_XTypes_TI_PLAIN_ARRAY_SMALL: {
        const auto& bounds = id._u.array_sdefn.array_bound_seq;
        return array(*id._u.array_sdefn.element_identifier, {bounds._buffer, bounds._buffer + bounds._length});
      }
      case DDS_XTypes_TI_PLAIN_ARRAY_LARGE: {
        const auto& bounds = id._u.array_ldefn.array_bound_seq;
        return array(*id._u.array_ldefn.element_identifier, {bounds._buffer, bounds._buffer + bounds._length});
      }
      case DDS_XTypes_EK_COMPLETE: return named(id);
      default: return not_ours("it has a map, a wide character or text, a long double, or holds itself");
    }
  }
  Result<std::string> sequence(const DDS_XTypes_TypeIdentifier& element) {
    SPINDRIFT_TRY_ASSIGN(const std::string of, kind(element));
    return "sequence<" + of + ">";
  }
  /// The innermost bound is the last one, and comes first here.
  Result<std::string> array(const DDS_XTypes_TypeIdentifier& element, const std::vector<std::uint32_t>& bounds) {
    SPINDRIFT_TRY_ASSIGN(std::string made, kind(element));
    for (auto each = bounds.rbegin(); each != bounds.rend(); ++each) made += "[" + std::to_string(*each) + "]";
    return made;
  }

  Result<std::string> named(const DDS_XTypes_TypeIdentifier& id) {
    if (++depth_ > topics::type_depth_max) return not_ours("it has too many levels, or holds itself");
    SPINDRIFT_TRY_ASSIGN(const HeldObject object, HeldObject::of(participant_, id));
    SPINDRIFT_TRY_ASSIGN(std::string made, described(*object));
    --depth_;
    return made;
  }
  Result<std::string> described(const DDS_XTypes_CompleteTypeObject& object) {
    switch (object._d) {
      case DDS_XTypes_TK_ALIAS: return kind(object._u.alias_type.body.common.related_type);
      case DDS_XTypes_TK_ENUM: {
        const auto& header = object._u.enumerated_type.header;
        return std::string(header.detail.type_name) + ":i" + std::to_string(room_for(header.common.bit_bound));
      }
      case DDS_XTypes_TK_BITMASK: return "u" + std::to_string(room_for(object._u.bitmask_type.header.common.bit_bound));
      case DDS_XTypes_TK_SEQUENCE: return sequence(object._u.sequence_type.element.common.type);
      case DDS_XTypes_TK_ARRAY: {
        const auto& bounds = object._u.array_type.header.common.bound_seq;
        return array(object._u.array_type.element.common.type, {bounds._buffer, bounds._buffer + bounds._length});
      }
      case DDS_XTypes_TK_STRUCTURE: return aggregate(object._u.struct_type);
      default: return not_ours("it has a union, a bitset or a map");
    }
  }

  Result<std::string> aggregate(const DDS_XTypes_CompleteStructType& type) {
    std::string made = std::string(type.header.detail.type_name) + "{";
    std::size_t count = 0;
    SPINDRIFT_TRY(add_fields(type, made, depth_ > 1 ? nullptr : &count));
    return made + "}";
  }
  /// `count`: of the fields of the sample, whose keys are noted; null: within it.
  Result<void> add_fields(const DDS_XTypes_CompleteStructType& type, std::string& made, std::size_t* count) {
    if ((type.struct_flags & (DDS_XTypes_IS_APPENDABLE | DDS_XTypes_IS_MUTABLE)) != 0)
      return not_ours(std::string(type.header.detail.type_name) + " is appendable or mutable, whose bytes are others");
    if (type.header.base_type._d == DDS_XTypes_EK_COMPLETE) {
      SPINDRIFT_TRY_ASSIGN(const HeldObject base, HeldObject::of(participant_, type.header.base_type));
      if ((*base)._d != DDS_XTypes_TK_STRUCTURE || ++depth_ > topics::type_depth_max)
        return not_ours("its base is no struct");
      SPINDRIFT_TRY(add_fields((*base)._u.struct_type, made, count));
      --depth_;
    }
    for (const auto& each : std::span(type.member_seq._buffer, type.member_seq._length)) {
      const std::string name = each.detail.name;
      if ((each.common.member_flags & DDS_XTypes_IS_OPTIONAL) != 0)
        return not_ours("its field " + name + " is optional, whose bytes are others");
      if ((each.common.member_flags & DDS_XTypes_IS_KEY) != 0) {
        if (count == nullptr) return not_ours("a part of a field, " + name + ", is a key");
        keys_ += (keys_.empty() ? "" : ",") + std::to_string(*count);
      }
      if (count != nullptr) ++*count;
      SPINDRIFT_TRY_ASSIGN(const std::string of, kind(each.common.member_type_id));
      made += (made.back() == '{' ? "" : ",") + name + "=" + of;
    }
    return {};
  }

  dds_entity_t participant_;
  std::string keys_;
  std::size_t levels_ = 0;
  std::size_t depth_ = 0;  // of structs
};

bool has(FieldKind kind, const DynamicType& type) {
  return std::any_of(type.kinds().begin(), type.kinds().end(), [&](const DynamicKind& each) { return each.kind == kind; });
}

/// Without any names.
std::string shape(const DynamicType& type, const DynamicKind& kind) {
  const auto element = [&] { return shape(type, type.kinds()[kind.element]); };
  switch (kind.kind) {
    case FieldKind::sequence: return "sequence<" + element() + ">";
    case FieldKind::array: return element() + "[" + std::to_string(kind.count) + "]";
    case FieldKind::enumeration: return "enum:" + std::to_string(8 * kind.size) + " bits";  // IDL's has no sign
    case FieldKind::aggregate: {
      std::string text;
      for (const topics::DynamicField& each : kind.fields)
        text += (text.empty() ? "" : ",") + shape(type, type.kinds()[each.kind]);
      return "{" + text + "}";
    }
    default: return std::string(to_string(kind.kind));
  }
}
std::string shape(const DynamicType& type) {
  std::string text = shape(type, type.root());
  std::vector<std::size_t> keys = type.keys();
  std::sort(keys.begin(), keys.end());
  for (const std::size_t each : keys) text += (text.back() == '}' ? " key=" : ",") + std::to_string(each);
  return text;
}

}  // namespace

Result<std::shared_ptr<const DynamicType>> type_of(dds_entity_t participant, const dds_typeinfo_t& told) {
  TypeWriter writer(participant);
  SPINDRIFT_TRY_ASSIGN(std::string text, writer.text(told.x.complete.typeid_with_size.type_id));
  SPINDRIFT_TRY_ASSIGN(DynamicType type, DynamicType::parse(text));
  if (type.root().fixed) {
    // So a C++ type with these fields travels.
    text += " in place, " + std::to_string(type.root().size) + " bytes";
    SPINDRIFT_TRY_ASSIGN(type, DynamicType::parse(text));
  }
  return std::make_shared<const DynamicType>(std::move(type));
}

Result<void> check_passes(const DynamicType& type) {
  if (has(FieldKind::optional, type)) return not_ours("it has an optional, whose bytes are others in DDS");
  if (has(FieldKind::choice, type)) return not_ours("it has a union, which is not passed on");
  if (has(FieldKind::map, type)) return not_ours("it has a map, of which Cyclone DDS has none");
  return {};
}

std::string difference(const DynamicType& ours, const DynamicType& theirs) {
  const std::string here = shape(ours), there = shape(theirs);
  return here == there ? "" : topics::words_of_difference(here, there);
}

}  // namespace spindrift::tools::bridge
