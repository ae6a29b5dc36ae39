// CDR by Fast-CDR: its calls, and its exceptions turned into faults of a sample.
#include <spindrift/dds/cdr.hpp>

#include <fastcdr/Cdr.h>
#include <fastcdr/FastBuffer.h>
#include <fastcdr/exceptions/Exception.h>

#include <limits>

namespace spindrift::topics {
namespace {

using eprosima::fastcdr::Cdr;
using eprosima::fastcdr::FastBuffer;

Error unwritable(std::string what, std::string fix) {
  return Error(ErrorKind::bad_argument, std::move(what)).at("a sample").fix(std::move(fix));
}

}  // namespace

struct CdrWriter::State {
  FastBuffer buffer;  // it grows
  Cdr cdr{buffer, Cdr::LITTLE_ENDIANNESS, Cdr::DDS_CDR};

  /// Zeros up to a value of so many bytes: Fast-CDR would send what its memory held before.
  void align(std::size_t bytes) {
    while (cdr.getSerializedDataLength() % bytes != 4 % bytes) cdr.serialize(std::uint8_t{0});
  }
};

CdrWriter::CdrWriter() : state_(std::make_unique<State>()) { state_->cdr.serialize_encapsulation(); }
CdrWriter::~CdrWriter() = default;

// The buffer that grows has one reason to throw: there is no memory.
#define SPINDRIFT_PUT(type)                                    \
  void CdrWriter::put(type value) {                            \
    try {                                                      \
      state_->align(sizeof value);                             \
      state_->cdr.serialize(value);                            \
    } catch (const eprosima::fastcdr::exception::Exception&) { \
      throw std::bad_alloc();                                  \
    }                                                          \
  }
SPINDRIFT_PUT(bool)
SPINDRIFT_PUT(char)
SPINDRIFT_PUT(std::int8_t)
SPINDRIFT_PUT(std::uint8_t)
SPINDRIFT_PUT(std::int16_t)
SPINDRIFT_PUT(std::uint16_t)
SPINDRIFT_PUT(std::int32_t)
SPINDRIFT_PUT(std::uint32_t)
SPINDRIFT_PUT(std::int64_t)
SPINDRIFT_PUT(std::uint64_t)
SPINDRIFT_PUT(float)
SPINDRIFT_PUT(double)
#undef SPINDRIFT_PUT

void CdrWriter::put(const std::string& value) {
  if (value.find('\0') != std::string::npos) {
    throw Exception(unwritable("a string has a zero within it, where CDR says that it ends",
                               "send such bytes as std::vector<std::uint8_t>"));
  }
  if (value.size() >= std::numeric_limits<std::uint32_t>::max()) {
    throw Exception(unwritable("a string has 2^32 bytes or more", "send it in parts"));
  }
  try {
    state_->align(sizeof(std::uint32_t));
    state_->cdr.serialize(value);
  } catch (const eprosima::fastcdr::exception::Exception&) {
    throw std::bad_alloc();
  }
}

void CdrWriter::put_count(std::size_t count) {
  if (count > std::numeric_limits<std::uint32_t>::max()) {
    throw Exception(unwritable("a sequence or a map has 2^32 elements or more", "send it in parts"));
  }
  put(static_cast<std::uint32_t>(count));
}

std::span<const std::byte> CdrWriter::bytes() const {
  return std::as_bytes(std::span(state_->buffer.getBuffer(), state_->cdr.getSerializedDataLength()));
}

// Fast-CDR takes memory that it may write; it does not where it only reads.
struct CdrReader::State {
  explicit State(std::span<const std::byte> bytes)
      : size(bytes.size()), buffer(const_cast<char*>(reinterpret_cast<const char*>(bytes.data())), bytes.size()) {}

  std::size_t size;
  FastBuffer buffer;
  Cdr cdr{buffer, Cdr::LITTLE_ENDIANNESS, Cdr::DDS_CDR};
  std::optional<Error> fault;
};

CdrReader::CdrReader(std::span<const std::byte> bytes) : state_(std::make_unique<State>(bytes)) {
  if (bytes.size() < 4) {
    fail("the encapsulation is cut off");
  } else if (bytes[0] != std::byte{0} || bytes[1] > std::byte{1}) {
    fail("the encapsulation is none of plain CDR");
  } else {
    try {
      state_->cdr.read_encapsulation();
    } catch (const eprosima::fastcdr::exception::Exception& thrown) {
      fail(thrown.what());
    }
  }
}
CdrReader::~CdrReader() = default;

std::size_t CdrReader::rest() const { return state_->size - state_->cdr.getSerializedDataLength(); }

void CdrReader::fail(const std::string& what) {
  if (state_->fault) return;
  state_->fault = Error(ErrorKind::bad_input, what)
                      .at("byte " + std::to_string(state_->cdr.getSerializedDataLength()) + " of a sample")
                      .fix("compare the versions of the writer's and the reader's programs");
}

template <class T>
bool CdrReader::take(T& value) {
  if (state_->fault) return false;
  try {
    state_->cdr.deserialize(value);
    return true;
  } catch (const eprosima::fastcdr::exception::Exception& thrown) {
    fail("a field is not there, or is none: " + std::string(thrown.what()));
    return false;
  }
}

// A bool that is neither is found by Fast-CDR, which throws.
bool CdrReader::get(bool& value) { return take(value); }
bool CdrReader::get(char& value) { return take(value); }
bool CdrReader::get(std::int8_t& value) { return take(value); }
bool CdrReader::get(std::uint8_t& value) { return take(value); }
bool CdrReader::get(std::int16_t& value) { return take(value); }
bool CdrReader::get(std::uint16_t& value) { return take(value); }
bool CdrReader::get(std::int32_t& value) { return take(value); }
bool CdrReader::get(std::uint32_t& value) { return take(value); }
bool CdrReader::get(std::int64_t& value) { return take(value); }
bool CdrReader::get(std::uint64_t& value) { return take(value); }
bool CdrReader::get(float& value) { return take(value); }
bool CdrReader::get(double& value) { return take(value); }

// Read by its parts: Fast-CDR takes a string without its closing zero as well, and an empty one of no bytes at all.
bool CdrReader::get(std::string& value) {
  std::uint32_t length = 0;
  if (!get_count(1, length)) return false;
  if (length == 0) {
    fail("a string has no closing zero");
    return false;
  }
  value.resize(length - 1);
  char closing = 0;
  try {
    state_->cdr.deserializeArray(value.data(), value.size());
  } catch (const eprosima::fastcdr::exception::Exception& thrown) {
    fail(thrown.what());
    return false;
  }
  if (!take(closing)) return false;
  if (closing == '\0' && value.find('\0') == std::string::npos) return true;
  fail("a string does not end where its length says");
  return false;
}

bool CdrReader::get_count(std::size_t element_bytes_min, std::uint32_t& count) {
  if (!take(count)) return false;
  if (count <= rest() / element_bytes_min) return true;
  fail("a length of " + std::to_string(count) + " is more than the " + std::to_string(rest()) + " bytes behind it hold");
  return false;
}

Result<void> CdrReader::finish_early() const {
  if (state_->fault) return *state_->fault;
  return {};
}

Result<void> CdrReader::finish() {
  if (!state_->fault && rest() > 0) fail(std::to_string(rest()) + " bytes are behind the last field");
  if (state_->fault) return *state_->fault;
  return {};
}

}  // namespace spindrift::topics
