"""Licence, consent and credits: asked for, kept by source, the strictest first, and nothing given away against them."""

from __future__ import annotations

import json
import shutil
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from olu.core.errors import ConfigError, ExportError, WorkspaceError
from olu.core.files import Workspace
from olu.core.job import finish
from olu.corpus.manifest import Corpus
from olu.corpus.rights import Rights, by_source, of_sources, of_workspace, save_source, save_workspace
from olu.export.card import hub_licence
from olu.export.rights import ExportTerms, check_consent, check_publishing, claim
from olu.speak.voice import Voice
from olu.stages.export import export
from olu.stages.merge import merge
from olu.train.base_facts import Licence, licence_of

from ..cli.conftest import fine, olu
from ..helpers.packages import zipped
from ..helpers.workspaces import trained, workspace

FREE = Rights(licence="CC-BY-4.0", consent="Amina, 2026, public", credits="Amina")


def claimed(*licences: str, base: str = "", **more: str) -> ExportTerms:
    held = {f"s{at}": replace(FREE, licence=licence) for at, licence in enumerate(licences, 1)}
    return claim(held, Licence(base, "README.md") if base else None, base_name="the-base", **more)


def test_all_that_holds_is_named_the_strictest_first() -> None:
    assert claimed("CC-BY-4.0").licence == "CC-BY-4.0"
    made = claimed("CC-BY-4.0", "CC-BY-NC-SA-4.0", base="cc-by-nc-4.0")
    assert made.licence == "CC-BY-NC-SA-4.0 AND cc-by-nc-4.0 AND CC-BY-4.0"
    chain = claimed("CC-BY-4.0", base="cc-by-4.0 AND MIT AND CC-BY-NC-4.0")
    assert chain.licence == "CC-BY-NC-4.0 AND cc-by-4.0 AND MIT", "each once, also after a chain of fine-tunes"
    assert claimed("MIT", base="MIT OR (GPL-3.0 AND CC0-1.0)").licence == "MIT OR (GPL-3.0 AND CC0-1.0) AND MIT"
    assert claimed("", "").licence == "" and "not stated" in claimed("").lines()[0]


@pytest.mark.parametrize(
    ("held", "base", "asked", "said"),
    [
        (("CC-BY-NC-4.0",), "", "Apache-2.0", "the recordings s1: CC-BY-NC-4.0 is non-commercial"),
        (("CC-BY-4.0",), "cc-by-nc-4.0", "MIT", "the base the-base: cc-by-nc-4.0 is non-commercial"),
        (("CC-BY-4.0", "for non commercial use only"), "", "CC-BY-4.0", "non-commercial"),
        (("CC-BY-SA-4.0",), "", "CC-BY-4.0", "share-alike, so the voice cannot be CC-BY-4.0"),
        (("CC0-1.0",), "GPL-3.0", "MIT", "share-alike"),
        (("CC-BY-ND-4.0",), "", "CC-BY-ND-4.0", "allows nothing made from it"),
        (("CC-BY-4.0",), "", "CC0-1.0", "the recordings s1: CC-BY-4.0 demands that whoever made it is named"),
        (("CC0-1.0",), "MIT", "Unlicense", "the base the-base: MIT demands that whoever made it is named"),
        (
            ("All rights reserved",),
            "",
            "Apache-2.0",
            "allows nothing without asking, so the voice cannot be Apache-2.0",
        ),
        (("research only",), "", "Apache-2.0", "does not allow every use"),
        (("for academic use",), "", "CC-BY-4.0", "does not allow every use"),
        (("CPML",), "", "Apache-2.0", "non-commercial"),
        (("CC0-1.0",), "coqui-public-model-license", "MIT", "non-commercial"),
        (("CC BY-NC-ND 4.0",), "", "MIT", "allows nothing made from it"),
        (("CC-BY-NoDerivs",), "", "MIT", "allows nothing made from it"),
        (("commercial use is prohibited",), "", "MIT", "non-commercial"),
    ],
)
def test_a_licence_that_contradicts_its_parts_is_refused(
    held: tuple[str, ...], base: str, asked: str, said: str
) -> None:
    with pytest.raises(ExportError, match="override-licence") as raised:
        claimed(*held, base=base, licence=asked)
    assert said in str(raised.value) and "\n" not in str(raised.value)
    made = claimed(*held, base=base, licence=asked, override="I hold all rights")
    assert made.licence == asked and any("I hold all rights" in line for line in made.lines())
    assert made.facts()["rights"]["override"] == "I hold all rights"


