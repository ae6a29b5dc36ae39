/* The view change and its trim (docs/protocol.md, "Views"), for spin. Run by tests/model/check; README.md says what is
 * modelled and which claim stands for which invariant.
 *
 * To remember: every step of a member is one store that others can see, so that a crash, or a reader, may come between any
 * two. What a member sees of another is a copy of a past state of its row (`seen`), brought up to date at any time or never.
 * Every step moves something forward that never goes back, so no run is endless, and "the change ends" is a claim about
 * the states in which nothing more can happen.
 *
 * Nodes are named by their ids; a view's ranks are in the order of the ids, for the joiner has the highest.
 */

/* The configuration: -D of tests/model/check. */
#ifndef MEMBERS
#define MEMBERS 3        /* of view 0: 3 or 4 */
#endif
#ifndef CRASHES
#define CRASHES 1        /* members that may stop without a word */
#endif
#ifndef SLANDERS
#define SLANDERS 0       /* suspicions of a member that lives */
#endif
#ifndef FAILURES
#define FAILURES 2       /* of both kinds together */
#endif
#ifndef MESSAGES
#define MESSAGES 1       /* of the tracked sender, in each view */
#endif
#ifndef LAST
#define LAST 2           /* the view in which the model ends; with 1 there is one view change, with 2 there are two */
#endif
/* TESTIMONY: all members are of one host, so that a crash can be known for certain, and last rows be read (V19).
 * JOIN: node 3 wants to join; needs MEMBERS 3.  TOLERANT: the failures must not end the group.  SENIOR: all slanders
 * are between the joiner and a member that was there before, and cost the joiner alone; needs CRASHES 0. */

#define bit(q)         (1 << (q))
#define has(set, q)    (((set) >> (q)) & 1)
#define count(set)     (has(set, 0) + has(set, 1) + has(set, 2) + has(set, 3))
#define lowest(set)    (has(set, 0) -> 0 : (has(set, 1) -> 1 : (has(set, 2) -> 2 : 3)))
#define below(q)       (bit(q) - 1)
#define majority(set, of)  (2 * count(set) > count(of))

/* A row, packed: suspected 4 bits, wedged 1, accepted 3, decided 3. */
#define suspected_in(row)  ((row) & 15)
#define wedged_in(row)     (((row) >> 4) & 1)
#define accepted_in(row)   (((row) >> 5) & 7)
#define decided_in(row)    (((row) >> 8) & 7)
short rows[8];              /* [view * 4 + owner] */
short seen[16];             /* [reader * 4 + owner]: the reader's copy, of its own view */
#define ROW(v, p)      rows[(v) * 4 + (p)]
#define SEEN(p, q)     seen[(p) * 4 + (q)]

/* A value, packed: failed 4 bits, join 1, trim 2, present 1. One leader, one ballot, one value: rows carry the ballot. */
#define failed_in(value)   ((value) & 15)
#define join_in(value)     (((value) >> 4) & 1)
#define trim_in(value)     (((value) >> 5) & 3)
#define make_value(failed, join, trim)  ((failed) | ((join) << 4) | ((trim) << 5) | 128)
byte values[8];             /* [view * 4 + ballot - 1] */
#define VALUE(v, b)    values[(v) * 4 + (b) - 1]

byte members[3];            /* by view; 0: nobody has installed it yet */
byte view_of[4];
byte dead;                  /* crashed or stopped */
byte crashed;               /* those of them that are no processes any more */
byte certain[4];            /* TESTIMONY, by reader: suspects that it knows to be crashed */
byte met;                   /* TESTIMONY, JOIN: readers that ever read the joiner's row in their view */
byte received[8];           /* [view * 4 + node]: messages of the view's tracked sender; final once the node is wedged */
byte delivered[2];          /* by view: the most that anybody delivered */
byte crashes = CRASHES;
byte slanders = SLANDERS;
byte failures = FAILURES;
byte stops;                 /* members that stopped themselves */
byte voters[8];             /* ghost, [view * 4 + ballot - 1]: who ever accepted */
byte outcome[2];            /* ghost, by view: the value that anybody took as decided */

hidden byte i;
hidden byte b;
hidden byte best;
hidden byte trim;
hidden byte acks;

