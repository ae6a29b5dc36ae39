// How statuses are handed out: a copy, after which changes count anew.
#include <spindrift/dds/reader_core.hpp>
#include <spindrift/dds/reader_statuses.hpp>
#include <spindrift/dds/sub.hpp>
#include <spindrift/dds/writer_core.hpp>
#include <spindrift/dds/writer_statuses.hpp>

namespace spindrift::topics {
namespace {

template <class Statuses, class Status, class Entity>
Status handed_out(Entity& entity, std::uint32_t bit, Status Statuses::*which) {
  Status status;
  entity.with_statuses(bit, [&](Statuses& all) {
    status = all.*which;
    (all.*which).forget_changes();
  });
  return status;
}

}  // namespace

using namespace dds::core::status;

PublicationMatchedStatus publication_matched(WriterEntity& writer) {
  return handed_out(writer, StatusBit::publication, &WriterStatuses::matched);
}
OfferedIncompatibleQosStatus offered_incompatible(WriterEntity& writer) {
  return handed_out(writer, StatusBit::offered_incompatible, &WriterStatuses::incompatible);
}
OfferedDeadlineMissedStatus offered_deadline(WriterEntity& writer) {
  return handed_out(writer, StatusBit::offered_deadline, &WriterStatuses::deadline);
}
LivelinessLostStatus liveliness_lost(WriterEntity& writer) {
  return handed_out(writer, StatusBit::liveliness_lost, &WriterStatuses::liveliness_lost);
}
SubscriptionMatchedStatus subscription_matched(ReaderEntity& reader) {
  return handed_out(reader, StatusBit::subscription, &ReaderStatuses::matched);
}
RequestedIncompatibleQosStatus requested_incompatible(ReaderEntity& reader) {
  return handed_out(reader, StatusBit::requested_incompatible, &ReaderStatuses::incompatible);
}
RequestedDeadlineMissedStatus requested_deadline(ReaderEntity& reader) {
  return handed_out(reader, StatusBit::requested_deadline, &ReaderStatuses::deadline);
}
LivelinessChangedStatus liveliness_changed(ReaderEntity& reader) {
  return handed_out(reader, StatusBit::liveliness, &ReaderStatuses::liveliness);
}
SampleLostStatus sample_lost(ReaderEntity& reader) { return handed_out(reader, StatusBit::lost, &ReaderStatuses::lost); }
SampleRejectedStatus sample_rejected(ReaderEntity& reader) {
  return handed_out(reader, StatusBit::rejected, &ReaderStatuses::rejected);
}

dds::sub::qos::DataReaderQos omg_reader_qos() {
  return dds::sub::qos::DataReaderQos() << dds::core::policy::Reliability::BestEffort();
}

}  // namespace spindrift::topics
