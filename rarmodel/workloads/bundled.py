"""Make the instances of the library: from their files, or by generating them."""

from __future__ import annotations

from rarmodel.errors import UsageError
from rarmodel.files import parse_instance
from rarmodel.instances import Family, Listed, bundled_library, entries, text_of
from rarmodel.schema import Instance

from .families import description_of, settings_of
from .generate import generate


def bundled_instance(name: str) -> Instance:
    """The bundled instance of a name among `rarmodel.instances.names`."""
    return next(
        listed_instance(family, listed)
        for _, family, listed in entries(bundled_library())
        if listed.name == name
    )


def listed_instance(family: Family, listed: Listed) -> Instance:
    """An instance of a library.

    Raises
    ------
    UsageError
        If rarmodel has no such family, setting or file.
    """
    if family.generate is None:
        text = text_of(listed.name)
        if text is None:
            raise UsageError(f"{listed.name}: no bundled file; its family needs a generate")
        return parse_instance(text, listed.name)
    knobs = {**family.generate.parameters, "seed": listed.seed}
    settings = settings_of(family.generate.family, knobs)
    return generate(settings, listed.name, description_of(settings))
