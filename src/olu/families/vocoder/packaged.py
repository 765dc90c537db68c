"""A vocoder out of its package, `x.vocoder`: what acoustic models are heard with and voices hold a copy of."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from olu.core.errors import TrainError
from olu.core.files import hash_file, read_json
from olu.families.vocoder.base import must_fit
from olu.families.vocoder.config import HOP, RATE
from olu.families.vocoder.export import DECODER
from olu.networks.session import open_session, quiet, read_network
from olu.nn.source import pulses
from olu.train.base_facts import VOCODER as CARD

KEPT = ("rate", "hop", "context", "mel", "vocoder", "parameters")  # of its card, in a voice


class PackagedVocoder(nn.Module):
    """Its graph as it was exported, so that it sounds in every voice as it does alone."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        card = read_json(folder / CARD)
        must_fit(card.get("mel"), whose=str(folder))
        self.graph = folder / DECODER
        if not self.graph.is_file() or hash_file(self.graph) != card.get("files", {}).get(DECODER):
            raise TrainError(f"{self.graph} is not what was written: export that vocoder again")
        self.facts = {name: card[name] for name in KEPT}
        self._session = open_session(read_network(self.graph), quiet(1))

    def __deepcopy__(self, memo: dict[int, Any]) -> PackagedVocoder:
        return self  # nothing of it ever changes

    def sounded(self, mel: Tensor, contour: Tensor, voicing: Tensor) -> Tensor:
        """As of a `VocodingLearner`; on the CPU, whatever the device."""
        source = pulses(contour, voicing, hop=HOP, rate=RATE)
        columns = [one.reshape(len(one), -1, HOP).transpose(1, 2) for one in (source, torch.randn_like(source))]
        inputs = (mel, contour, voicing, *columns)
        names = [one.name for one in self._session.get_inputs()]
        given = {name: one.detach().float().cpu().numpy() for name, one in zip(names, inputs, strict=True)}
        return torch.from_numpy(self._session.run(None, given)[0]).to(mel.device)

    def write_decoder(self, folder: Path) -> dict[str, Any]:
        shutil.copyfile(self.graph, folder / DECODER)
        return dict(self.facts)
