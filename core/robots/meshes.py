"""Simpler meshes and textures for an imported robot, so that its files fit into a session and clips are drawn fast.

A mesh keeps the corners of its convex hull, the shape with which MuJoCo computes contacts, unless there are too many.
The other vertices in each cell of a grid are merged into one.
"""

from __future__ import annotations

import math
import struct
from collections import defaultdict
from pathlib import PurePosixPath
from xml.etree import ElementTree

import cv2
import mujoco
import numpy as np
import numpy.typing as npt

from core.errors import UserError
from core.robots.kinematics import hull_corners
from core.types import Float64

Faces = npt.NDArray[np.int64]
_MESHES = (".stl", ".obj", ".msh")
_MOST_FACES, _FEWEST_FACES, _ALL_FACES = 2000, 300, 60_000
"""Largest and smallest limit of triangles of one mesh, and limit of all meshes; at 400 pixels more are not visible."""
_MOST_HULL = 600
"""Largest number of corners of a convex hull that are all kept."""
_CELLS = (64, 48, 36, 27, 20, 15, 11, 8, 6, 4)
"""Numbers of cells along the longest side of a mesh, from fine to coarse."""
_LARGEST_PICTURE, _MOST_PIXELS = 256, 1 << 26
"""Largest side of a texture in pixels after reduction, and largest number of pixels before it."""
_MOST_HEIGHTS = 1 << 24
"""Largest number of pixels of a height field's picture, which is not reduced: each pixel is a height."""
_PNG = b"\x89PNG\r\n\x1a\n"
cv2.utils.logging.setLogLevel(cv2.utils.logging.LOG_LEVEL_ERROR)  # MuJoCo itself reports damaged pictures
_DIGITS = 1e-5
"""Rounding of coordinates relative to the mesh's size, for better compression."""


