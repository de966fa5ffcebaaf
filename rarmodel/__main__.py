"""The command `rarmodel`, and `python -m rarmodel`."""

from __future__ import annotations

from typing import NoReturn

from .interrupts import interrupt_early


def main() -> NoReturn:
    """Run the command line; nothing else is loaded before Ctrl-C is taken care of."""
    interrupt_early()
    from .cli import main as run  # noqa: PLC0415

    run()


if __name__ == "__main__":
    main()
