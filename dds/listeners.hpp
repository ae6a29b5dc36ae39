// Listeners of participants, publishers and subscribers: they hear of what is beneath them where no listener that is nearer
// to it has the status in its mask. All run one at a time, on the participant's thread for listeners, or as
// [SPINDRIFT] dds_listeners says on its poller.
#pragma once

#include <spindrift/dds/pub.hpp>
#include <spindrift/dds/sub.hpp>

namespace dds::topic {

class AnyTopicListener {
 public:
  virtual ~AnyTopicListener() = default;
  virtual void on_inconsistent_topic(AnyTopic& topic, const core::status::InconsistentTopicStatus& status) = 0;
};
class NoOpAnyTopicListener : public virtual AnyTopicListener {
 public:
  void on_inconsistent_topic(AnyTopic&, const core::status::InconsistentTopicStatus&) override {}
};

}  // namespace dds::topic

namespace dds::pub {

class AnyDataWriterListener {
 public:
  virtual ~AnyDataWriterListener() = default;
  virtual void on_offered_deadline_missed(AnyDataWriter& writer,
                                          const core::status::OfferedDeadlineMissedStatus& status) = 0;
  virtual void on_offered_incompatible_qos(AnyDataWriter& writer,
                                           const core::status::OfferedIncompatibleQosStatus& status) = 0;
  virtual void on_liveliness_lost(AnyDataWriter& writer, const core::status::LivelinessLostStatus& status) = 0;
  virtual void on_publication_matched(AnyDataWriter& writer, const core::status::PublicationMatchedStatus& status) = 0;
};
class NoOpAnyDataWriterListener : public virtual AnyDataWriterListener {
 public:
  void on_offered_deadline_missed(AnyDataWriter&, const core::status::OfferedDeadlineMissedStatus&) override {}
  void on_offered_incompatible_qos(AnyDataWriter&, const core::status::OfferedIncompatibleQosStatus&) override {}
  void on_liveliness_lost(AnyDataWriter&, const core::status::LivelinessLostStatus&) override {}
  void on_publication_matched(AnyDataWriter&, const core::status::PublicationMatchedStatus&) override {}
};

class PublisherListener : public virtual AnyDataWriterListener {};
class NoOpPublisherListener : public virtual PublisherListener, public virtual NoOpAnyDataWriterListener {};

}  // namespace dds::pub

namespace dds::sub {

class AnyDataReaderListener {
 public:
  virtual ~AnyDataReaderListener() = default;
  virtual void on_requested_deadline_missed(AnyDataReader& reader, const core::status::RequestedDeadlineMissedStatus&) = 0;
  virtual void on_requested_incompatible_qos(AnyDataReader& reader, const core::status::RequestedIncompatibleQosStatus&) = 0;
  virtual void on_sample_rejected(AnyDataReader& reader, const core::status::SampleRejectedStatus&) = 0;
  virtual void on_liveliness_changed(AnyDataReader& reader, const core::status::LivelinessChangedStatus&) = 0;
  virtual void on_data_available(AnyDataReader& reader) = 0;
  virtual void on_subscription_matched(AnyDataReader& reader, const core::status::SubscriptionMatchedStatus&) = 0;
  virtual void on_sample_lost(AnyDataReader& reader, const core::status::SampleLostStatus&) = 0;
};
class NoOpAnyDataReaderListener : public virtual AnyDataReaderListener {
 public:
  void on_requested_deadline_missed(AnyDataReader&, const core::status::RequestedDeadlineMissedStatus&) override {}
  void on_requested_incompatible_qos(AnyDataReader&, const core::status::RequestedIncompatibleQosStatus&) override {}
  void on_sample_rejected(AnyDataReader&, const core::status::SampleRejectedStatus&) override {}
  void on_liveliness_changed(AnyDataReader&, const core::status::LivelinessChangedStatus&) override {}
  void on_data_available(AnyDataReader&) override {}
  void on_subscription_matched(AnyDataReader&, const core::status::SubscriptionMatchedStatus&) override {}
  void on_sample_lost(AnyDataReader&, const core::status::SampleLostStatus&) override {}
};

class SubscriberListener : public virtual AnyDataReaderListener {
 public:
  /// Some of its readers have samples. It is called in place of `on_data_available` of any listener, where it is in the
  /// mask.
  virtual void on_data_on_readers(Subscriber& subscriber) = 0;
};
class NoOpSubscriberListener : public virtual SubscriberListener, public virtual NoOpAnyDataReaderListener {
 public:
  void on_data_on_readers(Subscriber&) override {}
};

}  // namespace dds::sub

namespace dds::domain {

class DomainParticipantListener : public virtual pub::PublisherListener,
                                  public virtual sub::SubscriberListener,
                                  public virtual topic::AnyTopicListener {};
class NoOpDomainParticipantListener : public virtual DomainParticipantListener,
                                      public virtual pub::NoOpPublisherListener,
                                      public virtual sub::NoOpSubscriberListener,
                                      public virtual topic::NoOpAnyTopicListener {};

}  // namespace dds::domain
