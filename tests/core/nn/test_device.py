"""Choice of the device, and the messages if a GPU can't be used."""

from __future__ import annotations

import logging
import warnings

import pytest
import torch

from core.config import Config, replaced
from core.errors import UserError
from core.nn import device
from tests.core.builders import raising

OLD = (
    "CUDA initialization: The NVIDIA driver on your system is too old (found version 11040). Please update your GPU"
    " driver by downloading and installing a new version."
)
PONG = Config(task="pong")
UNKNOWN = (
    "CUDA initialization: CUDA unknown error - this may be due to an incorrectly set up environment, e.g. changing env"
    " variable CUDA_VISIBLE_DEVICES after program start. Setting the available devices to be zero. (Triggered internally"
    " at CUDAFunctions.cpp:109.)"
)


@pytest.mark.parametrize(
    ("warning", "message"),
    [
        (
            OLD,
            r"PyTorch can't use the GPU \(The NVIDIA driver on your system is too old \(found version 11040\)\): update",
        ),
        (UNKNOWN, r"\(CUDA unknown error - .* after program start\): restart the computer, or"),
        ("Something else.", "no CUDA device that torch can use:"),
        ("", "no CUDA device that torch can use:"),
    ],
)
def test_without_a_usable_gpu_cuda_is_refused_and_auto_takes_the_cpu(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, warning: str, message: str
) -> None:
    def is_available() -> bool:
        if warning:
            warnings.warn(warning, UserWarning, stacklevel=2)
        return False

    monkeypatch.setattr(torch.cuda, "is_available", is_available)
    with pytest.raises(UserError, match=f"{message}.*choose the device cpu"):
        device.device_for(replaced(PONG, device="cuda"))
    with caplog.at_level(logging.WARNING):
        assert device.device_for(replaced(PONG, device="auto")) == torch.device("cpu")
    assert ("PyTorch can't use the GPU" in caplog.text) == ("CUDA" in warning)


NEW = ["sm_75", "sm_80", "sm_86", "sm_90", "sm_100", "sm_120", "compute_120"]


@pytest.mark.parametrize(
    ("architectures", "capability", "has_code"),
    [
        (NEW, (7, 5), True),
        (NEW, (8, 9), True),  # runs code for 8.6
        (NEW, (12, 1), True),
        (NEW, (13, 0), True),  # compiled when loaded
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


def test_a_gpu_that_torch_no_longer_supports_is_not_used(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(torch.version, "cuda", "13.0")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_arch_list", lambda: NEW)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda: (6, 1))
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "NVIDIA GeForce GTX 1080")
    with pytest.raises(UserError, match=r"no code for NVIDIA GeForce GTX 1080, .* 6\.1: choose the device cpu"):
        device.device_for(replaced(PONG, device="cuda"))
    with caplog.at_level(logging.WARNING):
        assert device.device_for(replaced(PONG, device="auto")) == torch.device("cpu")
    assert "GTX 1080" in caplog.text and "continues on the CPU" in caplog.text
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda: (8, 6))
    assert device.device_for(replaced(PONG, device="auto")) == torch.device("cuda")
    assert device.device_for(Config(task="ant")) == torch.device("cpu")
    assert device.device_for(Config(task="ant", device="cuda")) == torch.device("cuda")
    monkeypatch.setattr(torch.cuda, "get_device_capability", raising(AssertionError("it takes memory on the GPU")))
    assert device.device_for(replaced(PONG, device="cpu")) == torch.device("cpu")
