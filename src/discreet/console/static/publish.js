// The card as it would be published, while its fields are typed. Without this the button "Preview" shows it.
const form = document.getElementById("card-form");
const shown = document.getElementById("preview");
const fields = () => new URLSearchParams(new FormData(form)).toString();
let waiting = 0;
let newest = 0;
let drawn = initial();

/** What the fields were when the server made this page: they may have been typed in before this script ran. */
function initial() {
  const made = new URLSearchParams();
  for (const each of form.elements) {
    if (!each.name || each.matches("button, fieldset")) continue;
    if (each.type !== "checkbox") made.append(each.name, each.defaultValue);
    else if (each.defaultChecked) made.append(each.name, each.value);
  }
  return made.toString();
}

function later(wait_ms) {
  clearTimeout(waiting);
  waiting = setTimeout(render, wait_ms);
}

async function render() {
  const mine = ++newest;
  const typed = fields();
  if (typed === drawn) return;
  const body = new URLSearchParams(typed);
  body.set("act", "preview");
  try {
    const answer = await fetch(form.action, { method: "POST", body, credentials: "same-origin" });
    if (mine !== newest) return;
    if (answer.status === 429 || answer.status >= 500) return later(2000); // too busy: a moment later
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const next = page.getElementById("preview");
    if (mine !== newest || !next) return; // fields that cannot be read: the buttons say why
    const open = [...shown.querySelectorAll("details")].map((each) => each.open);
    shown.replaceChildren(...next.childNodes);
    shown.querySelectorAll("details").forEach((each, place) => (each.open = open[place] ?? each.open));
    drawn = typed;
  } catch {
    if (mine === newest) later(2000); // the server is away for a moment
  }
}

form.addEventListener("input", () => later(500));
render();
