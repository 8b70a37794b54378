"""MJCF files with their meshes and textures, as one XML text and the files that it names, packed to keep in a session.

Only files in the folder of the MJCF file, or below it, are read. Includes are replaced by their content.
"""

from __future__ import annotations

import io
import lzma
import zipfile
from pathlib import Path, PurePosixPath
from xml.etree import ElementTree

from core.behaviours.robot_model import MAX_PACKED
from core.errors import UserError
from core.io import files

Element = ElementTree.Element
_XML = "robot.xml"
_MAX_XML, _MAX_FILE, _MAX_FILES, _MAX_ALL = 4 << 20, 32 << 20, 256, 128 << 20
"""Bytes of the XML text and of one file; number and bytes of all files, unpacked."""
_FOLDERS = {"mesh": "meshdir", "hfield": "meshdir", "skin": "meshdir", "flexcomp": "meshdir", "texture": "texturedir"}
"""Elements that name files, and the compiler's attribute with the folder."""
_NAMED_BY_FILE = ("mesh", "hfield", "skin", "texture")
"""Elements that are called like their file if they have no name."""


def read_mjcf(path: Path) -> tuple[str, dict[str, bytes]]:
    """Return the XML text of an MJCF file, in which files have new names, and those files by name.

    Raises UserError if a file can't be read or used, or is outside the folder.
    """
    folder = path.parent.resolve()
    root = _parse(path, _read(path, folder, _MAX_XML))
    _include(root, folder, 0)
    folders = _folders(root)
    assets: dict[str, bytes] = {}
    names: dict[Path, str] = {}
    for element in root.iter():
        for attribute in [name for name in element.attrib if name.startswith("file")]:
            if element.tag not in _FOLDERS:
                raise UserError(f"{path.name} has a {element.tag} with a file, which can't be used: leave it out.")
            source = folder / folders[_FOLDERS[element.tag]] / element.attrib[attribute]
            if attribute == "file" and element.tag in _NAMED_BY_FILE:
                element.attrib.setdefault("name", PurePosixPath(element.attrib[attribute]).stem)
            if source not in names:
                names[source] = f"{len(names)}{source.suffix.lower()}"
                assets[names[source]] = _read(source, folder, _MAX_FILE)
            element.attrib[attribute] = names[source]
            if len(names) > _MAX_FILES or sum(map(len, assets.values())) > _MAX_ALL:
                raise UserError(f"{path.name} names more files than can be kept: use a simpler model.")
    return ElementTree.tostring(root, encoding="unicode"), assets


def pack(xml: str, assets: dict[str, bytes]) -> bytes:
    """Return the files as one zip. Raises UserError if it is too large to be kept in a session."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_LZMA) as archive:
        for name, content in {_XML: xml.encode(), **assets}.items():
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_LZMA)  # without a date: same files, same bytes
    if packed.tell() > MAX_PACKED:
        raise UserError(
            f"The robot's files take {packed.tell() / (1 << 20):.1f} MB packed, and a session keeps at most"
            f" {MAX_PACKED >> 20}: use meshes with fewer triangles, or none."
        )
    return packed.getvalue()


def unpack(content: bytes) -> tuple[str, dict[str, bytes]]:
    """Return what `pack` was given. Raises UserError if it is damaged, or names other files than its own."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = archive.infolist()
            if len(members) > _MAX_FILES + 1 or sum(member.file_size for member in members) > _MAX_ALL + _MAX_XML:
                raise ValueError("too large")
            found = {member.filename: archive.read(member) for member in members}
        text = found.pop(_XML).decode()
        named = [value for e in ElementTree.fromstring(text).iter() for n, value in e.attrib.items() if n[:4] == "file"]
        if "<!" in text or "<include" in text or not set(named) <= set(found):
            raise ValueError("it names other files")
    except (
        zipfile.BadZipFile,
        lzma.LZMAError,
        ElementTree.ParseError,
        KeyError,
        ValueError,
        EOFError,
        OSError,
    ) as error:
        raise UserError(
            "The robot's files in the behaviour are damaged: create the session again from its file."
        ) from error
    return text, found


def _read(path: Path, folder: Path, limit: int) -> bytes:
    try:
        inside = path.resolve().is_relative_to(folder)
        if inside:
            return bytes(files.read_regular(path, limit))
    except OSError as error:
        raise UserError(f"{path} can't be read ({files.reason(error)}).") from error
    except ValueError as error:  # a zero byte in the name
        raise UserError(f"{path!s:.80} can't be read.") from error
    raise UserError(f"{path} is outside {folder}: put the files that the robot needs into the folder of its MJCF file.")


def _parse(path: Path, content: bytes) -> Element:
    if b"<!DOCTYPE" in content or b"<!ENTITY" in content:
        raise UserError(f"{path.name} has a document type declaration, which can't be used: leave it out.")
    try:
        root = ElementTree.fromstring(content)
    except (ElementTree.ParseError, ValueError, RecursionError) as error:
        raise UserError(f"{path.name} is not XML ({error}).") from error
    if root.tag not in ("mujoco", "mujocoinclude"):
        raise UserError(f"{path.name} is not an MJCF file: it begins with <{root.tag:.30}> and not with <mujoco>.")
    return root


def _include(element: Element, folder: Path, depth: int) -> None:
    """Replace the includes below the element, whose files are named from the main file's folder."""
    if depth > 8:
        raise UserError("The robot's files include each other in a circle.")
    for index, child in reversed(list(enumerate(element))):
        if child.tag != "include":
            _include(child, folder, depth)
            continue
        path = folder / child.attrib.get("file", "")
        included = _parse(path, _read(path, folder, _MAX_XML))
        _include(included, folder, depth + 1)
        element[index : index + 1] = list(included)


def _folders(root: Element) -> dict[str, str]:
    """Return the folders of meshes and textures, and remove them from the compiler's settings."""
    folders = {"meshdir": "", "texturedir": ""}
    for compiler in root.iter("compiler"):
        both = compiler.attrib.pop("assetdir", None)
        for name in folders:
            folders[name] = compiler.attrib.pop(name, both if both is not None else folders[name])
        if compiler.attrib.pop("strippath", "false") == "true":
            raise UserError("The robot's files use strippath, which can't be used: leave it out.")
    return folders
