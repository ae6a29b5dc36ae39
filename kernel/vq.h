/* Virtual queue pairs over shared physical ones: space accounting, checks before a post, dispatch of completions, replay
 * after a fault, and messages with credits. (KRCore, section 4.3 and algorithm 2, without its holes: docs/decisions/0013.)
 *
 * Remember: a completion names a slot and how often the slot was used. Space, order and owner of an operation are read from
 * its slot, so that nothing is counted twice, and a completion that belongs to nobody any more is known as such.
 *
 * Portable C without allocation, locks, clock or system calls, so that a kernel module can compile it: all memory is the
 * caller's, and the world comes in through `struct vq_world`. Threading: a pool and all in it belong to one thread.
 */
#ifndef SPINDRIFT_KERNEL_VQ_H
#define SPINDRIFT_KERNEL_VQ_H

#ifdef __KERNEL__
#include <linux/types.h>
#else
#include <stdint.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* -- what users ask for and are told --------------------------------------------------------------------- */

enum vq_operation { VQ_WRITE, VQ_READ, VQ_SEND, VQ_OPERATIONS };

/* How an operation ended; the numbers are those of kernel::OperationStatus. */
enum vq_status { VQ_DONE, VQ_LOCAL_ERROR, VQ_ACCESS_REFUSED, VQ_PEER_LOST, VQ_NOT_READY, VQ_FLUSHED };

/* Why nothing of a list was taken. */
enum vq_refusal {
  VQ_BAD_PAIR = -1,      /* no such pair, or it is being closed */
  VQ_UNBOUND = -2,       /* not connected yet */
  VQ_FAILED = -3,        /* an operation of it failed; it is to be closed */
  VQ_BAD_OPERATION = -4, /* no such operation, or flags or lengths that it does not have */
  VQ_BAD_LOCAL = -5,     /* the local memory is not registered for this */
  VQ_BAD_REMOTE = -6,    /* the peer has no such memory for this */
  VQ_LOOK_UP = -7,       /* whether the peer has such memory is not known: find out, then post again */
};

#define VQ_SIGNALED 1u /* of a request: wants a completion */
#define VQ_LARGE 2u    /* of a send: the peer reads the bytes from `local`; over when it has */
#define VQ_NEWS 4u /* of a write: wakes the peer, if that sleeps */
#define VQ_FLAGS 7u
#define VQ_ONCE 1u /* of a pair: rather fail than carry out a write or read a second time after somebody else's fault */
#define VQ_NONE 0xffffffffu
#define VQ_SEGMENT 16u /* operations handed over at once, at most */

/* A work request. */
struct vq_request {
  uint64_t wr_id;  /* the user's */
  uint64_t local;  /* address of `bytes` bytes, the user's until the completion */
  uint64_t remote; /* address at the peer; of a send 0, of a large one what the peer says for `local` */
  uint64_t local_key;
  uint64_t remote_key; /* of a send 0, of a large one the key that goes with `remote` */
  uint32_t bytes;
  uint16_t operation; /* enum vq_operation */
  uint16_t flags;
};

/* A completion. Those of one pair come in the order of its posts. */
struct vq_completion {
  uint64_t wr_id;
  uint64_t pair;
  uint32_t bytes;
  uint16_t operation;
  uint16_t status; /* enum vq_status */
};

/* Completions that wait for their user; several pairs may share one. Every request has room here from its post on, signaled
 * or not, for it may fail: so it never overflows, and its capacity bounds what its pairs have under way. */
struct vq_completions {
  struct vq_completion* ring;
  uint32_t capacity; /* a power of two */
  uint32_t first;    /* counts up, as do all positions here */
  uint32_t count;
  uint32_t reserved; /* for requests that are under way */
};

/* -- messages -------------------------------------------------------------------------------------------- */

#define VQ_MAGIC 0x51764453u
#define VQ_HEADER_VERSION 1
#define VQ_WINDOW_MAX 65536u

