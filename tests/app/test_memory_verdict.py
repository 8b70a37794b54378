"""What the benchmark of an hour's memory says of its samples."""

from __future__ import annotations

import pytest

from tests.benchmarks.memory import Sample, verdict

HOUR = 3600


def sampled(last: int = 1000, threads: int = 40, files: int = 200, peaks: int = 0) -> list[Sample]:
    """An hour of samples. From the tenth minute on memory goes evenly from 1000 MB to `last`, and threads and files
    from 40 and 200 to these; `peaks` more of both at every third sample."""
    samples = []
    for seconds in range(10, HOUR + 1, 10):
        share, peak = max(0.0, (seconds - 600) / (HOUR - 600)), peaks * (seconds % 30 == 0)
        megabytes = round(1000 + share * (last - 1000))
        held = round(40 + share * (threads - 40)) + peak, round(200 + share * (files - 200)) + peak
        samples.append(Sample(seconds, (megabytes - 300, 300), *held, seconds // 2, 100 * seconds))
    return samples


@pytest.mark.parametrize("given", [{}, {"last": 1150}, {"last": 850}, {"peaks": 5}, {"threads": 39, "files": 190}])
def test_an_hour_in_which_nothing_grew_has_passed(capsys: pytest.CaptureFixture[str], given: dict[str, int]) -> None:
    assert verdict(sampled(**given), HOUR) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("passed: ")


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"last": 1151}, "the memory went from 1000 to 1151 MB"),
        ({"last": 849}, "the memory went from 1000 to 849 MB"),
        ({"threads": 45}, "threads grew from 40 to 45"),
        ({"files": 260, "peaks": 2}, "files grew from 203 to 259"),
    ],
)
def test_what_grew_is_named_and_the_exit_code_is_1(
    capsys: pytest.CaptureFixture[str], given: dict[str, int], told: str
) -> None:
    assert verdict(sampled(**given), HOUR) == 1
    last = capsys.readouterr().out.splitlines()[-1]
    assert last == f"failed: {told}."


def test_without_samples_there_is_no_verdict_but_a_failure(capsys: pytest.CaptureFixture[str]) -> None:
    assert verdict([], HOUR) == 1 and "too few samples" in capsys.readouterr().out
