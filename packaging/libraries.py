"""Third-party libraries inside wheels, and their licences.

The licence text of a wheel does not cover them. Their texts are in licences/libraries, mostly as recorded by Debian,
possibly for another version; the licences that those refer to are in licences/.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple


class Library(NamedTuple):
    """name: of the project and its text file; licence: SPDX expression; common: texts that its own refers to."""

    name: str
    licence: str
    common: tuple[str, ...] = ()


_GPL, _GPL3 = "GPL-2.0.txt", "GPL-3.0.txt"
_LGPL, _LGPL3 = "LGPL-2.1.txt", "LGPL-3.0.txt"
_GNU = "LGPL-3.0-or-later OR GPL-2.0-or-later"
_OF: dict[Library, str] = {
    Library("ALSA", "LGPL-2.1-or-later", (_LGPL,)): "asound",
    Library("Brotli", "MIT"): "brotlicommon brotlidec brotlienc",
    Library("CUDA", "NVIDIA's end user licence agreement (proprietary)"): "cudart",
    Library("dav1d", "BSD-2-Clause"): "dav1d",
    Library(
        "FFmpeg", "LGPL-2.1-or-later, and in av LGPL-3.0-or-later with x264 and x265", (_GPL, _GPL3, _LGPL, _LGPL3)
    ): "avcodec avdevice avfilter avformat avutil swresample swscale",
    Library("FLAC", "BSD-3-Clause", (_GPL, _LGPL)): "FLAC",
    Library("FluidSynth", "LGPL-2.1-or-later", (_LGPL,)): "fluidsynth",
    Library("FreeType", "FTL OR GPL-2.0-or-later", (_GPL,)): "freetype",
    Library("GCC", "GPL-3.0-or-later WITH GCC-exception-3.1", (_GPL3, _LGPL)): "gfortran gomp quadmath",
    Library("GMP", _GNU, (_GPL, _GPL3, _LGPL3)): "gmp",
    Library("GnuTLS", "LGPL-2.1-or-later", (_GPL3, _LGPL)): "gnutls",
    Library("HarfBuzz", "MIT-Modern-Variant"): "harfbuzz",
    Library("ICU", "Unicode-DFS-2016"): "icudata icui18n icuuc",
    Library("LAME", "LGPL-2.0-or-later", ("LGPL-2.0.txt",)): "mp3lame",
    Library("libaom", "BSD-2-Clause"): "aom",
    Library("libavif", "BSD-2-Clause", ("Apache-2.0.txt",)): "avif",
    Library("libdrm", "MIT"): "drm",
    Library("libjpeg-turbo", "IJG AND BSD-3-Clause AND Zlib"): "jpeg turbojpeg",
    Library("libpng", "libpng-2.0"): "png16",
    Library("libsndfile", "LGPL-2.1-or-later", (_LGPL,)): "sndfile",
    Library("libtiff", "libtiff"): "tiff",
    Library("libunistring", _GNU, (_GPL, _GPL3, _LGPL3)): "unistring",
    Library("libvpl", "MIT"): "vpl",
    Library("libvpx", "BSD-3-Clause"): "vpx",
    Library("libwebp", "BSD-3-Clause"): "sharpyuv webp webpdemux webpmux",
    Library("libXau", "MIT-open-group"): "Xau",
    Library("libxcb", "X11"): "xcb xcb-shape xcb-shm xcb-xfixes",
    Library("libxmp", "MIT"): "xmp",
    Library("mpg123", "LGPL-2.1-only", (_LGPL,)): "mpg123",
    Library("Nettle", _GNU, (_GPL, _GPL3, _LGPL3)): "hogweed nettle",
    Library("Ogg", "BSD-3-Clause"): "ogg",
    Library("OpenBLAS", "BSD-3-Clause"): "openblas openblasp-r0 scipy_openblas64_",
    Library("opencore-amr", "Apache-2.0", ("Apache-2.0.txt",)): "opencore-amrnb opencore-amrwb",
    Library("OpenSSL-1.1", "OpenSSL"): "crypto ssl",
    Library("Opus", "BSD-3-Clause"): "opus",
    Library("opusfile", "BSD-3-Clause"): "opusfile",
    Library("PortMidi", "MIT"): "portmidi",
    Library("SDL2", "Zlib"): "SDL2",
    Library("SDL2_image", "Zlib"): "SDL2_image",
    Library("SDL2_mixer", "Zlib"): "SDL2_mixer",
    Library("SDL2_ttf", "Zlib"): "SDL2_ttf",
    Library("SVT-AV1", "BSD-3-Clause-Clear"): "SvtAv1Enc",
    Library("Vorbis", "BSD-3-Clause"): "vorbis vorbisenc vorbisfile",
    Library("WavPack", "BSD-3-Clause"): "wavpack",
    Library("x264", "GPL-2.0-or-later", (_GPL,)): "x264",
    Library("x265", "GPL-2.0-or-later", (_GPL,)): "x265",
}
BY_STEM = {stem: library for library, stems in _OF.items() for stem in stems.split()}


def stem(path: Path) -> str:
    """Name of a library's file without prefix, version and the hash added when its wheel was built.

    libSDL2-2-50d19f93.0.so.0.3200.10 -> SDL2
    """
    name = re.sub(r"\.(\d|so\b|dylib\b|dll\b).*", "", path.name).removeprefix("lib")
    name = re.sub(r"(-[0-9a-f]{8,})+$", "", name)
    return re.sub(r"-[\d.]*$", "", name)


def is_carried(path: Path) -> bool:
    """True if a file of a wheel is a third-party library, by its folder or its name."""
    is_library = bool(re.search(r"\.(so|dylib|dll)\b", path.name))
    return path.parent.name.endswith(".libs") or is_library and stem(path) in BY_STEM
