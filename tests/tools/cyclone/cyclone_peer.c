/* A program of Cyclone DDS, beside which tests run `spindrift bridge`: it makes what standard input says, one command per
   line, each answered with "done", and prints what its readers get. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dds/dds.h>

#include "peer.h"

static dds_entity_t participant, writer, reader;

static void end_if(dds_return_t failed, const char* what) {
  if (failed >= 0) return;
  fprintf(stderr, "cyclone_peer: %s: %s\n", what, dds_strretcode(failed));
  exit(1);
}

/* The type by another name, with its description or without. */
static const dds_topic_descriptor_t* renamed(const dds_topic_descriptor_t* of, const char* name, uint32_t without) {
  const dds_topic_descriptor_t made = {.m_size = of->m_size,
                                       .m_align = of->m_align,
                                       .m_flagset = of->m_flagset & ~without,
                                       .m_nkeys = of->m_nkeys,
                                       .m_typename = name,
                                       .m_keys = of->m_keys,
                                       .m_nops = of->m_nops,
                                       .m_ops = of->m_ops,
                                       .m_meta = "",
                                       .type_information = of->type_information,
                                       .type_mapping = of->type_mapping,
                                       .restrict_data_representation = of->restrict_data_representation};
  dds_topic_descriptor_t* copy = malloc(sizeof made);
  memcpy(copy, &made, sizeof made);
  return copy;
}

static dds_entity_t topic_of(const char* type) {
  const dds_topic_descriptor_t* descriptor = &peer_Reading_desc;
  const char* name = "readings";
  if (strcmp(type, "wrong") == 0) descriptor = &wrong_Reading_desc;
  if (strcmp(type, "wild") == 0) descriptor = renamed(&wild_Reading_desc, "peer::Reading", DDS_TOPIC_XTYPES_METADATA);
  if (strcmp(type, "ros") == 0) descriptor = renamed(&peer_Reading_desc, "peer::dds_::Reading_", 0);
  if (strcmp(type, "shape") == 0) descriptor = &there_Shape_desc, name = "shapes";
  if (strcmp(type, "loose") == 0) descriptor = &loose_Word_desc, name = "words";
  const dds_entity_t topic = dds_create_topic(participant, descriptor, name, NULL, NULL);
  end_if(topic, "topic");
  return topic;
}

static dds_qos_t* qos_of(const char* words, int depth) {
  dds_qos_t* qos = dds_create_qos();
  const bool best_effort = strstr(words, "best_effort") != NULL;
  dds_qset_reliability(qos, best_effort ? DDS_RELIABILITY_BEST_EFFORT : DDS_RELIABILITY_RELIABLE, DDS_SECS(100));
  if (depth > 0) {
    dds_qset_history(qos, DDS_HISTORY_KEEP_LAST, depth);
  } else {
    dds_qset_history(qos, DDS_HISTORY_KEEP_ALL, 0);
    dds_qset_resource_limits(qos, 20, DDS_LENGTH_UNLIMITED, DDS_LENGTH_UNLIMITED);
  }
  if (strstr(words, "transient_local")) dds_qset_durability(qos, DDS_DURABILITY_TRANSIENT_LOCAL);
  if (strstr(words, "transient_kept")) {
    dds_qset_durability(qos, DDS_DURABILITY_TRANSIENT);
    dds_qset_durability_service(qos, 0, DDS_HISTORY_KEEP_LAST, depth, -1, -1, -1);
    dds_qset_writer_data_lifecycle(qos, false);
  }
  if (strstr(words, "deadline")) dds_qset_deadline(qos, DDS_SECS(100));
  return qos;
}

static void take(dds_entity_t from) {
  for (;;) {
    void* samples[1] = {NULL};
    dds_sample_info_t about[1];
    if (dds_take(from, samples, about, 1, 1) <= 0) return;
    const peer_Reading* reading = samples[0];
    const char* state = about[0].instance_state == DDS_IST_NOT_ALIVE_DISPOSED ? "disposed" : "ended";
    if (about[0].valid_data) {
      printf("reading %d %g %d %u %u\n", reading->sensor, reading->value, (int)reading->mode, reading->counts[0],
             reading->counts[1]);
    } else {
      printf("%s %d\n", state, reading->sensor);
    }
    fflush(stdout);
    dds_return_loan(from, samples, 1);
  }
}
static void on_data(dds_entity_t from, void* unused) {
  (void)unused;
  take(from);
}

