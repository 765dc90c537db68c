/* How old this page is; and a fresh one every few seconds, unless something plays. */
const players = () => [...document.querySelectorAll("audio")];
function age() {
  const seconds = Math.max(0, Math.round(Date.now() / 1000 - updated));
  const said = seconds < 90 ? seconds + " s" : seconds < 5400 ? Math.round(seconds / 60) + " min"
    : Math.round(seconds / 3600) + " h";
  const place = document.getElementById("age");
  if (running && seconds > patience) {
    place.className = "tag error";
    place.textContent = "No word for " + said + ": it may have been killed";
    document.getElementById("again").hidden = false;
  } else place.textContent = (running ? "Running, " : place.dataset.state + ", ") + "last word " + said + " ago";
}
age(); setInterval(age, 1000);
if (running) setInterval(() => {
  if (players().every(player => player.paused)) location.reload();
}, reloadSeconds * 1000);
