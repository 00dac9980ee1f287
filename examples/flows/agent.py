"""An agent that thinks and acts in turn, with a limit, and a person who is asked. `python -m examples.flows.agent`.

It looks for the digit that a simple model takes for another most often: each act tries one digit, each thought
decides what to try next; before it answers it asks. The model and the data are real; what it thinks is a rule, not a
language model.
"""

from __future__ import annotations

import operator
import time
from typing import Annotated, Any, TypedDict

from sklearn.datasets import load_digits
from sklearn.neighbors import NearestCentroid

from clearway.sdk.flows import END, START, StateGraph, interrupt
from examples.flows.home import controller

DIGITS = 10
ENOUGH = 4
"""So many digits are tried before it answers."""


class State(TypedDict):
    """What the agent remembers."""

    log: Annotated[list[str], operator.add]
    wrong: Annotated[list[list[float]], operator.add]
    next: int
    answer: str


def think(state: dict[str, Any]) -> dict[str, Any]:
    """Decide which digit to try next: those that look like the worst so far come first."""
    tried = [int(digit) for digit, _ in state["wrong"]]
    worst = int(max(state["wrong"], key=lambda one: one[1])[0]) if state["wrong"] else 1
    left = sorted(set(range(DIGITS)) - set(tried), key=lambda digit: abs(digit - worst))
    return {"next": left[0], "log": [f"thinks: try {left[0]}"]}


def act(state: dict[str, Any]) -> dict[str, Any]:
    """Measure how often the digit is taken for another."""
    images, digits = load_digits(return_X_y=True)
    images = images[:, images[::2].std(axis=0) > 0]  # what is the same in all pictures tells nothing
    model = NearestCentroid().fit(images[::2], digits[::2])
    mine = digits[1::2] == state["next"]
    share = float((model.predict(images[1::2])[mine] != state["next"]).mean())
    return {"wrong": [[float(state["next"]), share]], "log": [f"acts: {state['next']} is wrong in {share:.0%}"]}


def answer(state: dict[str, Any]) -> dict[str, Any]:
    """Ask whether that is enough, and answer."""
    digit, share = max(state["wrong"], key=lambda one: one[1])
    said = interrupt(f"Of {len(state['wrong'])} digits {digit:.0f} is the hardest ({share:.0%}). Is that enough?")
    return {"answer": f"{digit:.0f}" if said == "yes" else "nobody knows", "log": [f"was told {said}"]}


def route(state: dict[str, Any]) -> str:
    """Answer after enough tries."""
    return "answer" if len(state["wrong"]) >= ENOUGH else "think"


def agent(max_loops: int = 20) -> Any:  # noqa: ANN401  a compiled graph
    """Return the agent."""
    graph = StateGraph(State)
    graph.add_node("think", think)
    graph.add_node("act", act, max_retries=1, time_limit="1m")
    graph.add_node("answer", answer)
    graph.add_edge(START, "think").add_edge("think", "act").add_edge("answer", END)
    graph.add_conditional_edges("act", route)
    return graph.compile("agent", max_loops)


def main() -> None:
    """Run it, and answer for the person."""
    with controller():
        run = agent().submit({"log": [], "wrong": [], "next": 0, "answer": ""})
        while not (asked := run.waiting()):
            time.sleep(0.2)
        print(f"it asks: {asked[0]['question']}")
        run.resume("yes")
        found = run.result()
        print("\n".join(found["log"]))
        print(f"answer: {found['answer']}")


if __name__ == "__main__":
    main()
