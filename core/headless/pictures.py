"""Video and film strip of an episode, written by commands, and the checks to make before their work."""

import os
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

from core.errors import UserError
from core.session.session import Session
from core.tasks import get_task
from core.tasks.gymnasium import GymTask

_SIDE, _FPS = 480, 30.0
"""Side of a video in pixels, and its pictures per second."""
_STRIP_SECONDS = 1.2
_STRIP_FRAMES = 9


def require_renderer(task: str) -> None:
    """Raise UserError if the task can't be rendered on this machine; to be called before the work."""
    from core.envs import make_envs
    from core.envs.base import CaptureSchedule
    from core.envs.renderer import renderer_for
    from core.seeding import generator

    chosen = get_task(task)
    with closing(renderer_for(chosen)) as renderer:
        renderer.prepare()
    if isinstance(chosen, GymTask):  # its environment draws the pictures
        make_envs(chosen, 1, generator(0, "shapes"), threads=1, capture=CaptureSchedule(1, 1)).close()


def check_picture_paths(video: str | None, strip: str | None = None) -> None:
    """Raise UserError if no video or strip can be written to these paths; to be called before the work."""
    if video is not None:
        from core.io.video_writer import check_path

        check_path(Path(video))
    if strip is not None and Path(strip).suffix.lower() != ".png":
        raise UserError(f"{strip} does not end in .png: name a .png file for the strip.")
    for path in (video, strip):
        if path is None:
            continue
        if not os.path.isdir(Path(path).parent):
            raise UserError(f"There is no folder {Path(path).parent}: make it first.")
        if os.path.isdir(path):
            raise UserError(f"{path} is a folder: name a file.")
        if not os.access(Path(path).parent, os.W_OK):
            raise UserError(f"{Path(path).parent} can't be written: name a file in another folder.")


def write_pictures(session: Session, states: Any, video: str | None, strip: str | None = None) -> None:
    """Write an episode, states (steps, S), to the file `video`, and pictures of its middle to the file `strip`, if given."""
    from core.envs.renderer import renderer_for
    from core.io.video_writer import write_strip, write_video

    task = get_task(session.config.task)
    with closing(renderer_for(task)) as renderer:
        if video:
            write_video(Path(video), renderer.pictures(states, _SIDE, _FPS), _SIDE, _FPS)
            print(f"wrote {video}", file=sys.stderr)
        if strip:
            middle, length = len(states) // 2, round(_STRIP_SECONDS / task.step_seconds)
            frames = renderer.render(states[middle : middle + length], size=160, fps=_FPS)
            write_strip(Path(strip), frames, _STRIP_FRAMES)
            print(f"wrote {strip}", file=sys.stderr)
