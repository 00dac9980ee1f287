"""Seven steps on real data, with a retry and a branch. `python -m examples.flows.pipeline`."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from clearway import task
from clearway.sdk.flows import flow
from examples.flows import digits
from examples.flows.home import controller

GOOD = 0.85


@task(max_retries=2, retry_backoff=0)
def collect(folder: str) -> dict[str, Any]:
    """Collect the digits; the first try meets a server that does not answer."""
    tried = Path(folder) / "tried"
    if not tried.exists():
        tried.touch()
        raise ConnectionError("the server does not answer")
    return digits.collect()


@task
def clean(raw: dict[str, Any]) -> dict[str, Any]:
    """Clean them."""
    return digits.clean(raw)


@task
def pixels(data: dict[str, Any]) -> Any:  # noqa: ANN401  an array
    """Make features of one kind."""
    return digits.features("pixels", data)


@task
def halves(data: dict[str, Any]) -> Any:  # noqa: ANN401
    """Make features of another."""
    return digits.features("halves", data)


@task
def edges(data: dict[str, Any]) -> Any:  # noqa: ANN401
    """And of a third."""
    return digits.features("edges", data)


@task(cpus=1, time_limit="10m")
def train(a: Any, b: Any, c: Any, data: dict[str, Any]) -> Any:  # noqa: ANN401
    """Train a model on all of them."""
    return digits.train([a, b, c], data)


@task
def evaluate(model: Any, a: Any, b: Any, c: Any, data: dict[str, Any]) -> dict[str, float]:  # noqa: ANN401
    """See how good it is."""
    return digits.evaluate(model, [a, b, c], data)


@task
def register(model: Any, found: dict[str, float], folder: str) -> str:  # noqa: ANN401
    """Keep it."""
    return digits.register(model, found, folder)


@task
def deploy(path: str, folder: str) -> str:
    """Use it."""
    return digits.deploy(path, folder)


@task
def tell(found: dict[str, float]) -> str:
    """Say that it is not good enough."""
    return f"{found['accuracy']:.1%} is not good enough"


@flow(time_limit="1h")
def pipeline(folder: str, good: float = GOOD) -> Any:  # noqa: ANN401  what its steps give back
    """Build the graph."""
    data = clean(collect(folder))
    columns = (pixels(data), halves(data), edges(data))
    model = train(*columns, data)
    found: Any = evaluate(model, *columns, data)
    kept = register.options(when=found["accuracy"] >= good)(model, found, folder)
    told = tell.options(when=found["accuracy"] < good)(found)
    return {"accuracy": found["accuracy"], "deployed": deploy(kept, folder), "told": told}


def main() -> None:
    """Run it, and show what became of each step."""
    with controller(), tempfile.TemporaryDirectory() as folder:
        run = pipeline.submit(folder)
        found = run.result()
        for step in run.row["steps"]:
            print(f"{step['name']:10} {step['state']}")
        print(f"accuracy {found['accuracy']:.1%}, {found['told'] or 'deployed ' + Path(found['deployed']).name}")


if __name__ == "__main__":
    main()