#define MINE           ROW(view_of[p], p)
#define SUSPECTED      suspected_in(MINE)
#define WEDGED         wedged_in(MINE)
#define ACCEPTED       accepted_in(MINE)
#define DECIDED        decided_in(MINE)
#define VIEW           members[view_of[p]]
#define TRUSTED        (VIEW & ~SUSPECTED)
#define LEADER         lowest(TRUSTED)
#define alive(q)       (!has(dead, q))
/* In its view, and neither stopped nor about to install the next one. */
#define ACTS           (alive(p) && view_of[p] < LAST && DECIDED == 0)
/* V19: below a majority, and everybody else is dead for certain. Else a member below it waits as long as all others are at
 * least on their way to that, and stops when one of them may live. */
#if defined(TESTIMONY) && defined(JOIN)
#define is_here(q)     (q != 3 || has(met, p))
#else
#define is_here(q)     1
#endif
#ifdef TESTIMONY
/* The joiner died before the reader had its row: it decided nothing if no row here shows an acceptance of its ballot. */
#define unseen         (has(VIEW & certain[p], 3) && !is_here(3))
#define row_here(q)    (q == p -> MINE : (has(certain[p], q) -> last_row(q) : SEEN(p, q)))
#define late(q)        (has(VIEW, q) && accepted_in(row_here(q)) == 4)
#ifdef MUTANT_UNSEEN
#define doubtful       unseen
#else
#define doubtful       (unseen && (late(0) || late(1) || late(2)))   /* not `any`, which is used around it */
#endif
#ifdef MUTANT_DESPITE_LIVING
#define all_testify    (certain[p] != 0)
#else
#define all_testify    ((VIEW & SUSPECTED & ~certain[p]) == 0 && !doubtful)
#endif
#define BY_TESTIMONY   (!in_majority && all_testify)
#define hopeless       (!in_majority && ((VIEW & SUSPECTED & ~crashed) != 0 || doubtful))
#else
#define BY_TESTIMONY   false
#define hopeless       (!in_majority)
#endif
#ifdef MUTANT_COUNT_DEAD
#define in_majority    majority(TRUSTED | (VIEW & certain[p]), VIEW)
#else
#define in_majority    majority(TRUSTED, VIEW)
#endif
#define GOES_ON        (ACTS && (in_majority || BY_TESTIMONY))
/* An incarnation that was once in a view is no candidate any more. */
#define CANDIDATE      (joiner_waits && !has(members[1] | members[2], 3))
bool joiner_waits;

#define any(predicate)     (predicate(0) || predicate(1) || predicate(2) || predicate(3))
#define every(predicate)   (predicate(0) && predicate(1) && predicate(2) && predicate(3))

/* Invariant V7, as stated for ballots: what a majority ever accepted is what every later ballot carries; but one whose leader
 * crashed without a decision was never decided, nor will be, and a testimony says so. */
#define undecided_death(v, b)     (has(crashed, (b) - 1) && decided_in(ROW(v, (b) - 1)) == 0)
inline check_chosen(v) {
  for (i : 1 .. 3) {
    for (b : i + 1 .. 4) {
      assert(!majority(voters[(v) * 4 + i - 1], members[v]) || VALUE(v, b) == 0 || VALUE(v, b) == VALUE(v, i) ||
             undecided_death(v, i))
    }
  }
  i = 0; b = 0
}

inline store_accepted(ballot) {
  assert(ballot >= ACCEPTED);   /* S2: a word never falls */
  MINE = (MINE & ~(7 << 5)) | ((ballot) << 5);
  voters[view_of[p] * 4 + (ballot) - 1] = voters[view_of[p] * 4 + (ballot) - 1] | bit(p);
  check_chosen(view_of[p])
}

inline stop() {
  dead = dead | bit(p);
  stops++;
  for (i : 0 .. 3) { SEEN(p, i) = 0 }
  i = 0
}

