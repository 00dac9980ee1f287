"""The seven steps on the digits, run by one system: `python -m benchmarks.seven NAME FOLDER`.

Peers are imported by name: they are in an environment of their own. It prints the CPU seconds of processes that are
none of its children (a controller), 0 where there are none.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from examples.flows import digits

if TYPE_CHECKING:
    from collections.abc import Callable


def plain(folder: str) -> float:
    """Call one function after the other."""
    data = digits.clean(digits.collect())
    columns = [digits.features(kind, data) for kind in digits.KINDS]
    model = digits.train(columns, data)
    found = digits.evaluate(model, columns, data)
    digits.deploy(digits.register(model, found, folder), folder)
    return 0.0


def clearway_flow(folder: str) -> float:
    """Run them as jobs of a workflow, with a controller that is started for it."""
    import psutil  # noqa: PLC0415  peers' environments need none of this

    from examples.flows.home import controller  # noqa: PLC0415
    from examples.flows.pipeline import pipeline  # noqa: PLC0415

    with controller() as client:
        (Path(folder) / "tried").touch()  # its first try would fail on purpose
        pipeline(folder, 0.0)
        process = psutil.Process(client.status()["controller"]["pid"])
        family = [process, *process.children(recursive=True)]
        return sum(_used(one) for one in family)


def clearway_tasks(folder: str) -> float:
    """Run them as calls of tasks on a worker."""
    import psutil  # noqa: PLC0415

    from clearway import task  # noqa: PLC0415
    from examples.flows.home import controller  # noqa: PLC0415

    with controller() as client:
        run = {name: task(getattr(digits, name)) for name in
               ("collect", "clean", "features", "train", "evaluate", "register", "deploy")}  # fmt: skip
        data = run["clean"].remote(run["collect"].remote().get()).get()
        columns = [one.get() for one in [run["features"].remote(kind, data) for kind in digits.KINDS]]
        model = run["train"].remote(columns, data).get()
        found = run["evaluate"].remote(model, columns, data).get()
        run["deploy"].remote(run["register"].remote(model, found, folder).get(), folder).get()
        process = psutil.Process(client.status()["controller"]["pid"])
        runner = [one for one in psutil.process_iter() if _of(one, client.status()["controller"]["home"])]
        return sum(_used(one) for one in {process, *process.children(recursive=True), *runner})


def _of(process: Any, home: str) -> bool:  # noqa: ANN401  a psutil.Process
    import psutil  # noqa: PLC0415

    try:
        return any(home in word for word in process.cmdline()) or process.environ().get("CLEARWAY_HOME") == home
    except psutil.Error:
        return False


def _used(process: Any) -> float:  # noqa: ANN401
    import psutil  # noqa: PLC0415

    try:
        times = process.cpu_times()
    except psutil.Error:
        return 0.0
    return float(times.user + times.system + times.children_user + times.children_system)


def prefect(folder: str) -> float:
    """Run them as tasks of a Prefect flow, with the server that it starts for it."""
    system = import_module("prefect")
    flow, task = system.flow, system.task

    run = {name: task(getattr(digits, name)) for name in
           ("collect", "clean", "features", "train", "evaluate", "register", "deploy")}  # fmt: skip

    def pipeline() -> None:
        data = run["clean"](run["collect"]())
        columns = [one.result() for one in [run["features"].submit(kind, data) for kind in digits.KINDS]]
        model = run["train"](columns, data)
        found = run["evaluate"](model, columns, data)
        run["deploy"](run["register"](model, found, folder), folder)

    flow(pipeline)()
    return 0.0


def airflow(folder: str) -> float:
    """Run them as tasks of an Airflow DAG, by `dag.test()`, which needs no scheduler, but the DAG in a file."""
    import subprocess  # noqa: PLC0415

    subprocess.run([sys.executable, "-m", "airflow", "db", "migrate"], check=True, capture_output=True)
    dags = Path(folder) / "dags"
    dags.mkdir(exist_ok=True)
    text = f"# airflow\nfrom benchmarks import seven\n\ndag = seven.airflow_dag({folder!r})\n"
    (dags / "pipeline.py").write_text(text, encoding="utf-8")
    run = airflow_dag(folder).test()
    if run.state != "success":
        raise RuntimeError(f"the DAG run is {run.state}")
    return 0.0


def airflow_dag(folder: str) -> Any:  # noqa: ANN401  an airflow.sdk.DAG
    """Return the steps as tasks; what goes between them is kept in files of a folder, as Airflow hands on JSON."""
    system = import_module("airflow.sdk")

    def step_of(step: str, *before: object) -> str:
        import joblib  # type: ignore[import-untyped]  # noqa: PLC0415

        def kept(name: str) -> Any:  # noqa: ANN401
            return joblib.load(f"{folder}/{name}")

        joblib.dump(_STEPS[step](kept, folder), f"{folder}/{step}")
        return f"{step}{len(before) * 0}"

    step_task = system.task(step_of)

    def pipeline() -> None:
        data = step_task("clean", step_task("collect"))
        columns = [step_task(kind, data) for kind in digits.KINDS]
        model = step_task("train", *columns)
        step_task("deploy", step_task("register", step_task("evaluate", model)))

    return system.dag(schedule=None)(pipeline)()


_STEPS: dict[str, Callable[[Callable[[str], Any], str], Any]] = {
    "collect": lambda _, __: digits.collect(),
    "clean": lambda kept, _: digits.clean(kept("collect")),
    **{kind: (lambda kept, _, kind=kind: digits.features(kind, kept("clean"))) for kind in digits.KINDS},  # type: ignore[misc]
    "train": lambda kept, _: digits.train([kept(kind) for kind in digits.KINDS], kept("clean")),
    "evaluate": lambda kept, _: digits.evaluate(kept("train"), [kept(kind) for kind in digits.KINDS], kept("clean")),
    "register": lambda kept, folder: digits.register(kept("train"), kept("evaluate"), folder),
    "deploy": lambda kept, folder: digits.deploy(kept("register"), folder),
}


def langgraph(folder: str) -> float:
    """Run them as nodes of a LangGraph graph."""
    from typing import TypedDict  # noqa: PLC0415

    from langgraph.graph import END, START, StateGraph  # noqa: PLC0415

    names = ["collect", "clean", *digits.KINDS, "train", "evaluate", "register", "deploy"]
    schema = TypedDict("State", {f"{name}_": object for name in names})  # type: ignore[misc]  # a key for each step
    graph = StateGraph(schema)
    for name in names:
        graph.add_node(name, lambda state, name=name: {f"{name}_": _STEPS[name](lambda key: state[f"{key}_"], folder)})
    for kind in digits.KINDS:
        graph.add_edge("clean", kind)
    graph.add_edge(START, "collect")
    graph.add_edge("collect", "clean")
    graph.add_edge(list(digits.KINDS), "train")
    for one, two in (("train", "evaluate"), ("evaluate", "register"), ("register", "deploy"), ("deploy", END)):
        graph.add_edge(one, two)
    graph.compile().invoke({})
    return 0.0


SYSTEMS = {
    "plain": plain, "clearway-flow": clearway_flow, "clearway-tasks": clearway_tasks, "prefect": prefect,
    "airflow": airflow, "langgraph": langgraph,
}  # fmt: skip

if __name__ == "__main__":
    print(SYSTEMS[sys.argv[1]](sys.argv[2]))
