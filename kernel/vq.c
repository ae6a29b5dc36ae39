/* The core of virtual queue pairs; the contract is vq.h's. In here an operation is a slot of its physical queue pair, in two
 * lists: of those posted there, in order, until it is over; of those of its pair, in order, until its completion is told.
 */
#ifdef __KERNEL__
#include <linux/string.h>
#else
#include <string.h>
#endif

#include <spindrift/kernel/vq.h>

_Static_assert(sizeof(struct vq_header) == 72, "the header's layout is on the wire");

#define INTERNAL 0x8000u /* such a request is a credit, of which its user hears nothing */
#define FENCE 0x4000u    /* and it is a fence */
#define FENCED 0x2000u   /* or the answer to one */

static uint64_t pair_id(const struct vq_pool* pool, const struct vq_pair* pair) {
  return (uint64_t)pair->generation << 32 | (uint64_t)(pair - pool->pairs);
}

/* -- lists ----------------------------------------------------------------------------------------------- */

static uint32_t take_slot(struct vq_physical* physical) {
  const uint32_t index = physical->free;
  struct vq_slot* slot = &physical->slots[index];
  physical->free = slot->after;
  slot->before = physical->newest;
  slot->after = VQ_NONE;
  if (physical->newest == VQ_NONE)
    physical->oldest = index;
  else
    physical->slots[physical->newest].after = index;
  physical->newest = index;
  ++physical->under_way;
  return index;
}

static void leave_order(struct vq_physical* physical, uint32_t index) {
  const struct vq_slot* slot = &physical->slots[index];
  if (slot->before == VQ_NONE)
    physical->oldest = slot->after;
  else
    physical->slots[slot->before].after = slot->after;
  if (slot->after == VQ_NONE)
    physical->newest = slot->before;
  else
    physical->slots[slot->after].before = slot->before;
}

static void free_slot(struct vq_physical* physical, uint32_t index) {
  physical->slots[index].state = VQ_SLOT_FREE;
  physical->slots[index].after = physical->free;
  physical->free = index;
  --physical->under_way;
}

/* The slot leaves its pair. */
static void let_go(struct vq_pair* pair, struct vq_physical* physical, uint32_t index) {
  const struct vq_slot* slot = &physical->slots[index];
  --pair->slots.count;
  pair->slots.reads -= slot->request.operation == VQ_READ;
  pair->slots.held -= slot->held;
  physical->held -= slot->held;
  free_slot(physical, index);
}

static void append_to_pair(struct vq_pair* pair, struct vq_physical* physical, uint32_t index) {
  physical->slots[index].next_of_pair = VQ_NONE;
  if (pair->slots.last == VQ_NONE)
    pair->slots.first = index;
  else
    physical->slots[pair->slots.last].next_of_pair = index;
  pair->slots.last = index;
  ++pair->slots.count;
}

/* -- pairs ----------------------------------------------------------------------------------------------- */

void vq_pool_init(struct vq_pool* pool, const struct vq_world* world, struct vq_pair* pairs, uint32_t count) {
  memset(pool, 0, sizeof *pool);
  memset(pairs, 0, count * sizeof *pairs);
  pool->world = *world;
  pool->pairs = pairs;
  pool->count = count;
  for (uint32_t i = 0; i < count; ++i) {
    pairs[i].generation = world->start; /* what a peer says to a pair of an earlier start reaches none of this one */
    pairs[i].slots.first = i + 1 < count ? i + 1 : VQ_NONE;
  }
  pool->free = count > 0 ? 0 : VQ_NONE;
}

void vq_physical_init(struct vq_physical* physical, struct vq_slot* slots, uint32_t depth, int ordered, void* context) {
  memset(physical, 0, sizeof *physical);
  memset(slots, 0, depth * sizeof *slots);
  physical->slots = slots;
  physical->depth = depth;
  physical->ordered = ordered != 0;
  physical->context = context;
  physical->oldest = physical->newest = VQ_NONE;
  for (uint32_t i = 0; i < depth; ++i) slots[i].after = i + 1 < depth ? i + 1 : VQ_NONE;
  physical->free = depth > 0 ? 0 : VQ_NONE;
}

void vq_completions_init(struct vq_completions* completions, struct vq_completion* ring, uint32_t capacity) {
  memset(completions, 0, sizeof *completions);
  completions->ring = ring;
  completions->capacity = capacity;
}

