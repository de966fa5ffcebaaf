"""The Python API: solve, verify, compare, and all else that the command line does.

Its public names are those of `rarmodel`, which lists them with the files that have them.
"""