/* A fence asks for an answer, which says that what was posted before the fence has arrived. */
enum vq_kind { VQ_KIND_DATA = 1, VQ_KIND_LARGE, VQ_KIND_CREDIT, VQ_KIND_FENCE, VQ_KIND_FENCED, VQ_KINDS };

/* Before the bytes of every message. All of it is a peer's word, see vq_on_message. Little-endian, as all hosts are. */
struct vq_header {
  uint32_t magic;
  uint8_t version;
  uint8_t kind;           /* enum vq_kind */
  uint8_t hello;          /* 0 or 1: the receiver's pair is not known, `to` is a port, and metadata follow */
  uint8_t metadata_bytes; /* how much of the sender's metadata follows, before the bytes */
  uint64_t to;            /* the receiver's pair or port */
  uint64_t from;          /* the sender's pair */
  uint32_t node;          /* the sender's */
  uint32_t bytes;
  uint64_t sequence; /* of this pair's messages, from 1; of a credit 0; of a fence and its answer the fence's number */
  uint64_t consumed; /* how many of the other direction's messages the sender's user has taken */
  uint32_t window;   /* how many more than that may be on their way to the sender, 1 to VQ_WINDOW_MAX */
  uint32_t start;    /* tells the sender's process from earlier ones of its node */
  uint64_t address;  /* a large message's bytes at the sender */
  uint64_t key;
};

/* A message that waits for its user, in the place of its sequence. */
struct vq_message {
  uint64_t sequence; /* 0: none */
  uint64_t buffer;   /* the physical queue pair's, to be given back there */
  struct vq_physical* physical;
  const unsigned char* payload;
  uint32_t bytes;
  uint32_t large; /* 0 or 1: `address` and `key` say where the bytes are */
  uint64_t address;
  uint64_t key;
};

/* -- the objects; their fields are the core's ------------------------------------------------------------ */

enum vq_pair_state { VQ_PAIR_FREE, VQ_PAIR_UNBOUND, VQ_PAIR_READY, VQ_PAIR_MOVING, VQ_PAIR_FAILED, VQ_PAIR_CLOSING };

enum vq_fence { VQ_FENCE_NONE, VQ_FENCE_WANTED, VQ_FENCE_ASKED };

/* The slots of a pair in its physical queue pair, in the order of its posts. */
struct vq_pair_slots {
  uint32_t first; /* of a free place: the next free place */
  uint32_t last;
  uint32_t count;
  uint32_t reads;   /* reads among them */
  uint32_t held;    /* held ones among them */
  uint32_t flushed; /* flushed ones among them, which wait to be posted again */
};

/* A pair's way to another physical queue pair, and the fences of both directions. */
struct vq_pair_move {
  struct vq_physical* to; /* where it goes when nothing is under way */
  uint32_t peer;          /* that device's handle */
  uint32_t fence;         /* enum vq_fence */
  uint64_t fences;        /* asked for, also of moves that were given up */
  uint64_t fence_due;     /* the peer's, to be answered; 0: none */
};

/* The messages of a pair, in both directions. */
struct vq_pair_flow {
  struct vq_message* messages; /* `window` of them, by sequence */
  uint32_t window;             /* messages that may come unconsumed; 0: no messages */
  uint32_t peer_window;        /* as the peer said last; 1 before it has */
  uint64_t sent;
  uint64_t consumed_by_peer;
  uint64_t consumed;
  uint64_t told;      /* how much of `consumed` the peer was told */
  uint8_t credit_due; /* the peer is to be told of `consumed` */
};

struct vq_pair {
  uint32_t generation; /* of this place; part of the id */
  uint8_t state;       /* enum vq_pair_state */
  uint8_t flags;
  uint8_t status; /* of a failed one: enum vq_status */
  uint8_t remote_known;
  uint32_t peer;   /* the device's handle */
  uint64_t remote; /* the peer's pair, or the port while that is not known */
  struct vq_physical* physical;
  struct vq_completions* completions;
  struct vq_pair_slots slots;
  struct vq_pair_move move;
  struct vq_pair_flow flow;
};

