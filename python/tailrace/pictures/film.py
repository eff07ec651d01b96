"""A film, frame by frame: a file that plays at any time, also after its program was killed. All is local."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tailrace.core import InputError, IoError
from tailrace.files.marks import FILM, why_foreign
from tailrace.files.whole import sync

from .painter import PainterError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

TITLE = "Tailrace film"  # in the file, by which a film is known that may be replaced


class _Format(NamedTuple):
    """How a film is stored.

    :param container: options by which each frame is written when it is encoded, and the head at the beginning.
    :param encoding: options by which no frame refers to a later one, and none is held back.
    """

    codec: str
    container: dict[str, str]
    encoding: dict[str, str]


FORMATS = {
    "mp4": _Format(
        "libx264",
        {"movflags": "frag_every_frame+empty_moov+default_base_moof", "flush_packets": "1"},
        {"tune": "zerolatency", "bf": "0", "preset": "veryfast", "crf": "20", "g": "50"},
    ),
    "webm": _Format(
        "libvpx-vp9",
        {"live": "1", "cluster_time_limit": "1", "flush_packets": "1"},
        {"deadline": "realtime", "cpu-used": "6", "lag-in-frames": "0", "crf": "24", "b": "0", "g": "50"},
    ),
}


class Film:
    """Writes frames. Close it at the end.

    :param path: its ending says the format, see `FORMATS`.
    :param size: columns and rows, even numbers.
    :param rate: frames in a second.
    :param kept: so many frames of the film that is there stay, and the new ones follow; 0: it is replaced.
    :raises PainterError: PyAV is missing.
    :raises InputError: the film that is there has fewer frames.
    :raises IoError: the disk is full or gone, or the file there is no film of Tailrace.
    """

    def __init__(self, path: Path, size: tuple[int, int], rate: int, kept: int = 0) -> None:
        self.path, self.frames, self._rate = path, 0, rate
        if reason := why_foreign(path, FILM):
            raise IoError(reason)
        self._size = size
        self._file: Any = None
        if kept:
            self._check_frames(kept)
        else:
            self._open(0)
            self._put_in_place()

    @property
    def _draft(self) -> Path:
        return self.path.with_name(self.path.name + ".new")

    def _open(self, kept: int) -> None:
        with _failures(self.path):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            form = self.path.suffix[1:]
            codec, container, encoding = FORMATS[form]
            self._file = _av().open(_url(self._draft), "w", format=form, options=container)
            self._file.metadata["title"] = TITLE
            self._stream = self._file.add_stream(codec, rate=self._rate, options=encoding)
            self._stream.width, self._stream.height = self._size
            self._stream.pix_fmt = "yuv420p"
            self._stream.codec_context.time_base = Fraction(1, self._rate)
            self._file.start_encoding()
            self.frames = 0
            if kept:
                self._keep(kept)

    def _put_in_place(self) -> None:
        with _failures(self.path):
            self._draft.replace(self.path)
            sync(self.path.parent)

    def _check_frames(self, count: int) -> None:
        with _failures(self.path), _av().open(_url(self.path)) as film:
            self.frames = min(sum(packet.size > 0 for packet in film.demux(film.streams.video[0])), count)
        if self.frames < count:
            raise InputError(
                f"{self.path}: has {self.frames} frames, and the run has drawn {count}; remove it to go on"
            )

    def _keep(self, count: int) -> None:
        """Take over frames as they are encoded; frames of another version of the encoder are encoded again."""
        with _av().open(_url(self.path)) as old:
            stream = old.streams.video[0]
            alike = stream.codec_context.extradata == self._stream.codec_context.extradata
            for one in old.demux(stream) if alike else old.decode(stream):
                if self.frames == count:
                    break
                if not alike:
                    self._encode(one)
                elif one.size:
                    one.stream = self._stream
                    self._mux(one)

    def add(self, image: NDArray[np.uint8]) -> None:
        """Append a picture, (rows, columns, 3). When this returns, the file has all earlier ones.

        :raises IoError: the disk is full or gone.
        """
        opens = self._file is None
        if opens:
            self._open(self.frames)
        with _failures(self.path):
            self._encode(_av().VideoFrame.from_ndarray(image, format="rgb24"))
        if opens:  # with the first new frame the file has all that were kept
            self._put_in_place()

    def _encode(self, frame: Any) -> None:
        frame.pts, frame.time_base = self.frames, Fraction(1, self._rate)
        frame.pict_type = 0
        for packet in self._stream.encode(frame):
            self._mux(packet)

    def _mux(self, packet: Any) -> None:
        packet.pts = packet.dts = self.frames
        packet.duration, packet.time_base = 1, Fraction(1, self._rate)
        self._file.mux(packet)
        self.frames += 1

    def flush(self) -> None:
        """Complete the file: it has all frames, as a checkpoint needs. The next frame opens it again."""
        file, self._file = self._file, None
        if file is not None:
            with _failures(self.path):
                file.close()
                sync(self.path)

    def close(self) -> None:
        """Complete the file. Closing twice does nothing."""
        self.flush()


def _url(path: Path) -> str:
    """A file for PyAV, which would take the part of a name before a colon for a protocol."""
    return f"file:{path}"


def _av() -> Any:
    try:
        import av
    except ImportError as error:
        raise PainterError(
            f"films are made by PyAV, which does not load ({error}); install the extra: pip install 'tailrace[render]'"
        ) from None
    return av


@contextmanager
def _failures(path: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, _av().FFmpegError) as error:
        raise IoError(f"cannot write {path}: {error.strerror or error}") from error
