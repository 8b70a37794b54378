"""The page on a guest's phone: its script in Node, with a simulated document, clock and network."""

from __future__ import annotations

import json
import re
import shutil
import subprocess

import pytest

from core.voting.page import page

_PHONE = """
const [html, steps] = JSON.parse(require("fs").readFileSync(0, "utf8"));
let now = 0, answer = null, timers = [], told = [];
const element = () => ({dataset: {}, classList: {toggle() {}}, textContent: "", listeners: [],
    addEventListener(_, listener) { this.listeners.push(listener); }});
const elements = {left: element(), told: element(), state: {textContent: state(html)}};
const buttons = ["left", "tie", "right"].map(choice => ({...element(), dataset: {choice}}));
function state(text) { return text.match(/type="application\\/json">(.*?)<\\/script>/)[1]; }
function later(action, delay, every) { const timer = {action, at: now + delay, every}; timers.push(timer); return timer; }
const settle = () => new Promise(setImmediate);
async function wait(milliseconds) {
    const until = now + milliseconds;
    for (;;) {
        const due = timers.filter(timer => timer.at <= until).sort((a, b) => a.at - b.at)[0];
        now = due ? due.at : until;
        if (!due) return;
        if (due.every) due.at += due.every; else timers = timers.filter(timer => timer !== due);
        due.action();
        await settle();
    }
}
const script = html.match(/<script nonce[^>]*>([^]*?)<\\/script>/)[1];
const names = {
    document: {getElementById: name => elements[name], querySelectorAll: () => buttons},
    localStorage: {}, location: {href: "page"}, performance: {now: () => now},
    setTimeout: (action, delay) => later(action, delay, 0), setInterval: (action, delay) => later(action, delay, delay),
    clearTimeout: timer => { timers = timers.filter(other => other !== timer); },
    fetch: async (_, {method}) => {
        if (answer === null) throw new TypeError("no network");
        return {ok: true, text: async () => method ? answer.verdict : answer.page};
    },
    DOMParser: class { parseFromString(text) { return {getElementById: () => ({textContent: state(text)})}; } },
};
(async () => {
    new Function(...Object.keys(names), script)(...Object.values(names));
    for (const [what, value] of steps) {
        if (what === "network") answer = value;
        else if (what === "press") buttons.find(button => button.dataset.choice === value).listeners[0]();
        else await wait(1000 * value);
        await settle();
        told.push(elements.told.textContent);
    }
    console.log(JSON.stringify(told));
})();
"""

_LOST = "The vote has ended, or the connection is lost."
_NEXT = "The next pair will appear soon."


def served(number: int, seconds: float, verdict: str = "") -> tuple[str, object]:
    """Return a step after which the server has this round and this verdict on a vote."""
    return "network", {"page": page(number, seconds, "n").decode(), "verdict": f"{verdict}\n"}


def told(*steps: tuple[str, object]) -> list[str]:
    """Return the text of a page of round 1 with two seconds left, after each step."""
    content = json.dumps([page(1, 2.0, "n").decode(), steps])
    done = subprocess.run(["node", "-e", _PHONE], input=content, capture_output=True, text=True, check=True)
    return list(json.loads(done.stdout))


node = pytest.mark.skipif(not shutil.which("node"), reason="there is no Node")


@node
@pytest.mark.parametrize("votes", [[], [("press", "left")]])
def test_the_page_reports_a_missing_server_until_it_returns(votes: list[tuple[str, object]]) -> None:
    *_, ended, later, _, again = told(
        *(served(1, 2.0, "counted"), *votes, ("network", None), ("wait", 3), ("wait", 30), served(2, 15.0), ("wait", 2))
    )
    assert ended.startswith(_LOST) and later == ended and again == ""


@node
def test_a_lost_vote_can_be_repeated_when_the_server_is_reachable() -> None:
    _, lost, _, reached, counted = told(
        *(("network", None), ("press", "left"), served(1, 15.0, "counted"), ("wait", 2), ("press", "left"))
    )
    assert lost.startswith(_LOST) and reached == "That did not work: try again."
    assert counted.startswith("Vote recorded")


@node
def test_a_vote_counted_after_the_time_is_no_longer_called_changeable() -> None:
    _, voted, over = told(served(1, 0.0, "counted"), ("press", "left"), ("wait", 3))
    assert voted == "Vote recorded. You can change it until time is up." and over == f"Your vote was counted. {_NEXT}"
    assert told(served(1, 0.0), ("wait", 3))[-1] == _NEXT
    assert told(served(1, 0.0, "late"), ("press", "left"), ("wait", 3))[-1] == "Too late for this pair."


def test_without_javascript_the_page_says_so_and_offers_no_button() -> None:
    content = page(1, 15.0, "n").decode()
    assert "<noscript>Voting needs JavaScript" in content
    assert all("disabled" in button for button in re.findall("<button[^>]*>", content))
