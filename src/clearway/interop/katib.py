"""Katib's Experiment (kubeflow.org/v1beta1) as the words of a search, and back. What has no counterpart is named."""

from __future__ import annotations

import re
import shlex
from math import inf, isfinite
from typing import Any, NamedTuple

from clearway.flow.search_words import variable
from clearway.model.errors import InputError

API, KIND = "kubeflow.org/v1beta1", "Experiment"
SAMPLERS = {"random": "random", "grid": "grid", "tpe": "tpe", "cmaes": "cmaes", "sobol": "qmc"}
NEAREST = {"multivariate-tpe": "tpe", "bayesianoptimization": "tpe"}
"""Algorithms that have no counterpart, and the sampler that comes nearest."""
COUNTS = {"parallelTrialCount": "parallel", "maxTrialCount": "trials", "maxFailedTrialCount": "max_failed"}
KNOWN_SPEC = {"objective", "algorithm", "earlyStopping", "parameters", "trialTemplate", *COUNTS}
GPU = "nvidia.com/gpu"
MOST_STEPS = 1000
PLACE = re.compile(r"\$\{(trialParameters\.[^}]+|trialSpec\.Name)\}")
VARIABLE = re.compile(r"\$\{?(CLEARWAY_POINT_\w+)\}?")
TRIAL = "trialSpec.Name"
JOB = "${CLEARWAY_JOB}"
HYPERBAND = {"eta": "reduction", "r_l": "max_step"}
TELLS = ("CLEARWAY_RESULT", "CLEARWAY_METRICS")
DEFAULT_TRIALS, DEFAULT_PARALLEL = 12, 3  # Katib's own


class Turned(NamedTuple):
    """What was made of a file, and what of it has no counterpart, one sentence each."""

    words: dict[str, Any]
    missing: list[str]


def read_experiment(raw: object) -> Turned:
    """Return an Experiment as the words of a search. InputError: it is none, or says nothing that could be run."""
    if not isinstance(raw, dict) or raw.get("kind") != KIND:
        raise InputError("kind", raw.get("kind") if isinstance(raw, dict) else raw, f"an {KIND} of {API}")
    spec = _map("spec", raw)
    missing = [f"spec.{key}" for key in spec if key not in KNOWN_SPEC]
    words: dict[str, Any] = {"name": str(_map("metadata", raw).get("name", "experiment"))}
    counts = {"maxTrialCount": DEFAULT_TRIALS, "parallelTrialCount": DEFAULT_PARALLEL, **spec}
    words |= {word: _whole(key, counts[key]) for key, word in COUNTS.items() if key in counts}
    _objective(_map("objective", spec), words, missing)
    _algorithm(_map("algorithm", spec), words, missing)
    _stopping(_map("earlyStopping", spec), words, missing)
    words["space"] = {p["name"]: _range(p, missing) for p in _maps("parameters", spec)}
    _resource_of_hyperband(_map("algorithm", spec), words)
    words["job"] = _job(_map("trialTemplate", spec), missing)
    if not any(one in words["job"]["run"] for one in TELLS):
        missing.append(f"metrics in its log: a trial writes {words.get('metric', 'its value')} to $CLEARWAY_METRICS")
    return Turned(words, missing)


def _map(field: str, raw: dict[str, Any]) -> dict[str, Any]:
    found = raw.get(field) or {}
    if not isinstance(found, dict):
        raise InputError(field, found, "a map")
    return found


