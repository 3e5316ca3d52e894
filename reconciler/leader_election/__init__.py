"""Who of several processes may write: the one that holds the Lease, for as long as it is sure to.

    Elector ── waits for the lead, keeps it in a thread of its own, is asked before each write
    └── Contender ── one try at a time: take, renew, give back
        └── Sighting ── what was seen of the Lease, and since when

Expiry is counted on this machine's clock alone, which no change of the time of day moves: another's Lease from when its
last renewal was seen here, the own one from before its last renewal was sent. So the own one ends here before it ends
for anybody else, whatever their clocks say (python-stack 1.9).
"""