def simplify(xml: str, assets: dict[str, bytes]) -> tuple[str, dict[str, bytes]]:
    """Return the text and the files with simpler meshes and smaller textures; unreadable ones are left unchanged.

    Raises UserError for a picture that would take gigabytes of memory.
    """
    root = ElementTree.fromstring(xml)
    inertias = defaultdict[str, set[str]](set)  # by file; those of defaults, which may apply to any file, at ""
    for element in root.iter("mesh"):
        inertias[element.attrib.get("file", "")].update(filter(None, [element.attrib.get("inertia")]))
    of_defaults = inertias.pop("", set())
    most = max(_FEWEST_FACES, min(_MOST_FACES, _ALL_FACES // max(1, len(inertias))))
    kept, renamed = dict(assets), dict[str, str]()
    for name in sorted(inertias.keys() & kept.keys()):
        if PurePosixPath(name).suffix not in _MESHES:
            continue
        simpler = _simpler_mesh(name, kept[name], most)
        kinds = inertias[name] | of_defaults
        if simpler and all(_compiled("m.msh", simpler, kind) for kind in kinds):  # "exact" requires a closed mesh
            renamed[name] = f"{PurePosixPath(name).stem}.msh"
            del kept[name]
            kept[renamed[name]] = simpler
    for element in root.iter("mesh"):
        if element.attrib.get("file") in renamed:
            element.attrib["file"] = renamed[element.attrib["file"]]
            element.attrib.pop("content_type", None)  # of the former file, which MuJoCo's to_xml() names
    terrains = {element.attrib.get("file") for element in root.iter("hfield")}
    for name in kept:
        if PurePosixPath(name).suffix == ".png":  # MuJoCo reads no other pictures
            _require_affordable(name, kept[name], _MOST_HEIGHTS if name in terrains else _MOST_PIXELS)
            if name not in terrains:
                kept[name] = _smaller_picture(kept[name])
    return ElementTree.tostring(root, encoding="unicode"), kept


def _simpler_mesh(name: str, content: bytes, most: int) -> bytes | None:
    """Return the mesh in MuJoCo's format with about `most` triangles; None if it is simple enough, or can't be read."""
    model = _compiled(name, content, "shell")
    if model is None or model.nmeshface <= most:
        return None
    turned = np.zeros(9)
    mujoco.mju_quat2Mat(turned, model.mesh_quat[0])
    vertices = model.mesh_vert @ turned.reshape(3, 3).T + model.mesh_pos[0]  # as in the file
    hull = hull_corners(model, 0)
    fixed = hull if hull is not None and len(hull) <= _MOST_HULL else np.zeros(0, np.int64)
    for cells in _CELLS:
        merged, faces = _merge(vertices, model.mesh_face.astype(np.int64), fixed, cells)
        if len(faces) <= most:
            break
    texture = None
    if len(model.mesh_texcoord):
        texture = np.zeros((len(vertices), 2))
        texture[model.mesh_face.ravel()] = model.mesh_texcoord[model.mesh_facetexcoord.ravel()]
    return _write(vertices, merged, faces, texture)


def _compiled(name: str, content: bytes, inertia: str) -> mujoco.MjModel | None:
    """Return a model that consists of this mesh; None if MuJoCo can't compile it."""
    alone = (
        f'<mujoco><asset><mesh name="m" file="{name}" inertia="{inertia}"/></asset>'
        '<worldbody><body><geom type="mesh" mesh="m"/></body></worldbody></mujoco>'
    )
    try:
        return mujoco.MjModel.from_xml_string(alone, {name: content})
    except (ValueError, mujoco.FatalError):
        return None


def _merge(vertices: Float64, faces: Faces, fixed: Faces, cells: int) -> tuple[Faces, Faces]:
    """Merge the vertices in each cell. Returns the kept vertices (m,) and remaining triangles (f, 3), as old indices.

    fixed: indices of vertices that are kept; cells: number of cells along the longest side
    """
    low, high = vertices.min(axis=0), vertices.max(axis=0)
    cell = np.floor((vertices - low) / max(1e-12, float((high - low).max())) * (cells - 1e-9)).astype(np.int64)
    keys = cell @ np.array([1, cells + 1, (cells + 1) ** 2])
    out = np.linalg.norm(vertices - (low + high) / 2, axis=1)
    out[fixed] += 2 * float(out.max())  # so that a fixed vertex represents its cell
    order = np.lexsort((-out, keys))
    first = np.r_[True, np.diff(keys[order]) != 0]
    stands = np.zeros(len(vertices), np.int64)
    stands[order] = order[first][np.cumsum(first) - 1]
    stands[fixed] = fixed
    left = stands[faces]
    left = left[(left[:, 0] != left[:, 1]) & (left[:, 1] != left[:, 2]) & (left[:, 2] != left[:, 0])]
    if len(left):
        _, unique = np.unique(np.sort(left, axis=1), axis=0, return_index=True)
        left = left[np.sort(unique)]
    return np.union1d(left.ravel(), fixed).astype(np.int64), left


def _write(vertices: Float64, kept: Faces, faces: Faces, texture: Float64 | None) -> bytes:
    """Return the mesh in MuJoCo's own format: four counts, then positions, texture coordinates and triangles."""
    places = vertices[kept]
    step = max(1e-9, float(np.ptp(places, axis=0).max()) * _DIGITS)
    places = (np.round(places / step) * step).astype(np.float32)
    shown = np.zeros((0, 2), np.float32) if texture is None else np.round(texture[kept], 4).astype(np.float32)
    numbers = np.searchsorted(kept, faces).astype(np.int32)
    counts = struct.pack("<4i", len(places), 0, len(shown), len(numbers))
    return counts + places.tobytes() + shown.tobytes() + numbers.tobytes()


def _require_affordable(name: str, content: bytes, most: int) -> None:
    """Raise UserError if a PNG has more than this number of pixels."""
    if content.startswith(_PNG) and math.prod(struct.unpack(">2I", content[16:24].ljust(8, b"\0"))) > most:
        raise UserError(f"{name} has more than {most:,} pixels: use a smaller picture.")


def _smaller_picture(content: bytes) -> bytes:
    """Return the picture as a PNG, halved until no side is longer than _LARGEST_PICTURE pixels, or a side is odd."""
    try:
        picture = cv2.imdecode(np.frombuffer(content, np.uint8), cv2.IMREAD_UNCHANGED)
    except cv2.error:  # an empty file, or an impossible size
        return content
    if picture is None or max(picture.shape[:2]) <= _LARGEST_PICTURE:
        return content
    while max(picture.shape[:2]) > _LARGEST_PICTURE and not any(side % 2 for side in picture.shape[:2]):
        picture = cv2.resize(picture, None, fx=0.5, fy=0.5, interpolation=cv2.INTER_AREA)
    done, written = cv2.imencode(".png", picture)
    return written.tobytes() if done and len(written) < len(content) else content
