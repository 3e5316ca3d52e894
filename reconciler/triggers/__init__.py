"""What wakes the loop: watches of Nodes and Services, and whether what they say can matter to the planner.

A watch only wakes. Decisions come from whole lists that each pass reads anew (design section 11).
"""

from reconciler.triggers.kinds import WatchedKind
from reconciler.triggers.relevance import EventFilter
from reconciler.triggers.running import Triggers, watch_cluster

__all__ = ["EventFilter", "Triggers", "WatchedKind", "watch_cluster"]
