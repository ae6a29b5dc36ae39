// The first message of a peer, of any bytes: not ours, a mismatch with its reason, or a hello that means one thing.
#include <spindrift/views/hello.hpp>

#include "fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using spindrift::fuzz::expect;
  namespace views = spindrift::views;
  const views::GroupIdentity ours{.group_name = "fuzz", .config_digest = {1, 2}};

  const auto greeting = views::decode_greeting(std::as_bytes(std::span(data, size)), ours);
  if (!greeting) return 0;
  const int meanings = greeting->hello.has_value() + greeting->mismatch.has_value() + greeting->refusal.has_value() +
                       greeting->stop.has_value();
  expect(meanings == 1, "a greeting means one thing");
  if (greeting->mismatch) expect(!greeting->mismatch->fix().empty(), "a mismatch says what to do");
  for (const auto& reason : {greeting->refusal, greeting->stop}) {
    for (const char letter : reason.value_or("")) expect(letter >= ' ' && letter <= '~', "a peer's words are printable");
  }
  if (greeting->hello) {
    const auto again = views::decode_greeting(views::encode_hello(ours, *greeting->hello), ours);
    expect(again && again->hello && again->hello->node == greeting->hello->node &&
               again->hello->incarnation == greeting->hello->incarnation,
           "a hello survives its own encoding");
  }
  return 0;
}