@pytest.mark.parametrize(
    ("held", "base", "asked"),
    [
        (("CC-BY-4.0",), "", "Apache-2.0"),
        (("attribution-free",), "", "CC0-1.0"),
        (("CC-BY-NC-4.0",), "", "CC-BY-NC-SA-4.0"),
        (("CC-BY-SA-4.0", "CC0-1.0"), "cc-by-nc-4.0", "CC-BY-NC-SA-4.0"),
        (("0BSD",), "MIT-0", "CC0-1.0"),
        (("CC0-1.0",), "MIT", "CC0-1.0 AND MIT"),
        (("BSD-3-Clause, all rights reserved",), "", "MIT"),
        (("research only",), "", "Research only"),
    ],
)
def test_one_that_does_not_is_taken(held: tuple[str, ...], base: str, asked: str) -> None:
    assert claimed(*held, base=base, licence=asked).licence == asked


def test_consent_of_every_source_is_needed_to_publish() -> None:
    check_publishing(claim({"s1": FREE, "s2": FREE}, None))
    half = claim({"s1": FREE, "s2": replace(FREE, consent="")}, None)
    assert half.consent == "" and any("no consent" in note for note in half.notes())
    with pytest.raises(ExportError, match="no consent of the speakers is stated"):
        check_publishing(half)
    for silent in ({"s1": Rights()}, {"s1": FREE, "s2": Rights(licence="MIT")}):
        with pytest.raises(ExportError, match="no consent of the speakers is stated") as raised:
            check_publishing(claim(silent, None, licence="MIT", override="a licence is no consent"))
        assert "override" not in str(raised.value), "it is no way out"
    plain = claim({"s1": FREE, "s2": Rights(licence="MIT", agreed="yes")}, None)
    check_publishing(plain)
    assert plain.consent == FREE.consent and plain.facts()["rights"]["agreed"] == "yes"
    for no in ("no", "None.", "withdrawn", "Withdrawn by Amina, 2026-02-01", "refused on the phone", "no consent yet"):
        with pytest.raises(ExportError, match="did not agree"):
            claim({"s1": replace(FREE, consent=no)}, None)
        with pytest.raises(ExportError, match="did not agree"):
            claim({"s1": replace(FREE, consent=no)}, None, licence="MIT", override="a licence is no consent")
    for yes in ("Noah agreed in 2026", "No restrictions; Amina, 2026", "Sí, Ana", "Juma amekubali"):
        assert claim({"s1": replace(FREE, consent=yes)}, None).consent
    with pytest.raises(ExportError, match="name it with --licence"):
        claim({}, None, override="because")


@pytest.mark.parametrize(
    "no",
    [
        *("consent was refused by the speaker", "she said no", "revoked", "denied", "Amina, 2026: withdrawn"),
        *("did not agree", "hasn't agreed", "agreed, then took it back", "without her permission"),
        *("no dio su permiso", "negó el consentimiento", "elle n'a pas donné son accord", "a refusé en 2025", "Non."),
        *("nobody agreed", "none of them has agreed, 2026", "nobody refused but Juma, who said no"),
        *("Hapana", "alikataa", "hakukubali", "bila idhini", "አልተስማማም", "não autorizou", "nicht einverstanden"),
    ],
)
def test_a_consent_that_says_no_in_any_words_is_a_no(no: str) -> None:
    for asked in ({}, {"licence": "MIT", "override": "a licence is no consent"}):
        with pytest.raises(ExportError, match="did not agree") as raised:
            claim({"s1": replace(FREE, consent=no)}, None, names={"s1": "radio"}, **asked)
    assert "the recordings 'radio'" in str(raised.value) and "agreed = true" in str(raised.value)
    assert claim({"s1": replace(FREE, consent=no, agreed="yes")}, None).answer == "yes", (
        "a person says that the words mean a yes"
    )


