// The audit: what a line says, what it cannot be made to say, how many there are, and what becomes of its file.
#include <catch2/catch.hpp>

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include <spindrift/core/audit.hpp>
#include <spindrift/core/log_file.hpp>

namespace {

using namespace spindrift;

std::string text_of(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}
std::ptrdiff_t lines_of(const std::string& text) { return std::count(text.begin(), text.end(), '\n'); }
bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

class SetClock final : public Clock {
 public:
  [[nodiscard]] Time now() const noexcept override { return at; }
  Time at{std::chrono::seconds(1)};
};

/// A directory that disappears with the test, where the audit and the log go; the log is at its default level.
struct AuditFixture {
  AuditFixture() {
    std::string pattern = (std::filesystem::temp_directory_path() / "spindrift-audit-XXXXXX").string();
    REQUIRE(::mkdtemp(pattern.data()) != nullptr);
    directory = pattern;
    REQUIRE(log::configure(log::Level::warn, directory + "/log"));
  }
  ~AuditFixture() {
    static_cast<void>(log::configure(log::Level::warn, ""));
    std::filesystem::remove_all(directory);
  }
  [[nodiscard]] std::string log() const {
    REQUIRE(trail->await_written(limit));  // it may have to say something of its file
    REQUIRE(log::await_written(limit));
    return text_of(directory + "/log");
  }
  [[nodiscard]] std::string audit() const {
    REQUIRE(trail->await_written(limit));
    return text_of(file());
  }
  [[nodiscard]] std::string file() const { return directory + "/audit"; }
  void fill() {
    for (std::size_t i = 0; i < AuditTrail::lines_max; ++i)
      trail->write({.kind = AuditKind::refused, .reason = "it may not"});
  }

  static constexpr std::chrono::seconds limit{60};
  std::string directory;
  SetClock clock;
  std::unique_ptr<AuditTrail> trail;
  void begin() { trail = std::make_unique<AuditTrail>("orders", NodeId(2), file(), clock); }
};

}  // namespace

TEST_CASE("a line of the audit says when, what, whose it is, and everything that is known") {
  AuditFixture fixture;
  fixture.begin();
  fixture.trail->write({.kind = AuditKind::refused,
                        .subject = NodeId(7),
                        .from = "10.0.0.7 port 4",
                        .certificate = ShownCertificate{"spindrift://orders/7", "5F1C", "ab12"},
                        .reason = "certificate revoked",
                        .more = {{"times", 3}}});
  fixture.trail->write(
      {.kind = AuditKind::removed, .subject = NodeId(1), .by = NodeId(0), .address = "h:1", .reason = "silent"});
  const std::string text = fixture.audit();
  CHECK(text.starts_with("time=20"));
  CHECK(contains(text,
                 "Z event=refused group=orders node=2 subject=7 from=\"10.0.0.7 port 4\" identity=spindrift://orders/7 "
                 "serial=5F1C fingerprint=ab12 reason=\"certificate revoked\" times=3\n"));
  CHECK(contains(text, "Z event=removed group=orders node=2 subject=1 by=0 address=h:1 reason=silent\n"));
  CHECK(lines_of(text) == 2);
}

