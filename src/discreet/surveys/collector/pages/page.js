// What both pages do: find a place, say a sentence, ask this server and no other.

/** The element of this id. */
export function at(id) {
  return document.getElementById(id);
}

/** One sentence for whoever looks or listens; none takes the last one back. */
export function say(sentence = "") {
  at("status").textContent = sentence;
  at("status").hidden = !sentence;
}

/** The survey that this address is about. */
export function surveyHere() {
  return /^\/s\/([A-Za-z0-9_-]+)/.exec(location.pathname)?.[1] ?? "";
}

/** Nobody answered: no network, or no server. */
export class Offline extends Error {}

/** This server's answer as {ok, status, body}. Nothing identifies the browser, and nobody else is asked. */
export async function ask(path, body) {
  const options = { credentials: "omit", referrerPolicy: "no-referrer", cache: "no-store", redirect: "error" };
  const sending = { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) };
  try {
    const answer = await fetch(path, body ? { ...options, ...sending } : options);
    return { ok: answer.ok, status: answer.status, body: await answer.json().catch(() => ({})) };
  } catch {
    throw new Offline("offline");
  }
}

/** 0.2513 as "25%", 0.0123 as "1.2%". */
export function percent(share) {
  const size = Math.abs(share) * 100;
  return `${(share * 100).toFixed(size >= 10 || size === 0 ? 0 : 1).replace(/^-(0(\.0)?)$/, "$1")}%`;
}

/** A node with text, which is never read as markup. */
export function made(kind, text = "", name = "") {
  const node = document.createElement(kind);
  node.textContent = text;
  if (name) node.className = name;
  return node;
}
