"""[[catalyst]]: pipelines of ParaView that take steps while a flow is computed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import Field, ValidationInfo, field_validator, model_validator

from ...files.regular import open_regular
from ...io.names import COMPONENTS, FIELDS
from ..values import Name, Text
from .analysis_section import ScriptSection
from .picture_section import DERIVED, check_quantity
from .section import directory_of

VELOCITY = "velocity"  # the name of the vector, as in files that ParaView opens
SOURCE = "grid"
_SOURCE = re.compile(r"""\b(?:\w*Producer|\w*Reader\w*)\(\s*registrationName\s*=\s*(['"])(.+?)\1""")
_ARRAY = re.compile(r"""[\[(]\s*['"]POINTS['"]\s*,\s*['"]([^'"]+)['"]""")
_MADE = re.compile(r"""\b\w*ArrayName\s*=\s*['"]([^'"]+)['"]""")
# What filters of ParaView call their results by themselves.
_RESULTS = ("Normals", "Result", "Gradient", "Vorticity", "QCriterion", "Divergence", "IntegrationTime", "Rotation")


class ScriptText(NamedTuple):
    """What the text of a script tells.

    :param source: the registration name of its first source.
    :param arrays: the names of the arrays on points that it uses and does not make itself.
    """

    source: str
    arrays: list[str]


class CatalystSection(ScriptSection):
    """[[catalyst]]: a pipeline of ParaView, which takes the steps of this rhythm that its own triggers want.

    The script is one that ParaView has exported (File, Save Catalyst State) or one written by hand, of version 2. Its
    results lie in `out`/NAME, and `out`/NAME.jsonl has the step, the time and the files of each execution. A pipeline
    that fails is told, and the run goes on.
    """

    script: Text = Field(description="a Python file of ParaView, relative to the case file")
    name: Name = Field("", description="the name of the results; by default that of the script without .py")
    fields: list[Text] = Field(
        default_factory=list, description="what the pipeline gets; by default the fields that the script names"
    )
    source: Text = Field(
        "", description="the registration name of its source; by default that of the first source in the script"
    )
    out: Text = Field("catalyst", description="directory of the results")
    parameters: dict[str, Any] = Field(
        default_factory=dict, description="for the script: catalyst.get_args() has them as --name=value"
    )

    @field_validator("script")
    @classmethod
    def _is_there(cls, script: str, info: ValidationInfo) -> str:
        path = directory_of(info) / script
        if not path.exists():
            raise ValueError(f"there is no file {path} (the path is relative to the case file)")
        if path.is_file() and "def DoCoProcessing" in text_of(path):
            raise ValueError(f"{path} is a script of version 1; save it again by ParaView 5.9 or newer")
        return script

    @field_validator("fields")
    @classmethod
    def _known(cls, fields: list[str], info: ValidationInfo) -> list[str]:
        for name in fields:
            if name != VELOCITY:
                check_quantity(name, info)
        return fields

    @model_validator(mode="after")
    def _some_fields(self, info: ValidationInfo) -> CatalystSection:
        names = self.wanted(directory_of(info), (info.context or {}).get("scalars", ()))
        if not names:
            raise ValueError(f"{self.script} names no field of the flow; give fields = [...]")
        return self

    def told(self, directory: Path) -> ScriptText:
        """What the script tells. Local."""
        path = directory / self.script
        text = text_of(path) if path.is_file() else ""
        found = _SOURCE.search(text)
        made = {*_MADE.findall(text), *_RESULTS}
        arrays = [name for name in dict.fromkeys(_ARRAY.findall(text)) if name not in made]
        return ScriptText(self.source or (found[2] if found else SOURCE), arrays)

    def wanted(self, directory: Path, scalars: Any) -> list[str]:
        """The names of the fields that the pipeline gets, and `velocity`. Local."""
        known = {*FIELDS, *DERIVED, VELOCITY, *scalars}
        return self.fields or [name for name in self.told(directory).arrays if name in known]

    def unknown(self, directory: Path, scalars: Any) -> list[str]:
        """The arrays that the script uses and does not get. Local."""
        wanted = self.wanted(directory, scalars)
        given = {*wanted, VELOCITY} if set(COMPONENTS) <= set(wanted) else set(wanted)
        return [name for name in self.told(directory).arrays if name not in given]

    def functions(self) -> list[str]:
        """Those of users that it gets, as 'file.py:function'."""
        return [word for word in self.fields if ".py:" in word]

    @property
    def directory(self) -> Path:
        """Where its results lie."""
        return Path(self.out) / self.name

    @property
    def record_path(self) -> Path:
        """The record of its executions."""
        return Path(self.out) / f"{self.name}.jsonl"


def text_of(path: Path) -> str:
    """The text of a script; what is no text, as an archive, is empty. Local.

    :raises ValueError: it cannot be read.
    """
    try:
        with open_regular(path, encoding="utf-8") as file:
            return str(file.read())
    except UnicodeDecodeError:
        return ""
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror or error}") from None