@pytest.mark.parametrize(
    "words",
    [
        *("both", "unknown", "to be asked", "maybe 2026", "not stated by the source", "not yet asked", "never asked"),
        *("Nobody refused; all signed 2026-01-02", "she has not withdrawn, 2026", "not signed yet", "to be signed"),
    ],
)
def test_words_that_are_not_plainly_a_yes_are_asked_about(words: str) -> None:
    held = claim({"s1": replace(FREE, consent=words)}, None)
    assert any("agreed = true" in note for note in held.notes())
    assert any(f"{words} (whether that is a yes is not clear)" in line for line in held.lines()), "the card says it"
    for asked in ({}, {"licence": "MIT", "override": "a licence is no consent"}):
        with pytest.raises(ExportError, match="not clear from consent = "):
            check_publishing(claim({"s1": replace(FREE, consent=words)}, None, **asked))
    check_publishing(claim({"s1": replace(FREE, consent=words, agreed="yes")}, None))
    with pytest.raises(ExportError, match="agreed = false"):
        claim({"s1": replace(FREE, agreed="no")}, None)


def test_a_yes_goes_with_the_words_it_was_said_of() -> None:
    """The workspace's yes does not outweigh what one source says."""
    whole = Rights(consent="all", agreed="yes")
    assert Rights(consent="she refused").over(whole).answer == "no"
    assert Rights(licence="MIT").over(whole).answer == "yes"


def test_agreed_in_the_file(tmp_path: Path) -> None:
    ws = Workspace.create(tmp_path / "ws", language="swa")
    before = (ws.root / "olu.toml").read_text()
    for line, told in (("agreed = true", "yes"), ("agreed = false", "no"), ('agreed = "yes"', "yes")):
        (ws.root / "olu.toml").write_text(f"{before}[rights]\n{line}\n")
        assert of_workspace(Workspace.open(ws.root)).agreed == told
    (ws.root / "olu.toml").write_text(f'{before}[rights]\nagreed = "perhaps"\n')
    with pytest.raises(WorkspaceError, match="agreed must be true or false"):
        of_workspace(Workspace.open(ws.root))


def test_what_may_not_be_given_away_is_not_published() -> None:
    for licence in ("All rights reserved", "CC-BY-ND-4.0"):
        with pytest.raises(ExportError, match="so this voice is not published"):
            check_publishing(claimed(licence))
        check_publishing(claimed(licence, licence="MIT", override="all ours"))


def test_an_unstated_licence_is_never_the_base_s_alone() -> None:
    held = claim({"s1": replace(FREE, licence="")}, Licence("MIT", "README.md"), base_name="b", names={"s1": "radio"})
    assert held.licence == "" and held.facts()["licence"] is None
    assert held.lines()[0] == "- Licence: not stated: ask whoever made the recordings 'radio'"
    assert "- Licence of the base b: MIT" in held.lines()
    assert claimed("CC-BY-4.0", "").licence == "", "nor that of another source"


def test_a_licence_over_recordings_that_state_none_needs_a_reason() -> None:
    silent = {"s1": replace(FREE, licence="")}
    with pytest.raises(ExportError, match=r"ask whoever made the recordings 'radio'.*olu.toml.*--override-licence"):
        claim(silent, None, licence="Apache-2.0", names={"s1": "radio"})
    made = claim(silent, None, licence="Apache-2.0", override="all ours", names={"s1": "radio"})
    said = made.lines()
    assert "- Licence of the recordings 'radio': not stated: ask whoever made the recordings 'radio'" in said
    assert "- The reason given for it: all ours" in said
    with pytest.raises(ExportError, match="the licence of the base b is not stated") as raised:
        claim({}, Licence("", ""), base_name="b", licence="MIT")
    assert "olu.toml" not in str(raised.value), "a bare checkpoint has none"


def test_a_bare_checkpoint_is_not_told_of_a_file_that_it_has_not() -> None:
    bare = claim({}, Licence("MIT", "README.md"), base_name="b")
    assert any("ask whoever made this checkpoint" in note for note in bare.notes())
    with pytest.raises(ExportError, match="ask whoever made this checkpoint"):
        check_publishing(bare)
    with pytest.raises(ExportError, match=r"did not agree.*ask whoever made"):
        check_consent(Rights(consent="refused"), of="b", foreign=True)
    assert not any(
        "olu.toml" in note for note in [*bare.notes(), *replace(bare, consent="x", answer="unclear").notes()]
    )


