// The tables of functions that Cyclone DDS calls for a type of an application's own, and what they work on.
#include "opaque_type.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <span>

#include <dds/dds.h>
#include <dds/ddsi/ddsi_serdata.h>
#include <dds/ddsi/ddsi_sertype.h>
#include <dds/ddsi/q_protocol.h>
#include <dds/ddsi/q_radmin.h>
#include <dds/ddsrt/md5.h>

#include <spindrift/core/digest.hpp>
#include <spindrift/dds/dynamic_participant.hpp>
#include <spindrift/dds/portable_sample.hpp>

namespace spindrift::tools::bridge {
namespace {

using topics::DynamicSample;
using topics::DynamicType;
using Bytes = std::vector<std::byte>;

constexpr std::size_t word_bytes = 4;  // RTPS fills up to whole ones, and the encapsulation is one
constexpr std::size_t padding_max = word_bytes - 1;
constexpr std::size_t keyhash_bytes = 16;

struct OpaqueSertype : ddsi_sertype {
  std::shared_ptr<const DynamicType> described;
  std::shared_ptr<MalformedSamples> malformed;
};
struct OpaqueData : ddsi_serdata {
  Bytes bytes;  // with the encapsulation, whole words
  Bytes key;    // as portable_key has it
  std::shared_ptr<const DynamicSample> sample;
};

const OpaqueSertype& own(const ddsi_sertype* type) { return *static_cast<const OpaqueSertype*>(type); }
const OpaqueData& own(const ddsi_serdata* data) { return *static_cast<const OpaqueData*>(data); }

/// The encapsulation says how many bytes are none of the sample.
Bytes in_words(Bytes bytes) {
  const std::size_t padding = (word_bytes - bytes.size() % word_bytes) % word_bytes;
  bytes.resize(bytes.size() + padding);
  bytes[3] = static_cast<std::byte>(padding);
  return bytes;
}

std::uint32_t hash_of(std::span<const std::byte> key, std::uint32_t base) {
  return static_cast<std::uint32_t>(digest_of(key).words[0]) ^ base;
}

OpaqueData* make(const ddsi_sertype* type, ddsi_serdata_kind kind, Bytes bytes, Bytes key,
                 std::shared_ptr<const DynamicSample> sample) {
  auto* const made = new OpaqueData{};
  ddsi_serdata_init(made, type, kind);
  made->hash = hash_of(key, type->serdata_basehash);
  made->bytes = in_words(std::move(bytes));
  made->key = std::move(key);
  made->sample = std::move(sample);
  return made;
}

/// Checks what came. Errors: bad_input.
Result<OpaqueData*> taken_in(const OpaqueSertype& type, ddsi_serdata_kind kind, Bytes bytes) {
  const bool is_key = kind == SDK_KEY;
  SPINDRIFT_TRY_ASSIGN(DynamicSample sample, is_key ? topics::from_portable_key(type.described, bytes, padding_max)
                                                    : topics::from_portable_bytes(type.described, bytes, padding_max));
  // In one order of bytes, whoever wrote it: equal keys are equal bytes.
  SPINDRIFT_TRY_ASSIGN(Bytes key, topics::portable_key(*type.described, topics::portable_bytes(sample)));
  return make(&type, kind, std::move(bytes), std::move(key), std::make_shared<const DynamicSample>(std::move(sample)));
}

/// Null where it is no sample: Cyclone DDS drops it, and goes on.
ddsi_serdata* checked(const ddsi_sertype* type, ddsi_serdata_kind kind, Bytes bytes) noexcept {
  try {
    auto made = taken_in(own(type), kind, std::move(bytes));
    if (made) return made.value();
    own(type).malformed->count(made.error());
    topics::DynamicParticipant::wake();
  } catch (const std::bad_alloc&) {
    // The writer sends it again where it is reliable.
  }
  return nullptr;
}

ddsi_serdata* from_ser(const ddsi_sertype* type, ddsi_serdata_kind kind, const nn_rdata* fragment, std::size_t size) {
  Bytes bytes(size);
  std::size_t at = 0;
  for (; fragment != nullptr; fragment = fragment->nextfrag) {
    const std::size_t end = std::min<std::size_t>(fragment->maxp1, size);
    if (end <= at) continue;  // they may overlap
    if (fragment->min > at) return nullptr;  // what is between them is not here
    const unsigned char* const payload = NN_RMSG_PAYLOADOFF(fragment->rmsg, NN_RDATA_PAYLOAD_OFF(fragment));
    std::memcpy(bytes.data() + at, payload + (at - fragment->min), end - at);
    at = end;
  }
  return checked(type, kind, std::move(bytes));
}

ddsi_serdata* from_ser_iov(const ddsi_sertype* type, ddsi_serdata_kind kind, ddsrt_msg_iovlen_t count,
                           const ddsrt_iovec_t* parts, std::size_t size) {
  Bytes bytes;
  for (const ddsrt_iovec_t& each : std::span(parts, count)) {
    const auto* const from = static_cast<const std::byte*>(each.iov_base);
    bytes.insert(bytes.end(), from, from + std::min<std::size_t>(each.iov_len, size - bytes.size()));
  }
  return checked(type, kind, std::move(bytes));
}

/// Without a key there is one instance; otherwise a digest does not tell the key.
ddsi_serdata* from_keyhash(const ddsi_sertype* type, const ddsi_keyhash*) {
  if (!own(type).described->keys().empty()) return nullptr;
  return checked(type, SDK_KEY, {std::byte{0}, std::byte{1}, std::byte{0}, std::byte{0}});
}

ddsi_serdata* to_untyped(const ddsi_serdata* data) {
  const OpaqueData& of = own(data);
  auto* const made = make(of.type, SDK_KEY, of.key, of.key, of.sample);
  made->hash = of.hash;
  made->type = nullptr;
  return made;
}

ddsi_serdata* to_ser_ref(const ddsi_serdata* data, std::size_t offset, std::size_t size, ddsrt_iovec_t* part) {
  part->iov_base = const_cast<std::byte*>(own(data).bytes.data()) + offset;
  part->iov_len = static_cast<ddsrt_iov_len_t>(size);
  return ddsi_serdata_ref(data);
}

bool has_fixed_bytes(const DynamicType& type, const topics::DynamicKind& kind) {
  if (kind.kind == topics::FieldKind::string) return false;
  if (kind.kind == topics::FieldKind::array) return has_fixed_bytes(type, type.kinds()[kind.element]);
  return std::all_of(kind.fields.begin(), kind.fields.end(),
                     [&](const topics::DynamicField& each) { return has_fixed_bytes(type, type.kinds()[each.kind]); });
}

/// As RTPS has it (9.6.3.8): the key's bytes in big endian, or their MD5 where they can be more than sixteen.
void get_keyhash(const ddsi_serdata* data, ddsi_keyhash* to, bool force_md5) {
  const DynamicSample& sample = *own(data).sample;
  const DynamicType& type = *sample.type();
  const auto with_header = topics::portable_key(type, topics::portable_bytes(sample), topics::ByteOrder::big).value();
  const auto key = std::span(with_header).subspan(word_bytes);
  std::memset(to->value, 0, keyhash_bytes);
  const bool fixed = std::all_of(type.keys().begin(), type.keys().end(), [&](std::size_t each) {
    return has_fixed_bytes(type, type.kinds()[type.root().fields[each].kind]);
  });
  if (fixed && key.size() <= keyhash_bytes && !force_md5) {
    std::memcpy(to->value, key.data(), key.size());
    return;
  }
  ddsrt_md5_state_t state;
  ddsrt_md5_init(&state);
  ddsrt_md5_append(&state, reinterpret_cast<const ddsrt_md5_byte_t*>(key.data()), static_cast<unsigned>(key.size()));
  ddsrt_md5_finish(&state, to->value);
}

// Values in memory: there are none.
ddsi_serdata* from_sample(const ddsi_sertype*, ddsi_serdata_kind, const void*) { return nullptr; }
bool to_sample(const ddsi_serdata*, void*, void**, void*) { return false; }
bool untyped_to_sample(const ddsi_sertype*, const ddsi_serdata*, void*, void**, void*) { return false; }

const ddsi_serdata_ops& data_functions() {
  static const ddsi_serdata_ops functions = [] {
    ddsi_serdata_ops made{};
    made.eqkey = [](const ddsi_serdata* a, const ddsi_serdata* b) { return own(a).key == own(b).key; };
    made.get_size = [](const ddsi_serdata* data) { return static_cast<std::uint32_t>(own(data).bytes.size()); };
    made.from_ser = from_ser;
    made.from_ser_iov = from_ser_iov;
    made.from_keyhash = from_keyhash;
    made.from_sample = from_sample;
    made.to_ser = [](const ddsi_serdata* data, std::size_t offset, std::size_t size, void* to) {
      std::memcpy(to, own(data).bytes.data() + offset, size);
    };
    made.to_ser_ref = to_ser_ref;
    made.to_ser_unref = [](ddsi_serdata* data, const ddsrt_iovec_t*) { ddsi_serdata_unref(data); };
    made.to_sample = to_sample;
    made.to_untyped = to_untyped;
    made.untyped_to_sample = untyped_to_sample;
    made.free = [](ddsi_serdata* data) { delete static_cast<OpaqueData*>(data); };
    made.print = [](const ddsi_sertype*, const ddsi_serdata*, char* to, std::size_t) -> std::size_t { return *to = 0, 0; };
    made.get_keyhash = get_keyhash;
    return made;
  }();
  return functions;
}

const ddsi_sertype_ops& type_functions() {
  static const ddsi_sertype_ops functions = [] {
    ddsi_sertype_ops made{};
    made.version = ddsi_sertype_v0;
    made.free = [](ddsi_sertype* type) {
      ddsi_sertype_fini(type);
      delete static_cast<OpaqueSertype*>(type);
    };
    made.zero_samples = [](const ddsi_sertype*, void*, std::size_t) {};
    made.realloc_samples = [](void** to, const ddsi_sertype*, void*, std::size_t, std::size_t count) {
      std::fill_n(to, count, nullptr);
    };
    made.free_samples = [](const ddsi_sertype*, void**, std::size_t, dds_free_op_t) {};
    made.equal = [](const ddsi_sertype* a, const ddsi_sertype* b) { return a == b; };
    made.hash = [](const ddsi_sertype* type) {
      return hash_of(std::as_bytes(std::span(own(type).described->description())), 0);
    };
    made.get_serialized_size = [](const ddsi_sertype*, const void*) { return SIZE_MAX; };
    made.serialize_into = [](const ddsi_sertype*, const void*, void*, std::size_t) { return false; };
    return made;
  }();
  return functions;
}

}  // namespace

void MalformedSamples::count(const Error& fault) {
  const std::lock_guard lock(mutex_);
  ++total_;
  last_ = fault.message() + " (" + fault.place() + ")";
}
std::uint64_t MalformedSamples::total() const {
  const std::lock_guard lock(mutex_);
  return total_;
}
std::string MalformedSamples::last() const {
  const std::lock_guard lock(mutex_);
  return last_;
}

ddsi_sertype* make_opaque_type(const std::string& type_name, std::shared_ptr<const DynamicType> type,
                               std::shared_ptr<MalformedSamples> malformed) {
  auto* const made = new OpaqueSertype{};
  ddsi_sertype_init_flags(made, type_name.c_str(), &type_functions(), &data_functions(),
                          type->keys().empty() ? DDSI_SERTYPE_FLAG_TOPICKIND_NO_KEY : 0);
  made->allowed_data_representation = DDS_DATA_REPRESENTATION_FLAG_XCDR1;
  made->described = std::move(type);
  made->malformed = std::move(malformed);
  return made;
}

ddsi_serdata* make_opaque_data(const ddsi_sertype* type, OpaqueKind kind, std::shared_ptr<const DynamicSample> sample,
                               std::int64_t source_timestamp) {
  const bool is_sample = kind == OpaqueKind::sample;
  Bytes bytes = topics::portable_bytes(*sample);
  Bytes key = topics::portable_key(*sample->type(), bytes).value();
  if (!is_sample) bytes = key;
  auto* const made = make(type, is_sample ? SDK_DATA : SDK_KEY, std::move(bytes), std::move(key), std::move(sample));
  made->timestamp.v = source_timestamp;
  if (kind == OpaqueKind::dispose) made->statusinfo = NN_STATUSINFO_DISPOSE;
  if (kind == OpaqueKind::unregister) made->statusinfo = NN_STATUSINFO_UNREGISTER;
  return made;
}

const std::shared_ptr<const DynamicSample>& sample_of(const ddsi_serdata* data) { return own(data).sample; }

}  // namespace spindrift::tools::bridge