/* Rule 1, first hand: the connection is lost because q died or has suspected p; or p is wrong. */
#define broken(q)      (has(dead, q) || has(suspected_in(ROW(0, q)) | suspected_in(ROW(1, q)), p))
/* What was seen of a suspect is forgotten; but where rows of the dead are taken for as they were seen last. */
#ifdef MUTANT_READ_EARLY
#define forget_seen(q) skip
#define last_row(q)    SEEN(p, q)
#else
#define forget_seen(q) SEEN(p, q) = 0
#define last_row(q)    (is_here(q) * ROW(view_of[p], q))
#endif
/* Also between the decision and the next view. */
#define suspectable(q) (q != p && alive(p) && view_of[p] < LAST && has(TRUSTED, q))
#ifdef SENIOR
#define slanders_left(q)  (slanders > 0 && (p == 3 || q == 3))
#else
#define slanders_left(q)  (slanders > 0)
#endif
#define SUSPECT(q) \
  :: d_step { suspectable(q) && broken(q) -> MINE = MINE | bit(q); forget_seen(q) } \
  :: d_step { suspectable(q) && !broken(q) && failures > 0 && slanders_left(q) -> \
              failures--; slanders--; MINE = MINE | bit(q); forget_seen(q) }

/* V19: a death is certain. Whatever was read of the living before that may be older than what the dead have done with it. */
inline look_again() {
  for (i : 0 .. 3) {
    if
    :: has(TRUSTED, i) -> SEEN(p, i) = 0
    :: else
    fi
  }
  i = 0
}
#ifdef TESTIMONY
#define LEARN(q) \
  :: d_step { ACTS && has(VIEW & SUSPECTED & crashed & ~certain[p], q) -> certain[p] = certain[p] | bit(q); look_again() }
#else
#define LEARN(q)
#endif

#define trusts(q)      (q != p && has(TRUSTED, q))

/* Rule 1, by what two say of each other. */
#ifdef MUTANT_NO_FREEZE
#define readable(q)    (q != p && has(VIEW, q))
#else
#define readable(q)    trusts(q)
#endif
/* An accusation separates two and convicts neither: it is settled when each of the two accuses the other, and everybody whom
 * the reader trusts is wedged, so that all are there that were made until then. Of two, who accuses more goes (what others say as
 * well does not count), or else the higher rank, which a newcomer always has. Only the leader settles what is between others,
 * and all what is between the leader and another. */
#define names_me(s)    (s != p && has(TRUSTED, s) && has(suspected_in(SEEN(p, s)), p))
#define arbitrates(s, q)  (LEADER == p || LEADER == s || LEADER == q)
#define said_by(r, s)  (r == s -> 0 : suspected_in(SEEN(p, r)))
#define said_beside(s) (SUSPECTED | said_by(0, s) | said_by(1, s) | said_by(2, s) | said_by(3, s))
#define burden(s)      (8 * count(suspected_in(SEEN(p, s)) & ~said_beside(s)) + s)
#define accuses(s, q)  (s != q && trusts(s) && trusts(q) && has(suspected_in(SEEN(p, s)), q))
#ifdef MUTANT_BOTH_GO
#define weighs_more(q, s)  true
#else
#define weighs_more(q, s)  (burden(q) > burden(s))
#endif
#define loses(q, s)    (accuses(s, q) && accuses(q, s) && arbitrates(s, q) && weighs_more(q, s))
#define settled(q)     (all_wedged && (loses(q, 0) || loses(q, 1) || loses(q, 2) || loses(q, 3)))
#define accused(q)     (accuses(0, q) || accuses(1, q) || accuses(2, q) || accuses(3, q))
#define ADOPT(q) \
  :: d_step { suspectable(q) && GOES_ON && settled(q) -> MINE = MINE | bit(q); forget_seen(q) }

/* The reader's copy of q's row becomes what the row is now. */
#define LOOK(q) \
  :: d_step { GOES_ON && readable(q) && SEEN(p, q) != ROW(view_of[p], q) -> \
              SEEN(p, q) = ROW(view_of[p], q); meet(q) }
#if defined(TESTIMONY) && defined(JOIN)
#define meet(q)        met = (q == 3 -> met | bit(p) : met)
#else
#define meet(q)        skip
#endif

/* Whoever accepts has suspected all that the value calls failed: nobody accepts the end of a member that it may follow
 * later. */
#ifdef MUTANT_NO_AGREEMENT
#define agrees(ballot) true
#else
#define agrees(ballot) ((failed_in(VALUE(view_of[p], ballot)) & ~SUSPECTED) == 0)
#endif

#define waits_for_wedge(q)   (trusts(q) && !wedged_in(SEEN(p, q)))
#define waits_for_promise(q) (trusts(q) && (VIEW & below(p) & ~suspected_in(SEEN(p, q))) != 0)
#define shows_wedge(q)       (trusts(q) && wedged_in(SEEN(p, q)))

