// Errors carry place, cause and fix to the reader; results carry errors to the public API.
#include <catch2/catch.hpp>

#include <cerrno>
#include <memory>
#include <string>

#include <spindrift/core/result.hpp>

using namespace spindrift;

TEST_CASE("an error says place, message, causes and the most specific fix on one line") {
  const Error error =
      Error(ErrorKind::resource, "cannot join")
          .at("node 3")
          .fix("start it again")
          .because(Error(ErrorKind::bad_config, "no such directory").at("derecho.cfg:7").fix("create /run/x"));
  CHECK(error.to_string() == "node 3: cannot join; because: derecho.cfg:7: no such directory; fix: create /run/x");
  CHECK(error.kind() == ErrorKind::resource);
  REQUIRE(error.cause() != nullptr);
  CHECK(error.cause()->kind() == ErrorKind::bad_config);
  CHECK(error.cause()->cause() == nullptr);
}

TEST_CASE("an error of a system call names the call and the reason") {
  const Error error = system_error("open /x", ENOENT);
  CHECK(error.kind() == ErrorKind::resource);
  CHECK(error.to_string() == "open /x: No such file or directory");
}

TEST_CASE("a result is a value or an error") {
  Result<std::unique_ptr<int>> value(std::make_unique<int>(3));
  REQUIRE(value);
  CHECK(**value == 3);
  const std::unique_ptr<int> taken = std::move(value).value();
  CHECK(*taken == 3);

  const Result<int> error(Error(ErrorKind::bad_input, "torn"));
  CHECK_FALSE(error.ok());
  CHECK(error.error().message() == "torn");
}

TEST_CASE("a result of nothing can still fail") {
  CHECK(Result<void>().ok());
  const Result<void> failed(Error(ErrorKind::refused, "no"));
  CHECK_FALSE(failed);
  CHECK(failed.error().kind() == ErrorKind::refused);
}

namespace {

Result<std::unique_ptr<int>> box(int value) {
  if (value < 0) return Error(ErrorKind::bad_argument, "negative").fix("use 0 or more");
  return std::make_unique<int>(value);
}

Result<void> allow(int value, int most) {
  if (value > most) return Error(ErrorKind::refused, "too large");
  return {};
}

Result<int> sum(int left, int right, int& steps) {
  SPINDRIFT_TRY_ASSIGN(const std::unique_ptr<int> first, box(left));
  ++steps;
  SPINDRIFT_TRY_ASSIGN(auto second, box(right));
  ++steps;
  if (*first > *second) SPINDRIFT_TRY(allow(*first, 10)); else ++*second;
  SPINDRIFT_TRY([&]() -> Result<void> { SPINDRIFT_TRY(allow(*second, 20)); return {}; }());
  return *first + *second;
}

}  // namespace

TEST_CASE("an error is handed up from the step that failed, whole, and no later step is taken") {
  int steps = 0;
  CHECK(*sum(2, 3, steps) == 6);
  CHECK(steps == 2);

  steps = 0;
  CHECK(sum(-1, -1, steps).error().to_string() == "negative; fix: use 0 or more");
  CHECK(steps == 0);
  CHECK(sum(1, -1, steps).error().message() == "negative");
  CHECK(steps == 1);
}

TEST_CASE("a step without a value is handed up inside an if and inside another step") {
  int steps = 0;
  CHECK(*sum(10, 1, steps) == 11);
  CHECK(sum(11, 1, steps).error().message() == "too large");
  CHECK(*sum(1, 19, steps) == 21);
  CHECK(sum(1, 20, steps).error().message() == "too large");
}

TEST_CASE("at the public border an error is thrown with its whole text") {
  CHECK(value_or_throw(Result<int>(4)) == 4);
  CHECK_NOTHROW(value_or_throw(Result<void>()));
  try {
    (void)value_or_throw(Result<int>(Error(ErrorKind::member_lost, "gone").at("node 2").fix("restart it")));
    FAIL("it did not throw");
  } catch (const Exception& exception) {
    CHECK(std::string(exception.what()) == "node 2: gone; fix: restart it");
    CHECK(exception.error().kind() == ErrorKind::member_lost);
  }
}

TEST_CASE("every kind of error has a name of its own") {
  CHECK(to_string(ErrorKind::bad_config) == "bad config");
  CHECK(to_string(ErrorKind::unsupported) == "unsupported");
}
