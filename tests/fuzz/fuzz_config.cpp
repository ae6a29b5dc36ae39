// A config file of any bytes: it is accepted whole, or refused with errors that a person can act on.
#include <spindrift/core/config/config.hpp>

#include "fuzz.hpp"

namespace {

using spindrift::fuzz::expect;

void expect_useful(const spindrift::Error& error) {
  expect(!error.message().empty() && !error.place().empty() && !error.fix().empty(),
         "an error has a message, a place and a fix");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto text = spindrift::fuzz::as_text(data, size);
  const auto config = spindrift::Config::parse(text, "fuzz.cfg");
  const auto problems = spindrift::Config::check_text(text, "fuzz.cfg");
  expect(config.ok() == problems.empty(), "parse succeeds exactly when check finds no problem");
  if (!config) {
    expect_useful(config.error());
    for (const auto& problem : problems) expect_useful(problem);
    return 0;
  }
  expect(config->digest() == spindrift::Config::parse(text, "again.cfg").value().digest(),
         "the digest is of the content alone");
  if (const auto view = config->view()) {
    for (const auto& subgroup : view->subgroups) {
      for (const auto sender : subgroup.senders) expect(subgroup.member_position(sender).has_value(), "senders are members");
      for (const auto member : subgroup.members)
        expect(view->rank_of(member).has_value(), "subgroups are of the view's members");
    }
  }
  return 0;
}
