"""MJCF files with their meshes and textures, as one XML text and the files that it names, packed for storage in a session.

Only files in the folder of the MJCF file, or below it, are read. Includes are replaced by their content. Models for which
MuJoCo would take minutes or gigabytes are rejected before they are compiled.
"""

from __future__ import annotations

import errno
import io
import lzma
import math
import os
import re
import zipfile
from pathlib import Path, PurePosixPath
from xml.etree import ElementTree

from core.behaviours.robot_model import MAX_PACKED
from core.errors import UserError
from core.io import files

Element = ElementTree.Element
_XML = "robot.xml"
_MAX_XML, _MAX_FILE, _MAX_FILES, _MAX_ALL = 4 << 20, 32 << 20, 256, 128 << 20
"""Limits: bytes of the XML text and of one file; number and total bytes of all files, unpacked."""
_FOLDERS = {"mesh": "meshdir", "hfield": "meshdir", "skin": "meshdir", "flexcomp": "meshdir", "texture": "texturedir"}
"""Elements that name files, with the compiler's attribute for their folder."""
_MAX_ELEMENTS, _MAX_DEPTH, _MAX_INCLUDES = 20_000, 100, 256
_MAX_COPIES = 1024
"""Most copies of one element by nested <replicate>."""
_USER_PARTS = ("body", "jnt", "geom", "site", "cam", "tendon", "actuator", "sensor")
_LARGEST: dict[str, dict[str, float]] = {
    "texture": {"width": 4096, "height": 24_576},
    "hfield": {"nrow": 4096, "ncol": 4096},
    "mesh": {"params": 200, "octree_maxdepth": 8, "maxhullvert": 100_000},
    "numeric": {"size": 10_000},
    "option": {
        **dict.fromkeys(("iterations", "ls_iterations", "noslip_iterations", "ccd_iterations"), 1000),
        **dict.fromkeys(("mpr_iterations", "sdf_iterations", "sdf_initpoints"), 1000),
    },
    "global": {"offwidth": 8192, "offheight": 8192},
    "quality": {"shadowsize": 8192, "offsamples": 64, "numslices": 1000, "numstacks": 1000, "numquads": 1000},
    "size": {
        **dict.fromkeys(("nkey", "nuserdata", *(f"nuser_{part}" for part in _USER_PARTS)), 10_000),
        **{"nconmax": 100_000, "njmax": 1_000_000, "nstack": 100_000_000},
    },
    "lengthrange": {"inttotal": 20, "interval": 20},
}
"""Largest values of attributes that determine how much memory and time MuJoCo takes."""
_COPIES = {"composite": 4096, "flexcomp": 4096}
"""Largest product of the numbers in the attribute `count`."""
_LARGEST_MEMORY = 1 << 30
_UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40, "P": 1 << 50, "E": 1 << 60}
_UNUSUAL = re.compile(r"[^A-Za-z0-9_.-]")
_NAMED_BY_FILE = ("mesh", "hfield", "skin", "texture")
"""Elements that are named after their file if they have no name."""


def read_mjcf(path: Path) -> tuple[str, dict[str, bytes]]:
    """Return the XML text of an MJCF file, with new names for the files that it uses, and these files by new name.

    Raises UserError if a file can't be read or used, or is outside the folder.
    """
    if path.suffix.lower() not in (".xml", ".mjcf"):
        raise UserError("it is not an MJCF file: name an .xml file.")
    folder = path.parent.resolve()
    root = _parse(path, _read(path, folder, _MAX_XML))
    places: dict[Element, str] = {}
    _include(root, folder, [], places)
    _require_affordable(root)
    folders = _folders(root)
    assets: dict[str, bytes] = {}
    names: dict[Path, str] = {}
    for element in root.iter():
        for attribute in [name for name in element.attrib if name.startswith("file")]:
            if element.tag == "model":
                raise UserError(
                    f"{path.name} attaches the model of another file: save it whole, for example with"
                    f" mujoco.MjSpec.from_file({path.name!r}), then compile() and to_xml()."
                )
            if element.tag not in _FOLDERS:
                raise UserError(f"{path.name} has a {element.tag} with a file, which can't be used: leave it out.")
            named = element.attrib[attribute].replace("\\", "/")  # as MuJoCo reads Windows paths
            inside, place = folder / folders[_FOLDERS[element.tag]], places.get(element, "")
            # MuJoCo uses the second place for a relative path of the main file, and the third for an absolute one.
            source = _first_found(inside / named, inside / place / named, folder / place / named)
            if attribute == "file" and element.tag in _NAMED_BY_FILE:
                element.attrib.setdefault("name", PurePosixPath(named).stem)
            if source not in names:
                stem = _UNUSUAL.sub("_", source.stem)[:40]  # appears in MuJoCo's error messages
                names[source] = f"{len(names)}-{stem}{source.suffix.lower()}"
                assets[names[source]] = _read(source, folder, _MAX_FILE)
            element.attrib[attribute] = names[source]
            if len(names) > _MAX_FILES or sum(map(len, assets.values())) > _MAX_ALL:
                raise UserError(f"{path.name} names more files than can be kept: use a simpler model.")
    return ElementTree.tostring(root, encoding="unicode"), assets