struct vq_pair* vq_find(struct vq_pool* pool, uint64_t pair) {
  const uint32_t index = (uint32_t)pair;
  if (index >= pool->count || pool->pairs[index].state == VQ_PAIR_FREE) return 0;
  return pool->pairs[index].generation == (uint32_t)(pair >> 32) ? &pool->pairs[index] : 0;
}

/* The pair, unless its user has closed it. */
static struct vq_pair* find_open(struct vq_pool* pool, uint64_t id) {
  struct vq_pair* pair = vq_find(pool, id);
  return pair && pair->state != VQ_PAIR_CLOSING ? pair : 0;
}

uint64_t vq_create(struct vq_pool* pool, struct vq_completions* completions, uint32_t flags) {
  if (pool->free == VQ_NONE) return 0;
  struct vq_pair* pair = &pool->pairs[pool->free];
  pool->free = pair->slots.first;
  uint32_t generation = pair->generation + 1;
  if (generation == 0) generation = 1; /* so that no id is 0 */
  memset(pair, 0, sizeof *pair);
  pair->generation = generation;
  pair->state = VQ_PAIR_UNBOUND;
  pair->flags = (uint8_t)flags;
  pair->slots.first = pair->slots.last = VQ_NONE;
  pair->completions = completions;
  return pair_id(pool, pair);
}

int vq_bind(struct vq_pool* pool, uint64_t id, struct vq_physical* physical, uint32_t peer, uint64_t remote,
            int remote_known, struct vq_message* messages, uint32_t window) {
  struct vq_pair* pair = find_open(pool, id);
  if (!pair || pair->state != VQ_PAIR_UNBOUND) return VQ_BAD_PAIR;
  if (window > VQ_WINDOW_MAX || (window & (window - 1)) != 0) return VQ_BAD_OPERATION;
  if (window > 0) memset(messages, 0, window * sizeof *messages);
  pair->physical = physical;
  pair->peer = peer;
  pair->remote = remote;
  pair->remote_known = remote_known != 0;
  pair->flow.messages = messages;
  pair->flow.window = window;
  pair->flow.peer_window = 1;
  pair->state = VQ_PAIR_READY;
  ++physical->pairs;
  return 0;
}

static int send_internal(struct vq_pool* pool, struct vq_pair* pair, uint16_t what, uint64_t number);

static void end_if_idle(struct vq_pool* pool, struct vq_pair* pair) {
  if (pair->slots.count > 0) return;
  if (pair->state == VQ_PAIR_MOVING) {
    /* If there is no room now, vq_owes remembers it. */
    if (pair->move.fence == VQ_FENCE_WANTED && send_internal(pool, pair, FENCE, pair->move.fences + 1)) {
      ++pair->move.fences;
      pair->move.fence = VQ_FENCE_ASKED;
    }
    if (pair->move.fence != VQ_FENCE_NONE) return;
    --pair->physical->pairs;
    ++pair->move.to->pairs;
    pair->physical = pair->move.to;
    pair->peer = pair->move.peer;
    pair->state = VQ_PAIR_READY;
  } else if (pair->state == VQ_PAIR_CLOSING) {
    if (pair->physical) --pair->physical->pairs;
    pair->state = VQ_PAIR_FREE;
    pair->slots.first = pool->free;
    pool->free = (uint32_t)(pair - pool->pairs);
  }
}

/* Tells the completions of the operations that are over, as far as all before them of this pair are. */
static void settle(struct vq_pool* pool, struct vq_pair* pair) {
  const int ends = pair->state == VQ_PAIR_FAILED || pair->state == VQ_PAIR_CLOSING;
  while (pair->slots.first != VQ_NONE) {
    const uint32_t index = pair->slots.first;
    struct vq_slot* slot = &pair->physical->slots[index];
    if (slot->state != VQ_SLOT_DONE) return;
    const struct vq_request* request = &slot->request;
    if ((request->flags & VQ_LARGE) && slot->status == VQ_DONE && pair->flow.consumed_by_peer < slot->sequence) {
      if (!ends) return;
      slot->status = VQ_FLUSHED;
    }
    if (!(request->flags & INTERNAL)) {
      struct vq_completions* to = pair->completions;
      --to->reserved;
      if (pair->state != VQ_PAIR_CLOSING && ((request->flags & VQ_SIGNALED) || slot->status != VQ_DONE)) {
        struct vq_completion* completion = &to->ring[(to->first + to->count++) & (to->capacity - 1)];
        completion->wr_id = request->wr_id;
        completion->pair = slot->pair;
        completion->bytes = request->bytes;
        completion->operation = request->operation;
        completion->status = slot->status;
      }
    }
    pair->slots.first = slot->next_of_pair;
    if (pair->slots.first == VQ_NONE) pair->slots.last = VQ_NONE;
    let_go(pair, pair->physical, index);
  }
  end_if_idle(pool, pair);
}