#ifdef MUTANT_NO_WEDGE_WAIT
#define all_wedged     true
#else
#define all_wedged     (!any(waits_for_wedge))
#endif
#ifdef MUTANT_NO_PROMISE
#define all_promised   true
#else
#define all_promised   (!any(waits_for_promise))
#endif
/* The same for a leader that goes on with a value it found; it hears these suspicions from whoever accepted the value. */
#define disputes(q)    ((q == p || trusts(q)) && disputed(q == p -> ACCEPTED : accepted_in(SEEN(p, q))))
/* The leader proposes when no accusation is left between any that go on. */
#define pending(q)     (trusts(q) && (accused(q) || names_me(q)))
#define disputed(ballot)  ((ballot) != 0 && !agrees(ballot))
#define may_propose    (GOES_ON && LEADER == p && WEDGED && ACCEPTED < p + 1 && all_wedged && all_promised && \
                        (BY_TESTIMONY || !any(disputes)) && !any(pending) && !any(testified))

/* V19: the decision of a member that is dead. */
#ifdef MUTANT_WITHOUT_ACCUSERS
#define heard_of(q)    (!has(suspected_in(last_row(q)), p))
#else
#define heard_of(q)    true
#endif
#define testified(q)   (BY_TESTIMONY && has(certain[p] & VIEW, q) && heard_of(q) && decided_in(last_row(q)) != 0)

/* Rule 4: the value of the highest ballot that an unsuspected member accepted, or else a new one. */
inline propose(join) {
  best = ACCEPTED;
  trim = received[view_of[p] * 4 + p];
  for (i : 0 .. 3) {
    if
    :: i != p && has(TRUSTED, i) ->
       if
       :: accepted_in(SEEN(p, i)) > best -> best = accepted_in(SEEN(p, i))
       :: else
       fi;
       if
#ifdef MUTANT_TRIM_MAX
       :: received[view_of[p] * 4 + i] > trim -> trim = received[view_of[p] * 4 + i]
#else
       :: received[view_of[p] * 4 + i] < trim -> trim = received[view_of[p] * 4 + i]
#endif
       :: else
       fi
    :: else
    fi
  }
#ifdef MUTANT_NO_ADOPTION
  best = 0;
#endif
  if
  :: BY_TESTIMONY -> best = 0   /* all that could have decided it are dead, and have not */
  :: else
  fi;
  if
  :: best == 0 -> VALUE(view_of[p], p + 1) = make_value(SUSPECTED, join, trim)
#ifdef MUTANT_NEW_TRIM
  :: best != 0 ->
     VALUE(view_of[p], p + 1) = make_value(failed_in(VALUE(view_of[p], best)), join_in(VALUE(view_of[p], best)), trim)
#else
  :: best != 0 -> VALUE(view_of[p], p + 1) = VALUE(view_of[p], best)
#endif
  fi;
  store_accepted(p + 1);
  best = 0; trim = 0
}

/* Rule 5. */
#ifdef MUTANT_NO_FREEZE
#define offers(q)      (readable(q) && accepted_in(SEEN(p, q)) == q + 1 && q + 1 > ACCEPTED)
#else
#define offers(q)      (q != p && LEADER == q && accepted_in(SEEN(p, q)) == q + 1 && q + 1 > ACCEPTED && agrees(q + 1))
#endif
#define ACCEPT(q) \
  :: d_step { GOES_ON && WEDGED && offers(q) -> \
              assert(trim_in(VALUE(view_of[p], q + 1)) <= received[view_of[p] * 4 + p]);  /* V10 */ \
              store_accepted(q + 1); \
              assert(LEADER == q) /* V12 */ }

/* Rule 6. */
#define votes(q)       ((has(TRUSTED, q) && (q == p || accepted_in(SEEN(p, q)) == p + 1)) -> 1 : 0)
#define VOTES          (votes(0) + votes(1) + votes(2) + votes(3))
#ifdef MUTANT_HALF
#define enough_votes   (2 * VOTES + 1 >= count(VIEW))
#else
#define enough_votes   (2 * VOTES > count(VIEW) || (BY_TESTIMONY && VOTES == count(TRUSTED) && !any(testified)))
#endif
#ifdef MUTANT_COUNT_DEAD
#undef enough_votes
#define enough_votes   (2 * (VOTES + count(VIEW & certain[p])) > count(VIEW))
#endif

