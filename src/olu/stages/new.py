"""Make a workspace, and what is said of the rights in its recordings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from olu.core.errors import ConfigError
from olu.core.files import Workspace
from olu.core.told import Remedy
from olu.corpus.rights import Rights, of_workspace, save_workspace
from olu.stages.verbs.corpus import NewOptions
from olu.text.languages import resolve


@dataclass(frozen=True)
class NewSummary:
    workspace: str
    language: str

    def sentences(self, options: NewOptions) -> Iterator[str]:
        following = Remedy("import", (Path(self.workspace), "SOURCE"))
        yield f"{self.workspace}: a workspace for {self.language}. Next: {following}"


def run(options: NewOptions) -> NewSummary:
    """`olu new`"""
    given = {name: getattr(options, name) for name in ("licence", "consent", "agreed", "credits", "source")}
    made = new_workspace(options.ws, language=options.language, rights=given_rights(given))
    return NewSummary(str(made.root), made.language)


def new_workspace(root: Path, *, language: str, rights: Rights | None = None) -> Workspace:
    """Make a workspace; `rights` hold for recordings that do not say otherwise."""
    ws = Workspace.create(root, language=resolve(language))
    if rights is not None and rights != Rights():
        save_workspace(ws, rights)
    return ws


def given_rights(given: Mapping[str, str]) -> Rights:
    """What the options of a verb say of rights."""
    answers = {name: value.strip() for name, value in given.items()}
    if answers.get("agreed", "").lower() not in ("", "yes", "no"):
        raise ConfigError(f"--agreed is yes or no (got {answers['agreed']!r}): the words belong to --consent")
    return Rights(**answers | ({"agreed": answers["agreed"].lower()} if "agreed" in answers else {}))


def known_rights(ws: Workspace) -> dict[str, str]:
    """What holds for the whole workspace, by name; nothing where nobody said."""
    return asdict(of_workspace(ws))
