"""The profile of a machine: the figures that the model of writing needs, each with its unit in its name.

A profile is a TOML file. `machines/` has examples, `docs/theory/io_model.md` the formulas.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from tailrace.case.document import ConfigError, Document, Problem, explain, read_toml
from tailrace.case.values import Real, Text, Whole

MOST_FACTOR = 100.0  # of an uncertainty: more is no knowledge
ENDING = ".toml"

Rate = Annotated[Real, Field(gt=0)]
Seconds = Annotated[Real, Field(ge=0)]
OneOrMore = Annotated[Whole, Field(ge=1)]
Factor = Annotated[Real, Field(ge=1, le=MOST_FACTOR)]
EngineFactor = Annotated[Real, Field(ge=1 / MOST_FACTOR, le=MOST_FACTOR)]


class Profile(BaseModel):
    """A machine as the model of writing sees it. 1 GiB is 2**30 bytes; rates are of writing."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Text = Field(description="of the machine and its file system")
    file_system: Literal["lustre", "parallel", "local"] = Field(
        "local", description="lustre has stripes to set; parallel is any other of several servers; local is a disk"
    )
    cores_per_node: OneOrMore = Field(description="ranks that share a node")
    memory_gib_per_s_per_node: Rate = Field(description="bytes of values that a node copies or checks per second")
    network_gib_per_s_per_node: Rate = Field(description="what a node sends, and receives, from other nodes")
    message_seconds: Seconds = Field(1e-5, description="of one message between ranks")
    step_seconds: Seconds = Field(0.0, description="of one step beside all else: collective calls, metadata")
    open_seconds: Seconds = Field(description="in which one rank opens and closes a file")
    creates_per_second: Rate = Field(description="new files of all ranks that the metadata server makes")
    opens_per_second: Rate = Field(description="opens of existing files that the metadata server serves")
    sync_seconds: Seconds = Field(0.0, description="of fsync of a file beyond the time of its bytes")
    client_gib_per_s_per_node: Rate = Field(description="what one node sends to the file system")
    stream_gib_per_s: Rate = Field(description="what one rank writes into one file")
    ost_count: OneOrMore = Field(1, description="storage targets; 1 for a local disk")
    ost_gib_per_s: Rate = Field(description="of one storage target with few writers")
    ost_writers: Rate = Field(1e6, description="writers at one target at which it has half of its speed")
    default_stripes: OneOrMore = Field(1, description="of a new file: the targets that it is spread over")
    shared_stripe_gib_per_s: Rate | None = Field(
        None, description="into one stripe of a file that several ranks write; that of stream where it is left out"
    )
    shared_file_writers_per_stripe: Rate = Field(
        1.0, description="writers per stripe of a shared file from which on locks make them wait for each other"
    )
    total_gib_per_s: Rate = Field(description="of the whole file system")
    page_cache_gib_per_s_per_node: Rate | None = Field(
        None, description="into the page cache; without it, a write waits for the storage"
    )
    page_cache_gib_per_node: Seconds = Field(0.0, description="what the page cache takes before a write waits")
    residual_factor: Factor = Field(
        1.5, description="measured over predicted seconds: one standard deviation, as a factor"
    )
    default_factor: Factor = Field(
        1.3, description="one standard deviation of figures that are not in [uncertainty], as a factor"
    )
    uncertainty: dict[str, Factor] = Field(
        default_factory=dict, description="one standard deviation of figures of this file, as a factor"
    )
    engine_factor: dict[str, EngineFactor] = Field(
        default_factory=dict, description="seconds of an engine over those of the model; 1 where it is not listed"
    )

    @model_validator(mode="after")
    def _known_names(self) -> Self:
        for key in self.uncertainty:
            if key not in FIGURES:
                raise ValueError(f"uncertainty.{key} is of no figure; there are {', '.join(FIGURES)}")
        return self

    @property
    def shared_stripe(self) -> float:
        """GiB/s into one stripe of a shared file."""
        return self.stream_gib_per_s if self.shared_stripe_gib_per_s is None else self.shared_stripe_gib_per_s

    def nodes(self, ranks: int) -> int:
        """The nodes that so many ranks fill."""
        return math.ceil(ranks / self.cores_per_node)

    def changed(self, values: Mapping[str, Any]) -> Profile:
        """The profile with other figures: numbers, or arrays with a value for each of many machines. Not validated."""
        return self.model_copy(update=dict(values))

    def to_toml(self) -> str:
        """The profile as a file that `load_profile` reads, with the meaning of each figure."""
        import tomlkit

        document = tomlkit.document()
        for key, value in self.model_dump(mode="json", exclude_none=True).items():
            if isinstance(value, dict):
                continue
            document.add(key, tomlkit.item(value).comment(str(type(self).model_fields[key].description)))
        for key in ("uncertainty", "engine_factor"):
            if table := getattr(self, key):
                document.add(tomlkit.nl())
                document.add(key, tomlkit.item(table).comment(str(type(self).model_fields[key].description)))
        return tomlkit.dumps(document)


# The figures that are not known exactly: all numbers but counts of hardware.
FIGURES = tuple(
    key
    for key in Profile.model_fields
    if key.endswith(("_seconds", "_per_second")) or "gib" in key or key.startswith(("ost_writers", "shared_file"))
)


def shipped() -> list[str]:
    """The names of the profiles that come with Tailrace."""
    entries = (resources.files(__package__) / "machines").iterdir()
    return sorted(entry.name for entry in entries if entry.name.endswith(ENDING))


def load_profile(path: str | Path) -> Profile:
    """Read and validate a profile: a file, or the name of one that comes with Tailrace, such as archer2.toml.

    :raises ConfigError: it is wrong; the error lists all problems.
    """
    path = Path(path)
    name = path.name if path.suffix else path.name + ENDING
    if not path.exists() and len(path.parts) == 1:
        if name not in shipped():
            reason = f"there is no such file, and no profile of that name; there are {', '.join(shipped())}"
            raise ConfigError.single(path, "", reason)
        with resources.as_file(resources.files(__package__) / "machines" / name) as found:
            return _validated(read_toml(found), name)
    return _validated(read_toml(path), str(path))


def _validated(document: Document, source: str) -> Profile:
    try:
        return Profile(**document)
    except ValidationError as error:
        problems: list[Problem] = explain(error, Profile, document, ())
        raise ConfigError(source, problems) from None