def pack(xml: str, assets: dict[str, bytes]) -> bytes:
    """Return the files as one zip archive. Raises UserError if it is too large to be stored in a session."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_LZMA) as archive:
        for name, content in {_XML: xml.encode(), **assets}.items():
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_LZMA)  # without a date: same files, same bytes
    if packed.tell() > MAX_PACKED:
        raise UserError(
            f"The robot's files take {packed.tell() / (1 << 20):.1f} MB packed, and a session keeps at most"
            f" {MAX_PACKED >> 20}: use meshes with fewer triangles, or smaller height fields."
        )
    return packed.getvalue()


def unpack(content: bytes) -> tuple[str, dict[str, bytes]]:
    """Return the XML text and files from `pack`. Raises UserError if they are damaged, or if the text names other files."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = archive.infolist()
            if len(members) > _MAX_FILES + 1 or sum(member.file_size for member in members) > _MAX_ALL + _MAX_XML:
                raise ValueError("too large")
            found = {member.filename: archive.read(member) for member in members}
        xml = found.pop(_XML)
        root = _parse(Path(_XML), xml)
        _require_affordable(root)
        _require_own_files(root, found)
    except (
        zipfile.BadZipFile,
        lzma.LZMAError,
        UserError,
        KeyError,
        ValueError,
        EOFError,
        OSError,
        MemoryError,  # a dictionary of gigabytes
        NotImplementedError,  # another compression
        RuntimeError,  # a password
    ) as error:
        raise UserError(
            "The robot's files in the behaviour are damaged: create the session again from its file."
        ) from error
    return xml.decode(), found


def _require_own_files(root: Element, found: dict[str, bytes]) -> None:
    """Raise ValueError if the text names a folder, or a file that is not in `found`."""
    for element in root.iter():
        named = {value for name, value in element.attrib.items() if name.startswith("file")}
        folders = element.tag == "compiler" and element.attrib.keys() & {"assetdir", "strippath", *_FOLDERS.values()}
        if element.tag == "include" or folders or named and (element.tag not in _FOLDERS or not named <= found.keys()):
            raise ValueError("it names other files")


def _read(path: Path, folder: Path, limit: int) -> bytes:
    try:
        real = path.resolve()
        if real.is_relative_to(folder):
            return bytes(files.read_regular(real, limit))
    except (OSError, RuntimeError) as error:  # RuntimeError: a loop of links
        if isinstance(error, OSError) and error.errno == errno.EFBIG:
            raise UserError(
                f"{_shown(path)} is larger than {limit >> 20} MB: use a model with fewer parts, or simpler meshes."
            ) from error
        reason = files.reason(error) if isinstance(error, OSError) else "it is a link to itself"
        raise UserError(f"{_shown(path)} can't be read ({reason}): check its name and permissions.") from error
    except ValueError as error:  # a zero byte in the name
        raise UserError(f"{_shown(path)} can't be read.") from error
    raise UserError(
        f"{_shown(path)} is outside {folder}: copy the files that the robot needs into the folder of its MJCF file, and"
        " change their paths in it."
    )


def _shown(path: Path) -> str:
    """Return the path in a form for error messages."""
    text = str(path)
    return (text if text.isprintable() else repr(text))[:300]


def _parse(path: Path, content: bytes) -> Element:
    try:
        text = content.decode("utf-8-sig")  # as text, so that no declaration can name another encoding
    except UnicodeDecodeError as error:
        raise UserError(f"{path.name} is not in UTF-8: save it as UTF-8.") from error
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise UserError(f"{path.name} has a document type declaration, which can't be used: leave it out.")
    try:
        root = ElementTree.fromstring(text)
    except (ElementTree.ParseError, ValueError, RecursionError) as error:
        raise UserError(f"{path.name} is not XML ({error}).") from error
    if root.tag not in ("mujoco", "mujocoinclude"):
        raise UserError(f"{path.name} is not an MJCF file: it begins with <{root.tag:.30}>, not with <mujoco>.")
    _require_few(root)
    return root


