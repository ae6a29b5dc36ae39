// How listeners of participants, publishers and subscribers are called: by the kind of the entity whose status it is.
#include <spindrift/dds/listeners.hpp>

namespace spindrift::topics {
namespace {

constexpr std::uint32_t writer_bits =
    StatusBit::offered_deadline | StatusBit::offered_incompatible | StatusBit::liveliness_lost | StatusBit::publication;

void call(dds::pub::AnyDataWriterListener& listener, std::uint32_t statuses, const std::shared_ptr<void>& entity) {
  dds::pub::AnyDataWriter writer(std::static_pointer_cast<WriterEntity>(entity));
  tell_of_writer(listener, writer, statuses);
}

void call(dds::sub::SubscriberListener& listener, std::uint32_t statuses, const std::shared_ptr<void>& entity) {
  dds::sub::AnyDataReader reader(std::static_pointer_cast<ReaderEntity>(entity));
  if ((statuses & StatusBit::data_on_readers) != 0) {
    dds::sub::Subscriber subscriber = reader.subscriber();
    listener.on_data_on_readers(subscriber);
  }
  tell_of_reader(listener, reader, statuses);
}

void call(dds::domain::DomainParticipantListener& listener, std::uint32_t statuses, const std::shared_ptr<void>& entity) {
  if ((statuses & StatusBit::inconsistent_topic) != 0) {
    dds::topic::AnyTopic topic(std::static_pointer_cast<TopicEntity>(entity));
    listener.on_inconsistent_topic(topic, topic.inconsistent_topic_status());
  } else if ((statuses & writer_bits) != 0) {
    call(static_cast<dds::pub::AnyDataWriterListener&>(listener), statuses, entity);
  } else {
    call(static_cast<dds::sub::SubscriberListener&>(listener), statuses, entity);
  }
}

template <class Listener>
Listening listening(Listener* listener, const dds::core::status::StatusMask& mask) {
  if (listener == nullptr) return {};
  return {[listener](std::uint32_t statuses, const std::shared_ptr<void>& entity) { call(*listener, statuses, entity); },
          mask, listener};
}

}  // namespace
}  // namespace spindrift::topics

void dds::domain::DomainParticipant::listener(DomainParticipantListener* listener, const core::status::StatusMask& mask) {
  delegate()->set_listener(spindrift::topics::listening(listener, mask));
}
void dds::pub::Publisher::listener(PublisherListener* listener, const core::status::StatusMask& mask) {
  auto listening = spindrift::topics::listening(static_cast<dds::pub::AnyDataWriterListener*>(listener), mask);
  listening.listener = listener;
  delegate()->set_listener(listening);
}
dds::domain::DomainParticipantListener* dds::domain::DomainParticipant::listener() const {
  return static_cast<DomainParticipantListener*>(delegate()->listener());
}
dds::pub::PublisherListener* dds::pub::Publisher::listener() const {
  return static_cast<PublisherListener*>(delegate()->listener());
}
dds::sub::SubscriberListener* dds::sub::Subscriber::listener() const {
  return static_cast<SubscriberListener*>(delegate()->listener());
}
void dds::sub::Subscriber::listener(SubscriberListener* listener, const core::status::StatusMask& mask) {
  delegate()->set_listener(spindrift::topics::listening(listener, mask));
}
void dds::sub::Subscriber::notify_datareaders() {
  for (const auto& each : delegate()->readers().all()) each->notify();
}