def test_the_command_line_asks_nobody_in_a_script_and_keeps_what_it_is_told(tmp_path: Path) -> None:
    ws = tmp_path / "ws"
    fine("new", ws, "-l", "sw", "--licence", "CC-BY-4.0", "--consent", 'Amina "Mwalimu", 2026')
    held = tomllib.loads((ws / "olu.toml").read_text(encoding="utf-8"))["rights"]
    assert held["licence"] == "CC-BY-4.0" and held["consent"] == 'Amina "Mwalimu", 2026'
    assert held["credits"] == "not stated"
    assert of_workspace(Workspace.open(ws)) == Rights(licence="CC-BY-4.0", consent='Amina "Mwalimu", 2026')
    fine("new", tmp_path / "bare", "-l", "sw")
    assert "rights" not in tomllib.loads((tmp_path / "bare" / "olu.toml").read_text(encoding="utf-8"))


def test_a_person_at_a_terminal_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import typer

    from olu.cli import build as cli

    asked: list[str] = []

    def answer(question: str, **_: object) -> str:
        asked.append(question)
        return "CC0-1.0" if "Licence" in question else ""

    monkeypatch.setattr(typer, "prompt", answer)
    monkeypatch.setattr(cli.sys, "stdin", type("Terminal", (), {"isatty": lambda self: True})())
    monkeypatch.setattr(cli.sys, "stderr", type("Terminal", (), {"isatty": lambda self: True, "write": len})())
    given = {"licence": "", "consent": "Amina, 2026", "credits": ""}
    assert cli.asked_rights(given, quiet=False) == Rights(licence="CC0-1.0", consent="Amina, 2026")
    assert len(asked) == 2, "what was given is not asked"
    asked.clear()
    assert cli.asked_rights(given, quiet=True) == Rights(consent="Amina, 2026") and not asked
    ws = Workspace.create(tmp_path / "ws", language="swa")
    save_workspace(ws, Rights(licence="CC-BY-4.0", consent="x", credits="y"))
    cli.asked_rights({"licence": "", "consent": "", "credits": ""}, quiet=False, ws=ws)
    assert not asked, "nor what the workspace says"
    monkeypatch.setattr(typer, "confirm", lambda question, **_: "Did they agree?" not in question)
    unclear = {"licence": "MIT", "consent": "Amina", "credits": "x"}
    assert cli.asked_rights(unclear, quiet=False).answer == "no", "words that are no plain yes are asked about"
    with pytest.raises(ConfigError, match="--agreed is yes or no"):
        cli.asked_rights({**unclear, "agreed": "maybe"}, quiet=True)
    assert cli.asked_rights({**unclear, "agreed": "Yes"}, quiet=False).answer == "yes"


def test_each_source_keeps_its_own(tmp_path: Path) -> None:
    ws = workspace(tmp_path / "a", [("c1", "one cat", "x", "train"), ("c2", "two dogs", "x", "valid")])
    folder = tmp_path / "more"
    folder.mkdir()
    for name in ("m1", "m2"):
        (folder / f"{name}.txt").write_text(f"text of {name}", encoding="utf-8")
        sound = (tmp_path / "a" / "wavs" / "c1.wav").read_bytes()
        (folder / f"{name}.wav").write_bytes(sound if name == "m1" else sound[:-2000])
    save_workspace(ws, Rights(licence="CC-BY-4.0", consent="all agreed"))
    fine("import", ws.root, folder, "--licence", "CC-BY-NC-4.0", "--credits", "Radio")
    held = of_sources(ws, ["s1", "s2"])
    assert held["s1"] == Rights(licence="CC-BY-4.0", consent="all agreed")
    assert held["s2"] == Rights(licence="CC-BY-NC-4.0", consent="all agreed", credits="Radio")
    assert by_source(ws).keys() == {"s2"}
    fine("import", ws.root, folder, "--consent", "the announcer, 2025")
    assert of_sources(ws, ["s2"])["s2"].licence == "CC-BY-NC-4.0", "what is not said again stays"
    assert of_sources(ws, ["s2"])["s2"].consent == "the announcer, 2025"


