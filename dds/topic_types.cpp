// Samples of one type read as another.
#include <spindrift/dds/topic_types.hpp>

#include <algorithm>

#include <spindrift/dds/assignable.hpp>

namespace spindrift::topics {

namespace {
constexpr std::size_t type_count_max = 64;  // a peer names them
}

void TopicTypes::open(const TypeSupport& type) {
  type_ = &type;
  shorter_ = type.decode_other != nullptr ? shorter_identities(type.description) : std::vector<std::uint64_t>();
}

void TopicTypes::learn(const std::string& description) {
  if (others_.size() < type_count_max) others_.emplace(digest_of(description).words[0], description);
}

// A type that is not the own one, nor a shorter one, and is assignable, has more fields.
bool TopicTypes::is_longer(std::uint64_t identity) const {
  const auto found = others_.find(identity);
  return type_->decode_other != nullptr && found != others_.end() && assignable(type_->description, found->second);
}

bool TopicTypes::reads(std::uint64_t identity) const {
  return identity == type_->identity || std::find(shorter_.begin(), shorter_.end(), identity) != shorter_.end() ||
         is_longer(identity);
}

Result<std::shared_ptr<const void>> TopicTypes::decode(std::uint64_t identity, std::span<const std::byte> bytes) const {
  if (identity == type_->identity) return type_->decode(bytes);
  if (const auto found = std::find(shorter_.begin(), shorter_.end(), identity); found != shorter_.end() && identity != 0)
    return type_->decode_other(bytes, static_cast<std::size_t>(found - shorter_.begin()), false);
  if (is_longer(identity)) return type_->decode_other(bytes, SIZE_MAX, true);
  return Error(ErrorKind::bad_input, "it is of another type").at("a sample").fix("end the program that writes it");
}

}  // namespace spindrift::topics
