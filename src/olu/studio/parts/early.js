// Read before the page is shown. What is pressed before the page's scripts are there waits for them: the browser itself
// would send the form to nowhere, and the press would be lost.
(() => {
  const pressed = [];
  const hold = (event) => {
    const button = event.target.closest?.("button");
    if (!button) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    if (!pressed.includes(button)) pressed.push(button);
  };
  addEventListener("click", hold, true);
  addEventListener("DOMContentLoaded", () => {
    removeEventListener("click", hold, true);
    for (const button of pressed) if (button.isConnected) button.click();
  });
})();
