// The card as it would be published, while its fields are typed. Without this the button "Preview" shows it.
const form = document.getElementById("card-form");
const shown = document.getElementById("preview");
let waiting = 0;
let newest = 0;

async function render() {
  const mine = ++newest;
  const fields = new URLSearchParams(new FormData(form));
  fields.set("act", "preview");
  try {
    const answer = await fetch(form.action, { method: "POST", body: fields, credentials: "same-origin" });
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const next = page.getElementById("preview");
    if (next && mine === newest) {
      const open = [...shown.querySelectorAll("details")].map((each) => each.open);
      shown.replaceChildren(...next.childNodes);
      shown.querySelectorAll("details").forEach((each, place) => (each.open = open[place] ?? each.open));
    }
  } catch {
    // The server is away for a moment; the button shows the card.
  }
}

form.addEventListener("input", () => {
  clearTimeout(waiting);
  waiting = setTimeout(render, 500);
});