/* All who could decide otherwise have accepted it. */
#define testimony_of(set)   (((set) & ~crashed) == 0)

inline store_decided(ballot) {
  assert(outcome[view_of[p]] == 0 || outcome[view_of[p]] == VALUE(view_of[p], ballot));       /* V4, V10: one */
  outcome[view_of[p]] = VALUE(view_of[p], ballot);
  assert(delivered[view_of[p]] <= trim_in(outcome[view_of[p]]));                             /* V10, M5 */
  MINE = MINE | ((ballot) << 8)
}

/* Rule 6, of others: first `accepted`, then `decided`. A later ballot that p has accepted itself carries the same value and
 * is not taken back. */
#define announces(q)   (trusts(q) && WEDGED && decided_in(SEEN(p, q)) != 0 && \
                        accepted_in(SEEN(p, q)) == decided_in(SEEN(p, q)))
#ifdef MUTANT_ACCEPTED_FALLS
#define later(q)       (decided_in(SEEN(p, q)) != ACCEPTED)
#else
#define later(q)       (decided_in(SEEN(p, q)) > ACCEPTED)
#endif
#define FOLLOW(q) \
  :: d_step { GOES_ON && announces(q) && later(q) -> store_accepted(decided_in(SEEN(p, q))) } \
  :: d_step { GOES_ON && announces(q) && !later(q) -> assert(outcome[view_of[p]] != 0); store_decided(ACCEPTED) }
#ifdef TESTIMONY
#define TESTIFY(q) \
  :: d_step { GOES_ON && WEDGED && testified(q) && decided_in(last_row(q)) > ACCEPTED -> \
              store_accepted(decided_in(last_row(q))) } \
  :: d_step { GOES_ON && WEDGED && testified(q) && decided_in(last_row(q)) <= ACCEPTED -> store_decided(ACCEPTED) }
#else
#define TESTIFY(q)
#endif

/* Rule 7. Once nobody is left in the old view its state is forgotten, which merges states that differ in nothing else. */
#ifdef MUTANT_RELEASE_EARLY
#define lingers(q)     (has(members[0] & members[1], q) && !has(dead, q) && view_of[q] == 0)
#else
#define lingers(q)     (has(members[0], q) && !has(dead, q) && view_of[q] == 0)
#endif
inline install() {
  trim = VALUE(view_of[p], ACCEPTED);
  best = (VIEW & ~failed_in(trim)) | (join_in(trim) << 3);
  assert(members[view_of[p] + 1] == 0 || members[view_of[p] + 1] == best);                   /* V3, V4 */
  members[view_of[p] + 1] = best;
  assert(has(best, p));                                                                      /* V1 */
  assert(trim_in(trim) <= received[view_of[p] * 4 + p]);                                      /* V10 */
  assert(majority(VIEW & best, VIEW) || testimony_of(VIEW & ~best));                         /* V4, V19 */
  /* Suspicions outlive the view: the connection is gone. Without this a cut-off member could be the first to accuse. */
#ifndef MUTANT_FORGIVE
  if
  :: view_of[p] + 1 < LAST -> ROW(view_of[p] + 1, p) = SUSPECTED & best
  :: else
  fi;
#endif
  view_of[p] = view_of[p] + 1;
  for (i : 0 .. 3) { SEEN(p, i) = 0 }
  met = met & ~bit(p);
  i = 0; best = 0; trim = 0;
  forget()
}
inline forget() {
  if
  :: !any(lingers) -> for (i : 0 .. 3) { rows[i] = 0; values[i] = 0; voters[i] = 0; received[i] = 0 }
     delivered[0] = 0;
     i = 0
  :: else
  fi
}

#define least(x, y)    ((x) < (y) -> (x) : (y))
#define counted(q)     (has(VIEW, q) -> received[view_of[p] * 4 + q] : MESSAGES)
#ifdef MUTANT_NOT_WEDGED
#define receives       ACTS
#else
#define receives       (ACTS && !WEDGED && SUSPECTED == 0)
#endif