/* Operations that wait to be posted again never will be; one that is still posted keeps its slot until it is over. */
static void give_up(struct vq_pool* pool, struct vq_pair* pair) {
  for (uint32_t index = pair->slots.first; index != VQ_NONE; index = pair->physical->slots[index].next_of_pair) {
    struct vq_slot* slot = &pair->physical->slots[index];
    if (slot->state != VQ_SLOT_FLUSHED) continue;
    leave_order(pair->physical, index);
    slot->state = VQ_SLOT_DONE;
    slot->status = VQ_FLUSHED;
    --pair->slots.flushed;
  }
  settle(pool, pair);
}

static void fail_pair(struct vq_pool* pool, struct vq_pair* pair, uint8_t status) {
  if (pair->state == VQ_PAIR_FAILED || pair->state == VQ_PAIR_CLOSING) return;
  pair->state = VQ_PAIR_FAILED;
  pair->status = status;
  give_up(pool, pair);
}

void vq_fail(struct vq_pool* pool, uint64_t id, uint8_t status) {
  struct vq_pair* pair = vq_find(pool, id);
  if (pair) fail_pair(pool, pair, status);
}

uint32_t vq_close(struct vq_pool* pool, uint64_t id) {
  struct vq_pair* pair = find_open(pool, id);
  if (!pair) return 0;
  pair->state = VQ_PAIR_CLOSING;
  pair->flow.messages = 0;
  pair->flow.window = 0;
  give_up(pool, pair);
  return pair->slots.count;
}

int vq_move(struct vq_pool* pool, uint64_t id, struct vq_physical* target, uint32_t peer, int fence) {
  struct vq_pair* pair = find_open(pool, id);
  if (!pair) return VQ_BAD_PAIR;
  if (pair->state != VQ_PAIR_READY) return pair->state == VQ_PAIR_FAILED ? VQ_FAILED : VQ_UNBOUND;
  if (fence && (pair->flow.window == 0 || !pair->remote_known)) return VQ_BAD_OPERATION;
  pair->state = VQ_PAIR_MOVING;
  pair->move.fence = fence ? VQ_FENCE_WANTED : VQ_FENCE_NONE;
  pair->move.to = target;
  pair->move.peer = peer;
  end_if_idle(pool, pair);
  return 0;
}

void vq_stay(struct vq_pool* pool, uint64_t id) {
  struct vq_pair* pair = vq_find(pool, id);
  if (pair && pair->state == VQ_PAIR_MOVING && pair->move.fence != VQ_FENCE_NONE) pair->state = VQ_PAIR_READY;
}

/* -- posting --------------------------------------------------------------------------------------------- */

static int check(const struct vq_pool* pool, const struct vq_pair* pair, const struct vq_request* request) {
  const struct vq_world* world = &pool->world;
  if (request->operation >= VQ_OPERATIONS || (request->flags & ~VQ_FLAGS)) return VQ_BAD_OPERATION;
  const int large = (request->flags & VQ_LARGE) != 0;
  if ((request->flags & VQ_NEWS) && request->operation != VQ_WRITE) return VQ_BAD_OPERATION;
  if (request->operation == VQ_SEND) {
    if (pair->flow.window == 0 || (!large && request->bytes > world->message_bytes_max)) return VQ_BAD_OPERATION;
  } else if (large) {
    return VQ_BAD_OPERATION;
  }
  if (request->local + request->bytes < request->local || request->remote + request->bytes < request->remote)
    return VQ_BAD_OPERATION;
  if (request->bytes > 0 && !world->local_allowed(world->context, pair, request)) return VQ_BAD_LOCAL;
  if (request->operation == VQ_SEND) return 0;
  const int remote = world->remote_allowed(world->context, pair, request);
  return remote > 0 ? 0 : remote == 0 ? VQ_BAD_REMOTE : VQ_LOOK_UP;
}

/* Nobody may have more than is still free, so that who comes last finds room too (the dynamic threshold of shared buffers,
 * Choudhury and Hahne 1998); who is alone may have all. */
