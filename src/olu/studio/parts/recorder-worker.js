// Keeps the recorder's page and scripts on the device, so that it opens without a network. What is recorded is the
// outbox's, not ours: this only answers where the network does not.
const KEPT = "olu-recorder-1";
const PATIENCE = 4000; // milliseconds

addEventListener("install", () => skipWaiting());
addEventListener("activate", (event) => event.waitUntil(clients.claim()));
addEventListener("fetch", (event) => {
  const url = new URL(event.request.url);
  const ours = url.origin === location.origin && (url.pathname.startsWith("/parts/") || url.pathname.startsWith("/r/"));
  if (event.request.method !== "GET" || !ours || event.request.headers.has("range")) return;
  event.respondWith(answer(event.request));
});

async function answer(request) {
  const kept = await caches.open(KEPT);
  const network = fetch(request).then(async (found) => {
    if (found.ok) await kept.put(request, found.clone());
    return found;
  });
  const old = await kept.match(request, { ignoreSearch: true });
  if (!old) return network;
  const late = new Promise((done) => setTimeout(() => done(old), PATIENCE));
  return Promise.race([network.catch(() => old), late]);
}
