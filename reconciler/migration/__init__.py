"""Migration from HCCM: what was found of it, and what follows from that. Pure functions over frozen values.

Read ``found`` first, then ``carrying`` (flags, variables and the pod as values of our chart) and ``owners`` (which tool
made HCCM, and the commands that stop and start it there).
"""
