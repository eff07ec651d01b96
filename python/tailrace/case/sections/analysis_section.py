"""[[analysis]]: scripts that a run calls."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, ValidationInfo, field_validator, model_validator

from tailrace.io.engines import DEFAULT, FileEngine

from .. import scripts
from ..values import Name, Text
from .rhythm import Rhythm
from .section import directory_of


class ScriptSection(Rhythm):
    """A script with its rhythm: its results have the name of the file without .py, where none is given."""

    @model_validator(mode="before")
    @classmethod
    def _default_name(cls, data: Any) -> Any:
        if isinstance(data, dict) and "name" not in data and isinstance(data.get("script"), str):
            return {**data, "name": scripts.name_of(data["script"])}
        return data


class AnalysisSection(ScriptSection):
    """[[analysis]]: a script that sees the flow while it is computed, and its rhythm.

    The default name is that of the file without .py; results are `out`/NAME.csv and so on.
    """

    script: Text = Field(description="a Python file, relative to the case file, or the name of a ready-made analysis")
    name: Name = Field("", description="the name of the results; by default that of the script without .py")
    out: Text = Field("analysis", description="directory of the results")
    engine: FileEngine = Field(DEFAULT, description="the engine that stores returned fields")
    parameters: dict[str, Any] = Field(default_factory=dict, description="parameters of the script")
    on_error: Literal["stop", "off"] = Field(
        "stop", description="what an error does: end the run, or switch the script off"
    )

    @field_validator("script")
    @classmethod
    def _script_exists(cls, script: str, info: ValidationInfo) -> str:
        scripts.check_analysis(script, directory_of(info))
        return script
