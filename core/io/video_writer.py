"""Video files and film strips from frames."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path

import av
import cv2
import numpy as np
import numpy.typing as npt
from av.error import FFmpegError

from core.errors import UserError
from core.io import files
from core.types import Frames

_CODEC = "libvpx-vp9"
"""VP9 needs no licence that would bind the program, and all current browsers and players read it. The AV1 encoder in PyAV's
wheel (SVT-AV1 4.1) can wait for ever at the end of a film; it is three times faster, with smaller files."""


def check_path(path: Path) -> None:
    """Raise UserError if `path` has no name for a video."""
    if path.suffix != ".mp4":
        raise UserError(f"{path} does not end in .mp4: name an .mp4 file for the video.")


@contextmanager
def video_file(path: Path, width: int, height: int, fps: float) -> Iterator[Callable[[npt.NDArray[np.uint8]], None]]:
    """Create a video; yields a function that appends a frame, (height, width, 3) uint8 RGB. Both sides must be even.

    The file gets its name when it is complete; if anything fails before that, nothing is left. Raises UserError if it
    can't be written.
    """
    check_path(path)
    part = path.with_name(f"{path.name}.part")
    try:
        part.touch()  # the encoder writes only after many frames, so find out now
        with av.open(str(part), "w", format="mp4") as container:
            stream = container.add_stream(_CODEC, rate=Fraction(fps).limit_denominator(1000))
            assert isinstance(stream, av.VideoStream)
            stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
            stream.options = {"crf": "32", "b": "0", "deadline": "good", "cpu-used": "5", "row-mt": "1", "threads": "2"}

            def add(image: npt.NDArray[np.uint8]) -> None:
                container.mux(stream.encode(av.VideoFrame.from_ndarray(image, format="rgb24")))

            yield add
            container.mux(stream.encode())
        os.replace(part, path)
    except (OSError, FFmpegError) as error:
        raise UserError(f"The video {path} can't be written ({error}): name another file.") from error
    finally:
        files.clear_away(part)


def write_video(path: Path, frames: Frames) -> None:
    """Write frames as an .mp4. Raises UserError if the file can't be written."""
    height, width = frames.pixels.shape[1:3]
    with video_file(path, width, height, frames.fps) as add:
        for image in frames.pixels:
            add(image)


def write_strip(path: Path, frames: Frames, count: int) -> None:
    """Write `count` evenly spaced frames side by side as a .png. Raises UserError if the file can't be written."""
    if path.suffix != ".png":
        raise UserError(f"{path} does not end in .png: name a .png file for the film strip.")
    chosen = frames.pixels[np.linspace(0, len(frames.pixels) - 1, count).round().astype(int)]
    strip = np.concatenate(list(chosen), axis=1)
    try:
        written = cv2.imwrite(str(path), cv2.cvtColor(strip, cv2.COLOR_RGB2BGR))
    except cv2.error:
        written = False
    if not written:
        raise UserError(f"The film strip {path} can't be written: name another file.")