static int has_room(const struct vq_pair* pair, const struct vq_request* request) {
  const struct vq_physical* physical = pair->physical;
  const struct vq_completions* completions = pair->completions;
  if (physical->free == VQ_NONE || physical->awaited || completions->count + completions->reserved >= completions->capacity)
    return 0;
  if (physical->pairs > 1 && pair->slots.count >= physical->depth - physical->under_way) return 0;
  if (((request->flags & VQ_LARGE) || pair->slots.held > 0) && physical->held >= (physical->depth + 1) / 2) return 0;
  /* A read that is posted again after a fault must not see what its pair wrote after it, nor what the peer did about it. */
  if (request->operation != VQ_READ && pair->slots.reads > 0 && !(pair->flags & VQ_ONCE)) return 0;
  return request->operation != VQ_SEND || pair->flow.sent < pair->flow.consumed_by_peer + pair->flow.peer_window;
}

static void describe(struct vq_pool* pool, struct vq_pair* pair, const struct vq_slot* slot, struct vq_header* header) {
  const struct vq_request* request = &slot->request;
  const int large = (request->flags & VQ_LARGE) != 0;
  memset(header, 0, sizeof *header);
  header->magic = VQ_MAGIC;
  header->version = VQ_HEADER_VERSION;
  header->kind = request->flags & FENCE      ? VQ_KIND_FENCE
                 : request->flags & FENCED   ? VQ_KIND_FENCED
                 : request->flags & INTERNAL ? VQ_KIND_CREDIT
                 : large                     ? VQ_KIND_LARGE
                                             : VQ_KIND_DATA;
  header->hello = !pair->remote_known;
  header->metadata_bytes = pair->remote_known ? 0 : (uint8_t)pool->world.metadata_bytes;
  header->to = pair->remote;
  header->from = pair_id(pool, pair);
  header->node = pool->world.node;
  header->start = pool->world.start;
  header->bytes = request->bytes;
  header->sequence = slot->sequence;
  header->consumed = pair->flow.consumed;
  header->window = pair->flow.window;
  if (large) {
    header->address = request->remote;
    header->key = request->remote_key;
  }
  pair->flow.told = pair->flow.consumed;
  pair->flow.credit_due = 0;
}

/* Hands slots over, at least one, in this order; returns how many were taken, the others are as they were. The last is
 * always signaled, so that no space waits for a completion that nobody asked for. */
static uint32_t submit(struct vq_pool* pool, struct vq_physical* physical, const uint32_t* indices, uint32_t count) {
  struct vq_posted posts[VQ_SEGMENT];
  uint32_t n = 0;
  do {
    struct vq_slot* slot = &physical->slots[indices[n]];
    struct vq_pair* pair = vq_find(pool, slot->pair);
    posts[n].request = &slot->request;
    posts[n].id = (uint64_t)++slot->turn << 32 | indices[n];
    posts[n].peer = pair->peer;
    posts[n].signaled = !physical->ordered || (slot->request.flags & VQ_SIGNALED) || n + 1 == count;
    if (slot->request.operation == VQ_SEND) describe(pool, pair, slot, &posts[n].header);
  } while (++n < count);
  const uint32_t taken = pool->world.post(pool->world.context, physical, posts, count);
  for (uint32_t i = 0; i < count; ++i) {
    struct vq_slot* slot = &physical->slots[indices[i]];
    struct vq_pair* pair = vq_find(pool, slot->pair);
    if (i < taken) {
      pair->slots.flushed -= slot->state == VQ_SLOT_FLUSHED;
      slot->state = VQ_SLOT_POSTED;
    } else if (slot->request.operation == VQ_SEND && pair->flow.consumed > 0) {
      pair->flow.credit_due = 1; /* the header that told of it did not go */
    }
  }
  return taken;
}

static void undo(struct vq_pair* pair, const uint32_t* indices, uint32_t count, uint32_t last) {
  struct vq_physical* physical = pair->physical;
  for (uint32_t i = count; i-- > 0;) {
    const struct vq_slot* slot = &physical->slots[indices[i]];
    if (slot->request.operation == VQ_SEND && !(slot->request.flags & INTERNAL)) --pair->flow.sent;
    if (!(slot->request.flags & INTERNAL)) --pair->completions->reserved;
    leave_order(physical, indices[i]);
    let_go(pair, physical, indices[i]);
  }
  pair->slots.last = last;
  if (last == VQ_NONE)
    pair->slots.first = VQ_NONE;
  else
    physical->slots[last].next_of_pair = VQ_NONE;
}

