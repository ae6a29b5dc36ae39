// The library's own parser looks through all keys of an object for each that it adds.
#include "sample_json.hpp"

#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace spindrift::tools {
namespace {

using Json = topics::SampleJson;

/// The library's words without its name for the error: "line 1, column 2: syntax error while parsing object key …".
std::string words_of(const std::exception& mistake) {
  constexpr std::string_view before = "parse error at ";
  const std::string_view text = mistake.what();
  const auto at = text.find(before);
  return std::string(at == std::string_view::npos ? text : text.substr(at + before.size()));
}

/// Hears of a text's parts, and puts them together.
class SampleBuilder final : public nlohmann::json_sax<Json> {
 public:
  explicit SampleBuilder(std::string of) : of_(std::move(of)) {}
  [[nodiscard]] Json take() { return std::move(root_); }

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(value); }
  bool number_unsigned(number_unsigned_t value) override { return add(value); }
  bool number_float(number_float_t value, const string_t&) override { return add(value); }
  bool string(string_t& value) override { return add(std::move(value)); }
  bool binary(binary_t&) override { return false; }  // no text has any
  bool start_object(std::size_t) override { return begin(Json::object()); }
  bool start_array(std::size_t) override { return begin(Json::array()); }
  bool end_object() override { return end(); }
  bool end_array() override { return end(); }
  bool key(string_t& name) override {
    Within& object = within_.back();
    object.key = name;
    if (object.keys.insert(std::move(name)).second) return true;
    throw Exception(Error(ErrorKind::bad_input, "the field is there twice").at(place()).fix("write it once"));
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception& mistake) override {
    if (dynamic_cast<const Json::out_of_range*>(&mistake) != nullptr) {
      throw Exception(Error(ErrorKind::bad_input, "a number is beyond all that a field can have")
                          .at(place())
                          .fix("write one within the range of its field, or \"Infinity\" where it has a point"));
    }
    throw Exception(Error(ErrorKind::bad_input, "it is no JSON: " + words_of(mistake))
                        .at(of_)
                        .fix("write a sample as one JSON object, in quotes of the shell: '{\"id\": 1}'"));
  }

 private:
  /// An object or an array that has begun. It grows no more while one within it does, and so stays where it is.
  struct Within {
    Json* value;
    std::string key{};
    std::set<std::string> keys{};
  };

  [[nodiscard]] std::string place() const {
    std::string path = of_ + ": $";
    for (const Within& each : within_) {
      const std::size_t begun = &each == &within_.back() ? 0 : 1;  // what is within it is in there already
      path += each.value->is_array() ? fmt::format("[{}]", each.value->size() - begun) : "." + each.key;
    }
    return path;
  }
  Json& put(Json value) {
    if (within_.empty()) return root_ = std::move(value);
    Within& in = within_.back();
    if (auto* const array = in.value->get_ptr<Json::array_t*>()) return array->emplace_back(std::move(value));
    auto& object = *in.value->get_ptr<Json::object_t*>();
    return static_cast<Json::object_t::Container&>(object).emplace_back(in.key, std::move(value)).second;
  }
  bool add(Json value) {
    put(std::move(value));
    return true;
  }
  bool begin(Json value) {
    Json& there = put(std::move(value));
    within_.push_back({&there});
    return true;
  }
  bool end() {
    within_.pop_back();
    return true;
  }

  std::string of_;
  Json root_;
  std::vector<Within> within_;
};

}  // namespace

topics::SampleJson parse_sample_json(std::string_view text, const std::string& place) {
  SampleBuilder builder(place);
  Json::sax_parse(text, &builder);
  return builder.take();
}

}  // namespace spindrift::tools
