"""Which replica works on which object, without I/O: the rules of an operator that is divided into shards.

``ranges`` divides uids into shards, ``assignment`` is the common table of who holds which shard, ``placement`` proposes
who should, and ``replica`` is the state of one replica: what it has seen, which shards it holds, and its next move.
``manager.leader.shard_election`` sends the requests.

A replica holds a *slot* (a Lease that it renews) and, in one common table, shards. Membership only proposes; a
compare-and-swap of the table decides. A shard is

    free ──take──▶ working ──another should have it──▶ leaving ──its runs have ended──▶ drained ──release──▶ free

and only in *working* and *leaving* may its holder write, and only while the holder's slot is renewed in time.

What a replica cannot know, and what follows from it:

- Silence is not death. The holder of a slot is gone only when its Lease did not change for a whole lease duration, by
  the clock of the replica that watches it; the holder itself stops writing well before that.
- A cache is not the truth. A watch can be late or broken, so nothing is taken from a holder without a read of its slot
  from the server, after the table was read; the write of the table fails if it has changed since.
- Two replicas see different members. They may propose different owners, and the table decides; a shard without an owner
  is proposed again until one of them has it.
- A response can be lost. A replica holds what the table says, whether or not it knows that its write succeeded.
"""
