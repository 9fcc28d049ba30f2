// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The protocol by which threads share the handles of one cache, for exhaustive search with spin.
//
// Threads acquire, use, return (at once or deferred), discard, clear, trim, change the budget and drain in any order and
// any number of times, while at most BUILDS handles are built; thread 0 closes the cache at the end, possibly while
// others still hold leases. The transitions are those of the table in include/larder/detail/slot.hpp, by the same names;
// the paths around them are those of FactoryCore and CacheCore, by theirs.
//
// Granularity: every load, store and compare-exchange of a slot's word is one step. A compare-exchange loop is one step
// too: it takes effect at the exchange that succeeds, or at the load that ends it. A plain return is two steps: the look at
// the word and the store, which fails if the sequence was interrupted since the look. What only the mutex's holder sees is
// merged with the step before it. Choices by score or by time of return are free choices here.
//
// Memory order: the search interleaves whole steps, and each thread, word and lock carries what it knows to have happened
// before, passed on as acquire and release say. A handle is used or destroyed only by who knows of everything that must
// come first; so a missing acquire or release shows although no step is ever seen out of order.
//
// Checked: an exclusive handle has one user; no handle is used or destroyed when it does not exist; a remembered claim
// never gets a handle built later; handles idle or leased with U=1 stay within the budget; a cleared handle is never kept;
// every handle is destroyed once, the core deleted once and touched by nobody afterwards; nobody waits for ever.
//
// Parameters:  SHARED  THREADS  SLOTS  KEYS  BUILDS  MAX_IDLE  MAX_LIVE
//              GROWING    handles may take more bytes at a return; MAX_IDLE is then in bytes
//              RESIZING   the budget may shrink to nothing and grow back
//              TRIMMING   trim() may evict everything idle
//              DEFERRING  returns may be deferred
//              FAILING    builds may fail
//              PLAIN      exclusive handles may be given P=1, and then be returned by a plain store in a restartable sequence
//              ORDERING   memory order is followed, at several times the states
// Mutations (BREAK_...) break one rule each, to show that the search would notice.

#ifndef THREADS
#define THREADS 2
#endif
#ifndef SLOTS
#define SLOTS 2
#endif
#ifndef KEYS
#define KEYS 1
#endif
#ifndef BUILDS
#define BUILDS 3
#endif
#ifndef MAX_IDLE
#define MAX_IDLE 1
#endif
#ifndef MAX_LIVE
#define MAX_LIVE 99
#endif
#define NOBODY 255

// --- The word: P (plain), generation, R (retiring), U (unlocked), leases --------------------------------------------

#define LEASES(w) ((w) & 7)
#define UNLOCKED_BIT 8
#define RETIRING_BIT 16
#define PLAIN_BIT 256
#define FREE_BITS 264
#define UNLOCKED(w) (((w) & UNLOCKED_BIT) != 0)
#define RETIRING(w) (((w) & RETIRING_BIT) != 0)
#define IS_PLAIN(w) (((w) & PLAIN_BIT) != 0)
#define GENERATION(w) ((w) & 224)
#define GENERATION_ONE 32
#define IDLE(w) (!RETIRING(w) && LEASES(w) == 0)

#define VACANT 0
#define BUILDING 1
#define LIVE 2
#define LEAVING 3

// What claim() and claim_shared() ask of the word, given the remembered one.
#ifdef BREAK_CLAIM_IGNORES_GENERATION
#define SAME_GENERATION(w, seen) true
#else
#define SAME_GENERATION(w, seen) (GENERATION(w) == GENERATION(seen))
#endif
#ifdef BREAK_CLAIM_IGNORES_UNLOCKED
#define CLAIMABLE(w, seen) SAME_GENERATION(w, seen)
#elif defined(SHARED)
#define CLAIMABLE(w, seen) (SAME_GENERATION(w, seen) && UNLOCKED(w))
#else
#define CLAIMABLE(w, seen) (SAME_GENERATION(w, seen) && ((w) & 287) == ((seen) & 287))
#endif

short word[SLOTS];
bit in_sequence[THREADS];  // has looked at a word and, uninterrupted, may store it
byte stage[SLOTS];
byte key[SLOTS];
bit in_budget[SLOTS];
bit condemned[SLOTS];
byte bytes[SLOTS];
byte deferred[SLOTS];
byte next_deferred[SLOTS];  // slot + 1
byte deferred_head;         // slot + 1

