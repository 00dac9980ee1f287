"""`clearway whatif --keep`: the controller works the what-if out, and keeps it where others can see it."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clearway.cli.past import new_file
from clearway.cli.replay_policies import FILE_ENDINGS, file_words
from clearway.model.errors import ControllerError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clearway.cli.shell import Shell

LOOK_EVERY_S = 0.5


def words_of(policy: str | None, since: str | None, words: Mapping[str, Any]) -> dict[str, Any]:
    """Return the words that a controller is sent; a policy in a file as what stands in it."""
    said: Any = file_words(Path(policy)) if policy is not None and policy.endswith(FILE_ENDINGS) else policy
    asked = {"policy": said, "since": since, **words}
    return {word: value for word, value in asked.items() if value is not None and value != ()}


def keep_whatif(shell: Shell, words: dict[str, Any], html: Path | None) -> int:
    """Ask, wait until it is worked out, and say what came out. ControllerError: it failed, or none runs."""
    client = shell.client()
    number = client.ask_whatif(words)["id"]
    shell.note(f"the controller works on what-if {number}; it goes on, and is kept, where this command is ended")
    while (found := client.whatif(number))["state"] == "working":
        time.sleep(LOOK_EVERY_S)
    if found["state"] == "failed":
        raise ControllerError(f"what-if {number} failed: {found['reason']}")
    if html is not None:
        with new_file(html) as file:
            client.whatif_page(number, file)
    if shell.as_json:
        shell.document(found)
        return 0
    for text in (f"what if: {'; '.join(found['changes'])}", found["summary"], f"read: {found['past']}"):
        shell.line(text)
    for caveat in found["answer"]["caveats"]:
        shell.line(f"  {caveat}")
    shell.note(f"kept as what-if {number}, shown by clearway dashboard on the page Policy")
    return 0
