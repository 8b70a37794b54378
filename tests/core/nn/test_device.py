"""Choice of the device, and the messages where a GPU can't be used."""

from __future__ import annotations

import logging
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from core.config import Config, replaced
from core.errors import UserError
from core.nn import device

TOO_OLD = "The NVIDIA driver is too old: it supports CUDA 11.4 and this build needs 12.6"


@pytest.mark.parametrize(
    ("build", "driver", "message"), [("12.6", 11040, TOO_OLD), (None, 0, "no CUDA device that torch can use")]
)
def test_without_a_usable_gpu_cuda_is_refused_and_auto_takes_the_cpu(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, build: str | None, driver: int, message: str
) -> None:
    monkeypatch.setattr(torch.version, "cuda", build)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(device, "newest_cuda_of_driver", lambda: driver)
    with pytest.raises(UserError, match=f"{message}.*choose --device cpu"):
        device.device_for(replaced(Config(), device="cuda"))
    with caplog.at_level(logging.WARNING):
        assert device.device_for(replaced(Config(), device="auto")) == torch.device("cpu")
    assert (TOO_OLD in caplog.text) == (driver == 11040)


@pytest.mark.skipif(sys.platform != "linux", reason="the stand-in for a driver is made as on Linux")
def test_the_version_comes_from_the_driver_itself(tmp_path: Path) -> None:
    source, library = tmp_path / "driver.c", tmp_path / "libdriver.so"
    source.write_text("int cuDriverGetVersion(int *version) { *version = 11040; return 0; }\n")
    try:
        subprocess.run(["cc", "-shared", "-fPIC", "-o", str(library), str(source)], check=True)
    except FileNotFoundError:
        pytest.skip("there is no C compiler to make a stand-in for a driver with")
    assert device.newest_cuda_of_driver(str(library)) == 11040
    assert device.newest_cuda_of_driver(str(tmp_path / "none.so")) == 0