bit mutex;
byte in_budget_bytes;
byte limit = MAX_IDLE;
byte live_count;
byte building_count;
byte waiting_for_return;
byte pins;
bit closed;
bit doomed;
bit deleted;
bit sleeping[THREADS];  // on the condition variable

byte flight_builder[KEYS] = NOBODY;
byte joined[THREADS];  // 0 no flight, 1 waiting, 2 failed, slot + 3 done
byte joined_key[THREADS];

bit closing;  // the program is about to destroy the cache, so no thread starts a call on it
byte calls;   // calls on the cache now running; leases are returned without it

// --- What is checked -------------------------------------------------------------------------------------------------

bit exists[SLOTS];
byte users[SLOTS];
byte serial[SLOTS];  // which build the slot's handle is
byte built;

// What a holder knows of slot s: that its handle was made or destroyed, and how far each thread used it.
#define LIFE(s) (1 << ((s) * (THREADS + 1) + THREADS))
#define USE(s, thread) (1 << ((s) * (THREADS + 1) + (thread)))
#define USES(s) (((1 << THREADS) - 1) << ((s) * (THREADS + 1)))
#define EVERYTHING ((1 << (SLOTS * (THREADS + 1))) - 1)

#ifdef ORDERING
short know_thread[THREADS] = EVERYTHING;
short know_word[SLOTS] = EVERYTHING;
short know_deferred[SLOTS] = EVERYTHING;
short know_deferred_head = EVERYTHING;
short know_mutex = EVERYTHING;

#define KNOWS(what) ((know_thread[me] & (what)) == (what))
#define ACQUIRE(from) know_thread[me] = know_thread[me] | from
#define RELEASE(to) to = to | know_thread[me]
#define STORE_RELEASE(to) to = know_thread[me]
#define STORE_RELAXED(to) to = 0

// Something new happened to a slot: only this thread knows it.
inline only_i_know(what) {
  know_mutex = know_mutex & ~(what);
  know_deferred_head = know_deferred_head & ~(what);
  for (j : 0 .. THREADS - 1) { know_thread[j] = know_thread[j] & ~(what); }
  for (j : 0 .. SLOTS - 1) {
    know_word[j] = know_word[j] & ~(what);
    know_deferred[j] = know_deferred[j] & ~(what);
  }
  j = 0;
  know_thread[me] = know_thread[me] | (what);
}

// Nothing has happened yet: there is nothing to be missed.
inline everybody_knows(what) {
  know_mutex = know_mutex | (what);
  know_deferred_head = know_deferred_head | (what);
  for (j : 0 .. THREADS - 1) { know_thread[j] = know_thread[j] | (what); }
  for (j : 0 .. SLOTS - 1) {
    know_word[j] = know_word[j] | (what);
    know_deferred[j] = know_deferred[j] | (what);
  }
  j = 0;
}
#else
#define KNOWS(what) true
#define ACQUIRE(from) skip
#define RELEASE(to) skip
#define STORE_RELEASE(to) skip
#define STORE_RELAXED(to) skip
inline only_i_know(what) { skip; }
inline everybody_knows(what) { skip; }
#endif

inline begin_use(s) {
  assert(exists[s] && KNOWS(LIFE(s)));
#ifndef SHARED
  assert(users[s] == 0 && KNOWS(USES(s)));
#endif
  users[s]++;
}

inline end_use(s) {
  users[s]--;
  only_i_know(USE(s, me));
}

inline create(s) {
  assert(!exists[s] && KNOWS(LIFE(s)));
  exists[s] = 1;
  built++;
  serial[s] = built;
  only_i_know(LIFE(s));
  everybody_knows(USES(s));
}

inline destroy(s) {
  assert(exists[s] && users[s] == 0 && KNOWS(LIFE(s) | USES(s)));
  exists[s] = 0;
  serial[s] = 0;
  only_i_know(LIFE(s));
}

// Idle handles and those that may become idle without asking.
#define FREE_TO_BE_IDLE(s) (stage[s] == LIVE && !RETIRING(word[s]) && (LEASES(word[s]) == 0 || UNLOCKED(word[s])))

inline check_budget() {
  for (j : 0 .. SLOTS - 1) {
    if
    :: FREE_TO_BE_IDLE(j) -> total = total + bytes[j];
    :: else
    fi;
    assert(in_budget[j] == FREE_TO_BE_IDLE(j));
    assert(!(stage[j] == LIVE && condemned[j]) || RETIRING(word[j]));
  }
  assert(total == in_budget_bytes && total <= limit);
  j = 0;
  total = 0;
}