enum vq_slot_state { VQ_SLOT_FREE, VQ_SLOT_POSTED, VQ_SLOT_FLUSHED, VQ_SLOT_DONE };

/* One operation under way. */
struct vq_slot {
  struct vq_request request;
  uint64_t pair;
  uint64_t sequence; /* of a send */
  uint32_t next_of_pair;
  uint32_t before; /* in the order of posts on this physical queue pair */
  uint32_t after;
  uint32_t turn; /* how often this slot was posted */
  uint8_t state;
  uint8_t status;
  uint8_t held; /* of a large message, or behind one of its pair: over when the peer's user wills */
};

enum vq_physical_state { VQ_PHYSICAL_READY, VQ_PHYSICAL_BROKEN };

struct vq_physical {
  struct vq_slot* slots;
  uint32_t depth;
  uint32_t free; /* list by `after` */
  uint32_t oldest;
  uint32_t newest;
  uint32_t under_way;
  /* Those that are held; of what is posted half at most, so that lazy readers hold up their senders and large messages. */
  uint32_t held;
  uint32_t pairs;  /* bound to it */
  uint8_t ordered; /* a completion says that all posted before it are done */
  uint8_t state;
  uint8_t awaited; /* a pair of another one waits for room here: until it has that, nothing new is taken */
  void* context;   /* the caller's */
  uint64_t strays; /* completions of nothing */
};

/* One operation for the physical queue pair. */
struct vq_posted {
  const struct vq_request* request;
  uint64_t id;
  uint32_t peer;
  uint32_t signaled;
  struct vq_header header; /* of a send */
};

struct vq_world {
  void* context;
  /* Whether the pair's user may use this local memory so: 0 or 1. */
  int (*local_allowed)(void* context, const struct vq_pair* pair, const struct vq_request* request);
  /* The same of the peer's memory: 0 or 1, or -1 if it is not known. */
  int (*remote_allowed)(void* context, const struct vq_pair* pair, const struct vq_request* request);
  /* Hands operations to a physical queue pair that has room for them; returns how many were taken. Their completions come
   * later: it calls nothing of the pool. */
  uint32_t (*post)(void* context, struct vq_physical* physical, const struct vq_posted* list, uint32_t count);
  uint32_t node; /* this process's node, for headers; as is `start` */
  uint32_t start;
  uint32_t message_bytes_max; /* of one that is not large */
  uint32_t metadata_bytes;    /* goes with messages to pairs that do not know this one yet */
};

struct vq_pool {
  struct vq_world world;
  struct vq_pair* pairs;
  uint32_t count;
  uint32_t free;     /* list by `slots.first` */
  uint64_t rejected; /* messages that were not what a peer of good will sends */
  uint64_t replays;  /* how often an operation was to be posted again */
};

/* -- calls ----------------------------------------------------------------------------------------------- */

void vq_pool_init(struct vq_pool* pool, const struct vq_world* world, struct vq_pair* pairs, uint32_t count);
void vq_physical_init(struct vq_physical* physical, struct vq_slot* slots, uint32_t depth, int ordered, void* context);
void vq_completions_init(struct vq_completions* completions, struct vq_completion* ring, uint32_t capacity);

/* A new pair's id, or 0 if there is no place. The completions stay as long as the pair. */
uint64_t vq_create(struct vq_pool* pool, struct vq_completions* completions, uint32_t flags);
/* The pair, or null if there is none of that id. */
struct vq_pair* vq_find(struct vq_pool* pool, uint64_t pair);
/* Late binding: from now on it reaches `peer` through `physical`. `messages` (window of them, a power of two, or none) take
 * what comes; `remote` is the peer's pair if `remote_known`, else a port there. 0, or a refusal. */
int vq_bind(struct vq_pool* pool, uint64_t pair, struct vq_physical* physical, uint32_t peer, uint64_t remote,
            int remote_known, struct vq_message* messages, uint32_t window);
/* Nothing of it is told any more. It is gone, and its memory untouched from then on, when nothing of it is under way: then
 * vq_find finds it no more. Returns how many operations still are. The buffers that `messages` holds are the caller's. */
