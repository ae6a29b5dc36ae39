// The words about types that differ and bytes that are no sample.
#include <spindrift/dds/type_support.hpp>

namespace spindrift::topics {
namespace {

Error malformed(std::string what) {
  return Error(ErrorKind::bad_input, std::move(what))
      .at("a sample")
      .fix("compare the versions of the writer's and the reader's programs");
}

}  // namespace

std::string words_of_difference(const std::string& here, const std::string& there) {
  return "here it is \"" + here + "\", there \"" + there + "\"";
}

Error wrong_size(std::size_t bytes, std::size_t expected) {
  return malformed("it has " + std::to_string(bytes) + " bytes, and its type " + std::to_string(expected));
}
Error wrong_bool() { return malformed("a bool of it is neither false nor true"); }

}  // namespace spindrift::topics
