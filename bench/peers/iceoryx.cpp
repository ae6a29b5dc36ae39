// iceoryx: payloads built and read in place in shared memory; a publisher that waits for slow subscribers, whose queues hold
// 100 messages. Its daemon iox-roudi must run.
#include <string>

#include <iceoryx_posh/popo/untyped_publisher.hpp>
#include <iceoryx_posh/popo/untyped_subscriber.hpp>
#include <iceoryx_posh/popo/wait_set.hpp>
#include <iceoryx_posh/runtime/posh_runtime.hpp>

#include "peer.hpp"

using namespace spindrift;

namespace {

constexpr std::uint64_t queue_messages = 100;
const iox::capro::ServiceDescription service{"bench", "peers", "messages"};

void publish(peers::Scene& scene) {
  iox::popo::PublisherOptions options;
  options.subscriberTooSlowPolicy = iox::popo::ConsumerTooSlowPolicy::WAIT_FOR_CONSUMER;
  iox::popo::UntypedPublisher publisher(service, options);
  scene.ready();
  const auto bytes = static_cast<std::uint32_t>(scene.options().bytes);
  while (!scene.stopped()) {
    publisher.loan(bytes)
        .and_then([&](void* chunk) {
          scene.write({static_cast<std::byte*>(chunk), bytes});
          publisher.publish(chunk);
        })
        .or_else([](const auto&) {});  // no chunk is free: try again
  }
  scene.sent_all();
}

void subscribe(peers::Scene& scene) {
  iox::popo::SubscriberOptions options;
  options.queueCapacity = queue_messages;
  options.queueFullPolicy = iox::popo::QueueFullPolicy::BLOCK_PRODUCER;
  iox::popo::UntypedSubscriber subscriber(service, options);
  iox::popo::WaitSet<1> wait_set;
  wait_set.attachState(subscriber, iox::popo::SubscriberState::HAS_DATA).or_else([](auto) { std::abort(); });
  while (subscriber.getSubscriptionState() != iox::SubscribeState::SUBSCRIBED) std::this_thread::yield();
  scene.ready();
  while (!scene.over()) {
    wait_set.timedWait(iox::units::Duration::fromMilliseconds(100));
    while (subscriber.hasData()) {
      subscriber.take().and_then([&](const void* chunk) {
        scene.on_delivery({static_cast<const std::byte*>(chunk), scene.options().bytes});
        subscriber.release(chunk);
      });
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  return peers::run_peer(argc, argv, false, [](peers::Scene& scene) {
    const std::string name = "member" + std::to_string(scene.self());
    iox::runtime::PoshRuntime::initRuntime(iox::RuntimeName_t(iox::cxx::TruncateToCapacity, name));
    scene.sends() ? publish(scene) : subscribe(scene);
  });
}
