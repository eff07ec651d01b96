"""A description in TOML of the content of the streams of a SION container.

time = 0.5                   # of the step, if known
index = 100

[[variable]]
name = "ux"
dtype = "float64"            # of NumPy; in the byte order of the container, or say byte_order = "big"
shape = [8, 4, 4]            # x, y, z of the part of each task; without it, it is a list
processes = [1, 1, 2]        # the parts make one array: so many along x, y, z, the first task first, x fastest
offset = 16                  # bytes of the stream before it

[[variable]]
name = "particles"
dtype = "float32"
columns = 3                  # of the list
rows = 100                   # of each task; without it, all that the stream has
key = 7                      # of a key-value container: the value of this key
tasks = [0, 2]               # only these; without it, all
joined = false               # a variable for each task, particles_task_0, particles_task_2
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, Self

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from tailrace.case.document import ConfigError, explain, read_toml

_Count = Annotated[int, Field(ge=1, lt=1 << 40)]
_Index = Annotated[int, Field(ge=0, lt=1 << 62)]


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class DescribedVariable(_Table):
    """A variable in the streams."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-][A-Za-z0-9_.-]*$")]
    dtype: Literal[
        "float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"
    ]
    byte_order: Literal["little", "big"] | None = None
    shape: tuple[_Count, _Count, _Count] | None = None
    processes: tuple[_Count, _Count, _Count] | None = None
    columns: _Count = 1
    rows: Annotated[int, Field(ge=0, lt=1 << 40)] | None = None
    offset: _Index = 0
    key: Annotated[int, Field(ge=0, lt=1 << 64)] | None = None
    tasks: tuple[_Index, ...] | None = None
    joined: bool = True

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.shape is not None and (self.rows is not None or self.columns != 1):
            raise ValueError("shape is that of an array; rows and columns are those of a list. Give one of them")
        if self.processes is not None and (self.shape is None or not self.joined):
            raise ValueError("processes place the parts of an array: give its shape, and leave joined out")
        if self.tasks is not None and len(set(self.tasks)) != len(self.tasks):
            raise ValueError("tasks: expected each task once")
        return self

    def type_in(self, data_order: str) -> np.dtype:
        """The type in the streams. `data_order`: the byte order of the container, "<" or ">"."""
        order = {"little": "<", "big": ">", None: data_order}[self.byte_order]
        return np.dtype(order + np.dtype(self.dtype).str[1:])


class SionDescription(_Table):
    """The whole file."""

    time: Annotated[float, Field(allow_inf_nan=False)] = 0.0
    index: Annotated[int, Field(ge=0, lt=1 << 62)] = 0
    variable: tuple[DescribedVariable, ...]

    @model_validator(mode="after")
    def _names(self) -> Self:
        names = [one.name for one in self.variable]
        if not names:
            raise ValueError("expected at least one [[variable]]")
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"the name '{twice[0]}' is given twice")
        return self


def read_description(path: Path) -> SionDescription:
    """Read and check a description. Raises ConfigError if the file is wrong; the error lists all problems."""
    document = read_toml(path)
    try:
        return SionDescription.model_validate(document)
    except ValidationError as error:
        raise ConfigError(str(path), explain(error, SionDescription, document, ())) from None
