"""Who watches a controller, as its settings say: metrics always, spans and lines of the log where they are wanted."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, NamedTuple

from clearway.compose.stores import word_of
from clearway.config.notices import Webhook
from clearway.config.telemetry import read_secret
from clearway.model.errors import InputError
from clearway.observe.ears import Ears
from clearway.observe.exposition import Metrics
from clearway.observe.moves import Moves
from clearway.observe.rules import Rules

if TYPE_CHECKING:
    from collections.abc import Callable

    from clearway.config.notices import Mail
    from clearway.config.settings import Settings
    from clearway.control import Board
    from clearway.model.ids import NodeId
    from clearway.observe.noticing import Noticing
    from clearway.observe.outbox import Outbox, Place
    from clearway.ports.observer import Observer
    from clearway.store.sql import SqlJournal

TRACES = "traces"


class Watching(NamedTuple):
    """What watches: the ears that the loop speaks to, the metrics, and `traces`, which the engine is told too."""

    ears: Ears
    metrics: Metrics
    traces: str
    ends: tuple[Callable[[], None], ...]
    rules: Rules
    noticing: Noticing | None = None

    def close(self) -> None:
        """Pass on what was heard, and end. To be called after the loop has ended."""
        self.ears.close()
        for end in self.ends:
            end()


def watching_of(settings: Settings, journal: SqlJournal, board: Board) -> Watching:
    """Make what watches. InputError: `telemetry` without its extra, or a file of a secret that cannot be read."""

    def node_name(node: NodeId) -> str:
        return board.node_names.get(node, f"node {node}")

    metrics, traces, rules = Metrics(board), "", Rules()
    watchers: list[Observer] = [metrics.meter, rules]
    ends: list[Callable[[], None]] = []
    if settings.telemetry is not None:
        if find_spec("opentelemetry.exporter") is None or find_spec("opentelemetry.sdk") is None:
            raise InputError("telemetry", settings.telemetry.endpoint, "needs: pip install 'clearway[telemetry]'")
        from clearway.observe.spans import Spans
        from clearway.observe.telemetry import Telemetry

        traces = word_of(journal, TRACES)
        sent = Telemetry(settings.telemetry.endpoint, settings.telemetry.headers())
        watchers.append(Spans(traces, journal, node_name, sent))
        ends.append(sent.close)
    noticing = None
    if settings.notices:
        noticing, outbox = _noticing(settings, journal)
        watchers.append(noticing)
        ends.append(outbox.close)
    if settings.log_format == "json":
        watchers.append(Moves(node_name))
    return Watching(Ears(watchers), metrics, traces, tuple(ends), rules, noticing)


def _noticing(settings: Settings, journal: SqlJournal) -> tuple[Noticing, Outbox]:
    from clearway.observe.noticing import Noticing
    from clearway.observe.outbox import Outbox

    outbox = Outbox(settings.home / "notices", [_place(said) for said in settings.notices])
    noticing = Noticing(word_of(journal, TRACES)[:8], journal, outbox.put, outbox.since(), outbox.done)
    outbox.look = noticing.look
    noticing.ready = outbox.start
    return noticing, outbox


def _place(said: Webhook | Mail) -> Place:
    if isinstance(said, Webhook):
        from clearway.observe.webhook import ToWebhook

        return ToWebhook(said, read_secret("secret_file", said.secret_file))
    from clearway.observe.mail import ToMail

    return ToMail(said, "" if said.password_file is None else read_secret("password_file", said.password_file))
