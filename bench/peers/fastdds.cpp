// Fast DDS with data sharing, its fastest way between processes of one host: reliable, keep-all, volatile, so that a writer
// waits for slow readers. The type has no fields: bytes go from the scene to shared memory and back.
#include <cstring>

#include <fastdds/dds/domain/DomainParticipant.hpp>
#include <fastdds/dds/domain/DomainParticipantFactory.hpp>
#include <fastdds/dds/publisher/DataWriter.hpp>
#include <fastdds/dds/publisher/DataWriterListener.hpp>
#include <fastdds/dds/publisher/Publisher.hpp>
#include <fastdds/dds/subscriber/DataReader.hpp>
#include <fastdds/dds/subscriber/DataReaderListener.hpp>
#include <fastdds/dds/subscriber/SampleInfo.hpp>
#include <fastdds/dds/subscriber/Subscriber.hpp>
#include <fastdds/dds/topic/TopicDataType.hpp>

#include "peer.hpp"

using namespace spindrift;
namespace fast = eprosima::fastdds::dds;
namespace rtps = eprosima::fastrtps::rtps;

namespace {

constexpr std::uint32_t encapsulation_bytes = 4;
const eprosima::fastrtps::Duration_t patience{10, 0};
/// The pace at which acknowledgements are asked for and given. With the defaults (3 s and 5 ms) a full history stands still
/// for seconds.
const eprosima::fastrtps::Duration_t often{0, 1'000'000};

/// A sample is the scene that it comes from or goes to.
class SceneMessage final : public fast::TopicDataType {
 public:
  explicit SceneMessage(std::uint64_t bytes) : bytes_(static_cast<std::uint32_t>(bytes)) {
    setName("Message");
    m_typeSize = bytes_ + encapsulation_bytes;
    m_isGetKeyDefined = false;
  }

  bool serialize(void* scene, rtps::SerializedPayload_t* payload) override {
    static constexpr std::uint8_t little_endian[encapsulation_bytes] = {0, 1, 0, 0};
    std::memcpy(payload->data, little_endian, encapsulation_bytes);
    payload->encapsulation = CDR_LE;
    payload->length = m_typeSize;
    static_cast<peers::Scene*>(scene)->write({reinterpret_cast<std::byte*>(payload->data) + encapsulation_bytes, bytes_});
    return true;
  }
  bool deserialize(rtps::SerializedPayload_t* payload, void* scene) override {
    if (payload->length < m_typeSize) return false;
    static_cast<peers::Scene*>(scene)->on_delivery(
        {reinterpret_cast<const std::byte*>(payload->data) + encapsulation_bytes, bytes_});
    return true;
  }
  std::function<std::uint32_t()> getSerializedSizeProvider(void*) override {
    return [size = m_typeSize] { return size; };
  }
  void* createData() override { return nullptr; }
  void deleteData(void*) override {}
  bool is_bounded() const override { return true; }
  bool getKey(void*, rtps::InstanceHandle_t*, bool) override { return false; }

 private:
  std::uint32_t bytes_;
};

/// The number of endpoints of the other kind that were found.
class Matches {
 public:
  void set(int count) noexcept {
    count_.store(count);
    count_.notify_all();
  }
  void await(int wanted) const noexcept {
    for (int seen = count_.load(); seen < wanted; seen = count_.load()) count_.wait(seen);
  }

 private:
  std::atomic<int> count_{0};
};

class WriterListener final : public fast::DataWriterListener {
 public:
  void on_publication_matched(fast::DataWriter*, const fast::PublicationMatchedStatus& status) override {
    matches.set(status.current_count);
  }
  Matches matches;
};

class ReaderListener final : public fast::DataReaderListener {
 public:
  explicit ReaderListener(peers::Scene& scene) : scene_(scene) {}
  void on_subscription_matched(fast::DataReader*, const fast::SubscriptionMatchedStatus& status) override {
    matches.set(status.current_count);
  }
  void on_data_available(fast::DataReader* reader) override {
    fast::SampleInfo info;
    while (reader->take_next_sample(&scene_, &info) == ReturnCode_t::RETCODE_OK) {
    }
  }
  Matches matches;

 private:
  peers::Scene& scene_;
};

template <class Qos>
Qos reliable(Qos qos) {
  qos.reliability().kind = fast::RELIABLE_RELIABILITY_QOS;
  qos.reliability().max_blocking_time = patience;
  qos.history().kind = fast::KEEP_ALL_HISTORY_QOS;
  qos.durability().kind = fast::VOLATILE_DURABILITY_QOS;
  return qos;
}

void publish(peers::Scene& scene, fast::DomainParticipant& participant, fast::Topic* topic) {
  WriterListener listener;
  fast::Publisher* const publisher = participant.create_publisher(fast::PUBLISHER_QOS_DEFAULT);
  fast::DataWriterQos qos = reliable(fast::DATAWRITER_QOS_DEFAULT);
  qos.reliable_writer_qos().times.heartbeatPeriod = often;
  qos.reliable_writer_qos().times.nackResponseDelay = often;
  fast::DataWriter* const writer = publisher->create_datawriter(topic, qos, &listener);
  listener.matches.await(static_cast<int>(scene.options().members - scene.options().senders));
  scene.ready();
  while (!scene.stopped()) {
    if (!writer->write(&scene)) scene.take_back();  // the history is full
  }
  writer->wait_for_acknowledgments(patience);
  scene.sent_all();
  publisher->delete_datawriter(writer);
  participant.delete_publisher(publisher);
}

void subscribe(peers::Scene& scene, fast::DomainParticipant& participant, fast::Topic* topic) {
  ReaderListener listener(scene);
  fast::Subscriber* const subscriber = participant.create_subscriber(fast::SUBSCRIBER_QOS_DEFAULT);
  fast::DataReaderQos qos = reliable(fast::DATAREADER_QOS_DEFAULT);
  qos.reliable_reader_qos().times.heartbeatResponseDelay = often;
  fast::DataReader* const reader = subscriber->create_datareader(topic, qos, &listener);
  listener.matches.await(static_cast<int>(scene.options().senders));
  scene.ready();
  scene.await_over();
  subscriber->delete_datareader(reader);
  participant.delete_subscriber(subscriber);
}

}  // namespace

int main(int argc, char** argv) {
  return peers::run_peer(argc, argv, false, [](peers::Scene& scene) {
    auto* const factory = fast::DomainParticipantFactory::get_instance();
    fast::DomainParticipant* const participant = factory->create_participant(0, fast::PARTICIPANT_QOS_DEFAULT);
    if (!participant) throw Exception(Error(ErrorKind::resource, "create_participant failed"));
    const fast::TypeSupport type(new SceneMessage(scene.options().bytes));
    type.register_type(participant);
    fast::Topic* const topic = participant->create_topic("bench", type.get_type_name(), fast::TOPIC_QOS_DEFAULT);
    scene.sends() ? publish(scene, *participant, topic) : subscribe(scene, *participant, topic);
    participant->delete_topic(topic);
    factory->delete_participant(participant);
  });
}