proctype member(byte p) {
#ifdef JOIN
  if
  :: p == 3 ->
end_waiting:
     do
     :: d_step { alive(p) && joiner_waits && has(members[1], p) -> joiner_waits = false; view_of[p] = 1 }
        break
     :: d_step { alive(p) && joiner_waits && has(members[2], p) -> joiner_waits = false; view_of[p] = 2 }
        break
     :: d_step { alive(p) && joiner_waits && failures > 0 && crashes > 0 ->
                 failures--; crashes--; dead = dead | bit(p); crashed = crashed | bit(p) }
        break
     od
  :: else
  fi;
#endif
end:
  do
  :: d_step { alive(p) && failures > 0 && crashes > 0 ->
              failures--; crashes--; dead = dead | bit(p); crashed = crashed | bit(p);
              for (i : 0 .. 3) { SEEN(p, i) = 0 }
              i = 0;
              forget() }

  /* The multicast: p receives one more message. Whoever sees that all hold it may deliver it at once; p does not yet have
   * to be wedged, so p is one who may. */
  :: d_step { receives && received[view_of[p] * 4 + p] < MESSAGES ->
              received[view_of[p] * 4 + p]++;
              trim = least(least(counted(0), counted(1)), least(counted(2), counted(3)));
              if
              :: trim > delivered[view_of[p]] -> delivered[view_of[p]] = trim
              :: else
              fi;
              assert(outcome[view_of[p]] == 0 || delivered[view_of[p]] <= trim_in(outcome[view_of[p]]));  /* V10, M5 */
              trim = 0 }

  SUSPECT(0) SUSPECT(1) SUSPECT(2) SUSPECT(3)
  ADOPT(0) ADOPT(1) ADOPT(2) ADOPT(3)
  LEARN(0) LEARN(1) LEARN(2) LEARN(3)
  LOOK(0) LOOK(1) LOOK(2) LOOK(3)

  /* Rule 2. */
  :: d_step { GOES_ON && !WEDGED && (SUSPECTED != 0 || any(shows_wedge) || (LEADER == p && CANDIDATE)) ->
              MINE = MINE | 16 }

  /* Rule 3. */
  :: d_step { ACTS && hopeless -> stop(); forget() }

  /* Rule 4. The leader may not have heard of the candidate yet. */
  :: d_step { may_propose -> propose(0) }
  :: d_step { may_propose && CANDIDATE -> propose(1) }

  /* Rule 5. */
  ACCEPT(0) ACCEPT(1) ACCEPT(2) ACCEPT(3)

  /* Rule 6. */
  :: d_step { GOES_ON && ACCEPTED == p + 1 && enough_votes ->
              assert(majority(voters[view_of[p] * 4 + p], VIEW) ||
                     testimony_of(VIEW & ~voters[view_of[p] * 4 + p]));  /* V4, V19 */
              store_decided(p + 1) }
  FOLLOW(0) FOLLOW(1) FOLLOW(2) FOLLOW(3)
  TESTIFY(0) TESTIFY(1) TESTIFY(2) TESTIFY(3)

  /* Rule 7. */
  :: d_step { alive(p) && view_of[p] < LAST && DECIDED != 0 && has(failed_in(VALUE(view_of[p], ACCEPTED)), p) ->
              stop(); forget() }
  :: d_step { alive(p) && view_of[p] < LAST && DECIDED != 0 && !has(failed_in(VALUE(view_of[p], ACCEPTED)), p) ->
              install() }
  od
}

/* Failures may stay away: the remaining ones are given up at some moment. */
proctype fate() {
  d_step { failures = 0; crashes = 0; slanders = 0 }
}

/* Where nothing more can happen: L1, the view change has ended for every member that lives. */
#define stuck(q)       (has(members[view_of[q]], q) && !has(dead, q) && view_of[q] < LAST && wedged_in(ROW(view_of[q], q)))
#define ended(q)       (has(dead, q) || (q == 3 && joiner_waits) || view_of[q] == LAST || \
                        (members[view_of[q]] & dead) == 0)
proctype judge() {
  timeout ->
end:
  assert(!any(stuck));
  assert(every(ended));
#ifdef TOLERANT
  assert(stops <= SLANDERS);
#endif
#ifdef SENIOR
  assert((dead & 7) == 0);
#endif
}

init {
  atomic {
    members[0] = bit(MEMBERS) - 1;
#if MEMBERS < 4
    view_of[3] = LAST;
#endif
#ifdef JOIN
    joiner_waits = true;
#endif
    run member(0); run member(1); run member(2);
#if MEMBERS == 4 || defined(JOIN)
    run member(3);
#endif
    run fate(); run judge()
  }
}