// --- The mutex and the condition variable ----------------------------------------------------------------------------

inline lock() {
  atomic {
    !mutex ->
    assert(!deleted);
    mutex = 1;
    ACQUIRE(know_mutex);
  }
}

inline unlock_now() {
  check_budget();
  STORE_RELEASE(know_mutex);
  mutex = 0;
}

inline unlock() { d_step { unlock_now(); } }

inline notify_all() {
  for (j : 0 .. THREADS - 1) { sleeping[j] = 0; }
  j = 0;
}

// --- The budget ledger (mutex held) ----------------------------------------------------------------------------------

#define MAY_UNLOCK (waiting_for_return == 0 && !closed)
#define FITS_IN_BUDGET(s) (in_budget_bytes + bytes[s] <= limit)

inline enter_budget(s) {
  in_budget[s] = 1;
  in_budget_bytes = in_budget_bytes + bytes[s];
}

inline leave_budget(s) {
  in_budget[s] = 0;
  in_budget_bytes = in_budget_bytes - bytes[s];
}

inline take_out(s) {
  if
  :: in_budget[s] -> leave_budget(s);
  :: else
  fi;
  stage[s] = LEAVING;
  retired = retired | (1 << (s));
}

// change() of a word that is leased with P=1: a return under way may store over it, unless it is interrupted.
#define MAY_BE_UNDONE(w) (IS_PLAIN(w) && LEASES(w) > 0)
#ifdef BREAK_CHANGE_NOT_LOOKED_AT
#define HAS_STAYED(s) true
#else
#define HAS_STAYED(s) (word[s] == seen)
#endif

inline interrupt_returns() {
#ifdef BREAK_RETURNS_NOT_INTERRUPTED
  skip;
#else
  for (j : 0 .. THREADS - 1) { in_sequence[j] = 0; }
  j = 0;
#endif
}

// set_free_bits(0): leased U=1 -> leased U=0, idle likewise. A word that has it already is only loaded.
inline clear_unlocked(s) {
  if
  :: !RETIRING(word[s]) && UNLOCKED(word[s]) ->
     word[s] = word[s] & ~FREE_BITS;
     ACQUIRE(know_word[s]);
     RELEASE(know_word[s]);
  :: else
  fi;
}

// evict(): idle -> owned by retire_idle(), then take_out().
inline evict(s) {
  atomic {
    if
#ifdef BREAK_EVICT_WITHOUT_IDLE_CHECK
    :: !RETIRING(word[s]) ->
#else
    :: IDLE(word[s]) ->
#endif
       word[s] = (word[s] & ~FREE_BITS) | RETIRING_BIT;
       ACQUIRE(know_word[s]);
       RELEASE(know_word[s]);
       take_out(s);
    :: else
    fi;
  }
}

// retire(): idle -> owned, or leased -> retiring.
inline retire(s) {
#ifdef BREAK_RETIRE_LEAVES_UNLOCKED
  word[s] = word[s] | RETIRING_BIT;
#else
  word[s] = (word[s] & ~FREE_BITS) | RETIRING_BIT;
#endif
  ACQUIRE(know_word[s]);
  RELEASE(know_word[s]);
}

inline retired_or_not(s) {
  if
  :: LEASES(word[s]) == 0 -> take_out(s);
  :: LEASES(word[s]) > 0 && in_budget[s] -> leave_budget(s);
  :: else
  fi;
}

inline condemn(s) {
  condemned[s] = 1;
  do
  :: stage[s] == LIVE ->
     atomic {
       seen = word[s];
       retire(s);
       if
       :: MAY_BE_UNDONE(seen) -> seen = word[s];
       :: else -> seen = 0; retired_or_not(s); break;
       fi;
     }
     atomic {
       interrupt_returns();
       if
       :: HAS_STAYED(s) -> seen = 0; retired_or_not(s); break;
       :: else -> seen = 0;
       fi;
     }
  :: stage[s] != LIVE -> break;
  od;
}

