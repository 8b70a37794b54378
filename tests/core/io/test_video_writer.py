"""Video files with what encoders there are."""

from __future__ import annotations

from pathlib import Path

import av
import numpy as np

from core.io.video_writer import ENCODERS, Encoder, video_file


def test_without_an_encoder_for_h264_the_video_is_vp9(tmp_path: Path) -> None:
    frame = np.full((90, 160, 3), 90, np.uint8)
    missing, refusing = (
        Encoder("no such", "H.264", {}),
        Encoder("h264_qsv", "H.264", {}),
    )  # listed, but without hardware
    with video_file(tmp_path / "a.mp4", 160, 90, 30.0, (missing, refusing, ENCODERS[-1])) as video:
        video.add(frame)
    with av.open(str(tmp_path / "a.mp4")) as container:
        assert container.streams.video[0].codec_context.name in ("vp9", "libvpx-vp9") and video.codec == "VP9"
