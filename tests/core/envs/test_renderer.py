"""Clips of robots: their speed, camera, colours and trace; videos and film strips of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import av
import cv2
import mujoco
import numpy as np
import pytest

from core.envs.renderer import MujocoRenderer
from core.errors import UserError
from core.io.video_writer import write_strip, write_video
from core.robots.appearance import separate_surfaces
from core.robots.models import load_model
from core.tasks import get_task
from core.types import Frames
from tests.core.picture_toys import difference

HOPPER = get_task("hopper-backflip")
AT_40_HZ = dataclasses.replace(HOPPER, timestep=0.0025, frame_skip=10)
SIZE = 64


@pytest.fixture
def renderer() -> Iterator[MujocoRenderer]:
    with closing(MujocoRenderer(AT_40_HZ)) as made:
        yield made


def moving(steps: int, fall: float = 0.0) -> np.ndarray:
    """Return states (steps, 13) of a robot that turns by a tenth of a radian per step and sinks by `fall`."""
    model = load_model(AT_40_HZ)
    states = np.zeros((steps, mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_FULLPHYSICS)))
    states[:, 1 : 1 + model.nq] = model.qpos0
    states[:, 3] -= 0.1 * np.arange(steps)
    states[:, 2] -= fall * np.arange(steps)
    return states


@pytest.mark.slow_after_first
@pytest.mark.parametrize(("steps", "fps", "frames"), [(60, 30.0, 45), (40, 60.0, 60), (1, 40.0, 1)])
def test_a_clip_plays_in_real_time(renderer: MujocoRenderer, steps: int, fps: float, frames: int) -> None:
    clip = renderer.render(moving(steps), 16, fps)
    assert clip.pixels.shape == (frames, 16, 16, 3)
    assert clip.pixels.dtype == np.uint8 and clip.fps == fps


@pytest.mark.parametrize("name", ["hopper", "walker", "half-cheetah", "ant", "swimmer"])
def test_the_torso_differs_in_colour_from_the_limbs(name: str) -> None:
    task = get_task(name)
    model = load_model(task)
    torso, robot = model.geom_bodyid == model.body("torso").id, model.body_treeid[model.geom_bodyid] >= 0
    assert torso.any() and (robot & ~torso).any()
    assert len(np.unique(model.geom_rgba[torso], axis=0)) == 1 and (model.geom_matid[torso] == -1).all()
    difference_to_limbs = np.abs(model.geom_rgba[robot & ~torso] - model.geom_rgba[torso][0]).max(axis=1)
    assert (difference_to_limbs > 0.3).all()


def test_parts_of_different_colours_have_no_common_surface_in_pictures() -> None:
    """The Walker's torso and both thighs end in the same half sphere, in which three colours would flicker."""
    model = load_model(get_task("walker"))
    names = "torso_geom", "thigh_geom", "thigh_left_geom"
    before = [model.geom(name).size[0] for name in names]
    separate_surfaces(model, np.flatnonzero(model.body_treeid[model.geom_bodyid] >= 0))
    factors = [model.geom(name).size[0] / size for name, size in zip(names, before, strict=True)]
    assert factors == pytest.approx([1.08, 1.04, 1.0]) and before == [before[0]] * 3
    assert model.geom("leg_geom").size[0] / model.geom("leg_left_geom").size[0] == pytest.approx(1.04)


def raised(name: str, *heights: float) -> list[np.ndarray]:
    """Return pictures of a robot whose root is this many metres above its usual place."""
    task = get_task(name)
    model = load_model(task)
    state = np.zeros((1, mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_FULLPHYSICS)))
    state[:, 1 : 1 + model.nq] = model.qpos0
    vertical = 2 + (model.jnt_type[0] == mujoco.mjtJoint.mjJNT_FREE)
    pictures = []
    with closing(MujocoRenderer(task)) as renderer:
        for height in heights:
            moved = state.copy()
            moved[:, vertical] += height
            pictures.append(renderer.render(moved, SIZE, 40.0).pixels[0])
    return pictures


