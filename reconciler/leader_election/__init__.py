"""Leader election: only the process that holds the Lease may write, for as long as it is sure to hold it.

    Elector ── waits for the lead, keeps it in a thread of its own, is asked before each write
    └── LeaseCandidate ── one try at a time: take, renew, give back
        ├── ObservedLease ── what was seen of the Lease, and since when
        └── HeldLease ── the Lease as this process holds it

``Leadership`` is the interface of the rest of the product; ``NoElection`` implements it where no Lease decides.

Expiry is counted on this machine's clock alone, which no change of the time of day moves: another's Lease from when its
last renewal was seen here, the own one from before its last renewal was sent. So the own one ends here before it ends
for any other process, whatever their clocks say.
"""