def test_a_merge_brings_the_rights_along(tmp_path: Path) -> None:
    host = workspace(tmp_path / "a", [("c1", "one cat", "x", "train"), ("c2", "two dogs", "x", "valid")])
    rows = [("d1", "a red fox", "x", "train"), ("d2", "a hen", "x", "valid"), ("d3", "another sound", "x", "train")]
    guest = workspace(tmp_path / "b", rows)
    save_workspace(guest, Rights(licence="CC-BY-NC-4.0"))
    save_source(guest, "s1", Rights(consent="Bela"))
    finish(merge(host, [guest.root]))
    names = [one.name for one in Corpus.open(host).sources.values()]
    assert sorted(rights.licence for rights in of_sources(host, names).values()) == ["", "CC-BY-NC-4.0"]
    assert "Bela" in {rights.consent for rights in of_sources(host, names).values()}


def test_wrong_words_in_the_file(tmp_path: Path) -> None:
    ws = Workspace.create(tmp_path / "ws", language="swa")
    path, before = ws.root / "olu.toml", (ws.root / "olu.toml").read_text()
    for lines, said in (
        ('[rights]\nlicense = "MIT"', "did you mean 'licence'"),
        ("[rights]\nlicence = 5", "must be a text"),
        ('rights = "MIT"', "must be a table"),
    ):
        path.write_text(before + lines)
        with pytest.raises(WorkspaceError, match=said):
            of_workspace(Workspace.open(ws.root))


def test_they_end_up_in_the_voice_and_its_card(phones: Workspace, phones_voice: Path, tmp_path: Path) -> None:
    voice = Voice.open(phones_voice)
    assert voice.facts["licence"] == "CC-BY-SA-4.0" and voice.facts["credits"] == "Amina"
    assert voice.facts["consent"].startswith("Amina, 2026-01-02")
    card = (phones_voice / "README.md").read_text(encoding="utf-8")
    assert "Licence: CC-BY-SA-4.0" in card and "Consent of the speakers: Amina, 2026-01-02" in card
    assert licence_of(phones_voice).name == "CC-BY-SA-4.0", "and hold for what is made from it"
    done = olu("export", phones.root, "--licence", "Apache-2.0", "-o", tmp_path / "y.voice")
    assert done.code == 2 and "share-alike" in done.err and not (tmp_path / "y.voice").exists()
    done = fine(
        "export", phones.root, "--licence", "MIT", "--override-licence", "all ours", "-o", tmp_path / "y.zip", "--json"
    )
    assert json.loads(done.out)["licence"] == "MIT"
    assert licence_of(tmp_path / "y.zip").name == "MIT"


def test_an_export_is_made_again_when_rights_change(letters: Workspace, tmp_path: Path) -> None:
    first = finish(export(letters.root))
    assert not first.fresh and first.licence == "" and any("not stated" in note for note in first.notes)
    assert finish(export(letters.root)).fresh
    save_source(letters, "s1", Rights(licence="CC0-1.0", consent="both"))
    try:
        again = finish(export(letters.root))
        assert not again.fresh and again.licence == "CC0-1.0"
    finally:
        (letters.corpus / "rights.json").unlink()


def test_the_hub_names_licences_in_its_own_way() -> None:
    assert hub_licence("CC-BY-NC-4.0") == "cc-by-nc-4.0" and hub_licence("Apache-2.0") == "apache-2.0"
    assert hub_licence("ask Amina") == hub_licence("") == hub_licence("CC-BY-4.0 AND MIT") == "other"


def test_a_card_says_that_a_licence_differs_only_where_it_does() -> None:
    assert not any("differs" in line for line in claimed("CC-BY-4.0", licence="CC-BY-4.0", override="ours").lines())
    assert any("differs" in line for line in claimed("CC-BY-NC-4.0", licence="MIT", override="ours").lines())