static void enter(struct vq_pool* pool, struct vq_pair* pair, const struct vq_request* request, uint32_t* index) {
  *index = take_slot(pair->physical);
  struct vq_slot* slot = &pair->physical->slots[*index];
  const int internal = (request->flags & INTERNAL) != 0;
  slot->request = *request;
  slot->pair = pair_id(pool, pair);
  if (request->operation == VQ_SEND && !internal)
    slot->sequence = ++pair->flow.sent;
  else
    slot->sequence = internal ? request->wr_id : 0;
  slot->state = VQ_SLOT_FREE;
  if (!internal) ++pair->completions->reserved;
  pair->slots.reads += request->operation == VQ_READ;
  slot->held = !internal && ((request->flags & VQ_LARGE) || pair->slots.held > 0);
  pair->slots.held += slot->held;
  pair->physical->held += slot->held;
  append_to_pair(pair, pair->physical, *index);
}

/* Returns 1 if it went. */
static int send_internal(struct vq_pool* pool, struct vq_pair* pair, uint16_t what, uint64_t number) {
  const struct vq_request request = {.wr_id = number, .operation = VQ_SEND, .flags = (uint16_t)(INTERNAL | what)};
  struct vq_physical* physical = pair->physical;
  if (physical->state == VQ_PHYSICAL_BROKEN || physical->free == VQ_NONE || pair->slots.flushed > 0) return 0;
  uint32_t index;
  const uint32_t last = pair->slots.last;
  enter(pool, pair, &request, &index);
  if (submit(pool, physical, &index, 1) == 1) return 1;
  undo(pair, &index, 1, last);
  return 0;
}

/* Nothing may be put behind what was flushed before that is posted again. */
static int may_post_now(const struct vq_pair* pair) {
  return pair->state == VQ_PAIR_READY && pair->physical->state != VQ_PHYSICAL_BROKEN && pair->slots.flushed == 0;
}

int32_t vq_post(struct vq_pool* pool, uint64_t id, const struct vq_request* list, uint32_t count, uint32_t* at) {
  struct vq_pair* pair = find_open(pool, id);
  if (!pair) return VQ_BAD_PAIR;
  if (pair->state == VQ_PAIR_UNBOUND) return VQ_UNBOUND;
  if (pair->state == VQ_PAIR_FAILED) return VQ_FAILED;
  for (uint32_t i = 0; i < count; ++i) {
    const int refusal = check(pool, pair, &list[i]);
    if (at) *at = i;
    if (refusal) return refusal;
  }
  if (!may_post_now(pair)) return 0;
  uint32_t done = 0;
  while (done < count) {
    uint32_t indices[VQ_SEGMENT];
    const uint32_t last = pair->slots.last;
    uint32_t n = 0;
    while (n < VQ_SEGMENT && done + n < count && has_room(pair, &list[done + n])) {
      enter(pool, pair, &list[done + n], &indices[n]);
      ++n;
    }
    if (n == 0) break;
    const uint32_t taken = submit(pool, pair->physical, indices, n);
    if (taken < n) undo(pair, indices + taken, n - taken, taken > 0 ? indices[taken - 1] : last);
    done += taken;
    if (taken < n) break;
  }
  return (int32_t)done;
}

uint32_t vq_take(struct vq_completions* completions, struct vq_completion* list, uint32_t count) {
  uint32_t taken = 0;
  for (; taken < count && completions->count > 0; ++taken) {
    list[taken] = completions->ring[completions->first++ & (completions->capacity - 1)];
    --completions->count;
  }
  return taken;
}

/* -- completions ----------------------------------------------------------------------------------------- */

/* Nobody is told of it, so it waits for nothing that was posted before it. */
static void drop_internal(struct vq_pair* pair, uint32_t index) {
  struct vq_slot* slots = pair->physical->slots;
  uint32_t before = VQ_NONE;
  for (uint32_t i = pair->slots.first; i != index; i = slots[i].next_of_pair) before = i;
  if (before == VQ_NONE)
    pair->slots.first = slots[index].next_of_pair;
  else
    slots[before].next_of_pair = slots[index].next_of_pair;
  if (pair->slots.last == index) pair->slots.last = before;
  let_go(pair, pair->physical, index);
}

static void finish(struct vq_pool* pool, struct vq_physical* physical, uint32_t index, uint8_t status) {
  struct vq_slot* slot = &physical->slots[index];
  struct vq_pair* pair = vq_find(pool, slot->pair);
  leave_order(physical, index);
  slot->state = VQ_SLOT_DONE;
  slot->status = status;
  if (slot->request.flags & INTERNAL) drop_internal(pair, index);
  settle(pool, pair);
}

