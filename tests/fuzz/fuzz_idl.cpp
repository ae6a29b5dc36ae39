// IDL and ROS files, as a user has them from anywhere: what is taken becomes a header, and all else is an error with a
// place.
#include "fuzz.hpp"

#include "idl/model.hpp"

using spindrift::fuzz::expect;
using namespace spindrift::idl;

namespace {

void check(const std::string& path, const std::string& text) {
  const ReadFile read = [&](const std::string& asked) -> std::optional<std::string> {
    if (asked == path) return text;
    return std::nullopt;
  };
  try {
    const Model model = parse({path}, read);
    for (const IdlUnit& each : model.units) expect(!header_of(model, each).empty(), "a unit has a header");
  } catch (const spindrift::Exception& thrown) {
    expect(!thrown.error().place().empty() && !thrown.error().fix().empty(), "an error has a place and a fix");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(spindrift::fuzz::as_text(data, size));
  check("p/msg/A.msg", text);
  check("a.idl", text);
  return 0;
}
