"""Joins between tokfsm and the programs that run models.

Each module imports its heavy partner inside the functions that need it, so that
importing any of them costs nothing (but `transformers`, which derives from a class of
its partner). They use tokfsm's public names only, and nothing in tokfsm but the command
line imports them.
"""
