// A storage, and a file, that hand every call on to another one: for those that do one thing of it otherwise.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <spindrift/core/result.hpp>
#include <spindrift/store/storage.hpp>

namespace spindrift::store {

class ForwardingFile : public StoredFile {
 public:
  explicit ForwardingFile(std::shared_ptr<StoredFile> file) noexcept : file_(std::move(file)) {}

  [[nodiscard]] std::uint64_t bytes() const noexcept override { return file_->bytes(); }
  [[nodiscard]] Result<void> read(std::uint64_t at, std::span<std::byte> to) override { return file_->read(at, to); }
  [[nodiscard]] Result<void> write(std::uint64_t at, std::span<const std::byte> from) override {
    return file_->write(at, from);
  }
  [[nodiscard]] Result<void> write_durably(std::uint64_t at, std::span<const std::byte> from) override {
    return file_->write_durably(at, from);
  }
  [[nodiscard]] Result<void> begin_write(std::uint64_t at, std::span<const std::byte> from) override {
    return file_->begin_write(at, from);
  }
  [[nodiscard]] Result<void> finish_write() override { return file_->finish_write(); }
  [[nodiscard]] Result<void> sync() override { return file_->sync(); }

 private:
  std::shared_ptr<StoredFile> file_;
};

class ForwardingStorage : public Storage {
 public:
  explicit ForwardingStorage(std::unique_ptr<Storage> files) noexcept : files_(std::move(files)) {}

  [[nodiscard]] Result<std::vector<std::string>> names() override { return files_->names(); }
  [[nodiscard]] Result<std::unique_ptr<StoredFile>> create(std::string_view name, std::uint64_t bytes) override {
    return files_->create(name, bytes);
  }
  [[nodiscard]] Result<std::unique_ptr<StoredFile>> open(std::string_view name) override { return files_->open(name); }
  [[nodiscard]] Result<void> rename(std::string_view from, std::string_view to) override { return files_->rename(from, to); }
  [[nodiscard]] Result<void> remove(std::string_view name) override { return files_->remove(name); }
  [[nodiscard]] Result<void> sync_names() override { return files_->sync_names(); }
  [[nodiscard]] std::string place(std::string_view name) const override { return files_->place(name); }

 private:
  std::unique_ptr<Storage> files_;
};

}  // namespace spindrift::store
