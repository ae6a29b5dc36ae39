// Files on a disk, judged by the suite for storages on a file system that forgets what the kernel was not told to sync.
#include <catch2/catch.hpp>

#include <algorithm>
#include <array>
#include <optional>

#include <spindrift/store/conformance.hpp>
#include <spindrift/store/file_storage.hpp>

#include "../skip.hpp"
#include "forgetful_fs.hpp"
#include "temporary_directory.hpp"

namespace spindrift::store {
namespace {

/// A duty that the storage on the way to the disk neglects.
enum class Omitted { none, sync, sync_names, durability };

class CarelessFile final : public StoredFile {
 public:
  CarelessFile(std::unique_ptr<StoredFile> file, Omitted omitted) : file_(std::move(file)), omitted_(omitted) {}
  [[nodiscard]] std::uint64_t bytes() const noexcept override { return file_->bytes(); }
  [[nodiscard]] Result<void> read(std::uint64_t at, std::span<std::byte> to) override { return file_->read(at, to); }
  [[nodiscard]] Result<void> write(std::uint64_t at, std::span<const std::byte> from) override {
    return file_->write(at, from);
  }
  [[nodiscard]] Result<void> write_durably(std::uint64_t at, std::span<const std::byte> from) override {
    return omitted_ == Omitted::durability ? file_->write(at, from) : file_->write_durably(at, from);
  }
  [[nodiscard]] Result<void> begin_write(std::uint64_t at, std::span<const std::byte> from) override {
    return omitted_ == Omitted::durability ? file_->write(at, from) : file_->begin_write(at, from);
  }
  [[nodiscard]] Result<void> finish_write() override { return file_->finish_write(); }
  [[nodiscard]] Result<void> sync() override { return omitted_ == Omitted::sync ? Result<void>() : file_->sync(); }

 private:
  std::unique_ptr<StoredFile> file_;
  Omitted omitted_;
};

class CarelessStorage final : public Storage {
 public:
  CarelessStorage(FileStorage storage, Omitted omitted) : storage_(std::move(storage)), omitted_(omitted) {}
  [[nodiscard]] Result<std::vector<std::string>> names() override { return storage_.names(); }
  [[nodiscard]] Result<std::unique_ptr<StoredFile>> create(std::string_view name, std::uint64_t bytes) override {
    return careless(storage_.create(name, bytes));
  }
  [[nodiscard]] Result<std::unique_ptr<StoredFile>> open(std::string_view name) override {
    return careless(storage_.open(name));
  }
  [[nodiscard]] Result<void> rename(std::string_view from, std::string_view to) override {
    return storage_.rename(from, to);
  }
  [[nodiscard]] Result<void> remove(std::string_view name) override { return storage_.remove(name); }
  [[nodiscard]] Result<void> sync_names() override {
    return omitted_ == Omitted::sync_names ? Result<void>() : storage_.sync_names();
  }
  [[nodiscard]] std::string place(std::string_view name) const override { return storage_.place(name); }

 private:
  Result<std::unique_ptr<StoredFile>> careless(Result<std::unique_ptr<StoredFile>> file) const {
    if (!file) return file;
    return std::unique_ptr<StoredFile>(std::make_unique<CarelessFile>(std::move(file).value(), omitted_));
  }

  FileStorage storage_;
  Omitted omitted_;
};

class ForgetfulStorage final : public CrashableStorage {
 public:
  ForgetfulStorage(ForgetfulMount& mount, std::string path, Omitted omitted)
      : mount_(mount), path_(std::move(path)), omitted_(omitted) {
    open();
  }
  [[nodiscard]] Storage& storage() override { return *storage_; }
  void crash() override {
    storage_.reset();
    mount_.forget();
    open();
  }

 private:
  void open() { storage_.emplace(value_or_throw(FileStorage::open_at(path_)), omitted_); }

  ForgetfulMount& mount_;
  std::string path_;
  Omitted omitted_;
  std::optional<CarelessStorage> storage_;
};

std::vector<std::string> violations(ForgetfulMount& mount, const std::string& path, Omitted omitted) {
  ForgetfulStorage storage(mount, path, omitted);
  return violations_of_contract(storage);
}

}  // namespace

TEST_CASE("files on a disk keep the promises of a storage when the disk loses all that the kernel was not told to sync") {
  const bool has_fallocate = GENERATE(true, false);
  const TemporaryDirectory directory;
  const auto mount = ForgetfulMount::mount(directory.path(), {.has_fallocate = has_fallocate});
  if (!mount) return spindrift::test::skip(mount.error().to_string());
  CHECK(violations(**mount, directory.path(), Omitted::none) == std::vector<std::string>());
}

TEST_CASE("on a disk that loses what was not synced, the suite names the promises of which a sync was left out") {
  const TemporaryDirectory directory;
  const auto mount = ForgetfulMount::mount(directory.path(), {});
  if (!mount) return spindrift::test::skip(mount.error().to_string());
  const auto found = [&](Omitted omitted, const std::string& violation) {
    const std::vector<std::string> all = violations(**mount, directory.path(), omitted);
    return std::ranges::find(all, violation) != all.end();
  };
  CHECK(found(Omitted::sync, "a synced file with a durable name is not whole after a crash"));
  CHECK(found(Omitted::sync, "a write before a sync is not there after a crash"));
  CHECK(found(Omitted::sync_names, "a new name is not there after sync_names and a crash"));
  CHECK(found(Omitted::sync_names, "a renamed file has not its new name alone after sync_names and a crash"));
  CHECK(found(Omitted::sync_names, "a removed file is there again after sync_names and a crash, or another is not"));
  CHECK(found(Omitted::durability, "a durable write is not there after a crash"));
  CHECK(found(Omitted::durability, "a write that was begun and finished is not there, or not after a crash"));
  CHECK_FALSE(found(Omitted::durability, "a write before a sync is not there after a crash"));
}

TEST_CASE("a disk that is full has no file that it could not hold, also where zeros are written for it") {
  const bool has_fallocate = GENERATE(true, false);
  const TemporaryDirectory directory;
  const auto mount = ForgetfulMount::mount(directory.path(), {has_fallocate, 12 * block_bytes});
  if (!mount) return spindrift::test::skip(mount.error().to_string());
  FileStorage storage = value_or_throw(FileStorage::open_at(directory.path()));
  value_or_throw(storage.create("a", 8 * block_bytes));
  const auto second = storage.create("b", 8 * block_bytes);
  REQUIRE_FALSE(second);
  CHECK(second.error().kind() == ErrorKind::disk_full);
  CHECK(second.error().place() == directory.path() + "/b");
  CHECK(value_or_throw(storage.names()) == std::vector<std::string>{"a"});
  value_or_throw(storage.remove("a"));
  CHECK(storage.create("b", 8 * block_bytes));
}

TEST_CASE("a file whose disk has forgotten it fails with its path") {
  const TemporaryDirectory directory;
  const auto mount = ForgetfulMount::mount(directory.path(), {});
  if (!mount) return spindrift::test::skip(mount.error().to_string());
  FileStorage storage = value_or_throw(FileStorage::open_at(directory.path()));
  const auto file = value_or_throw(storage.create("a", block_bytes));
  (*mount)->forget();
  Blocks block(block_bytes);
  const std::array results{file->read(0, block), file->write(0, block), file->write_durably(0, block), file->sync()};
  for (const Result<void>& result : results) {
    REQUIRE_FALSE(result);
    CHECK(result.error().kind() == ErrorKind::resource);
    CHECK(result.error().place() == directory.path() + "/a");
  }
}

}  // namespace spindrift::store