def _require_few(root: Element) -> None:
    """Raise UserError if there are too many elements or levels of elements."""
    level, count = [root], 0
    for _ in range(_MAX_DEPTH):
        count += len(level)
        level = [child for element in level for child in element]
        if not level or count > _MAX_ELEMENTS:
            break
    if level:
        raise UserError(f"it has more than {_MAX_ELEMENTS:,} elements or {_MAX_DEPTH} levels: use a simpler model.")


def _first_found(*paths: Path) -> Path:
    """Return the first of these paths that exists; if none does, the first one, so that its absence is reported."""
    return next(filter(os.path.exists, paths), paths[0])


def _include(
    root: Element, folder: Path, done: list[str], places: dict[Element, str], outer: tuple[Path, ...] = ()
) -> None:
    """Replace the includes below the element `root` by their content.

    folder: folder of the main file
    done: names of the files included so far; extended in place
    places: for each element that names a file, the folder of its included file, relative to `folder`; extended in place
    outer: the included files that contain this element
    """
    place = str(outer[-1].resolve().parent.relative_to(folder)) if outer else ""
    for parent in list(root.iter()):
        for index, child in reversed(list(enumerate(parent))):
            if child.tag == "include":
                name = child.attrib.get("file", "").replace("\\", "/")  # as MuJoCo reads Windows paths
                if not name:
                    raise UserError("an <include> names no file: give it one, or leave it out.")
                source = _first_found(folder / name, folder / place / name)
                if source in outer:
                    raise UserError("the robot's files include each other in a circle: remove one <include>.")
                done.append(name)
                if len(done) > _MAX_INCLUDES:
                    raise UserError(f"it has more than {_MAX_INCLUDES} includes: use a simpler model.")
                included = _parse(source, _read(source, folder, _MAX_XML))
                _include(included, folder, done, places, (*outer, source))
                parent[index : index + 1] = list(included)
            elif child.tag in _FOLDERS:
                places[child] = place
    _require_few(root)


def _require_affordable(root: Element) -> None:
    """Raise UserError if MuJoCo would need a plugin, or far more memory or time than for a robot."""
    for element in root.iter():
        if element.tag in ("plugin", "extension"):
            raise UserError("it needs a MuJoCo plugin, which can't be used: leave it out.")
        for name, largest in _LARGEST.get(element.tag, {}).items():
            if any(abs(number) > largest for number in _numbers(element.attrib.get(name, ""))):
                raise UserError(f"{name} of <{element.tag}> is larger than {largest:,}: give a smaller one.")
        if element.tag in _COPIES and math.prod(_numbers(element.attrib.get("count", ""))) > _COPIES[element.tag]:
            raise UserError(f"<{element.tag}> makes more than {_COPIES[element.tag]:,} parts: give a smaller count.")
        if element.tag == "size" and _bytes(element.attrib.get("memory", "")) > _LARGEST_MEMORY:
            raise UserError("memory of <size> is larger than 1G: leave it out.")
    _require_few_copies(root)


def _require_few_copies(root: Element) -> None:
    level = [(root, 1.0)]
    while level:
        copied = []
        for element, copies in level:
            if element.tag == "replicate":
                copies *= max([1.0, *_numbers(element.attrib.get("count", ""))])
            if copies > _MAX_COPIES:
                raise UserError(f"<replicate> makes more than {_MAX_COPIES:,} copies: give a smaller count.")
            copied += [(child, copies) for child in element]
        level = copied


def _numbers(text: str) -> list[float]:
    """Return the numbers in an attribute; MuJoCo reports words that are not numbers."""
    numbers = []
    for word in text.split()[:16]:
        try:
            number = float(word)
        except ValueError:
            continue
        numbers.append(math.inf if math.isnan(number) else number)
    return numbers


def _bytes(text: str) -> float:
    """Return the number of bytes in the attribute `memory`, such as 15M."""
    text = text.strip()
    return sum(_numbers(text.rstrip("".join(_UNITS)))) * _UNITS.get(text[-1:], 1)


def _folders(root: Element) -> dict[str, str]:
    """Return the folders of meshes and textures, and remove them from the compiler's attributes."""
    folders = {"meshdir": "", "texturedir": ""}
    for compiler in root.iter("compiler"):
        both = compiler.attrib.pop("assetdir", None)
        for name in folders:
            folders[name] = compiler.attrib.pop(name, both if both is not None else folders[name])
        if compiler.attrib.pop("strippath", "false") == "true":
            raise UserError("The robot's files use strippath, which can't be used: leave it out.")
    return folders