// cheapest_idle(): any handle that is in the budget and seen idle may be the victim. With `take_places`, shed(): stops at
// a leased one whose place it can take, leased U=1 -> leased U=0 by set_free_bits(0, only_leased).
inline cheapest_idle(take_places) {
  victim = NOBODY;
  i = 0;
  do
  :: i < SLOTS && !in_budget[i] -> i++;
  :: i < SLOTS && in_budget[i] && IDLE(word[i]) ->
     if
     :: victim = i;
     :: victim != NOBODY -> skip;
     fi;
     i++;
  :: i < SLOTS && in_budget[i] && !IDLE(word[i]) ->
     if
     :: take_places ->
        atomic {
          if
#ifdef BREAK_TAKE_PLACE_OF_IDLE
          :: !RETIRING(word[i]) ->
#else
          :: !RETIRING(word[i]) && LEASES(word[i]) > 0 ->
#endif
             seen = word[i];
             clear_unlocked(i);
             if
             :: MAY_BE_UNDONE(seen) -> seen = word[i];
             :: else -> seen = 0; leave_budget(i); victim = NOBODY; break;
             fi;
          :: else -> i++;
          fi;
        }
        atomic {
          if
          :: seen != 0 ->
             interrupt_returns();
             if
             :: HAS_STAYED(i) -> seen = 0; leave_budget(i); victim = NOBODY; break;
             :: !HAS_STAYED(i) && IDLE(word[i]) -> seen = 0; i++;
             :: else -> seen = 0;  // leased again
             fi;
          :: else
          fi;
        }
     :: else -> i++;
     fi;
  :: i == SLOTS -> break;
  od;
  i = 0;
}

inline enforce() {
  do
  :: in_budget_bytes > limit ->
     cheapest_idle(true);
     if
     :: victim != NOBODY -> evict(victim);
     :: else
     fi;
  :: else -> break;
  od;
  victim = NOBODY;
}

inline lock_every_return() {
  i = 0;
  do
  :: i < SLOTS && !(stage[i] == LIVE && in_budget[i]) -> i++;
  :: i < SLOTS && stage[i] == LIVE && in_budget[i] ->
     atomic {
       seen = word[i];
       clear_unlocked(i);
       seen = (MAY_BE_UNDONE(seen) -> word[i] : 0);
     }
     atomic {
       if
       :: seen != 0 -> interrupt_returns();
       :: else
       fi;
       if
       :: seen == 0 || HAS_STAYED(i) ->
          if
          :: !IDLE(word[i]) -> leave_budget(i);
          :: else
          fi;
          i++;
       :: else
       fi;
       seen = 0;
     }
  :: i == SLOTS -> break;
  od;
  i = 0;
}

inline doom_if_finished() {
  if
  :: closed && live_count == 0 && building_count == 0 && pins == 0 && !doomed ->
     doomed = 1;
     last = 1;
  :: else
  fi;
}

inline delete_if_last() {
  if
  :: last ->
     last = 0;
     assert(!deleted);
     deleted = 1;
  :: else
  fi;
}

// vacate(): owned -> owned, generation+1. The caller has loaded the word into `seen`.
inline vacate(s) {
#ifdef BREAK_VACATE_KEEPS_GENERATION
  word[s] = GENERATION(seen) | RETIRING_BIT;
#else
  word[s] = GENERATION(seen + GENERATION_ONE) | RETIRING_BIT;
#endif
  STORE_RELEASE(know_word[s]);
  stage[s] = VACANT;
  key[s] = 0;
  bytes[s] = 0;
  condemned[s] = 0;
  seen = 0;
}

inline settle() {
  do
  :: retired != 0 ->
     d_step {
       i = 0;
       do
       :: (retired & (1 << i)) == 0 -> i++;
       :: else -> break;
       od;
       retired = retired & ~(1 << i);
       destroy(i);
     }
     lock();
     seen = word[i];
     d_step {
       live_count--;
       vacate(i);
       if
       :: waiting_for_return > 0 -> notify_all();
       :: else
       fi;
       doom_if_finished();
       i = 0;
       unlock_now();
     }
     delete_if_last();
  :: else -> break;
  od;
}

// Of a shared handle's word only the generation matters.
inline remember(s) {
  remembered = s + 1;
  remembered_serial = serial[s];
#ifdef SHARED
  remembered_word = GENERATION(word[s]);
#else
  remembered_word = word[s];
#endif
}

// --- A thread --------------------------------------------------------------------------------------------------------

// bits_when_free(): when P is given is a free choice.
inline choose_bits() {
  if
  :: MAY_UNLOCK -> bits = UNLOCKED_BIT;
#ifdef PLAIN
  :: MAY_UNLOCK -> bits = FREE_BITS;
#endif
  :: !MAY_UNLOCK -> bits = 0;
  fi;
}

// What to do when a subroutine of the automaton below ends.
#define THEN_CHOOSE 0
#define THEN_DRAIN 1
#define THEN_ACQUIRE_SLOW 2

