// The core of virtual queue pairs by itself, on devices that do what a test says.
#pragma once

#include <catch2/catch.hpp>

#include <array>
#include <cstring>
#include <vector>

#include <spindrift/kernel/vq.h>

namespace core_alone {

inline constexpr std::uint32_t depth = 8;

struct World {
  struct Posted {
    vq_physical* physical;
    vq_request request;
    std::uint64_t id;
    bool signaled;
    vq_header header;
  };

  World() {
    const vq_world world{.context = this,
                         .local_allowed = [](void*, const vq_pair*, const vq_request*) { return 1; },
                         .remote_allowed = [](void* self, const vq_pair*,
                                              const vq_request*) { return static_cast<World*>(self)->remote_allowed; },
                         .post = take,
                         .node = 3,
                         .start = 4,
                         .message_bytes_max = 100,
                         .metadata_bytes = 0};
    vq_pool_init(&pool, &world, pairs.data(), static_cast<std::uint32_t>(pairs.size()));
    for (std::size_t i = 0; i < physicals.size(); ++i)
      vq_physical_init(&physicals[i], slots[i].data(), depth, i != 2, nullptr);
    vq_completions_init(&completions, ring.data(), static_cast<std::uint32_t>(ring.size()));
  }

  static std::uint32_t take(void* self, vq_physical* physical, const vq_posted* list, std::uint32_t count) {
    auto& world = *static_cast<World*>(self);
    std::uint32_t taken = 0;
    for (; taken < count && world.room > 0; ++taken, --world.room) {
      const vq_posted& one = list[taken];
      world.posted.push_back({physical, *one.request, one.id, one.signaled != 0, {}});
      if (one.request->operation == VQ_SEND) world.posted.back().header = one.header;
    }
    return taken;
  }

  std::uint64_t bound(std::size_t physical, std::uint32_t peer = 1, std::uint32_t flags = 0) {
    const std::uint64_t pair = vq_create(&pool, &completions, flags);
    const std::size_t place = static_cast<std::uint32_t>(pair);
    REQUIRE(vq_bind(&pool, pair, &physicals[physical], peer, 500, 1, messages[place].data(), 4) == 0);
    return pair;
  }
  std::int32_t post(std::uint64_t pair, std::vector<std::uint64_t> ids, std::uint16_t operation = VQ_WRITE,
                    std::uint16_t flags = VQ_SIGNALED) {
    std::vector<vq_request> list;
    for (const std::uint64_t id : ids) {
      list.push_back({});
      list.back().wr_id = id;
      list.back().operation = operation;
      list.back().flags = flags;
    }
    std::uint32_t at = 0;
    return vq_post(&pool, pair, list.data(), static_cast<std::uint32_t>(list.size()), &at);
  }
  void complete(const Posted& one, vq_status status = VQ_DONE) {
    vq_on_completion(&pool, one.physical, one.id, static_cast<std::uint8_t>(status));
  }
  std::vector<std::uint64_t> told() {
    std::vector<std::uint64_t> ids;
    vq_completion one{};
    while (vq_take(&completions, &one, 1) == 1)
      ids.push_back(one.status == VQ_DONE ? one.wr_id : one.wr_id + 1000 * one.status);
    return ids;
  }
  [[nodiscard]] std::vector<std::uint64_t> on_the_wire(std::size_t from) const {
    std::vector<std::uint64_t> ids;
    for (std::size_t i = from; i < posted.size(); ++i) ids.push_back(posted[i].request.wr_id);
    return ids;
  }
  [[nodiscard]] vq_header header(std::uint64_t pair, std::uint64_t sequence) const {
    vq_header header{};
    header.magic = VQ_MAGIC;
    header.version = VQ_HEADER_VERSION;
    header.kind = VQ_KIND_DATA;
    header.to = pair;
    header.from = 500;
    header.sequence = sequence;
    header.window = 4;
    return header;
  }
  vq_verdict hear(std::uint64_t pair, std::uint64_t sequence, std::uint64_t buffer = 0, vq_kind kind = VQ_KIND_DATA) {
    vq_header one = header(pair, sequence);
    one.kind = static_cast<std::uint8_t>(kind);
    return vq_on_message(&pool, &physicals[0], buffer, reinterpret_cast<const unsigned char*>(&one), sizeof one);
  }

  std::array<vq_pair, 6> pairs{};
  std::array<std::array<vq_slot, depth>, 3> slots{};
  std::array<vq_physical, 3> physicals{};  ///< the last without order
  std::array<std::array<vq_message, 4>, 6> messages{};
  std::array<vq_completion, 64> ring{};
  vq_completions completions{};
  vq_pool pool{};
  std::vector<Posted> posted;
  std::uint32_t room = 1000;
  int remote_allowed = 1;
};

using Ids = std::vector<std::uint64_t>;

}  // namespace core_alone
