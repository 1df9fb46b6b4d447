// Drafts of the editor: what was typed outlives Back, a reload and an ended session. They stay in this tab's session
// storage, belong to who typed them, and are sent nowhere. A draft's id stands in the state of its page in the history.
const KEY = "discreet-drafts";
const MOST = 10;

function all() {
  try {
    return JSON.parse(sessionStorage.getItem(KEY)) ?? [];
  } catch {
    return [];
  }
}

function store(drafts) {
  try {
    sessionStorage.setItem(KEY, JSON.stringify(drafts.slice(-MOST)));
  } catch {
    // A tab that may not store anything, or no more: the page works without.
  }
}

/** Keep what the form holds. `sent`: it is on its way to the server, and there is no answer yet. */
export function keep(who, fields, { sent = false } = {}) {
  const id = history.state?.draft ?? crypto.randomUUID?.() ?? `${Date.now()}-${Math.random()}`;
  history.replaceState({ ...history.state, draft: id }, "");
  store([...all().filter((each) => each.id !== id && each.who === who), { id, who, fields, sent, answered: false }]);
}

/** What this page held before; else, on a page that is new, the latest that has no answer. `typed`: the page came with a text. */
export function recall(who, { typed }) {
  const own = all().filter((each) => each.who === who);
  store(own); // nobody finds what another person typed
  const here = own.find((each) => each.id === history.state?.draft);
  if (here) return { ...here, isNew: false };
  const open = own.filter((each) => !each.answered && (each.sent || !typed) && each.fields.sql.trim()).at(-1);
  if (!open) return null;
  history.replaceState({ ...history.state, draft: open.id }, "");
  return { ...open, isNew: !open.sent };
}

/** The answer is here: what was sent is not offered again, and a new draw would be another request. */
export function answered() {
  store(all().map((each) => (each.sent
    ? { ...each, sent: false, answered: true, fields: { ...each.fields, key: "", fresh: false } }
    : each)));
}

/** Whether somebody typed a query here that was never answered: it is nowhere else. */
export function isPending(who) {
  return all().some((each) => each.who === who && !each.answered && each.fields.sql.trim());
}

/** Forget all, as whoever logs out expects. */
export function forget() {
  try {
    sessionStorage.removeItem(KEY);
  } catch {
    // Nothing was stored.
  }
}