#define DO_ACQUIRE 0
#define DO_CLEAR 1
#define DO_TRIM 2
#define DO_DRAIN 3
#define DO_RESIZE 4
#define DO_CLOSE 5

proctype thread(byte me) {
  byte lease;    // slot + 1
  byte wanted;   // key
  byte operation;
  // The entry of the thread's memory that the requests' hash leads to; all keys have one hash.
  byte remembered;  // slot + 1
  short remembered_word;
  byte remembered_serial;
  // Registers; at rest between operations.
  byte s;
  byte i;
  byte j;
  byte total;
  short seen;
  byte victim = NOBODY;
  byte retired;  // one bit a slot
  byte then;
  byte next;     // of the deferred list taken, slot + 1
  byte count;
  byte new_bytes;
  short bits;  // U and P for a handle that is made free
  bit discarding;
  bit last;

choose:
  atomic { s = 0; seen = 0; then = THEN_CHOOSE; }
  if
  :: atomic {
       lease == 0 && !closing ->
       calls++;
#if KEYS > 1
       if
       :: wanted = 0;
       :: wanted = 1;
       fi;
#endif
       operation = DO_ACQUIRE;
       goto claim_remembered;
     }
  :: atomic { lease == 0 && !closing -> calls++; operation = DO_CLEAR; goto drain; }
#ifdef TRIMMING
  :: atomic { lease == 0 && !closing -> calls++; operation = DO_TRIM; goto drain; }
#endif
#ifdef DEFERRING
  :: atomic { lease == 0 && !closing -> calls++; operation = DO_DRAIN; goto drain; }
  :: atomic {
       // However long a list is, it is taken one link at a time: two returns of one slot are enough.
       lease != 0 && !closing && deferred[lease - 1] < 2 ->
       calls++;
       s = lease - 1;
       lease = 0;
       end_use(s);
       goto push_deferred;
     }
#endif
#ifdef RESIZING
  :: atomic { lease == 0 && !closing -> calls++; operation = DO_RESIZE; goto drain; }
#endif
  :: atomic { lease != 0 -> s = lease - 1; lease = 0; end_use(s); goto release; }
  :: atomic { lease != 0 -> s = lease - 1; lease = 0; end_use(s); discarding = 1; goto return_slow; }
  :: atomic { lease == 0 && me == 0 && calls == 0 -> closing = 1; operation = DO_CLOSE; goto drain; }
  :: atomic { lease == 0 && me != 0 -> goto done; }
  fi;

// --- acquire

claim_remembered:
  // has_deferred() is a hint that may be stale: either answer. An empty entry can only miss.
  if
  :: atomic {
       remembered != 0 ->
       s = remembered - 1;
       if
       :: CLAIMABLE(word[s], remembered_word) ->
          word[s]++;  // idle U=1 -> leased U=1, leased U=1 -> leased U=1
          ACQUIRE(know_word[s]);
          assert(serial[s] == remembered_serial);
          begin_use(s);
          if
          :: key[s] == wanted -> lease = s + 1; calls--; wanted = 0; goto choose;
          :: else -> users[s]--; then = THEN_ACQUIRE_SLOW;  // another key of the same hash: goes back unused
          fi;
       :: else
       fi;
     }
     if
     :: then == THEN_ACQUIRE_SLOW -> goto release;
     :: else
     fi;
  :: true
  fi;

acquire_slow:
  atomic { s = 0; then = THEN_CHOOSE; goto drain; }

acquire_drained:
  lock();

look_again:
  assert(!closed);
  // claim_newest(): the newest of those seen free is any of them.
  victim = NOBODY;
  i = 0;
  do
  :: i < SLOTS && !(stage[i] == LIVE && key[i] == wanted) -> i++;
  :: i < SLOTS && stage[i] == LIVE && key[i] == wanted ->
     if
#ifdef SHARED
     :: !RETIRING(word[i]) ->
#else
     :: IDLE(word[i]) ->
#endif
        if
        :: victim = i;
        :: victim != NOBODY -> skip;
        fi;
     :: else
     fi;
     i++;
  :: i == SLOTS -> break;
  od;
  i = 0;
  if
  :: victim != NOBODY ->
     s = victim;
     victim = NOBODY;
     atomic {
       if
       // claim_locked(): idle -> leased
#ifdef SHARED
       :: !RETIRING(word[s]) ->
#else
       :: IDLE(word[s]) ->
#endif
          word[s]++;
          ACQUIRE(know_word[s]);
          begin_use(s);
       :: else -> s = 0; goto look_again;
       fi;
     }
     atomic {
       if
       :: !MAY_UNLOCK ->
          clear_unlocked(s);
          if
          :: in_budget[s] -> leave_budget(s);
          :: else
          fi;
       :: MAY_UNLOCK && (in_budget[s] || FITS_IN_BUDGET(s)) ->
          if
          :: !RETIRING(word[s]) ->
             choose_bits();
             if
             :: (word[s] | bits) != word[s] ->
                word[s] = word[s] | bits;
                ACQUIRE(know_word[s]);
                RELEASE(know_word[s]);
             :: else
             fi;
             bits = 0;
             if
             :: !in_budget[s] -> enter_budget(s);
             :: else
             fi;
          :: else
          fi;
       :: else
       fi;
     }
     unlock();
     goto acquired;
  :: else
  fi;
  if
  :: goto give_up;  // try_acquire
  :: true
  fi;
#ifdef SHARED
  if
  :: flight_builder[wanted] != NOBODY ->
     // join_flight()
     d_step { joined[me] = 1; joined_key[me] = wanted; unlock_now(); }
     joined[me] != 1;
     lock();
     d_step { s = (joined[me] >= 3 -> joined[me] - 3 : NOBODY); joined[me] = 0; joined_key[me] = 0; }
     atomic {
       if
       :: s != NOBODY -> begin_use(s);
       :: else -> s = 0; goto give_up;
       fi;
     }
     unlock();
     goto acquired;
  :: else
  fi;
#endif
  if
  :: live_count + building_count >= MAX_LIVE ->
     cheapest_idle(false);
     if
     :: victim == NOBODY ->
        // wait_for_return()
        waiting_for_return++;
        lock_every_return();
#ifndef BREAK_WAIT_WITHOUT_LOOKING_AGAIN
        // What the budget still holds came back before its return was locked, and woke nobody.
        if
        :: in_budget_bytes == 0 ->
#endif
           d_step { sleeping[me] = 1; unlock_now(); }
           !sleeping[me];
           lock();
#ifndef BREAK_WAIT_WITHOUT_LOOKING_AGAIN
        :: else
        fi;
#endif
        waiting_for_return--;
     :: else -> evict(victim); victim = NOBODY;
     fi;
     if
     :: retired != 0 ->
        unlock();
        settle();
        lock();
     :: else
     fi;
     goto look_again;
  :: else
  fi;
  // start_build()
  if
  :: built + building_count < BUILDS ->
     d_step {
       s = 0;
       do
       :: s < SLOTS && stage[s] != VACANT -> s++;
       :: else -> break;
       od;
       skip;
     }
  :: else -> goto give_up;
  fi;
  if
  :: s == SLOTS -> s = 0; goto give_up;  // the search is bounded: the cache would add a slot
  :: else
  fi;
  d_step {
    stage[s] = BUILDING;
    key[s] = wanted;
    bytes[s] = 1;
    building_count++;
#ifdef SHARED
    flight_builder[wanted] = me;
#endif
    unlock_now();
  }
  // build()
  if
#ifdef FAILING
  :: lock();
     seen = word[s];
     // abort_build()
     d_step {
       building_count--;
       built++;
#ifdef SHARED
       flight_builder[wanted] = NOBODY;
       for (j : 0 .. THREADS - 1) {
         if
         :: joined[j] == 1 && joined_key[j] == wanted -> joined[j] = 2;
         :: else
         fi;
       }
       j = 0;
#endif
       vacate(s);
       notify_all();
       s = 0;
     }
     goto give_up;
#endif
  :: d_step { create(s); }
  fi;
  lock();
  choose_bits();
  seen = word[s];
  // publish(): owned -> leased
  d_step {
    building_count--;
    live_count++;
    stage[s] = LIVE;
    count = 1;
#ifdef SHARED
    flight_builder[wanted] = NOBODY;
    for (j : 0 .. THREADS - 1) {
      if
      :: joined[j] == 1 && joined_key[j] == wanted -> joined[j] = s + 3; count++;
      :: else
      fi;
    }
    j = 0;
#endif
    if
    :: !condemned[s] && MAY_UNLOCK && FITS_IN_BUDGET(s) ->
       enter_budget(s);
       word[s] = GENERATION(seen) | bits | count;
    :: else -> word[s] = GENERATION(seen) | count;
    fi;
    STORE_RELEASE(know_word[s]);
    seen = 0;
    count = 0;
    bits = 0;
    begin_use(s);
  }
#ifndef BREAK_PUBLISH_IGNORES_CLEAR
  atomic {
    if
    :: condemned[s] -> retire(s);
    :: else
    fi;
  }
#endif
  d_step { notify_all(); unlock_now(); }

acquired:
  atomic {
#ifdef SHARED
    remember(s);
#endif
    lease = s + 1;
    calls--;
    wanted = 0;
    goto choose;
  }

give_up:
  atomic { unlock_now(); calls--; wanted = 0; goto choose; }

// --- release

release:
#ifdef GROWING
  if
  :: then != THEN_ACQUIRE_SLOW && bytes[s] == 1 -> new_bytes = 2; goto return_slow;
  :: true
  fi;
#endif
#ifdef PLAIN
  // try_plain_return(): leased P=1 -> idle P=1
  if
#ifdef BREAK_LOOK_BEFORE_THE_SEQUENCE
  :: atomic { IS_PLAIN(word[s]) -> assert(!deleted); seen = word[s]; }
     in_sequence[me] = 1;
#else
  :: atomic { IS_PLAIN(word[s]) -> assert(!deleted); seen = word[s]; in_sequence[me] = 1; }
#endif
     atomic {
       if
       :: in_sequence[me] ->
          assert(!deleted);
          in_sequence[me] = 0;
          word[s] = seen - 1;
          seen = 0;
          STORE_RELEASE(know_word[s]);
          if
          :: then != THEN_ACQUIRE_SLOW -> remember(s);
          :: else
          fi;
          goto returned;
       :: else
       fi;
       seen = 0;
     }
  :: in_sequence[me] == 0  // there is no P, or the kernel interrupted it
  fi;
#endif
  // try_return(): leased -> leased, leased U=1 -> idle U=1
  atomic {
    assert(!deleted);
    if
#ifdef BREAK_RETURN_IGNORES_UNLOCKED
    :: true ->
#else
    :: LEASES(word[s]) > 1 || UNLOCKED(word[s]) ->
#endif
       word[s]--;
       if
       :: then != THEN_ACQUIRE_SLOW -> remember(s);
       :: else
       fi;
       ACQUIRE(know_word[s]);
       RELEASE(know_word[s]);
       goto returned;
    :: else
    fi;
  }

return_slow:
  lock();
  // clear_plain(): leased P=1 -> leased P=0
  atomic { word[s] = word[s] & ~PLAIN_BIT; }
  if
  :: discarding -> discarding = 0; condemn(s);
  :: else
  fi;
#ifdef GROWING
  // set_bytes()
  atomic {
    if
    :: new_bytes != 0 ->
       if
       :: in_budget[s] -> in_budget_bytes = in_budget_bytes + new_bytes - bytes[s];
       :: else
       fi;
       bytes[s] = new_bytes;
       new_bytes = 0;
    :: else
    fi;
  }
#endif
  // drop_if_not_last(): leased -> leased, retiring -> retiring
  atomic {
    if
    :: LEASES(word[s]) > 1 ->
       word[s]--;
       ACQUIRE(know_word[s]);
       RELEASE(know_word[s]);
       goto dropped;
    :: else
    fi;
  }
  atomic {
    clear_unlocked(s);
    if
    :: in_budget[s] -> leave_budget(s);
    :: else
    fi;
  }
#ifndef BREAK_RETURN_COUNTS_LEASES_ONCE
  atomic {
    if
    :: LEASES(word[s]) > 1 ->
       word[s]--;
       ACQUIRE(know_word[s]);
       RELEASE(know_word[s]);
       goto dropped;
    :: else
    fi;
  }
#endif
#ifndef BREAK_LAST_RETURN_RELAXED
  // What other threads did with a shared handle before their returns comes before what becomes of it now.
  ACQUIRE(know_word[s]);
#endif
  if
  :: RETIRING(word[s]) ->
     // drop_last(): retiring -> owned
     atomic {
       seen = word[s];
#ifndef BREAK_LAST_RETURN_RELAXED
       ACQUIRE(know_word[s]);
#endif
     }
     atomic {
       word[s] = GENERATION(seen) | RETIRING_BIT;
       STORE_RELAXED(know_word[s]);
       seen = 0;
       take_out(s);
     }
#ifdef GROWING
  :: !RETIRING(word[s]) && bytes[s] > limit ->
     atomic { retire(s); }
     atomic { seen = word[s]; ACQUIRE(know_word[s]); }
     atomic {
       word[s] = GENERATION(seen) | RETIRING_BIT;
       STORE_RELAXED(know_word[s]);
       seen = 0;
       take_out(s);
     }
  :: !RETIRING(word[s]) && bytes[s] <= limit ->
#else
  :: !RETIRING(word[s]) ->
#endif
     // keep(): leased U=0, last lease -> idle
     atomic { enter_budget(s); seen = word[s]; }
     atomic {
       choose_bits();
       word[s] = GENERATION(seen) | bits;
       bits = 0;
       STORE_RELEASE(know_word[s]);
       seen = 0;
       if
       :: MAY_UNLOCK -> remember(s);
       :: else
       fi;
     }
     enforce();
  fi;
dropped:
#if defined(GROWING) && !defined(BREAK_GROWTH_NOT_ENFORCED)
  enforce();
#endif
  atomic {
    if
    :: waiting_for_return > 0 -> notify_all();
    :: else
    fi;
    unlock_now();
  }
  settle();

returned:
#ifdef BREAK_CORE_READ_AFTER_RETURN
  assert(!deleted);
#endif
  if
  :: then == THEN_CHOOSE -> goto choose;
  :: then == THEN_ACQUIRE_SLOW -> goto acquire_slow;
  :: then == THEN_DRAIN -> goto drain_each;
  fi;

// --- release_deferred and drain

push_deferred:
#ifdef DEFERRING
  atomic {
    deferred[s]++;
    ACQUIRE(know_deferred[s]);
    RELEASE(know_deferred[s]);
    if
    :: deferred[s] > 1 -> calls--; goto choose;
    :: else
    fi;
  }
  seen = deferred_head;
  do
  :: true ->
     next_deferred[s] = seen;
     atomic {
       if
       :: deferred_head == seen ->
          deferred_head = s + 1;
          RELEASE(know_deferred_head);
          calls--;
          goto choose;
       :: else -> seen = deferred_head;
       fi;
     }
  od;
#endif

drain:
  atomic { next = deferred_head; deferred_head = 0; ACQUIRE(know_deferred_head); }

drain_next:
  if
  :: next == 0 -> goto drained;
  :: else
  fi;
  s = next - 1;
#ifndef BREAK_DRAIN_LINK_AFTER_COUNT
  atomic { next = next_deferred[s]; next_deferred[s] = 0; }
#endif
  atomic {
    count = deferred[s];
    deferred[s] = 0;
    ACQUIRE(know_deferred[s]);
    RELEASE(know_deferred[s]);
  }

drain_each:
  if
  :: count > 0 ->
     count--;
     then = THEN_DRAIN;
     goto release;
  :: else -> then = THEN_CHOOSE;
  fi;
#ifdef BREAK_DRAIN_LINK_AFTER_COUNT
  next = next_deferred[s];
#endif
  goto drain_next;

drained:
  s = 0;
  if
  :: operation == DO_ACQUIRE -> goto acquire_drained;
  :: operation == DO_DRAIN -> atomic { calls--; goto end_of_call; }
  :: operation == DO_CLEAR || operation == DO_CLOSE ->
     lock();
     d_step {
       if
       :: operation == DO_CLOSE -> closed = 1; pins++;
       :: else
       fi;
     }
     do
     :: s < SLOTS && stage[s] == VACANT -> s++;
     :: s < SLOTS && stage[s] != VACANT -> condemn(s); s++;
     :: s == SLOTS -> break;
     od;
  :: operation == DO_TRIM ->
     lock();
     do
     :: s < SLOTS && stage[s] != LIVE -> s++;
     :: s < SLOTS && stage[s] == LIVE -> evict(s); s++;
     :: s == SLOTS -> break;
     od;
  :: operation == DO_RESIZE ->
     lock();
     limit = MAX_IDLE - limit;
     enforce();
  fi;
  s = 0;
  unlock();
  settle();
  if
  :: operation == DO_CLOSE ->
     // unpin()
     lock();
     d_step { pins--; doom_if_finished(); unlock_now(); }
     delete_if_last();
     goto done;
  :: else -> atomic { calls--; goto end_of_call; }
  fi;

end_of_call:
  operation = DO_ACQUIRE;
  goto choose;

done:
  skip;
}

init {
  byte j;
  atomic {
    for (j : 0 .. SLOTS - 1) { word[j] = RETIRING_BIT; }
    for (j : 0 .. THREADS - 1) { run thread(j); }
  }
  _nr_pr == 1 ->
  for (j : 0 .. SLOTS - 1) { assert(stage[j] == VACANT && !exists[j] && deferred[j] == 0); }
  assert(deleted && deferred_head == 0);
}
