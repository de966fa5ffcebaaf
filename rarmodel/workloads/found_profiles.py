"""Where a job's profile is from: a text that the job carries, or a file of rules."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import NamedTuple, TypeVar

from pydantic import ValidationError

from rarmodel.errors import InputError
from rarmodel.files import read_data
from rarmodel.schema.base import Record
from rarmodel.schema.problems import problems_of

from .job_profile import Profile
from .model_profiles import require_model

R = TypeVar("R", bound=Record)


class Found(NamedTuple):
    """A job's profile, where it is from, and what was wrong with the job's own text."""

    profile: Profile
    origin: str
    fault: str = ""


def trained_models(found: Mapping[str, Found]) -> dict[str, str]:
    """By job: the model of the table that it trains, as its profile names it."""
    models = ((name, one.profile.model) for name, one in found.items())
    return {name: require_model(model) for name, model in models if model is not None}


def carried_profile(text: str) -> tuple[Profile | None, str]:
    """The profile in a text of JSON that a job carries, or None and what is wrong with it."""
    try:
        return Profile.model_validate(json.loads(text)), ""
    except ValidationError as error:
        return None, ": ".join(filter(None, problems_of(error)[0]))
    except (ValueError, RecursionError):
        return None, "not JSON"


def read_rules_of(kind: type[R], source: str | os.PathLike[str]) -> R:
    """Read a file of rules for profiles, JSON or YAML.

    Raises
    ------
    InputError
        With every problem of the file.
    """
    try:
        return kind.model_validate(read_data(source))
    except ValidationError as error:
        raise InputError(problems_of(error), os.fspath(source)) from error


def rules_of(kind: type[R], given: R | str | os.PathLike[str] | None) -> R | None:
    """Rules as they are, or read from their file; None without any."""
    return read_rules_of(kind, given) if isinstance(given, str | os.PathLike) else given
