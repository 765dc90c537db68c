// The choice of the interface's language: a cookie of this browser, read by the server.
document.getElementById("interface-language")?.addEventListener("change", ({ target }) => {
  document.cookie = `olu-words=${target.value}; path=/; max-age=31536000; samesite=strict`;
  location.reload();
});
