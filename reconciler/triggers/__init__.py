"""Triggers of passes: watches of Nodes and Services, and the filter of events that can matter to the planner.

A watch only wakes the loop. Decisions come from complete lists that each pass reads anew.
"""

from reconciler.triggers.relevance import EventFilter, WatchedKind
from reconciler.triggers.running import Triggers, watch_cluster

__all__ = ["EventFilter", "Triggers", "WatchedKind", "watch_cluster"]