/* Nobody has anything to expect of a lost peer any more: their operations would only break the queue pair again. */
static void fail_all_of_peer(struct vq_pool* pool, const struct vq_physical* physical, uint32_t peer) {
  for (uint32_t i = 0; i < pool->count; ++i) {
    struct vq_pair* pair = &pool->pairs[i];
    if (pair->state != VQ_PAIR_FREE && pair->physical == physical && pair->peer == peer) fail_pair(pool, pair, VQ_PEER_LOST);
  }
}

static void on_flushed(struct vq_pool* pool, struct vq_physical* physical, uint32_t index) {
  struct vq_pair* pair = vq_find(pool, physical->slots[index].pair);
  const int over = pair->state == VQ_PAIR_FAILED || pair->state == VQ_PAIR_CLOSING;
  if (over || (pair->flags & VQ_ONCE)) {
    finish(pool, physical, index, VQ_FLUSHED);
    if (!over) fail_pair(pool, pair, VQ_FLUSHED);
  } else {
    physical->slots[index].state = VQ_SLOT_FLUSHED;
    ++pair->slots.flushed;
    ++pool->replays;
  }
}

void vq_on_completion(struct vq_pool* pool, struct vq_physical* physical, uint64_t id, uint8_t status) {
  const uint32_t index = (uint32_t)id;
  if (index >= physical->depth || physical->slots[index].state != VQ_SLOT_POSTED ||
      physical->slots[index].turn != (uint32_t)(id >> 32)) {
    ++physical->strays;
    return;
  }
  if (physical->ordered) {
    uint32_t earliest = index;
    for (;;) {
      const uint32_t before = physical->slots[earliest].before;
      if (before == VQ_NONE || physical->slots[before].state != VQ_SLOT_POSTED) break;
      earliest = before;
    }
    while (earliest != index) {
      const uint32_t after = physical->slots[earliest].after;
      finish(pool, physical, earliest, VQ_DONE);
      earliest = after;
    }
  }
  if (status == VQ_FLUSHED) {
    on_flushed(pool, physical, index);
    return;
  }
  const uint64_t owner = physical->slots[index].pair;
  const uint32_t peer = vq_find(pool, owner)->peer;
  finish(pool, physical, index, status);
  if (status == VQ_DONE) return;
  vq_fail(pool, owner, status);
  if (status == VQ_PEER_LOST) fail_all_of_peer(pool, physical, peer);
}

/* A pair of which a later operation was carried out and an earlier one was flushed: the earlier must not come after it. */
static int is_overtaken(const struct vq_pair* pair) {
  int flushed = 0;
  for (uint32_t index = pair->slots.first; index != VQ_NONE; index = pair->physical->slots[index].next_of_pair) {
    const struct vq_slot* slot = &pair->physical->slots[index];
    if (slot->state == VQ_SLOT_FLUSHED) flushed = 1;
    if (slot->state == VQ_SLOT_DONE && slot->status == VQ_DONE && flushed) return 1;
  }
  return 0;
}

static void fail_overtaken(struct vq_pool* pool, struct vq_physical* physical) {
  for (uint32_t i = 0; i < pool->count; ++i) {
    struct vq_pair* pair = &pool->pairs[i];
    if (pair->state == VQ_PAIR_FREE || pair->physical != physical || pair->slots.flushed == 0) continue;
    if (is_overtaken(pair)) fail_pair(pool, pair, VQ_FLUSHED);
  }
}

void vq_on_broken(struct vq_pool* pool, struct vq_physical* physical) {
  physical->state = VQ_PHYSICAL_BROKEN;
  /* From the front each time: what one flush ends may take others out of the list. */
  for (uint32_t index = physical->oldest; index != VQ_NONE;) {
    if (physical->slots[index].state == VQ_SLOT_POSTED) {
      on_flushed(pool, physical, index);
      index = physical->oldest;
    } else {
      index = physical->slots[index].after;
    }
  }
  fail_overtaken(pool, physical);
}

/* Whether something of the same pair is still posted behind it: then nobody knows yet what is to follow what. A credit or a
 * fence keeps no order with its pair's requests. */
static int is_followed(const struct vq_physical* physical, uint32_t index) {
  for (index = physical->slots[index].next_of_pair; index != VQ_NONE; index = physical->slots[index].next_of_pair) {
    const struct vq_slot* slot = &physical->slots[index];
    if (slot->state == VQ_SLOT_POSTED && !(slot->request.flags & INTERNAL)) return 1;
  }
  return 0;
}

