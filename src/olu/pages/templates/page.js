document.addEventListener("play", event => {
  for (const other of document.querySelectorAll("audio")) if (other !== event.target) other.pause();
}, true);
document.addEventListener("click", async event => {
  const button = event.target.closest(".command button");
  if (!button) return;
  const code = button.parentElement.querySelector("code");
  try { await navigator.clipboard.writeText(code.textContent); button.textContent = "Copied"; }
  catch { getSelection().selectAllChildren(code); button.textContent = "Selected"; }
});
