"""Video files and film strips from frames."""

import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import av
import cv2
import numpy as np
import numpy.typing as npt
from av.error import FFmpegError

from core.errors import UserError
from core.io import files
from core.metrics import evenly
from core.types import Frames


@dataclass(frozen=True)
class Encoder:
    """One of FFmpeg's encoders, which may or may not exist on this computer.

    codec: the format's name for people
    """

    name: str
    codec: str
    options: Mapping[str, str]


ENCODERS = (
    Encoder("libx264", "H.264", {"crf": "20", "preset": "medium", "threads": "2"}),
    Encoder(
        "libvpx-vp9",
        "VP9",
        {"crf": "32", "b": "0", "deadline": "good", "cpu-used": "5", "row-mt": "1", "threads": "2"},
    ),
)
"""By preference. Presentation programs play H.264 and often nothing else, but builds of FFmpeg leave its encoders out; VP9
is always there, for browsers and players. The AV1 encoder of PyAV's wheel (SVT-AV1 4.1) can wait forever at the end."""


def check_path(path: Path) -> None:
    """Raise UserError if `path` does not end in .mp4."""
    if path.suffix != ".mp4":
        raise UserError(f"{path} does not end in .mp4: name an .mp4 file for the video.")


class VideoFile:
    """A video that is being written. codec: "H.264" or "VP9"."""

    def __init__(self, container: av.container.OutputContainer, encoder: Encoder, width: int, height: int, fps: float):
        self.codec = encoder.codec
        self._container = container
        stream = container.add_stream(encoder.name, rate=Fraction(fps).limit_denominator(1000))
        assert isinstance(stream, av.VideoStream)
        stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
        stream.options = dict(encoder.options)
        self._stream = stream

    def add(self, image: npt.NDArray[np.uint8]) -> None:
        """Append a frame, (height, width, 3) uint8 RGB."""
        self._container.mux(self._stream.encode(av.VideoFrame.from_ndarray(image, format="rgb24")))

    def finish(self) -> None:
        """Write the frames that the encoder still holds."""
        self._container.mux(self._stream.encode())


@contextmanager
def video_file(
    path: Path, width: int, height: int, fps: float, encoders: Sequence[Encoder] = ENCODERS
) -> Iterator[VideoFile]:
    """Create a video with the first of the encoders that works here. Both sides must be even.

    The file gets its name when it is complete; if anything fails before that, nothing is left. Raises UserError if it
    can't be written.
    """
    check_path(path)
    encoder = next((each for each in encoders[:-1] if _works(each, width, height, fps)), encoders[-1])
    with files.replaced(path) as part:
        part.touch()  # the encoder writes only after many frames, so find out now
        try:
            with av.open(str(part), "w", format="mp4", options={"movflags": "faststart"}) as container:
                video = VideoFile(container, encoder, width, height, fps)
                yield video
                video.finish()
        except FFmpegError as error:
            raise UserError(f"{path} can't be written ({files.reason(error)}): name another file.") from error


def _works(encoder: Encoder, width: int, height: int, fps: float) -> bool:
    """Return whether one black frame can be encoded: a listed encoder may lack its hardware, or refuse this size."""
    try:
        with av.open(io.BytesIO(), "w", format="mp4") as container:
            video = VideoFile(container, encoder, width, height, fps)
            video.add(np.zeros((height, width, 3), np.uint8))
            video.finish()
    except (OSError, ValueError, FFmpegError):
        return False
    return True


def write_video(path: Path, frames: Frames) -> None:
    """Write frames as an .mp4. Raises UserError if the file can't be written."""
    height, width = frames.pixels.shape[1:3]
    with video_file(path, width, height, frames.fps) as video:
        for image in frames.pixels:
            video.add(image)


def write_strip(path: Path, frames: Frames, count: int) -> None:
    """Write `count` evenly spaced frames side by side as a .png. Raises UserError if the file can't be written."""
    if path.suffix != ".png":
        raise UserError(f"{path} does not end in .png: name a .png file for the film strip.")
    chosen = frames.pixels[evenly(len(frames.pixels), count)]
    strip = np.concatenate(list(chosen), axis=1)
    try:
        written = cv2.imwrite(str(path), cv2.cvtColor(strip, cv2.COLOR_RGB2BGR))
    except cv2.error:
        written = False
    if not written:
        raise UserError(f"The film strip {path} can't be written: name another file.")