static void write_reading(int sensor, double value) {
  const peer_Reading reading = {.sensor = sensor, .value = value, .mode = peer_on, .counts = {1, 2}};
  end_if(dds_write(writer, &reading), "write");
}
static void write_shape(char* name) {
  there_Point points[2] = {{1.5, 2.5f}, {-1, 0}};
  char* words[2] = {"a", ""};
  there_Shape shape = {.name = name,
                       .points = {._length = 2, ._maximum = 2, ._buffer = points},
                       .filled = true,
                       .words = {._length = 2, ._maximum = 2, ._buffer = words},
                       .grid = {{1, 2, 3}, {4, 5, 6}}};
  end_if(dds_write(writer, &shape), "write");
}

/* Whether it is a command. */
static bool obey(const char* line) {
  char what[32] = "", word[32] = "", words[64] = "";
  int number = 0, count = 0;
  double value = 0;
  sscanf(line, "%31s", what);
  if (strcmp(what, "write") == 0 && sscanf(line, "%*s %31s %63s %d", word, words, &number) == 3) {
    dds_qos_t* qos = qos_of(words, number);
    end_if(writer = dds_create_writer(participant, topic_of(word), qos, NULL), "writer");
    dds_delete_qos(qos);
  } else if ((strcmp(what, "read") == 0 || strcmp(what, "hold") == 0) &&
             sscanf(line, "%*s %31s %63s %d", word, words, &number) == 3) {
    dds_qos_t* qos = qos_of(words, number);
    dds_listener_t* listener = dds_create_listener(NULL);
    if (*what == 'r') dds_lset_data_available(listener, on_data);
    end_if(reader = dds_create_reader(participant, topic_of(word), qos, listener), "reader");
    dds_delete_qos(qos);
  } else if (strcmp(what, "reading") == 0 && sscanf(line, "%*s %d %lf", &number, &value) == 2) {
    write_reading(number, value);
  } else if (strcmp(what, "burst") == 0 && sscanf(line, "%*s %d %d", &number, &count) == 2) {
    for (int each = 0; each < count; ++each) write_reading(number, each);
  } else if (strcmp(what, "wild") == 0) {
    const wild_Reading wrong = {.sensor = 1, .more = 2};
    end_if(dds_write(writer, &wrong), "write");
  } else if (strcmp(what, "dispose") == 0 && sscanf(line, "%*s %d", &number) == 1) {
    const peer_Reading reading = {.sensor = number};
    end_if(dds_dispose(writer, &reading), "dispose");
  } else if (strcmp(what, "shape") == 0 && sscanf(line, "%*s %31s", word) == 1) {
    write_shape(word);
  } else if (strcmp(what, "listen") == 0) {
    dds_listener_t* listener = dds_create_listener(NULL);
    dds_lset_data_available(listener, on_data);
    end_if(dds_set_listener(reader, listener), "listener");
    take(reader); /* what came before */
  } else if (strcmp(what, "unwrite") == 0) {
    end_if(dds_delete(writer), "delete");
  } else if (strcmp(what, "unread") == 0) {
    end_if(dds_delete(reader), "delete");
  } else if (strcmp(what, "matched") == 0) {
    dds_publication_matched_status_t status;
    end_if(dds_get_publication_matched_status(writer, &status), "status");
    printf("matched %u\n", status.current_count);
  } else {
    return false;
  }
  return true;
}

int main(int count, char** arguments) {
  if (count != 2) return 2;
  end_if(participant = dds_create_participant((dds_domainid_t)atoi(arguments[1]), NULL, NULL), "participant");
  printf("ready\n");
  fflush(stdout);
  char line[128];
  while (fgets(line, sizeof line, stdin)) {
    if (!obey(line)) {
      fprintf(stderr, "cyclone_peer: no command: %s", line);
      return 2;
    }
    printf("done\n");
    fflush(stdout);
  }
  end_if(dds_delete(participant), "end");
  return 0;
}