def _maps(field: str, raw: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a list of maps that each have a name."""
    found = _list(field, raw)
    for one in found:
        if not isinstance(one, dict) or not isinstance(one.get("name"), str):
            raise InputError(field, one, "a list of maps with a `name`")
    return found


def _list(field: str, raw: dict[str, Any]) -> list[Any]:
    found = raw.get(field) or []
    if not isinstance(found, list):
        raise InputError(field, found, "a list")
    return found


def _whole(field: str, value: object) -> int:
    try:
        return int(str(value))
    except ValueError:
        raise InputError(field, value, "a whole number") from None


def _real(field: str, value: object) -> float:
    try:
        found = float(str(value))
    except ValueError:
        found = inf
    if not isfinite(found):
        raise InputError(field, value, "a number")
    return found


def _objective(raw: dict[str, Any], words: dict[str, Any], missing: list[str]) -> None:
    words["direction"] = raw.get("type", "minimize")
    if raw.get("objectiveMetricName"):
        words["metric"] = raw["objectiveMetricName"]
    missing += [f"spec.objective.{key}" for key in raw if key not in ("type", "objectiveMetricName")]


def _algorithm(raw: dict[str, Any], words: dict[str, Any], missing: list[str]) -> None:
    name = str(raw.get("algorithmName", "random"))
    if name == "hyperband":
        missing.append("spec.algorithm hyperband: random, where trials are stopped by what they report step by step")
        words |= {"sampler": "random", "stop": {"rule": "hyperband"}}
        told = {setting["name"]: setting.get("value") for setting in _maps("algorithmSettings", raw)}
        words["stop"] |= {
            ours: int(_real(theirs, told[theirs])) for theirs, ours in HYPERBAND.items() if theirs in told
        }
        return
    words["sampler"] = SAMPLERS.get(name) or NEAREST.get(name, "random")
    if name not in SAMPLERS:
        missing.append(f"spec.algorithm {name}: {words['sampler']} instead")
    for setting in _maps("algorithmSettings", raw):
        if setting["name"] == "random_state":
            words["seed"] = _whole("random_state", setting.get("value"))
        else:
            missing.append(f"spec.algorithm.algorithmSettings {setting['name']}")


def _resource_of_hyperband(raw: dict[str, Any], words: dict[str, Any]) -> None:
    """Have each trial run to its end unless it is stopped: what Katib gives out step by step is the most of it."""
    told = {setting["name"]: setting.get("value") for setting in _maps("algorithmSettings", raw)}
    for name in words["space"]:
        if raw.get("algorithmName") == "hyperband" and name.replace("-", "_") == told.get("resource_name"):
            words["space"][name] = [words["stop"].get("max_step")]


def _stopping(raw: dict[str, Any], words: dict[str, Any], missing: list[str]) -> None:
    if not raw:
        return
    if raw.get("algorithmName") != "medianstop":
        missing.append(f"spec.earlyStopping {raw.get('algorithmName')}")
        return
    stop: dict[str, Any] = {"rule": "median"}
    for setting in _maps("algorithmSettings", raw):
        word = {"min_trials_required": "min_trials", "start_step": "min_step"}.get(setting["name"])
        if word is None:
            missing.append(f"spec.earlyStopping.algorithmSettings {setting['name']}")
        else:
            stop[word] = _whole(setting["name"], setting.get("value"))
    words["stop"] = stop


def _range(raw: dict[str, Any], missing: list[str]) -> Any:  # noqa: ANN401  a list or a range
    space, kind, name = _map("feasibleSpace", raw), raw.get("parameterType"), raw["name"]
    if space.get("distribution", "uniform") != "uniform":
        missing.append(f"spec.parameters {name}: distribution {space['distribution']}; uniform instead")
    if kind in ("categorical", "discrete"):
        return [str(one) if kind == "categorical" else _number(one) for one in _list("list", space)]
    cast = _whole if kind == "int" else _real
    low, high = cast("min", space.get("min")), cast("max", space.get("max"))
    if not space.get("step"):
        return {"from": low, "to": high}
    step = cast("step", space["step"])
    if step <= 0:
        raise InputError("step", space["step"], "above 0")
    many = int((high - low) / step + 1e-9) + 1  # what a decimal fraction loses
    if not 0 < many <= MOST_STEPS:
        missing.append(f"spec.parameters {name}: step {space['step']}")
        return {"from": low, "to": high}
    if step == 1 and kind == "int":
        return {"from": low, "to": high}
    return [cast("step", round(low + i * step, 12)) for i in range(many)]


def _number(text: object) -> int | float:
    value = _real("list", text)
    return int(value) if value.is_integer() and "." not in str(text) else value


def _job(template: dict[str, Any], missing: list[str]) -> dict[str, Any]:
    names = {
        f"trialParameters.{p['name']}": JOB if reference == f"${{{TRIAL}}}" else f"${{{variable(reference)}}}"
        for p in _maps("trialParameters", template)
        for reference in [str(p.get("reference", p["name"]))]
    }
    missing += [
        f"spec.trialTemplate.{key}"
        for key in template
        if key not in ("trialParameters", "trialSpec", "primaryContainerName")
    ]
    trial = _map("trialSpec", template)
    pod = _map("spec", _map("template", _map("spec", trial)))
    containers = [one for one in _list("containers", pod) if isinstance(one, dict)]
    wanted = template.get("primaryContainerName")
    container = next((one for one in containers if one.get("name") == wanted), containers[0] if containers else None)
    if container is None or not (container.get("command") or container.get("args")):
        raise InputError("trialSpec", trial.get("kind"), "a Job with a container's command")
    missing += [f"trialSpec container {one.get('name')}" for one in containers if one is not container]
    missing += [
        f"trialSpec container.{key}" for key in container if key not in ("name", "command", "args", "resources")
    ]
    missing += [f"trialSpec.{key}" for key in pod if key not in ("containers", "restartPolicy")]
    command = [*_list("command", container), *_list("args", container)]
    job: dict[str, Any] = {"run": _line([str(word) for word in command], names)}
    resources = _map("resources", container)
    for key, value in {**_map("requests", resources), **_map("limits", resources)}.items():
        _resource(key, value, job, missing)
    return job


def _line(command: list[str], names: dict[str, str]) -> str:
    """Return a command as a line for a shell, with variables where parameters stand."""
    names = {TRIAL: JOB, **names}
    if command[:2] in (["/bin/sh", "-c"], ["sh", "-c"]) and len(command) == 3:  # noqa: PLR2004  sh, -c and a line
        return PLACE.sub(lambda m: names.get(m[1], m[0]), command[2])
    words = []
    for word in command:
        parts = PLACE.split(word)
        quoted = [
            f'"{names.get(part, f"${{{part}}}")}"' if i % 2 else shlex.quote(part)
            for i, part in enumerate(parts)
            if part or len(parts) == 1
        ]
        words.append("".join(quoted))
    return " ".join(words)


def _resource(key: str, value: object, job: dict[str, Any], missing: list[str]) -> None:
    text = str(value)
    if key == GPU:
        job["gpus"] = _whole(key, text)
    elif key == "cpu":
        job["cpus"] = _whole(key, text[:-1]) / 1000 if text.endswith("m") else _number(text)
    elif key == "memory" and not text.endswith("m"):
        job["memory"] = int(text) if text.isdecimal() else text
    else:
        missing.append(f"trialSpec container.resources {key}: {text}")


# --- and back --------------------------------------------------------------------------------------


def write_experiment(words: dict[str, Any], image: str) -> Turned:
    """Return the words of a search as an Experiment whose trials run in an image."""
    missing: list[str] = []
    back = {"random": "random", **{ours: theirs for theirs, ours in SAMPLERS.items()}}
    sampler = words.get("sampler", "random")
    if sampler not in back:
        missing.append(f"sampler {sampler}: random instead")
    algorithm: dict[str, Any] = {"algorithmName": back.get(sampler, "random")}
    if "seed" in words:
        algorithm["algorithmSettings"] = [{"name": "random_state", "value": str(words["seed"])}]
    names = list(words["space"])
    objective = {"type": words.get("direction", "minimize"), "objectiveMetricName": words.get("metric", "value")}
    spec: dict[str, Any] = {"objective": objective, "algorithm": algorithm, "parallelTrialCount": 1}
    spec |= {key: words[word] for key, word in COUNTS.items() if word in words}
    if early := _early(words.get("stop"), missing):
        spec["earlyStopping"] = early
    spec["parameters"] = [_parameter(name, one, missing) for name, one in words["space"].items()]
    spec["trialTemplate"] = {
        "primaryContainerName": "trial",
        "trialParameters": [{"name": name, "reference": name} for name in names],
        "trialSpec": _trial_spec(dict(words["job"]), {variable(name): name for name in names}, image, missing),
    }
    known = {"name", "space", "job", "sampler", "seed", "metric", "direction", "stop", *COUNTS.values()}
    missing += [word for word in words if word not in known]
    return Turned({"apiVersion": API, "kind": KIND, "metadata": {"name": words["name"]}, "spec": spec}, missing)


def _early(stop: Any, missing: list[str]) -> dict[str, Any] | None:  # noqa: ANN401  a text or a map
    if stop is None:
        return None
    given = stop if isinstance(stop, dict) else {"rule": stop}
    if given.get("rule") != "median":
        missing.append(f"stop {given.get('rule')}")
        return None
    settings = {"min_trials_required": given.get("min_trials"), "start_step": given.get("min_step")}
    told = [{"name": name, "value": str(value)} for name, value in settings.items() if value is not None]
    return {"algorithmName": "medianstop", **({"algorithmSettings": told} if told else {})}


def _parameter(name: str, one: Any, missing: list[str]) -> dict[str, Any]:  # noqa: ANN401
    if isinstance(one, dict):
        whole = isinstance(one["from"], int) and isinstance(one["to"], int)
        space: dict[str, Any] = {"min": str(one["from"]), "max": str(one["to"])}
        return {"name": name, "parameterType": "int" if whole else "double", "feasibleSpace": space}
    numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for value in one)
    if not numbers and not all(isinstance(value, str) for value in one):
        missing.append(f"space {name}: its values as texts")
    return {
        "name": name, "parameterType": "discrete" if numbers else "categorical",
        "feasibleSpace": {"list": [str(value) for value in one]},
    }  # fmt: skip


def _trial_spec(job: dict[str, Any], names: dict[str, str], image: str, missing: list[str]) -> dict[str, Any]:
    run = job.pop("run")
    line = run if isinstance(run, str) else shlex.join(run)
    limits = {"nvidia.com/gpu": job.pop("gpus", None), "cpu": job.pop("cpus", None), "memory": job.pop("memory", None)}
    told = {key: value for key, value in limits.items() if value is not None}
    missing += [f"job {word}" for word in job]
    missing += [f"${one}: a trial prints its metric there, as name=value" for one in TELLS if one in line]
    container: dict[str, Any] = {
        "name": "trial",
        "image": image,
        "command": ["/bin/sh", "-c", VARIABLE.sub(lambda m: f"${{trialParameters.{names.get(m[1], m[1])}}}", line)],
        **({"resources": {"limits": told}} if told else {}),
    }
    pod = {"spec": {"containers": [container], "restartPolicy": "Never"}}
    return {"apiVersion": "batch/v1", "kind": "Job", "spec": {"template": pod}}
