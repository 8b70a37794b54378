"""Video files and film strips from frames."""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path

import av
import cv2
import numpy as np
import numpy.typing as npt
from av.codec.codec import UnknownCodecError
from av.error import FFmpegError

from core.errors import UserError
from core.io import files
from core.metrics import evenly
from core.types import Frames

ENCODER = "libx264"
"""FFmpeg's encoder for H.264, a format that presentation programs can play; PyAV's wheel includes it."""
_OPTIONS = {"crf": "20", "preset": "medium", "threads": "2"}


def check_path(path: Path) -> None:
    """Raise UserError if `path` does not end in .mp4."""
    if path.suffix.lower() != ".mp4":
        raise UserError(f"{path} does not end in .mp4: name an .mp4 file for the video.")


class VideoFile:
    """A video file that is being written."""

    def __init__(self, container: av.container.OutputContainer, width: int, height: int, fps: float) -> None:
        self._container = container
        stream = container.add_stream(ENCODER, rate=Fraction(fps).limit_denominator(1000))
        assert isinstance(stream, av.VideoStream)
        stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
        stream.options = {**_OPTIONS}
        self._stream = stream

    def add(self, image: npt.NDArray[np.uint8]) -> None:
        """Append a frame, (height, width, 3) uint8 RGB."""
        self._container.mux(self._stream.encode(av.VideoFrame.from_ndarray(image, format="rgb24")))

    def finish(self) -> None:
        """Write the frames that the encoder still holds."""
        self._container.mux(self._stream.encode())


@contextmanager
def video_file(path: Path, width: int, height: int, fps: float) -> Iterator[VideoFile]:
    """Create an H.264 video. Width and height, in pixels, must be even.

    The file gets its name when it is complete; after a failure no file is left. Raises UserError if it can't be written.
    """
    check_path(path)
    with files.replaced(path) as part:
        part.touch()  # the encoder writes only after many frames; this fails now if the file can't be written
        try:
            with av.open(os.path.abspath(part), "w", format="mp4", options={"movflags": "faststart"}) as container:
                video = VideoFile(container, width, height, fps)
                yield video
                video.finish()
        except UnknownCodecError as error:
            raise UserError(
                "No video can be written, as PyAV has no H.264 encoder: install PyAV's wheel, which has one."
            ) from error
        except FFmpegError as error:
            raise UserError(f"{path} can't be written ({files.reason(error)}): name another file.") from error


def write_video(path: Path, pictures: Iterable[npt.NDArray[np.uint8]], size: int, fps: float) -> None:
    """Write pictures, (size, size, 3) uint8 RGB each, as an .mp4 file. Raises UserError if it can't be written."""
    with video_file(path, size, size, fps) as video:
        for picture in pictures:
            video.add(picture)


def write_strip(path: Path, frames: Frames, count: int) -> None:
    """Write `count` evenly spaced frames side by side as a .png file. Raises UserError if it can't be written."""
    chosen = frames.pixels[evenly(len(frames.pixels), count)]
    strip = np.concatenate(list(chosen), axis=1)
    try:
        written = cv2.imwrite(str(path), cv2.cvtColor(strip, cv2.COLOR_RGB2BGR))
    except cv2.error:
        written = False
    if not written:
        raise UserError(f"The film strip {path} can't be written: name another file.")
