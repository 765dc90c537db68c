"""What a person does in a tab of the studio: pages shown, keys pressed, things dragged."""

from __future__ import annotations

from typing import Any

from .browser import PATIENCE, Screen, Tab

DESK = Screen(1280, 900)
KEYS = {
    "ArrowLeft": ("ArrowLeft", 37),
    "ArrowRight": ("ArrowRight", 39),
    " ": ("Space", 32),
    "Enter": ("Enter", 13),
    "Escape": ("Escape", 27),
    "/": ("Slash", 191),
}


class StudioTab:
    """A tab that shows a studio."""

    def __init__(self, tab: Tab, base: str) -> None:
        self.tab, self.base = tab, base

    def show(self, path: str, screen: Screen = DESK) -> None:
        self.tab.show(self.base + path, screen)

    def until(self, code: str, *, seconds: float = PATIENCE) -> Any:
        return self.tab.until(code, seconds=seconds)

    def key(self, key: str) -> None:
        code, number = KEYS.get(key, (f"Key{key.upper()}", ord(key.upper()[0])))
        shape: dict[str, Any] = {"key": key, "code": code, "windowsVirtualKeyCode": number}
        text = {"Enter": "\r", "Escape": "", "ArrowLeft": "", "ArrowRight": ""}.get(key, key)
        self.tab.call("Input.dispatchKeyEvent", type="keyDown", text=text, **shape)
        self.tab.call("Input.dispatchKeyEvent", type="keyUp", **shape)

    def keys(self, keys: str) -> None:
        for key in keys:
            self.key(key)

    def drag(self, element: str, by: float) -> None:
        """Press on an element, move it so many pixels to the right, and let go."""
        box = f"document.querySelector({element!r}).getBoundingClientRect()"
        x, y = self.tab.eval(f"(({{x, y, width, height}}) => [x + width / 2, y + height / 2])({box})")
        self.tab.call("Input.dispatchMouseEvent", type="mousePressed", x=x, y=y, button="left", clickCount=1)
        for part in (0.3, 0.7, 1.0):
            self.tab.call("Input.dispatchMouseEvent", type="mouseMoved", x=x + part * by, y=y, button="left", buttons=1)
        self.tab.call("Input.dispatchMouseEvent", type="mouseReleased", x=x + by, y=y, button="left", clickCount=1)

    def quiet(self) -> None:
        """No script failed, and nothing was refused by the policy."""
        assert self.tab.eval("window.failures") == []
