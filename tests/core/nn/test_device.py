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
from tests.core.builders import raising

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
    with pytest.raises(UserError, match=f"{message}.*choose the device cpu"):
        device.device_for(replaced(Config(), device="cuda"))
    with caplog.at_level(logging.WARNING):
        assert device.device_for(replaced(Config(), device="auto")) == torch.device("cpu")
    assert (TOO_OLD in caplog.text) == (driver == 11040)


NEW = ["sm_75", "sm_80", "sm_86", "sm_90", "sm_100", "sm_120", "compute_120"]


@pytest.mark.parametrize(
    ("architectures", "capability", "has_code"),
    [
        (NEW, (7, 5), True),
        (NEW, (8, 9), True),  # runs the code for 8.6
        (NEW, (12, 1), True),
        (NEW, (13, 0), True),  # compiled when it is loaded
        (NEW, (11, 0), False),
        (NEW, (7, 0), False),
        (NEW, (6, 1), False),
        (["sm_90a"], (9, 0), True),
        ([], (9, 0), False),
    ],
)
def test_code_runs_on_gpus_of_its_generation_and_is_compiled_for_newer_ones(
    architectures: list[str], capability: tuple[int, int], has_code: bool
) -> None:
    assert device.has_code_for(architectures, capability) is has_code


def test_a_gpu_that_torch_no_longer_supports_is_as_none(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(torch.version, "cuda", "13.0")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_arch_list", lambda: NEW)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda: (6, 1))
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "NVIDIA GeForce GTX 1080")
    with pytest.raises(UserError, match=r"no code for NVIDIA GeForce GTX 1080, .* 6\.1: choose the device cpu"):
        device.device_for(replaced(Config(), device="cuda"))
    with caplog.at_level(logging.WARNING):
        assert device.device_for(replaced(Config(), device="auto")) == torch.device("cpu")
    assert "GTX 1080" in caplog.text and "continues on the CPU" in caplog.text
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda: (8, 6))
    assert device.device_for(replaced(Config(), device="auto")) == torch.device("cuda")
    monkeypatch.setattr(torch.cuda, "get_device_capability", raising(AssertionError("it takes memory on the GPU")))
    assert device.device_for(replaced(Config(), device="cpu")) == torch.device("cpu")


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
