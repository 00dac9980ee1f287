"""Points by Optuna: its samplers by name (Akiba et al., 2019). Loaded when the first point is asked for.

Every point is worked out from its Draw alone: a study in memory is told the trials before, and chance comes from the
search's seed and the number of the trial. So a new controller draws the point that the one before would have drawn.
TPE and the Gaussian process only need to know how trials went. The others keep their state with the trials as they are
asked for and told, so that these are gone through again in their order: a draw takes about a millisecond for each trial
before it.
"""

from __future__ import annotations

import warnings
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from clearway.flow.chance import mixed
from clearway.flow.json_text import text_of, value_of

if TYPE_CHECKING:
    from optuna import Study
    from optuna.distributions import BaseDistribution

    from clearway.model.actions import Draw
    from clearway.model.flow import Dimension

_SEED_BITS = 32


class OptunaSampler:
    """A `ports.sampler.Sampler`."""

    def lacks(self, sampler: str) -> str:
        """Return what is to be installed before a sampler of this name can draw; empty: nothing."""
        return "torch" if sampler == "gp" and not find_spec("torch") else ""

    def draw(self, wish: Draw) -> str:
        """Return a point."""
        return text_of("point", _Drawing(wish).point())


class _Drawing:
    def __init__(self, wish: Draw) -> None:
        import optuna  # noqa: PLC0415  it takes a second, and few controllers need it

        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self._optuna, self._wish = optuna, wish
        self._space: dict[str, BaseDistribution] = {d.name: self._distribution(d) for d in wish.search.space}
        self._texts = {d.name for d in wish.search.space if d.values}

    def _distribution(self, dimension: Dimension) -> BaseDistribution:
        kinds = self._optuna.distributions
        if dimension.values:
            choices: BaseDistribution = kinds.CategoricalDistribution(dimension.values)
            return choices
        low, high = value_of(dimension.low), value_of(dimension.high)
        found: BaseDistribution = (kinds.FloatDistribution if dimension.real else kinds.IntDistribution)(low, high)
        return found

    def point(self) -> dict[str, Any]:
        """Return the values of the next trial."""
        study = self._optuna.create_study(
            direction="maximize" if self._wish.search.direction == "maximize" else "minimize"
        )
        self._tell_all(study) if self._wish.search.sampler in ("tpe", "gp") else self._go_through(study)
        study.sampler = self._sampler(self._wish.number)
        params = study.ask(self._space).params
        return {d: value_of(params[d]) if d in self._texts else params[d] for d in self._space}

    def _sampler(self, number: int) -> Any:  # noqa: ANN401  one of Optuna's
        seed = mixed(self._wish.search.seed, number) % (1 << _SEED_BITS)
        samplers, name = self._optuna.samplers, self._wish.search.sampler
        if name == "tpe":
            return samplers.TPESampler(seed=seed)
        if name == "nsgaii":
            return samplers.NSGAIISampler(seed=seed)
        other = samplers.RandomSampler(seed=seed)
        if name == "gp":
            return samplers.GPSampler(seed=seed, independent_sampler=other, warn_independent_sampling=False)
        if name == "qmc":  # one sequence: each point is the next of it
            same = mixed(self._wish.search.seed) % (1 << _SEED_BITS)
            with warnings.catch_warnings():
                warnings.simplefilter(
                    "ignore", self._optuna.exceptions.ExperimentalWarning
                )  # its interface, not its points
                return samplers.QMCSampler(
                    scramble=True, seed=same, independent_sampler=other, warn_independent_sampling=False
                )
        return samplers.CmaEsSampler(seed=seed, independent_sampler=other, warn_independent_sampling=False)

    def _params(self, number: int) -> dict[str, Any]:
        point = value_of(self._wish.points[number - 1])
        return {name: text_of(name, point[name]) if name in self._texts else point[name] for name in self._space}

    def _value(self, number: int) -> float | None:
        text = self._wish.values[number - 1]
        return float(value_of(text)) if text else None

    def _tell_all(self, study: Study) -> None:
        """Tell how the trials before went: what runs is known too, so that the next point lies elsewhere."""
        ended, states = {-number for number in self._wish.order if number < 0}, self._optuna.trial.TrialState
        early = {number: {step: float(value_of(value))} for number, step, value in self._wish.stopped}
        for number in range(1, self._wish.number):
            value = self._value(number)
            state = states.RUNNING if number not in ended else states.FAIL if value is None else states.COMPLETE
            state = states.PRUNED if number in early else state
            study.add_trial(
                self._optuna.trial.create_trial(
                    state=state, value=value, params=self._params(number), distributions=self._space,
                    intermediate_values=early.get(number),
                )
            )  # fmt: skip

    def _go_through(self, study: Study) -> None:
        """Ask for the trials before and tell how they went, in the order in which that was."""
        running, states = {}, self._optuna.trial.TrialState
        early = {number for number, _, _ in self._wish.stopped}
        for number in self._wish.order:
            if number > 0:
                study.sampler = self._sampler(number)
                study.enqueue_trial(self._params(number))
                running[number] = study.ask(self._space)
                continue
            value = self._value(-number)
            trial = running.pop(-number)
            if -number in early:
                study.tell(trial, state=states.PRUNED)
            elif value is None:
                study.tell(trial, state=states.FAIL)
            else:
                study.tell(trial, value)
