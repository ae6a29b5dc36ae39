// A member in a process of its own whose object is made of a bounded log: makes calls one after the other until it is
// killed, and tells on standard output what its object is, a line each:
//
//   loaded COUNT DIGEST     of all calls when it began
//   durable COUNT DIGEST    of all calls up to the own one that is durable everywhere now
//
//   checkpoint_peer CONFIG NAME
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include <spindrift/core/digest.hpp>
#include <spindrift/group/group.hpp>
#include <spindrift/group/replicated.hpp>

namespace {

using State = std::pair<std::uint64_t, std::uint64_t>;

/// The count of all texts, a digest over them, and the last of them.
class Chronicle {
 public:
  State add(const std::string& text) {
    if (last_.size() < 200) last_.resize(200);
    last_[count_ % last_.size()] = text;
    const std::string all = std::to_string(digest_) + text;
    digest_ = spindrift::digest_of(std::as_bytes(std::span(all))).words[0];
    return {++count_, digest_};
  }
  [[nodiscard]] State state() const { return {count_, digest_}; }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(count_, digest_, last_);
  }
  using Methods = spindrift::Replicates<&Chronicle::add, &Chronicle::state>;

 private:
  std::uint64_t count_ = 0;
  std::uint64_t digest_ = 0;
  std::vector<std::string> last_;
};

void say(const char* what, const State& state) {
  std::printf("%s %s %s\n", what, std::to_string(state.first).c_str(), std::to_string(state.second).c_str());
  std::fflush(stdout);
}

}  // namespace

int main(int count, char** arguments) {
  using namespace spindrift;
  if (count != 3) return EXIT_FAILURE;
  try {
    Group group(value_or_throw(Config::read(arguments[1])));
    auto chronicle = group.replicated<Chronicle>("orders");
    say("loaded", chronicle.query<&Chronicle::state>());
    for (std::uint64_t number = 0;; ++number) {
      std::string text = std::string(arguments[2]) + "." + std::to_string(number);
      text.resize(1000 + number % 1000, ' ');
      const auto call = chronicle.update<&Chronicle::add>(text);
      call.durable();
      say("durable", call.get());
    }
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    return EXIT_FAILURE;
  }
}
