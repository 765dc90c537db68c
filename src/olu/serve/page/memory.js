// What the browser keeps for the next visit, or for this tab; where it keeps nothing, the page works all the same.

export function remember(name, value, { tab = false } = {}) {
  try {
    (tab ? sessionStorage : localStorage).setItem(name, value);
  } catch {
    // storage is switched off
  }
}

export function recall(name, { tab = false } = {}) {
  try {
    return (tab ? sessionStorage : localStorage).getItem(name);
  } catch {
    return null;
  }
}
