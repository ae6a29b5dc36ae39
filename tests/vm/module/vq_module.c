/* The core of virtual queue pairs inside a kernel: a module whose start plays what pools do with it, and fails if anything
 * comes out otherwise than in a process. It proves that vq.c needs nothing that a kernel does not have.
 */
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/slab.h>

#include <spindrift/kernel/vq.h>

#define DEPTH 8
#define PAIRS 4
#define WINDOW 4
#define POSTED_MAX 64

/* A request that the device was handed. */
struct posted {
  struct vq_physical* physical;
  uint64_t id;
  struct vq_request request;
  struct vq_header header;
};

struct world {
  struct vq_pool pool;
  struct vq_pair pairs[PAIRS];
  struct vq_slot slots[2][DEPTH];
  struct vq_physical physicals[2];
  struct vq_completion ring[32];
  struct vq_completions completions;
  struct vq_message messages[PAIRS][WINDOW];
  struct posted posted[POSTED_MAX];
  uint32_t count;
};

static unsigned int checks;

#define HOLD(condition)                                                    \
  do {                                                                     \
    ++checks;                                                              \
    if (!(condition)) {                                                    \
      pr_err("spindrift_vq: line %d: %s\n", __LINE__, #condition);         \
      return -EINVAL;                                                      \
    }                                                                      \
  } while (0)

static int allowed(void* context, const struct vq_pair* pair, const struct vq_request* request) { return 1; }

static uint32_t post(void* context, struct vq_physical* physical, const struct vq_posted* list, uint32_t count) {
  struct world* world = context;
  uint32_t taken = 0;
  for (; taken < count && world->count < POSTED_MAX; ++taken) {
    struct posted* one = &world->posted[world->count++];
    one->physical = physical;
    one->id = list[taken].id;
    one->request = *list[taken].request;
    one->header = list[taken].header;
  }
  return taken;
}

static void begin(struct world* world) {
  const struct vq_world outside = {.context = world,
                                   .local_allowed = allowed,
                                   .remote_allowed = allowed,
                                   .post = post,
                                   .node = 3,
                                   .start = 4,
                                   .message_bytes_max = 100};
  int i;
  vq_pool_init(&world->pool, &outside, world->pairs, PAIRS);
  for (i = 0; i < 2; ++i) vq_physical_init(&world->physicals[i], world->slots[i], DEPTH, 1, NULL);
  vq_completions_init(&world->completions, world->ring, ARRAY_SIZE(world->ring));
}

static void finish(struct world* world, uint32_t place, enum vq_status status) {
  struct posted* one = &world->posted[place];
  vq_on_completion(&world->pool, one->physical, one->id, status);
}

/* The next completion's work request, or 0. */
static uint64_t told(struct world* world, enum vq_status status) {
  struct vq_completion one;
  if (vq_take(&world->completions, &one, 1) == 0) return 0;
  return one.status == status ? one.wr_id : U64_MAX;
}

/* Two pairs share a queue pair: completions come to each in the order of its posts, and none is lost. */
static int share(struct world* world) {
  struct vq_request list[3] = {{.wr_id = 11, .operation = VQ_WRITE, .flags = VQ_SIGNALED},
                               {.wr_id = 12, .operation = VQ_WRITE},
                               {.wr_id = 13, .operation = VQ_READ, .flags = VQ_SIGNALED}};
  const uint64_t first = vq_create(&world->pool, &world->completions, 0);
  const uint64_t second = vq_create(&world->pool, &world->completions, 0);
  uint32_t at = VQ_NONE;
  HOLD(first != 0 && second != 0 && first != second);
  HOLD(vq_post(&world->pool, first, list, 3, &at) == VQ_UNBOUND);
  HOLD(vq_bind(&world->pool, first, &world->physicals[0], 1, 500, 1, world->messages[0], WINDOW) == 0);
  HOLD(vq_bind(&world->pool, second, &world->physicals[0], 2, 600, 1, world->messages[1], WINDOW) == 0);
  HOLD(vq_post(&world->pool, first, list, 3, &at) == 3);
  list[0].wr_id = 21;
  HOLD(vq_post(&world->pool, second, list, 1, &at) == 1);
  HOLD(world->count == 4);
  list[1].operation = VQ_OPERATIONS;
  HOLD(vq_post(&world->pool, first, list, 2, &at) == VQ_BAD_OPERATION && at == 1);
  HOLD(world->count == 4);
  finish(world, 0, VQ_DONE);
  finish(world, 2, VQ_DONE);
  finish(world, 2, VQ_DONE); /* a second time: of a turn that is over */
  finish(world, 3, VQ_DONE);
  HOLD(told(world, VQ_DONE) == 11);
  HOLD(told(world, VQ_DONE) == 13);
  HOLD(told(world, VQ_DONE) == 21);
  HOLD(told(world, VQ_DONE) == 0);
  HOLD(world->physicals[0].under_way == 0);
  HOLD(vq_close(&world->pool, first) == 0 && vq_find(&world->pool, first) == NULL);
  HOLD(vq_close(&world->pool, second) == 0);
  return 0;
}

/* A fault of one pair breaks the shared queue pair; the other's operation is posted again, on the one in its place. */
static int survive(struct world* world) {
  struct vq_request one = {.wr_id = 31, .operation = VQ_WRITE, .flags = VQ_SIGNALED};
  const uint64_t guilty = vq_create(&world->pool, &world->completions, 0);
  const uint64_t innocent = vq_create(&world->pool, &world->completions, 0);
  const uint32_t before = world->count;
  HOLD(vq_bind(&world->pool, guilty, &world->physicals[0], 1, 500, 1, world->messages[0], WINDOW) == 0);
  HOLD(vq_bind(&world->pool, innocent, &world->physicals[0], 2, 600, 1, world->messages[1], WINDOW) == 0);
  HOLD(vq_post(&world->pool, guilty, &one, 1, NULL) == 1);
  one.wr_id = 41;
  HOLD(vq_post(&world->pool, innocent, &one, 1, NULL) == 1);
  finish(world, before, VQ_ACCESS_REFUSED);
  finish(world, before + 1, VQ_FLUSHED);
  vq_on_broken(&world->pool, &world->physicals[0]);
  HOLD(told(world, VQ_ACCESS_REFUSED) == 31);
  HOLD(told(world, VQ_DONE) == 0);
  HOLD(vq_post(&world->pool, guilty, &one, 1, NULL) == VQ_FAILED);
  HOLD(vq_replay(&world->pool, &world->physicals[0], &world->physicals[0], 2) == 0);
  HOLD(world->count == before + 3 && world->posted[before + 2].request.wr_id == 41);
  finish(world, before + 2, VQ_DONE);
  HOLD(told(world, VQ_DONE) == 41);
  HOLD(vq_close(&world->pool, guilty) == 0 && vq_close(&world->pool, innocent) == 0);
  return 0;
}

/* A message to a port, taken by a pair that is made for it; what is no message is dropped. */
static int talk(struct world* world) {
  struct vq_request one = {.wr_id = 51, .operation = VQ_SEND, .flags = VQ_SIGNALED, .bytes = 3};
  const uint64_t from = vq_create(&world->pool, &world->completions, 0);
  const uint64_t to = vq_create(&world->pool, &world->completions, 0);
  const uint32_t place = world->count;
  unsigned char bytes[sizeof(struct vq_header) + 3] = {0};
  const struct vq_message* message;
  struct vq_header header;
  HOLD(vq_bind(&world->pool, from, &world->physicals[0], 1, 7, 0, world->messages[0], WINDOW) == 0);
  HOLD(vq_post(&world->pool, from, &one, 1, NULL) == 1);
  memcpy(bytes, &world->posted[place].header, sizeof header);
  memcpy(bytes + sizeof header, "abc", 3);
  HOLD(vq_on_message(&world->pool, &world->physicals[1], 9, bytes, 2) == VQ_DROPPED && world->pool.rejected == 1);
  HOLD(vq_on_message(&world->pool, &world->physicals[1], 9, bytes, sizeof bytes) == VQ_STRANGER);
  HOLD(vq_read_header(bytes, sizeof bytes, &header) == 1 && header.to == 7 && header.from == from);
  HOLD(vq_bind(&world->pool, to, &world->physicals[1], 2, header.from, 1, world->messages[1], WINDOW) == 0);
  HOLD(vq_keep(&world->pool, to, &world->physicals[1], 9, &header, bytes + sizeof header) == VQ_KEPT);
  message = vq_next_message(&world->pool, to);
  HOLD(message != NULL && message->buffer == 9 && message->bytes == 3 && memcmp(message->payload, "abc", 3) == 0);
  vq_consume(&world->pool, to);
  HOLD(vq_next_message(&world->pool, to) == NULL);
  return 0;
}

static int __init start(void) {
  struct world* world = kzalloc(sizeof *world, GFP_KERNEL);
  int failed;
  if (world == NULL) return -ENOMEM;
  begin(world);
  failed = share(world);
  if (!failed) failed = survive(world);
  if (!failed) failed = talk(world);
  kfree(world);
  if (!failed) pr_info("spindrift_vq: %u checks held\n", checks);
  return failed;
}

static void __exit end(void) {}

module_init(start);
module_exit(end);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Spindrift's virtual queue pairs: the core, tested where a kernel would use it");