TEST_CASE("what a stranger says cannot break a line of the audit, imitate a field or reach a terminal") {
  AuditFixture fixture;
  fixture.begin();
  const std::string hostile = "x\nevent=joined subject=1 \"\\\x1b[2J\x9b\x80\xc3\xa9";
  fixture.trail->write({.kind = AuditKind::refused,
                        .certificate = ShownCertificate{hostile, hostile, hostile},
                        .reason = hostile + std::string(5000, 'y')});
  const std::string text = fixture.audit();
  CHECK(lines_of(text) == 1);
  CHECK(contains(text, R"(identity="x\nevent=joined subject=1 \"\\\x1b[2J\x9b\x80\xc3\xa9" serial=)"));
  CHECK(std::all_of(text.begin(), text.end(), [](char c) { return c == '\n' || (c >= ' ' && c <= '~'); }));
  CHECK(contains(text, "yyy...\""));
  CHECK(text.size() < 1600);
}

TEST_CASE("of refusals there are forty lines in ten seconds, and the next counts the rest, but of removals there are all") {
  AuditFixture fixture;
  fixture.begin();
  fixture.fill();
  for (int i = 0; i < 100; ++i) fixture.trail->write({.kind = AuditKind::refused, .reason = "it may not"});
  CHECK(lines_of(fixture.audit()) == 40);
  for (std::uint32_t node = 0; node < 50; ++node)
    fixture.trail->write({.kind = AuditKind::removed, .subject = NodeId(node)});
  fixture.trail->write({.kind = AuditKind::proved, .subject = NodeId(1)});
  CHECK(lines_of(fixture.audit()) == 91);
  fixture.clock.at += std::chrono::seconds(10);
  fixture.fill();
  CHECK(lines_of(fixture.audit()) == 131);
  CHECK(contains(fixture.audit(), "reason=\"it may not\" unsaid=100\n"));
  CHECK_FALSE(contains(fixture.audit(), "unsaid=0"));
}

TEST_CASE("what somebody may have to act on is in the log at its default level, and the rest above it") {
  AuditFixture fixture;
  fixture.trail = std::make_unique<AuditTrail>("orders", NodeId(2), "", fixture.clock);
  fixture.trail->write({.kind = AuditKind::refused, .reason = "no key"});
  fixture.trail->write({.kind = AuditKind::removed, .subject = NodeId(1), .reason = "silent"});
  fixture.trail->write({.kind = AuditKind::revocations_changed, .more = {{"added", "5F1C"}}});
  fixture.trail->write({.kind = AuditKind::joined, .subject = NodeId(3)});
  CHECK(contains(fixture.log(), "level=warn room=audit event=refused group=orders node=2 reason=\"no key\"\n"));
  CHECK(contains(fixture.log(), "event=removed"));
  CHECK(contains(fixture.log(), "event=revocations_changed"));
  fixture.trail->write({.kind = AuditKind::removed, .subject = NodeId(2), .reason = "as its program knows"});
  fixture.trail->write({.kind = AuditKind::stopped, .subject = NodeId(2), .reason = "as its program knows"});
  CHECK_FALSE(contains(fixture.log(), "event=joined"));
  CHECK_FALSE(contains(fixture.log(), "as its program knows"));
  REQUIRE(log::set_levels("warn,audit=info"));
  fixture.trail->write({.kind = AuditKind::joined, .subject = NodeId(3)});
  CHECK(contains(fixture.log(), "level=info room=audit event=joined"));
}

TEST_CASE("the file of the audit is its owner's alone, grows, and is made anew when it is renamed") {
  AuditFixture fixture;
  fixture.begin();
  fixture.trail->write({.kind = AuditKind::joined, .subject = NodeId(0)});
  fixture.trail.reset();
  fixture.begin();
  fixture.trail->write({.kind = AuditKind::joined, .subject = NodeId(1)});
  CHECK(lines_of(fixture.audit()) == 2);
  struct stat found {};
  REQUIRE(::stat(fixture.file().c_str(), &found) == 0);
  CHECK((found.st_mode & 07777U) == 0600U);
  std::filesystem::rename(fixture.file(), fixture.directory + "/before");
  fixture.trail->write({.kind = AuditKind::joined, .subject = NodeId(2)});
  CHECK(lines_of(fixture.audit()) == 1);
  CHECK(lines_of(text_of(fixture.directory + "/before")) == 2);
}

TEST_CASE("an audit that cannot be written is told of once, stops nothing, and says later what it lacks") {
  AuditFixture fixture;
  fixture.begin();
  std::filesystem::create_symlink("/dev/null", fixture.file());
  fixture.trail->write({.kind = AuditKind::joined, .subject = NodeId(0)});
  fixture.trail->write({.kind = AuditKind::joined, .subject = NodeId(1)});
  const std::string told = fixture.log();
  CHECK(contains(told, "level=error room=audit event=\"the audit file cannot be written\" reason="));
  CHECK(contains(told, fixture.file()));
  CHECK(lines_of(told) == 1);

  std::filesystem::remove(fixture.file());
  std::ofstream(fixture.file()) << "somebody else's\n";
  std::filesystem::permissions(fixture.file(), std::filesystem::perms(0622));
  fixture.trail->write({.kind = AuditKind::joined, .subject = NodeId(2)});
  CHECK(fixture.audit() == "somebody else's\n");
  CHECK(contains(fixture.log(), "nobody else may write"));

  std::filesystem::permissions(fixture.file(), std::filesystem::perms(0600));
  fixture.trail->write({.kind = AuditKind::joined, .subject = NodeId(3)});
  CHECK(contains(fixture.audit(), "subject=3 lost=3\n"));
  fixture.trail->write({.kind = AuditKind::joined, .subject = NodeId(4)});
  CHECK(contains(fixture.audit(), "subject=4\n"));
}