/* Posts again what waits here, in the order of the first time. */
static uint32_t replay_here(struct vq_pool* pool, struct vq_physical* physical) {
  fail_overtaken(pool, physical);
  uint32_t index = physical->oldest;
  for (;;) {
    uint32_t indices[VQ_SEGMENT];
    uint32_t n = 0;
    for (; index != VQ_NONE && n < VQ_SEGMENT; index = physical->slots[index].after) {
      if (physical->slots[index].state == VQ_SLOT_FLUSHED && !is_followed(physical, index)) indices[n++] = index;
    }
    if (n == 0 || submit(pool, physical, indices, n) < n) break;
  }
  uint32_t left = 0;
  for (index = physical->oldest; index != VQ_NONE; index = physical->slots[index].after)
    left += physical->slots[index].state == VQ_SLOT_FLUSHED;
  return left;
}

/* Takes all that the pair has under way along, or nothing if there is no room. Returns how many had to stay. */
static uint32_t carry_over(struct vq_pair* pair, struct vq_physical* target, uint32_t peer) {
  struct vq_physical* physical = pair->physical;
  if (target->depth - target->under_way < pair->slots.count) return pair->slots.count;
  uint32_t index = pair->slots.first;
  pair->slots.first = pair->slots.last = VQ_NONE;
  pair->slots.count = 0;
  while (index != VQ_NONE) {
    struct vq_slot* from = &physical->slots[index];
    const uint32_t next = from->next_of_pair;
    const uint32_t place = take_slot(target);
    struct vq_slot* to = &target->slots[place];
    to->request = from->request;
    to->pair = from->pair;
    to->sequence = from->sequence;
    to->state = from->state;
    to->status = from->status;
    to->held = from->held;
    physical->held -= from->held;
    target->held += to->held;
    if (from->state == VQ_SLOT_DONE)
      leave_order(target, place);
    else
      leave_order(physical, index);
    append_to_pair(pair, target, place);
    free_slot(physical, index);
    index = next;
  }
  --physical->pairs;
  ++target->pairs;
  pair->physical = target;
  pair->peer = peer;
  return 0;
}

uint32_t vq_replay(struct vq_pool* pool, struct vq_physical* physical, struct vq_physical* target, uint32_t peer) {
  if (target == physical) {
    const uint32_t left = replay_here(pool, physical);
    if (left == 0) physical->state = VQ_PHYSICAL_READY;
    return left;
  }
  uint32_t left = 0;
  for (uint32_t i = 0; i < pool->count; ++i) {
    struct vq_pair* pair = &pool->pairs[i];
    if (pair->state != VQ_PAIR_FREE && pair->physical == physical) left += carry_over(pair, target, peer);
  }
  if (left > 0) target->awaited = 1;
  return left + replay_here(pool, target);
}

void vq_end_wait(struct vq_physical* physical) { physical->awaited = 0; }

/* -- messages -------------------------------------------------------------------------------------------- */

int vq_read_header(const unsigned char* bytes, uint32_t size, struct vq_header* header) {
  if (size < sizeof *header) return 0;
  memcpy(header, bytes, sizeof *header);
  if (header->magic != VQ_MAGIC || header->version != VQ_HEADER_VERSION || header->hello > 1) return 0;
  if (header->kind < VQ_KIND_DATA || header->kind >= VQ_KINDS || header->window == 0 || header->window > VQ_WINDOW_MAX)
    return 0;
  const uint32_t body = header->kind == VQ_KIND_DATA ? header->bytes : 0;
  if (body > size || size - sizeof *header != (uint64_t)body + header->metadata_bytes) return 0;
  if (header->kind == VQ_KIND_CREDIT) return header->sequence == 0 && header->bytes == 0 && !header->hello;
  if (header->kind >= VQ_KIND_FENCE) return header->sequence > 0 && header->bytes == 0 && !header->hello;
  if (header->kind == VQ_KIND_LARGE && header->bytes == 0) return 0;
  if (header->hello && header->sequence != 1) return 0; /* only a sender that has heard nothing yet says hello */
  return header->sequence > 0 && header->address + header->bytes >= header->address;
}

