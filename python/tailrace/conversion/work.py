"""The work of a conversion, from the plan to the result in its place. Functions are collective unless marked local."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tailrace.core import Error, InputError, IoError
from tailrace.files import provenance
from tailrace.files.regular import is_there
from tailrace.formats.writers import writer_of
from tailrace.grids import UniformGrid
from tailrace.io.engines import ENGINES
from tailrace.io.series import ArraySeries
from tailrace.io.values import Attribute, parameter_text
from tailrace.parallel import agree, on_root

from . import originals
from .checking import Checking
from .draft import Draft
from .plan import Plan, make_plan
from .request import ConversionRequest, Converted
from .sink import ConversionSink, SeriesSink, WriterSink, steps_there
from .source import open_arrays

if TYPE_CHECKING:
    from mpi4py import MPI

Progress = Callable[[str, int, int], None]


class Conversion:
    """A request, carried out on the ranks of `comm`. Collective."""

    def __init__(self, request: ConversionRequest, comm: MPI.Comm, progress: Progress | None = None) -> None:
        self._request, self._comm = request, comm
        self._progress = progress or (lambda *_: None)
        self._target = Path(request.target).absolute()
        self._done = 0  # bytes of this rank in the current phase
        self._notes: list[str] = []  # notes of the writer
        agree(comm, request.check)
        agree(comm, self._check_places)

    def _check_places(self) -> None:
        source = Path(os.path.realpath(self._request.source))
        target = Path(os.path.realpath(self._target))
        if source == target or (source.is_dir() and source in target.parents):
            raise InputError(
                f"{self._request.target}: is or lies in the source, which a conversion leaves as it is; choose another "
                "target"
            )

    def run(self) -> Converted:
        """Convert, compare, put the result in its place, and remove the originals if requested."""
        self._draft = agree(self._comm, self._enter)
        try:
            record = on_root(self._comm, lambda: self._on_root.record)
            if record.get("state") in ("placing", "placed"):
                return self._finish(dict(record["summary"]), list(record.get("notes", [])))
            if record.get("state") == "complete":
                return self._compare_again()
            with self._open() as source:
                summary, notes = self._convert(source, record)
            return self._finish(summary, notes)
        finally:
            if self._draft is not None:
                self._draft.close()

    def _open(self) -> ArraySeries:
        request = self._request
        texts = {name: parameter_text(value) for name, value in request.source_parameters.items()}
        return open_arrays(request.source, self._comm, family=request.source_format, parameters=texts, trusted=False)

    def _enter(self) -> Draft | None:
        if self._comm.rank:
            return None
        return Draft(self._target, self._request.described(), resume=self._request.resume)

    @property
    def _on_root(self) -> Draft:
        assert self._draft is not None
        return self._draft

    # ---- writing -----------------------------------------------------------------------------------------------------
    def _convert(self, source: ArraySeries, record: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
        request = self._request
        plan = on_root(self._comm, lambda: make_plan(source, request.selection, request.target_engine))
        plan = on_root(self._comm, lambda: self._prepare(source, plan, record))
        done = self._done_steps(plan) if record else 0
        if not done:
            on_root(
                self._comm,
                lambda: self._on_root.begin(
                    files=originals.listed(source.files),
                    removable=originals.listed(originals.removable(source)),
                    attributes=plan.attributes,
                ),
            )
        engine = self._write(source, plan, done)
        plan = plan._replace(notes=[*plan.notes, *self._notes])
        on_root(self._comm, lambda: self._on_root.sync())
        if request.verify:
            self._verify(source, plan)
        on_root(self._comm, lambda: self._check_source(source))
        summary = {"engine": engine, "steps": len(plan.steps), "bytes": plan.size, "resumed": done}
        on_root(self._comm, lambda: self._on_root.note(summary=summary, notes=plan.notes, verified=request.verify))
        return summary, plan.notes

    def _prepare(self, source: ArraySeries, plan: Plan, record: dict[str, Any]) -> Plan:
        """Check the conditions before anything is made, and complete the attributes. Local, on rank 0."""
        request, draft = self._request, self._on_root
        if request.delete_originals:
            if plan.notes:
                raise InputError(
                    f"--delete-originals: the result would not have all that the source has: {'; '.join(plan.notes)}"
                )
            if request.writer is not None:
                raise InputError(
                    f"--delete-originals: {request.writer} does not store all attributes and values of a series, "
                    "so the result alone is not enough; convert to a series, or remove the originals yourself"
                )
            originals.check_whole(source)
            places = (self._target, draft.directory)
            originals.check_removable(originals.removable(source), Path(request.source), self._target, places)
        companion = ENGINES[request.target_engine].companion if request.target_engine else ""
        beside = Path(f"{self._target}{companion}")
        if companion and is_there(beside):
            raise InputError(f"{beside} is there already, and belongs to the result; move it away")
        if record:
            self._check_source(source)
        kept = record.get("attributes")
        attributes = kept if kept is not None else self._attributes(source, plan)
        notes = [*plan.notes, *(str(note) for note in source.notes)]
        return plan._replace(attributes=attributes, notes=notes)

    def _check_source(self, source: ArraySeries) -> None:
        draft = self._on_root
        originals.check_unchanged(
            draft.record.get("files", []),
            originals.listed(source.files),
            f"remove {draft.directory}, and begin the conversion again",
        )

    def _attributes(self, source: ArraySeries, plan: Plan) -> dict[str, Attribute]:
        """The attributes of the source, and from what the target was made."""
        told = provenance.of_program("convert", self._comm.size)
        line = f"{told['date']} tailrace {told['version']}: {told['command']}; from {self._request.source}"
        line += f" ({source.engine})"
        before = str(plan.attributes.get("history", ""))
        own = {} if "made_by" in plan.attributes else {**told, "source": self._request.source}
        return {
            **own,
            **plan.attributes,  # a source's own "version" or "date" stay
            "converted_from": self._request.source,
            "history": f"{before}\n{line}".lstrip("\n"),
        }

    def _done_steps(self, plan: Plan) -> int:
        if self._request.writer is not None:
            return 0
        path = on_root(self._comm, lambda: str(self._on_root.path))
        there = steps_there(Path(path), self._comm)
        planned = [(step.index, step.time) for step in plan.steps]
        return len(there) if there and there == planned[: len(there)] else 0

    def _write(self, source: ArraySeries, plan: Plan, done: int) -> str:
        left = plan.steps[done:]
        written = done
        try:
            sink, engine = self._sink(plan, done, sum(step.size for step in left))
            with sink:
                for planned in left:
                    sink.write(source[planned.position], planned)
                    written += 1
        except Exception:
            if self._draft is not None and (not written or self._request.writer is not None):
                self._draft.discard()  # nothing is left to resume
            raise
        return engine

    def _sink(self, plan: Plan, done: int, total: int) -> tuple[ConversionSink, str]:
        request = self._request
        path = Path(on_root(self._comm, lambda: str(self._on_root.path)))
        told = self._teller("writing", total)
        if request.writer is not None:
            options = {name: parameter_text(value) for name, value in request.parameters.items()}
            writer = writer_of(request.writer)(
                str(path), self._comm, grid=_with_ends(plan), attributes=plan.attributes, options=options
            )
            self._notes = writer.notes
            return WriterSink(writer, told), request.writer
        sink = SeriesSink(
            path, self._comm, told,
            engine=request.target_engine, parameters=request.engine_parameters(), grid=_with_ends(plan),
            attributes=plan.attributes, done=done,
        )  # fmt: skip
        return sink, sink.series.engine

    def _teller(self, phase: str, total: int) -> Callable[[int], None]:
        """A callback that counts the bytes of this rank. Rank 0 reports its own share, which stands for all ranks."""
        self._done = 0
        share = max(1, total // self._comm.size)

        def told(count: int) -> None:
            self._done += count
            if self._comm.rank == 0:
                self._progress(phase, min(self._done, share) * self._comm.size, total)

        return told

    # ---- the end -----------------------------------------------------------------------------------------------------
    def _verify(self, source: ArraySeries, plan: Plan) -> None:
        path = on_root(self._comm, lambda: str(self._on_root.path))
        try:
            self._compare(source, path, plan)
        except (Error, OSError, ValueError) as error:
            raise IoError(
                f"the result is not what the source has: {error}. {self._request.target} was not made; what was "
                f"written is in {Path(path).parent}; remove that to begin again"
            ) from error

    def _compare(self, source: ArraySeries, path: str, plan: Plan) -> None:
        writer = None if self._request.writer is None else writer_of(self._request.writer)
        family = None if writer is None else writer.family
        parameters = {} if writer is None else writer.reading(plan.attributes)
        with open_arrays(path, self._comm, family=family, parameters=parameters, trusted=True) as result:
            told = self._teller("comparing", plan.size)
            Checking(source, result, plan, self._comm, is_series=writer is None, told=told).run()

    def _compare_again(self) -> Converted:
        """The target may be the result of the same request, made earlier: check that it has all of the source."""
        request = self._request
        if not request.verify or request.delete_originals:
            raise InputError(
                f"{request.target} is there already, and no unfinished conversion to it; nothing was changed"
            )
        with self._open() as source:
            plan = on_root(self._comm, lambda: make_plan(source, request.selection, request.target_engine))
            kept = {name: value for name, value in plan.attributes.items() if name != "history"}
            try:
                self._compare(source, request.target, plan._replace(attributes=kept))
            except (Error, OSError, ValueError) as error:
                raise InputError(
                    f"{request.target} is there already, and is not what this conversion would make: {error}. Nothing "
                    "was changed; choose another target, or move it away"
                ) from error
        engine = request.target_engine or str(request.writer)
        steps = len(plan.steps)
        return Converted(request.target, engine, steps, plan.size, steps, True, 0, plan.notes)

    def _finish(self, summary: dict[str, Any], notes: list[str]) -> Converted:
        removed = on_root(self._comm, self._place)
        verified = on_root(self._comm, lambda: bool(self._on_root.record["verified"]))
        on_root(self._comm, lambda: self._on_root.remove())
        return Converted(self._request.target, verified=verified, removed=removed, notes=notes, **summary)

    def _place(self) -> int:
        draft, request = self._on_root, self._request
        if draft.record["state"] != "placed":
            draft.place()
            draft.note(state="placed", placed=originals.listed([str(self._target)]))
        if not request.delete_originals:
            return 0
        if not draft.record["verified"]:
            raise InputError(
                f"--delete-originals: {request.target} was made with --no-verify, so no original was removed"
            )
        if not is_there(self._target):
            raise InputError(
                f"{request.target} is gone since it was made, so no original was removed; remove {draft.directory}, "
                "and begin the conversion again"
            )
        now = originals.listed([str(self._target)])
        originals.check_unchanged(draft.record.get("placed", []), now, "no original was removed")
        return originals.remove(draft.record["removable"], Path(request.source))


def _with_ends(plan: Plan) -> UniformGrid | None:
    """The grid with the boundaries from the attributes, which an engine may need."""
    boundaries = tuple(str(plan.attributes.get("boundaries", "")).split(","))
    if plan.grid is None or len(boundaries) != 3:
        return plan.grid
    return plan.grid.with_boundaries(boundaries)