@pytest.mark.parametrize("to", ["hf", "mms", "voice"])
def test_an_export_as_a_base_keeps_its_licence(
    phones: Workspace, tmp_path: Path, to: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("olu.families.vits.foreign.to_original._check", lambda config: None)  # it has other sizes
    finish(export(phones.root, to=to, output=tmp_path / "x"))
    assert licence_of(tmp_path / "x").name.upper() == "CC-BY-SA-4.0"


@pytest.mark.parametrize("form", ["folder", "zip"])
def test_a_voice_in_another_format_keeps_consent_and_credits(
    phones: Workspace, phones_voice: Path, tmp_path: Path, form: str
) -> None:
    source = phones_voice
    if form == "zip":
        source = tmp_path / "x.zip"
        finish(export(phones.root, output=source, with_training=True))
    made = finish(export(source, to="hf", output=tmp_path / "hf"))
    card = (tmp_path / "hf" / "README.md").read_text(encoding="utf-8")
    assert "Consent of the speakers: Amina, 2026-01-02" in card and "Credits: Amina" in card
    assert not any("consent" in note for note in made.notes)


def test_a_run_that_went_on_from_one_that_is_gone_does_not_say_from_scratch(tmp_path: Path) -> None:
    rows = [("c1", "one cat", "x", "train"), ("c2", "two dogs", "x", "train"), ("c3", "a hen", "x", "valid")]
    ws = workspace(tmp_path / "a", rows)
    trained(ws)
    trained(ws, from_run="vits-001")
    (ws.runs_folder / "vits-001" / "recipe.toml").write_bytes(b"")
    finish(export(ws.root, output=tmp_path / "d.voice"))
    card = (tmp_path / "d.voice" / "README.md").read_text(encoding="utf-8")
    assert "started from vits-001 (a run that is damaged)" in card
    shutil.rmtree(ws.runs_folder / "vits-001")
    made = finish(export(ws.root, output=tmp_path / "x.voice"))
    card = (tmp_path / "x.voice" / "README.md").read_text(encoding="utf-8")
    assert "from scratch" not in card and "started from vits-001 (a run that is not here)" in card
    assert any("the licence of the base vits-001" in note for note in made.notes)
    with pytest.raises(ExportError, match="is not here, so what it allows is not known"):
        finish(export(ws.root, output=tmp_path / "y.voice", licence="MIT"))
    assert (
        finish(export(ws.root, output=tmp_path / "y.voice", licence="MIT", override_licence="all ours")).licence
        == "MIT"
    )


def test_the_credits_of_a_base_travel_and_the_folders_of_this_machine_do_not(
    phones_voice: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("olu.families.vits.foreign.to_original._check", lambda config: None)  # it has other sizes
    rows = [("c1", "Maji ya mto", "x", "train"), ("c2", "Jua kali", "x", "train"), ("c3", "Gari", "x", "valid")]
    ws = workspace(tmp_path / "a", rows, language="swa")
    save_workspace(ws, Rights(licence="CC-BY-SA-4.0", consent="Bela, 2026", credits="Bela"))
    trained(ws, base=phones_voice)
    finish(export(ws.root, output=tmp_path / "x.voice"))
    assert str(phones_voice.parent) not in (tmp_path / "x.voice" / "voice.json").read_text(encoding="utf-8")
    the_credits_of_the_base_travel_too(ws, tmp_path)


def the_credits_of_the_base_travel_too(ws: Workspace, folder: Path) -> None:
    """In the voice, in other formats, in what is made from either, and everybody once."""
    finish(export(ws.root, to="hf", output=folder / "hf"))
    finish(export(folder / "hf", to="mms", output=folder / "mms"))
    zipped(folder / "x.voice", folder / "x.zip")
    held = json.loads((folder / "x.voice" / "voice.json").read_text(encoding="utf-8"))
    assert held["credits"] == "Bela; Amina" and held["consent"] == "Bela, 2026"
    (base,) = [part for part in held["rights"]["parts"] if part["what"] == "the base phones.voice"]
    assert base["credits"] == "Amina" and base["consent"].startswith("a matter of the base")
    for name in ("x.voice", "hf", "mms", "x.zip"):
        assert licence_of(folder / name).credits == "Bela; Amina", name
        if name != "x.zip":
            assert (folder / name / "README.md").read_text(encoding="utf-8").count("Credits: Bela; Amina") == 1
        further = claim({"s1": replace(FREE, credits="Chi; Amina")}, licence_of(folder / name), base_name=name)
        assert further.credits == "Chi; Amina; Bela"
    for name in ("x.voice", "hf"):
        card = (folder / name / "README.md").read_text(encoding="utf-8")
        assert card.count("Consent of the speakers of the base phones.voice: a matter of the base") == 1
    assert "speakers of the base" not in (folder / "mms" / "README.md").read_text(encoding="utf-8")