def rows_of_robot(picture: np.ndarray) -> np.ndarray:
    """Return the rows with a warm colour, which floor and sky lack; the start line is at the bottom."""
    warm = picture[..., 0].astype(int) > picture[..., 1] + 20
    return np.flatnonzero(warm[: SIZE * 3 // 4].any(axis=1))


def test_the_camera_follows_the_robot_sideways(renderer: MujocoRenderer) -> None:
    here, far = moving(1), moving(1)
    far[:, 1] += 5.0  # out of view of a fixed camera, and by whole squares of the floor
    robot, followed = (renderer.render(s, SIZE, 40.0).pixels[0] for s in (here, far))
    assert difference(robot, followed) < 0.5 and len(rows_of_robot(followed))


@pytest.mark.slow_after_first
@pytest.mark.parametrize("name", ["hopper-backflip", "hopper", "walker", "half-cheetah", "half-cheetah-one-leg", "ant"])
def test_a_rising_robot_is_drawn_higher_and_whole_above_the_same_floor(name: str) -> None:
    low, middle, high = raised(name, 0.0, 0.3, 0.6)
    tops = [rows_of_robot(picture).min() for picture in (low, middle, high)]
    assert tops[0] > tops[1] + 3 > tops[2] + 6 > 6
    edge = SIZE // 16
    for picture in (middle, high):
        assert np.array_equal(picture[:, :edge], low[:, :edge])  # the camera has not moved


def test_the_camera_follows_a_robot_that_leaves_the_picture() -> None:
    rows = [rows_of_robot(picture) for picture in raised("walker", 2.0, 6.0)]
    assert len(rows[0]) > SIZE // 6 and rows[0].min() > 0
    assert rows[0].tolist() == rows[1].tolist()


@pytest.mark.slow
def test_the_trace_is_of_the_last_second_and_a_half(renderer: MujocoRenderer) -> None:
    near, far = moving(100), moving(100)
    near[:20, 1] = far[:20, 1] = -0.5
    far[:20, 2] += 1.0
    one, other = (renderer.render(states, SIZE, 40.0).pixels for states in (near, far))
    assert not np.array_equal(one[78], other[78])
    assert np.array_equal(one[79], other[79])


def test_poses_are_interpolated_between_states(renderer: MujocoRenderer) -> None:
    coarse = renderer.render(moving(3), SIZE, 80.0).pixels
    states = moving(5)
    states[:, 3] /= 2  # the same turn at half the speed: every second state lies between two of the above
    fine = renderer.render(states, SIZE, 40.0).pixels
    assert np.array_equal(coarse[:5], fine)
    assert difference(coarse[0], coarse[1]) > 0


def test_frames_are_drawn_on_demand(renderer: MujocoRenderer, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same holds for two films of one renderer in turn, which show before and after side by side."""
    states, drawn = moving(60), list[float]()
    whole = renderer.render(states, SIZE, 30.0).pixels
    set_state = mujoco.mj_setState
    monkeypatch.setattr(mujoco, "mj_setState", lambda *given: (drawn.append(0), set_state(*given)))
    one, other = renderer.pictures(states, SIZE, 30.0), renderer.pictures(states[::-1], SIZE, 30.0)
    assert np.array_equal(next(one), whole[0]) and len(drawn) == 1
    next(other)
    assert np.array_equal(next(one), whole[1]) and len(drawn) == 3


def test_a_renderer_draws_the_same_at_other_sizes_and_after_closing(renderer: MujocoRenderer) -> None:
    first = renderer.render(moving(1), SIZE, 40.0).pixels
    assert renderer.render(moving(1), 600, 40.0).pixels.shape == (1, 600, 600, 3)
    renderer.close()
    renderer.close()
    assert np.array_equal(renderer.render(moving(1), SIZE, 40.0).pixels, first)


def test_a_video_has_all_frames_in_order_at_the_right_speed(tmp_path: Path) -> None:
    shades = np.linspace(20, 230, 22).astype(np.uint8)
    pixels = np.broadcast_to(shades[:, None, None, None], (22, 96, 96, 3)).copy()
    write_video(tmp_path / "clip.mp4", pixels, 96, 30.0)
    with av.open(str(tmp_path / "clip.mp4")) as container:
        stream = container.streams.video[0]
        read = [frame.to_ndarray(format="rgb24") for frame in container.decode(stream)]
        assert float(stream.average_rate or 0) == pytest.approx(30)
    assert [image.shape for image in read] == [(96, 96, 3)] * 22
    assert [float(image.mean()) for image in read] == pytest.approx(shades.tolist(), abs=8)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a disk that is always full")
def test_a_video_on_a_full_disk_is_reported_and_leaves_no_file(tmp_path: Path) -> None:
    (tmp_path / "clip.mp4.part").symlink_to("/dev/full")
    noise = np.random.default_rng(0).integers(0, 255, (40, 64, 64, 3), np.uint8)
    with pytest.raises(UserError, match="clip.mp4 can't be written .*No space left"):
        write_video(tmp_path / "clip.mp4", noise, 64, 30.0)
    assert not list(tmp_path.iterdir())


def test_a_film_strip_shows_the_first_and_the_last_frame_side_by_side(tmp_path: Path) -> None:
    pixels = np.zeros((10, 8, 8, 3), np.uint8)
    pixels[0, ..., 0], pixels[9, ..., 2] = 200, 100  # the first is red, the last blue
    write_strip(tmp_path / "strip.png", Frames(pixels, 30.0), 4)
    strip = cv2.imread(str(tmp_path / "strip.png"))[..., ::-1]
    assert strip.shape == (8, 32, 3)
    assert (strip[:, :8] == (200, 0, 0)).all() and (strip[:, 24:] == (0, 0, 100)).all()
