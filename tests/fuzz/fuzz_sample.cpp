// The bytes of a sample, which any participant of a domain writes: what is taken for one is one, and the same when it is
// written and read again; memory is bounded by the bytes that came.
#include "fuzz.hpp"

#include <spindrift/dds/type_support.hpp>

using spindrift::fuzz::expect;
using namespace spindrift::topics;

namespace samples {

enum class Kind : std::uint16_t { one, two };
struct Point {
  double x;
  bool valid;
};
struct InPlace {
  std::int64_t id;
  std::array<bool, 4> flags;
  Point at;
};
struct Various {
  Kind kind;
  std::string text;
  std::vector<std::string> words;
  std::vector<Point> points;
  std::optional<std::int64_t> number;
  std::vector<std::vector<std::uint8_t>> blobs;
};

struct Mapped {
  std::map<std::string, std::map<Kind, Point>> named;
  std::map<std::uint8_t, std::optional<bool>> numbered;
  std::vector<std::map<bool, std::string>> many;
};

class Choice : public dds::topic::union_value<Kind, dds::topic::union_case<std::string, Kind::one>,
                                              dds::topic::union_default<std::vector<Point>, Kind::two>> {
 public:
  Choice() = default;
};
struct Chosen {
  std::variant<std::uint8_t, std::string, Choice> either;
  std::vector<Choice> many;
};

}  // namespace samples

namespace {

template <class T>
void check(std::span<const std::byte> bytes) {
  const TypeSupport& support = type_support<T>();
  const auto sample = support.decode(bytes);
  if (!sample) {
    expect(!sample.error().place().empty() && !sample.error().fix().empty(), "an error has a place and a fix");
    return;
  }
  const T& value = *static_cast<const T*>(sample->get());
  const bool survives = with_encoded(value, [&](std::span<const std::byte> again) {
    const auto back = support.decode(again);
    return back.ok() && support.key(back->get()) == support.key(&value);
  });
  expect(survives, "a sample survives being written and read");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  check<samples::InPlace>(bytes);
  check<samples::Various>(bytes);
  check<samples::Mapped>(bytes);
  check<samples::Chosen>(bytes);
  return 0;
}