enum vq_verdict vq_keep(struct vq_pool* pool, uint64_t id, struct vq_physical* physical, uint64_t buffer,
                        const struct vq_header* header, const unsigned char* payload) {
  struct vq_pair* pair = find_open(pool, id);
  if (!pair || pair->flow.window == 0 || pair->state == VQ_PAIR_FAILED) return VQ_DROPPED;
  const uint64_t sequence = header->sequence;
  const int fence = header->kind >= VQ_KIND_FENCE;
  const uint64_t most = header->kind == VQ_KIND_FENCED ? pair->move.fences : pair->flow.consumed + pair->flow.window;
  const int impossible = header->consumed > pair->flow.sent || (header->kind != VQ_KIND_FENCE && sequence > most);
  if (impossible || (pair->remote_known && header->from != pair->remote)) {
    ++pool->rejected;
    return VQ_DROPPED;
  }
  if (!pair->remote_known) pair->remote = header->from;
  pair->remote_known = 1;
  pair->flow.peer_window = header->window;
  if (header->consumed > pair->flow.consumed_by_peer) {
    pair->flow.consumed_by_peer = header->consumed;
    settle(pool, pair);
  }
  if (header->kind == VQ_KIND_FENCE && sequence > pair->move.fence_due) pair->move.fence_due = sequence;
  const int asked = pair->state == VQ_PAIR_MOVING && pair->move.fence == VQ_FENCE_ASKED;
  if (header->kind == VQ_KIND_FENCED && asked && sequence == pair->move.fences) {
    pair->move.fence = VQ_FENCE_NONE;
    end_if_idle(pool, pair);
  }
  if (fence || sequence <= pair->flow.consumed) return VQ_DROPPED; /* a credit too, or heard before */
  struct vq_message* place = &pair->flow.messages[(sequence - 1) & (pair->flow.window - 1)];
  if (place->sequence == sequence) return VQ_DROPPED;
  place->sequence = sequence;
  place->buffer = buffer;
  place->physical = physical;
  place->payload = payload;
  place->bytes = header->bytes;
  place->large = header->kind == VQ_KIND_LARGE;
  place->address = header->address;
  place->key = header->key;
  return VQ_KEPT;
}

enum vq_verdict vq_on_message(struct vq_pool* pool, struct vq_physical* physical, uint64_t buffer,
                              const unsigned char* bytes, uint32_t size) {
  struct vq_header header;
  if (!vq_read_header(bytes, size, &header)) {
    ++pool->rejected;
    return VQ_DROPPED;
  }
  if (header.hello) return VQ_STRANGER;
  return vq_keep(pool, header.to, physical, buffer, &header, bytes + sizeof header + header.metadata_bytes);
}

const struct vq_message* vq_next_message(struct vq_pool* pool, uint64_t id) {
  struct vq_pair* pair = find_open(pool, id);
  if (!pair || pair->flow.window == 0) return 0;
  const struct vq_message* place = &pair->flow.messages[pair->flow.consumed & (pair->flow.window - 1)];
  return place->sequence == pair->flow.consumed + 1 ? place : 0;
}

/* The peer waits for news of the first, which gives it its window, and of large ones, whose memory it keeps; of others half
 * a window at a time is enough. */
void vq_consume(struct vq_pool* pool, uint64_t id) {
  struct vq_pair* pair = find_open(pool, id);
  if (!pair || pair->flow.window == 0) return;
  struct vq_message* place = &pair->flow.messages[pair->flow.consumed & (pair->flow.window - 1)];
  if (place->sequence != pair->flow.consumed + 1) return;
  place->sequence = 0;
  ++pair->flow.consumed;
  const uint64_t untold = pair->flow.consumed - pair->flow.told;
  if (place->large || pair->flow.consumed == 1 || untold * 2 >= pair->flow.window) pair->flow.credit_due = 1;
}

int vq_owes(struct vq_pool* pool, uint64_t id) {
  const struct vq_pair* pair = find_open(pool, id);
  if (!pair || pair->state == VQ_PAIR_FAILED || pair->state == VQ_PAIR_UNBOUND) return 0;
  const int fence = pair->state == VQ_PAIR_MOVING && pair->move.fence == VQ_FENCE_WANTED;
  return pair->flow.credit_due || pair->move.fence_due > 0 || fence;
}

int vq_pay(struct vq_pool* pool, uint64_t id) {
  if (!vq_owes(pool, id)) return 0;
  struct vq_pair* pair = find_open(pool, id);
  if (pair->state == VQ_PAIR_MOVING) {
    end_if_idle(pool, pair);
    if (pair->state == VQ_PAIR_MOVING && pair->move.fence_due == 0) return vq_owes(pool, id);
  }
  if (pair->move.fence_due > 0) {
    if (!send_internal(pool, pair, FENCED, pair->move.fence_due)) return 1;
    pair->move.fence_due = 0;
  } else if (!may_post_now(pair) || !send_internal(pool, pair, 0, 0)) {
    pair->flow.credit_due = 1;
    return 1;
  }
  return vq_owes(pool, id);
}
