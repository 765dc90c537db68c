"""Every verb of Olu, in the order of its help: its name, its options and the stage that runs it. Light to import."""

from __future__ import annotations

from olu.core.options import Verb
from olu.stages.verbs import corpus, machine, training, voices

_MAKE, *_TRAINING = training.VERBS
_ALL = (_MAKE, *corpus.VERBS, *_TRAINING, *voices.VERBS, *machine.VERBS)
VERBS: dict[str, Verb] = {verb.name: verb for verb in _ALL}
