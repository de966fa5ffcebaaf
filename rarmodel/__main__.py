"""`python -m rarmodel`: the command line."""

from .cli import main

main()
