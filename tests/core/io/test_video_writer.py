"""Video files: their format, and the message without an encoder."""

from __future__ import annotations

import sys
from pathlib import Path

import av
import numpy as np
import pytest

from core.errors import UserError
from core.io import video_writer
from core.io.video_writer import video_file, write_video


def test_a_video_is_h264(tmp_path: Path) -> None:
    with video_file(tmp_path / "a.mp4", 160, 90, 30.0) as video:
        video.add(np.full((90, 160, 3), 90, np.uint8))
    with av.open(str(tmp_path / "a.mp4")) as container:
        assert container.streams.video[0].codec_context.name == "h264"


def test_a_missing_encoder_is_one_sentence_and_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(video_writer, "ENCODER", "no such")
    with (
        pytest.raises(UserError, match="no H.264 encoder: install"),
        video_file(tmp_path / "a.mp4", 160, 90, 30.0) as video,
    ):
        video.add(np.full((90, 160, 3), 90, np.uint8))
    assert [*tmp_path.iterdir()] == []


@pytest.mark.skipif(sys.platform == "win32", reason="Windows allows no colon in names")
def test_a_name_with_a_colon_or_in_capitals_names_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    picture = np.full((64, 64, 3), 90, np.uint8)
    for name in ("12:30.mp4", "FILM.MP4"):
        write_video(Path(name), [picture], 64, 30.0)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["12:30.mp4", "FILM.MP4"]
