"""A plan, or the recipe of a workspace, as lines: setting, value, why; and what a training can begin with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from olu.core.config import read_toml
from olu.core.errors import ConfigError, OluError
from olu.core.files import EMBEDDED, Workspace, embedded_voice, read_json, write_text
from olu.core.words import length, size
from olu.families import FAMILIES, family
from olu.families.runs import kind_of, whole_runs
from olu.stages.bases import bases, offers
from olu.stages.plan import STAGE, is_edited, recipe_path
from olu.studio.job_files import Job
from olu.studio.words import t
from olu.text.languages import load
from olu.train.base_facts import Licence, licence_of
from olu.train.family import Family
from olu.train.plan.planner import toml_value

RECIPE = "recipe.toml"  # in the folder of a job that planned


@dataclass(frozen=True)
class Line:
    key: str  # as --set writes it
    value: str  # TOML
    why: str
    changed: bool = False  # by a person, in this plan

    @property
    def section(self) -> str:
        return self.key.partition(".")[0] if "." in self.key else ""


@dataclass(frozen=True)
class ShownPlan:
    """What stands on the page of a training."""

    lines: tuple[Line, ...]
    job: int | None = None  # that planned it; none: it is the workspace's own recipe
    notes: tuple[str, ...] = ()
    expected: str = ""
    first: str = ""  # a command that comes before the training
    advice: str = ""
    edited: bool = False
    stale: bool = False

    @property
    def family(self) -> str:
        return next((line.value.strip('"') for line in self.lines if line.key == "family"), "")

    @property
    def sections(self) -> list[tuple[str, list[Line]]]:
        names = dict.fromkeys(line.section for line in self.lines)
        return [(name, [line for line in self.lines if line.section == name]) for name in names]


def of_job(job: Job) -> ShownPlan:
    """The plan that a job made."""
    result = job.result()
    if not isinstance(result, Mapping) or not isinstance(result.get("settings"), list):
        raise ConfigError(job.said or "this job made no plan")
    changed = {item.partition("=")[0].strip() for item in job.options.get("changes", ())}
    lines = tuple(
        Line(str(one["key"]), toml_value(one["value"]), str(one["reason"]), one["key"] in changed)
        for one in result["settings"]
    )
    took = length(3600 * float(result["hours_expected"]))
    return ShownPlan(
        lines,
        job.number,
        notes=tuple(map(str, result["notes"])),
        expected=f"{took} ({result['pace']}), {size(float(result['memory_bytes']))} of memory",
        first=str(result.get("first", "")),
        advice=str(result.get("advice", "")),
    )


def of_workspace(ws: Workspace) -> ShownPlan | None:
    """The recipe that lies in the workspace, where there is one."""
    path = recipe_path(ws)
    if not path.is_file():
        return None
    held = read_toml(path)
    whys = _reasons(path.read_text(encoding="utf-8").splitlines())
    lines = [
        Line(key, toml_value(value), whys.get(key, "")) for key, value in _settings(held) if not isinstance(value, dict)
    ]
    stale = not is_edited(ws) and STAGE.state(ws) == "stale"
    return ShownPlan(tuple(lines), edited=is_edited(ws), stale=stale)


def _settings(held: Mapping[str, Any]) -> Iterable[tuple[str, Any]]:
    for section, value in held.items():
        if isinstance(value, Mapping):
            yield from ((f"{section}.{key}", inner) for key, inner in value.items())
        else:
            yield section, value


def _reasons(lines: Sequence[str]) -> dict[str, str]:
    """The comment above each setting, as 'olu plan' writes it."""
    found, said, section = dict[str, str](), list[str](), ""
    for line in lines:
        text = line.strip()
        if text.startswith("#"):
            said.append(text.removeprefix("#").strip())
            continue
        if text.startswith("[") and text.endswith("]"):
            section = f"{text.strip('[]')}."
        elif "=" in text:
            found[section + text.partition("=")[0].strip().strip('"')] = " ".join(said)
        said = []
    return found


def newest_plan(ws: Workspace, jobs: Sequence[Job]) -> Job | None:
    """The last plan that was only looked at, unless the recipe on disk is newer."""
    path = recipe_path(ws)
    written = path.stat().st_mtime if path.is_file() else 0.0
    for job in jobs:  # the newest first
        if job.verb == "plan" and job.options.get("only_print") and job.state == "done":
            made = job.path("summary")
            return job if made.is_file() and made.stat().st_mtime > written else None
    return None


def kept_recipe(job: Job) -> Path:
    """The plan of a job as a file that a training is given."""
    result = job.result()
    if job.verb != "plan" or not isinstance(result, Mapping) or not result.get("text"):
        raise ConfigError(t("this job made no plan: plan again"))
    path = job.folder / RECIPE
    write_text(path, str(result["text"]))
    return path


# ---------------------------------------------------------------- what can be chosen


def families() -> list[Family]:
    """Every family that can be planned."""
    return [found for name in FAMILIES if (found := family(name)).advice is not None]


@dataclass(frozen=True)
class BaseChoice:
    """Something to begin with, and what it allows."""

    value: str  # as --base or --from-run takes it
    title: str
    about: str
    licence: str
    non_commercial: bool = False
    run: bool = False  # a run of this workspace: its weights, --from-run


def base_choices(ws: Workspace) -> list[BaseChoice]:
    """The voice that comes with Olu, published checkpoints of the language or near it, and runs and voices here."""
    return [*_embedded(ws), *_published(ws), *_runs(ws), *_packages(ws)]


def _embedded(ws: Workspace) -> list[BaseChoice]:
    own = embedded_voice()
    if own is None:
        return []
    spoken = load(read_json(own / "voice.json", shape={"language": str})["language"])
    allows = licence_of(own)
    said = t("The {language} voice that comes with Olu: it is here already", language=spoken.name)
    return [BaseChoice(EMBEDDED, EMBEDDED, said, allows.name or t("not stated"), allows.non_commercial)]


def _published(ws: Workspace) -> list[BaseChoice]:
    try:
        found = bases(ws.language)
    except OluError:
        return []
    rows = [(row, "") for row in found.listed] + [
        (row, t("a language near {name}", name=found.language) + "; ") for row in found.near
    ]
    told = (t("without a discriminator"), t("with a discriminator"))
    return [
        BaseChoice(
            row.id,
            row.id,
            f"{near}{row.language}, {told[row.discriminator == 'yes']}; {t('fetched from the hub')}",
            row.licence,
            Licence(row.licence).non_commercial,
        )
        for row, near in rows
    ]


def _runs(ws: Workspace) -> list[BaseChoice]:
    made = []
    for run in whole_runs(ws)[::-1]:
        with suppress(OluError, OSError):
            step = run.best_step()
            if step is not None:
                base = run.recipe.base
                said = t("A run here, {kind}, its best step {n}", kind=kind_of(run), n=f"{step:,}")
                made.append(
                    BaseChoice(run.name, run.name, said, t("as its base {name}", name=base) if base else "", run=True)
                )
    return made


def _packages(ws: Workspace) -> list[BaseChoice]:
    """Voices here that hold what training on needs."""
    made = []
    for path in sorted(ws.voices.glob("*")):
        if (path / "training").is_dir():
            allows = licence_of(path)
            said = t("A voice here, with what training on needs")
            made.append(BaseChoice(str(path), path.name, said, allows.name or t("not stated"), allows.non_commercial))
    return made


def advised(ws: Workspace) -> str:
    """What a plan begins with where nobody says: for the hint beside the choice."""
    with suppress(OluError):
        first = next(iter(offers(ws.language)), None)
        return first.base if first else ""
    return ""
