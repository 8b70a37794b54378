"""Frames to a video file, or to a film strip."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path

os.environ.setdefault("SVT_LOG", "0")  # the encoder announces itself in 20 lines otherwise, and scolds who gives up

import av
import cv2
import numpy as np
import numpy.typing as npt
from av.error import FFmpegError

from core.errors import UserError
from core.io import files
from core.types import Frames

_CODEC = "libsvtav1"
"""AV1: free of licences that would bind the program, and read by every present browser and player."""


def check_path(path: Path) -> None:
    """UserError if write_video would refuse the name."""
    if path.suffix != ".mp4":
        raise UserError(f"{path} does not end in .mp4: name an .mp4 file for the video.")


@contextmanager
def video_file(path: Path, width: int, height: int, fps: float) -> Iterator[Callable[[npt.NDArray[np.uint8]], None]]:
    """Gives what takes the pictures one by one, (height, width, 3) RGB; both sides even.

    The file appears under its name when all of it is written; whatever happens before that leaves none. UserError where
    it can't be written.
    """
    check_path(path)
    part = path.with_name(f"{path.name}.part")
    try:
        part.touch()  # the encoder would find out only when it has its first pictures together
        with av.open(str(part), "w", format="mp4") as container:
            stream = container.add_stream(_CODEC, rate=Fraction(fps).limit_denominator(1000))
            assert isinstance(stream, av.VideoStream)
            stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
            stream.options = {"crf": "30", "preset": "8", "svtav1-params": "lp=2"}

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
    """Writes frames as an .mp4; UserError if the file can't be written."""
    height, width = frames.pixels.shape[1:3]
    with video_file(path, width, height, frames.fps) as add:
        for image in frames.pixels:
            add(image)


def write_strip(path: Path, frames: Frames, count: int) -> None:
    """Writes `count` frames, evenly spaced, side by side as one .png; UserError if the file can't be written."""
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
