// Builds ULog files byte by byte, right ones and wrong ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace spindrift::test {

class UlogBuilder {
 public:
  UlogBuilder() {
    text(std::string_view("ULog\x01\x12\x35\x01", 8));
    number<std::uint64_t>(1000);
  }

  UlogBuilder& message(char type, std::string_view payload) {
    return message_claiming(type, payload, static_cast<std::uint16_t>(payload.size()));
  }
  /// A message whose size field lies.
  UlogBuilder& message_claiming(char type, std::string_view payload, std::uint16_t size) {
    number(size);
    number(type);
    text(payload);
    return *this;
  }
  UlogBuilder& format(std::string_view definition) { return message('F', definition); }
  UlogBuilder& subscribe(std::uint16_t id, std::string_view topic, std::uint8_t instance = 0) {
    return message('A', std::string(1, static_cast<char>(instance)) + bytes_of(id) + std::string(topic));
  }
  UlogBuilder& sample(std::uint16_t id, std::uint64_t timestamp_us, std::string_view fields) {
    return message('D', bytes_of(id) + bytes_of(timestamp_us) + std::string(fields));
  }
  UlogBuilder& flag_bits(std::uint8_t incompatible, std::uint64_t appended_at) {
    std::string payload(40, '\0');
    payload[8] = static_cast<char>(incompatible);
    payload.replace(16, 8, bytes_of(appended_at));
    return message('B', payload);
  }
  UlogBuilder& raw(std::string_view bytes) {
    text(bytes);
    return *this;
  }

  [[nodiscard]] std::size_t size() const { return bytes_.size(); }
  [[nodiscard]] std::vector<std::byte>& bytes() { return bytes_; }

  template <class Number>
  [[nodiscard]] static std::string bytes_of(Number value) {
    std::string bytes(sizeof value, '\0');
    std::memcpy(bytes.data(), &value, sizeof value);
    return bytes;
  }

 private:
  template <class Number>
  void number(Number value) {
    text(bytes_of(value));
  }
  void text(std::string_view bytes) {
    const auto* first = reinterpret_cast<const std::byte*>(bytes.data());
    bytes_.insert(bytes_.end(), first, first + bytes.size());
  }

  std::vector<std::byte> bytes_;
};

/// Two topics, one of them with two instances; six samples.
inline UlogBuilder small_recording() {
  UlogBuilder file;
  file.flag_bits(0, 0)
      .message('I',
               "\x08"
               "char[3] x"
               "abc")
      .format("speed:uint64_t timestamp;float value;uint8_t[4] _padding0;")
      .format("point:uint64_t timestamp;float x;float y;")
      .format("pose:uint64_t timestamp;point at;uint8_t flag;")
      .subscribe(0, "speed", 0)
      .subscribe(1, "speed", 1)
      .subscribe(7, "pose")
      .sample(0, 1000, "aaaa")
      .sample(7, 1001, std::string(17, 'p'))
      .sample(1, 1002, "bbbb")
      .message('Z', "of a later version")
      .sample(0, 1003, "cccc")
      .sample(7, 1004, std::string(17, 'q'))
      .sample(1, 1005, "dddd");
  return file;
}

}  // namespace spindrift::test
