"""Where networks are trained, and what is said where a GPU can't be used."""

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

TOO_OLD = "The NVIDIA driver is too old: it knows CUDA 11.4 and this build needs 12.6: "


@pytest.fixture
def old_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    """A CUDA build of torch beside a driver that knows CUDA 11.4."""
    monkeypatch.setattr(torch.version, "cuda", "12.6")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(device, "newest_cuda_of_driver", lambda: 11040)


@pytest.mark.usefixtures("old_driver")
def test_an_old_driver_is_told_with_both_versions() -> None:
    with pytest.raises(UserError, match=f"^{TOO_OLD}update the driver, or choose --device cpu"):
        device.device_for(replaced(Config(), device="cuda"))


@pytest.mark.usefixtures("old_driver")
def test_beside_an_old_driver_auto_goes_on_on_the_cpu_and_says_so(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        assert device.device_for(replaced(Config(), device="auto")) == torch.device("cpu")
    assert TOO_OLD in caplog.text and "goes on on the CPU" in caplog.text


@pytest.mark.parametrize(("built_for", "driver"), [(None, 11040), ("12.6", 0), ("12.6", 12020), ("12.6", 13000)])
def test_a_driver_that_is_no_reason(built_for: str | None, driver: int) -> None:
    assert device.outdated_driver(built_for, driver) == ""


def test_without_a_gpu_cuda_is_refused_and_auto_is_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(UserError, match="no CUDA device that torch can use: choose --device cpu"):
        device.device_for(replaced(Config(), device="cuda"))
    assert device.device_for(replaced(Config(), device="auto")) == torch.device("cpu")


def test_the_driver_is_asked_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if sys.platform != "linux":
        pytest.skip("the stand-in for a driver is made as on Linux")
    source, library = tmp_path / "driver.c", tmp_path / "libdriver.so"
    source.write_text("int cuDriverGetVersion(int *version) { *version = 11040; return 0; }\n")
    try:
        subprocess.run(["cc", "-shared", "-fPIC", "-o", str(library), str(source)], check=True)
    except FileNotFoundError:
        pytest.skip("there is no C compiler to make a stand-in for a driver with")
    monkeypatch.setattr(device, "_DRIVER", str(library))
    assert device.newest_cuda_of_driver() == 11040
    monkeypatch.setattr(device, "_DRIVER", str(tmp_path / "none.so"))
    assert device.newest_cuda_of_driver() == 0