uint32_t vq_close(struct vq_pool* pool, uint64_t pair);
/* Goes to another physical queue pair of the same peer as soon as nothing is under way; until then nothing is taken. With
 * `fence`, for devices whose completions do not prove that a write has arrived, the peer is asked first: then the pair needs
 * messages and its peer's pair must be known. 0, or a refusal. */
int vq_move(struct vq_pool* pool, uint64_t pair, struct vq_physical* target, uint32_t peer, int fence);
/* Gives up a move that waits for its fence: the pair goes on where it is. */
void vq_stay(struct vq_pool* pool, uint64_t pair);
/* An error from outside: the pair takes nothing more, and what is under way ends as flushed. */
void vq_fail(struct vq_pool* pool, uint64_t pair, uint8_t status);

/* Posts the list in order. All of it is checked before any of it is taken. Returns how many were taken: less than `count`
 * where there is no room now, for the pair's fair share of the physical queue pair, its completions or its credits: take
 * completions and come again with the rest. Or a refusal; then nothing was taken and `*at`, if given, says which request it
 * was. */
int32_t vq_post(struct vq_pool* pool, uint64_t pair, const struct vq_request* list, uint32_t count, uint32_t* at);
/* Moves up to `count` completions to `list`; returns how many. */
uint32_t vq_take(struct vq_completions* completions, struct vq_completion* list, uint32_t count);

/* The physical queue pair says that operation `id` is over. */
void vq_on_completion(struct vq_pool* pool, struct vq_physical* physical, uint64_t id, uint8_t status);
/* It says that it is broken: nothing that was posted is under way any more. What was flushed innocently waits. */
void vq_on_broken(struct vq_pool* pool, struct vq_physical* physical);
/* It works again, or has flushed something and did not break, or `target` takes its place for good: posts what waits, in
 * order. Returns how many still wait, for room or for what was posted behind them: call it again, after completions. No pair
 * that waits takes new requests until it does not, nor, of a queue pair that broke, any until none waits; nor does one of
 * `target`, while a pair waits for room there, until vq_end_wait. */
uint32_t vq_replay(struct vq_pool* pool, struct vq_physical* physical, struct vq_physical* target, uint32_t peer);

/* Nobody waits any more for room that `vq_replay` did not find here, or it is to be called again before the next post. */
void vq_end_wait(struct vq_physical* physical);

enum vq_verdict {
  VQ_KEPT,     /* waits for its user; its buffer is in use until vq_consume */
  VQ_DROPPED,  /* taken in or refused: the buffer is free */
  VQ_STRANGER, /* good, for a port: see the header; the buffer is the caller's */
};
/* Bytes have come into a buffer of the physical queue pair. */
enum vq_verdict vq_on_message(struct vq_pool* pool, struct vq_physical* physical, uint64_t buffer,
                              const unsigned char* bytes, uint32_t size);
/* Whether bytes are a whole message of this version; copies the header. The metadata follow it, the bytes follow them. */
int vq_read_header(const unsigned char* bytes, uint32_t size, struct vq_header* header);
/* Gives a stranger's message to the pair made for it: kept or dropped. `physical` is null if its bytes are in no buffer. */
enum vq_verdict vq_keep(struct vq_pool* pool, uint64_t pair, struct vq_physical* physical, uint64_t buffer,
                        const struct vq_header* header, const unsigned char* payload);
/* The next message of the pair in order, or null. It stays until vq_consume. */
const struct vq_message* vq_next_message(struct vq_pool* pool, uint64_t pair);
/* The message that vq_next_message gave was taken; its buffer is the caller's again. */
void vq_consume(struct vq_pool* pool, uint64_t pair);
/* Whether the peer is owed news of what was consumed, the answer to a fence, or a fence that waits for room or for what is
 * under way. */
int vq_owes(struct vq_pool* pool, uint64_t pair);
/* Sends it, if it is. Returns 1 if there was no room for it. */
int vq_pay(struct vq_pool* pool, uint64_t pair);

#ifdef __cplusplus
}
#endif

#endif
