"""Plans: named ones for the figures, and files with one sentence for each mistake."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from core.__main__ import PLANS
from core.behaviours.shipped import FOLDER
from core.config import Config
from core.errors import UserError
from core.headless.settings import named_task
from core.presets import ABLATIONS
from core.sweep.backend import probe
from core.sweep.cell import Cell
from core.sweep.environment import require_equal, versions
from core.sweep.plans import NAMES, YARDSTICK, Plan, find_plan, only_teachers
from core.tasks import PAPER_GAMES, PAPER_ROBOTS, get_task
from core.types import Teacher
from tests.core.builders import BEHAVIOUR
from tests.core.sweep.plans import CURVES, plan_values

LABELS = (350, 700, 1400)


def of_name(name: str, **changes: Any) -> Plan:
    plan = find_plan(name, named_task)
    return Plan(**{**{field: getattr(plan, field) for field in Plan.__dataclass_fields__}, **changes})


def differences(one: Cell, other: Cell) -> set[str]:
    """Return the names of the settings in which two cells differ."""
    flat = [
        {f"{s}.{n}" if isinstance(v, dict) else s: v[n] if isinstance(v, dict) else v for s, v, n in rows(cell.config)}
        for cell in (one, other)
    ]
    return {name for name in flat[0] if flat[0][name] != flat[1][name]}


def rows(config: Config) -> list[tuple[str, Any, str]]:
    return [
        (section, value, name)
        for section, value in config.to_dict().items()
        for name in (value if isinstance(value, dict) else [""])
    ]


def test_the_command_line_names_the_plans_without_loading_them() -> None:
    assert PLANS == NAMES


@pytest.mark.slow_after_first
@pytest.mark.parametrize("name", NAMES)
def test_every_plan_by_name_has_cells(name: str) -> None:
    cells = of_name(name).cells()
    assert cells and len({cell.digest for cell in cells}) > 1 and all(len(cell.digest) == 16 for cell in cells)


@pytest.mark.parametrize(("name", "tasks", "seeds"), [("fig2", PAPER_ROBOTS, 5), ("fig3", PAPER_GAMES, 3)])
def test_the_figures_compare_the_true_reward_with_numbers_of_labels(
    name: str, tasks: tuple[str, ...], seeds: int
) -> None:
    plan = find_plan(name, str)
    assert plan.tasks == tasks and plan.seeds == tuple(range(seeds)) and plan.presets == ("default",)
    assert plan.curves[0].name == "true reward" and {curve.labels for curve in plan.curves[1:]} >= set(LABELS)
    cells = of_name(name, tasks=tasks[:1], seeds=(3,), steps=500).cells()
    assert {cell.config.steps for cell in cells} == {500} and {cell.config.seed for cell in cells} == {3}
    assert differences(cells[1], cells[2]) == {"labels"}
    assert all(cell.config.policy == cells[0].config.policy for cell in cells)


def test_an_episode_of_the_yardstick_has_a_thousand_steps_of_at_most_one_point() -> None:
    cells = of_name("yardstick", seeds=(0,)).cells()
    assert [cell.task for cell in cells[::2]] == [f"control-{name}" for name in YARDSTICK]
    tasks = [get_task(cell.config.task) for cell in cells[::2]]
    assert [task.episode_steps for task in tasks] == [1000] * 3
    assert [round(1 / task.step_seconds) for task in tasks] == [40, 40, 100]
    assert {cell.config.labels for cell in cells[1::2]} == {100}


def test_numbers_of_labels_can_be_overridden() -> None:
    assert [curve.name for curve in find_plan("fig2", str, [5, 9]).curves] == ["true reward", "5 labels", "9 labels"]


@pytest.mark.parametrize(("name", "left_out"), [("fig5", set()), ("fig6", {"no-segments"})])
@pytest.mark.parametrize("preset", ["default", "paper"])
def test_an_ablation_changes_only_its_own_settings(name: str, left_out: set[str], preset: str) -> None:
    tasks = find_plan(name, str).tasks[:1]
    true, whole, *ablated = of_name(name, tasks=tasks, seeds=(0,), presets=(preset,)).cells()
    assert {cell.curve.replace(" ", "-") for cell in ablated} == set(ABLATIONS) - left_out
    assert (true.curve, whole.curve) == ("true reward", f"{whole.config.labels} labels")
    for cell in ablated:
        assert differences(whole, cell) <= set(
            ABLATIONS[cell.curve.replace(" ", "-")].changes
        )  # the length is the same
        assert differences(whole, cell)


def test_an_ablation_and_a_curve_override_the_settings_of_the_plan() -> None:
    curves = [{"name": "whole"}, {"name": "steps", "ablation": "no-segments"}]
    curves += [{"name": "pairs of steps", "settings": {"query.segment_steps": 2}}]
    settings = {"query.segment_steps": 30, "reward.epochs": 2}
    values = {"tasks": ["reacher"], "seeds": [0], "curves": curves, "settings": settings}
    cells = find_plan(written(values), str).cells()
    assert [cell.config.query.segment_steps for cell in cells] == [30, 1, 2]
    assert {cell.config.reward.epochs for cell in cells} == {2}


@pytest.mark.parametrize("teacher", ["none", "oracle"])
def test_leaving_curves_out_does_not_change_the_others(teacher: str) -> None:
    curves = [{"name": "true reward", "teacher": "none"}, {"name": "many", "labels": 700}]
    plan = find_plan(written({"tasks": ["reacher"], "seeds": [0], "curves": curves}), str)
    (alone,) = only_teachers(plan, [teacher]).cells()
    assert alone.digest in {cell.digest for cell in plan.cells()} and alone.config.teacher == teacher


@pytest.mark.parametrize("one", [{"reward.bonus": 1}, {"reward__bonus": 1.0}, {"reward": {"bonus": 1.0}}])
def test_a_setting_written_in_another_way_is_the_same_run(one: dict[str, Any]) -> None:
    values = {"tasks": ["reacher"], "seeds": [0], "curves": [{"name": "whole"}]}
    plain, other = (
        find_plan(written({**values, "settings": settings}), str).cells()[0]
        for settings in ({"reward.bonus": 1.0}, one)
    )
    assert plain.digest == other.digest


def test_a_setting_written_with_underscores_also_sets_the_derived_ones() -> None:
    values = {"tasks": ["reacher"], "seeds": [0], "curves": [{"name": "whole"}], "steps": 100_000}
    (cell,) = find_plan(written({**values, "settings": {"rollout__environments": 99}}), str).cells()
    assert cell.config.rollout.environments == 99


def test_error_settings_of_another_teacher_do_not_change_a_run() -> None:
    values = {"tasks": ["reacher"], "seeds": [0], "curves": [{"name": "o"}, {"name": "p", "teacher": "person"}]}
    plain = find_plan(written(values), str).cells()
    other = find_plan(written({**values, "settings": {"person.pace": 4, "oracle.mistakes": 0.1}}), str).cells()
    assert [one.config.person == two.config.person for one, two in zip(plain, other, strict=True)] == [True, False]
    assert [one.config.oracle == two.config.oracle for one, two in zip(plain, other, strict=True)] == [False, True]


def test_the_person_the_oracle_and_the_true_reward_have_the_same_steps_and_settings() -> None:
    cells = Plan(
        "person", ("ant",), (3,), find_plan("person", str, [50, 100]).curves, find_plan("person", str).presets
    ).cells()
    assert [cell.curve for cell in cells] == [
        "true reward",
        *(name for count in (50, 100) for name in (f"{count} labels", f"person, {count} labels")),
    ]
    assert cells[0].config.steps == cells[-1].config.steps > cells[1].config.steps
    assert differences(cells[3], cells[4]) == {"teacher"}


def test_a_run_on_the_true_reward_does_not_depend_on_the_settings_of_the_predicted_reward() -> None:
    plain = of_name("fig2", tasks=("ant",), seeds=(0,)).cells()
    unused = {"reward.epochs": 9, "query.half_life": 5.0, "rollout.varied_starts": 0.0}
    other = of_name(
        "fig2",
        tasks=("ant",),
        seeds=(0,),
        settings=unused,
    ).cells()
    assert plain[0].digest == other[0].digest and plain[1].digest != other[1].digest
    assert plain[0].config.teacher == Teacher.NONE


def written(values: Any, suffix: str = ".json") -> str:
    Path(f"plan{suffix}").write_text(values if isinstance(values, str) else json.dumps(values))
    return f"plan{suffix}"


def test_a_plan_file_is_json_or_toml_and_names_behaviour_files_in_its_folder() -> None:
    asked: list[str] = []

    def task_text(word: str) -> str:
        asked.append(word)
        return "reacher"

    Path("deep").mkdir()
    text = 'tasks = ["kneel.json", "UPPER.JSON", "walker"]\nseeds = 2\npreset = ["default", "paper"]\nsteps = 900\n'
    text += '[settings]\n"reward.epochs" = 2\n[settings.policy]\nepochs = 3\n[[curves]]\nname = "few"\nlabels = 20\n'
    Path("deep/plan.toml").write_text(text)
    plan = find_plan("deep/plan.toml", task_text)
    assert asked == [str(Path("deep/kneel.json")), str(Path("deep/UPPER.JSON")), "walker"]
    cells = plan.cells()
    assert [(cell.preset, cell.seed) for cell in cells] == [(p, s) for s in (0, 1) for p in ("default", "paper")]
    assert {(c.config.reward.epochs, c.config.policy.epochs, c.config.labels) for c in cells} == {(2, 3, 20)}


def test_the_true_reward_takes_as_many_steps_as_the_curves_it_is_compared_with() -> None:
    curves = [{"name": "true reward", "teacher": "none"}, {"name": "few", "labels": 50}, {"name": "many", "labels": 90}]
    values = {"tasks": ["reacher"], "seeds": [0], "curves": curves}
    true, few, many = find_plan(written(values), str).cells()
    assert true.config.steps == many.config.steps > few.config.steps


def test_the_true_reward_takes_as_many_steps_as_a_curve_with_the_presets_own_labels() -> None:
    curves = [{"name": "true reward", "teacher": "none"}, {"name": "few", "labels": 20}, {"name": "the preset's"}]
    values = {"tasks": ["reacher"], "seeds": [0], "curves": curves}
    true, few, own = find_plan(written(values), str).cells()
    assert true.config.steps == own.config.steps > few.config.steps


def test_a_file_without_seeds_has_three() -> None:
    assert find_plan(written({"tasks": ["reacher"], "curves": [{"name": "a"}]}), str).seeds == (0, 1, 2)


def test_a_plan_file_may_begin_with_a_byte_order_mark() -> None:
    for name, text in (
        ("plan.json", json.dumps(plan_values())),
        ("plan.toml", 'tasks = ["reacher"]\n[[curves]]\nname = "a"\n'),
    ):
        Path(name).write_text(text, encoding="utf-8-sig")
        assert find_plan(name, str).cells()


def test_two_tasks_of_one_name_are_refused() -> None:
    edited = (FOLDER / "walker-kneel.json").read_text().replace("0.7", "0.6")
    Path("edited.json").write_text(edited)
    with pytest.raises(UserError, match="Two tasks of behaviours are called walker-kneel"):
        of_name("behaviours", tasks=("walker-kneel", named_task("edited.json"))).cells()


BAD: dict[str, tuple[Any, str]] = {
    "no JSON": ("{", "is not valid JSON"),
    "a list": ([], "must be an object with tasks and curves"),
    "a field": ({**plan_values(), "sedes": 3}, "did you mean seeds?"),
    "no tasks": ({"curves": CURVES}, "'tasks' is missing"),
    "seeds": (plan_values(seeds=[0.5]), "seeds is [0.5]: give a list of whole numbers, or a count from 1 to 1000."),
    "no seeds": (plan_values(seeds=0), "seeds is 0: give a list of whole numbers, or a count from 1 to 1000."),
    "steps": (plan_values(steps=0), "steps is 0"),
    "preset": (plan_values(preset="best"), "'best' is not a known preset: "),
    "teacher": (plan_values(curves=[{"name": "a", "teacher": "human"}]), "'human' is not a known teacher"),
    "ablation": (plan_values(curves=[{"name": "a", "ablation": "no-ensembel"}]), "did you mean no-ensemble?"),
    "an ablation undone": (
        plan_values(curves=[{"name": "a", "ablation": "no-ensemble", "settings": {"reward.members": 4}}]),
        "no-ensemble sets reward.members to 1, and a to 4: leave out one of the two.",
    ),
    "the untrained policy's name": (plan_values(curves=[{"name": "random"}]), "a curve is called random"),
    "a hidden name": (
        plan_values(curves=[{"name": "_a"}]),
        "the name of a curve is '_a': begin it with another character",
    ),
    "labels": (plan_values(curves=[{"name": "a", "labels": 0}]), "the labels of a are 0"),
    "names": (plan_values(curves=[{"name": "a"}, {"name": "a"}]), "Two curves are called 'a'"),
    "nothing to leave out": (plan_values(curves=[{"name": "a", "teacher": "none", "ablation": "target"}]), "ablation"),
    "a setting with a place": (plan_values(settings={"seed": 3}), "or seeds in the plan's file"),
    "an unknown setting": (
        plan_values(settings={"reward.menbers": 3}),
        "There is no setting 'reward.menbers': did you mean",
    ),
    "an unknown task": (plan_values(tasks=["hoper"]), "There is no task 'hoper'"),
    "a misspelt field": (
        plan_values(curves=[{"name": "a", "zz": 1}]),
        "choose one of name, teacher,",
    ),
    "too many": (plan_values(seeds=1000, tasks=["reacher"] * 100), "more than 100,000 cells"),
}


@pytest.mark.parametrize(("values", "expected"), BAD.values(), ids=BAD)
def test_a_mistake_in_a_file_is_one_sentence(values: Any, expected: str) -> None:
    with pytest.raises(UserError) as error:
        find_plan(written(values), str).cells()
    assert expected in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize("word", ["fig9", "nowhere.json", "nowhere.toml"])
def test_a_missing_plan_is_one_sentence(word: str) -> None:
    with pytest.raises(UserError, match="There is no plan 'fig9': choose one of fig2|nowhere.* can't be read"):
        find_plan(word, str)


def test_a_behaviour_without_an_oracle_cannot_be_compared() -> None:
    text = json.dumps(BEHAVIOUR)
    assert not get_task(text).has_true_reward
    with pytest.raises(UserError, match="kneel has no true reward"):
        of_name("fig2", tasks=(text,)).cells()


def test_a_behaviour_that_ships_is_part_of_the_version(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    before = versions()["sources"]
    shutil.copytree(FOLDER, tmp_path / "behaviours")
    monkeypatch.setattr("core.sweep.environment.FOLDER", tmp_path / "behaviours")
    versions.cache_clear()
    assert versions()["sources"] == before
    path = tmp_path / "behaviours" / "walker-kneel.json"
    path.write_text(path.read_text().replace("0.45", "0.46"))
    versions.cache_clear()
    assert versions()["sources"] != before
    versions.cache_clear()


def test_another_version_on_a_machine_is_one_sentence_with_advice() -> None:
    assert probe() == versions() and len(versions()["sources"]) == 16
    require_equal(versions(), "here")
    cases = [
        ("torch", "1.0", "pip install torch=="),
        ("sources", "0", "copy the folders core and resources"),
        ("python", "3.1", "install python"),
    ]
    for name, version, expected in cases:
        with pytest.raises(UserError, match=f"^The machine has .*{expected}") as error:
            require_equal({**versions(), name: version}, "The machine")
        assert "\n" not in str(error.value)
