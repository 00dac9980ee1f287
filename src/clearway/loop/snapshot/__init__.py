"""The state of the world as plain facts, from which an equal world is built without its journal.

Kept is what follows from no other fact. Columns, indices and keys are worked out anew; classes that sleep are awake
again, as they are in a world that is rebuilt from its journal, and every promise is looked at again.
"""

from clearway.loop.snapshot.forms import WorldKept
from clearway.loop.snapshot.restore import restore
from clearway.loop.snapshot.take import settled, take

__all__ = ["WorldKept", "restore", "settled", "take"]
