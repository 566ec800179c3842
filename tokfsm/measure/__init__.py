"""How time is taken, and how engines are called: what ``tokfsm bench`` and the scripts of ``bench/`` share.

Public names of tokfsm alone. Other engines are imported only by their adapter, in a process of its own.
"""
