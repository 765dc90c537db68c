from __future__ import annotations

from collections.abc import Iterable, Sequence

from olu.audit.check import Check, Finding, MeasuredClip
from olu.audit.coverage import main_scripts, scripts
from olu.audit.thresholds import Thresholds
from olu.core.types import Mark, Severity

NAME = "script"


def look(heard: Sequence[MeasuredClip], limits: Thresholds) -> Iterable[Finding]:
    main = main_scripts(((one.clip.language, one.clip.text) for one in heard), least=limits.script_main)
    for one in heard:
        usual = main.get(one.clip.language)
        counts = scripts(one.clip.text)
        total = sum(counts.values())
        if usual is None or total == 0:
            continue
        foreign = total - counts[usual]
        share = foreign / total
        if foreign == 0:
            continue
        severity: Severity = "info"
        message = f"{foreign} of {total} letters are not {usual.capitalize()}"
        if share > limits.script_error:
            severity = "error"
            message += ": the text is in another language than the corpus"
        elif share > limits.script_warn:
            severity = "warn"
        mark = Mark(check=NAME, severity=severity, value=share, message=message)
        yield Finding(id=one.clip.id, mark=mark, badness=share)


CHECK = Check(
    name=NAME,
    title="Foreign letters",
    rule=lambda t: (
        f"Letters of another script than the corpus: error for more than {t.script_error:.0%} of a text, warning over "
        f"{t.script_warn:.0%}, noted below. Not judged where no script has {t.script_main:.0%} of the letters."
    ),
    reason="A handful of foreign letters is too little to learn to say them; a foreign text belongs to other sound.",
    fix="Write foreign words as they are said in the script of the language, or leave the clip out.",
    look=look,
)
