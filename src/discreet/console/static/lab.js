// While an attack runs, ask how it stands, and show the page anew when that is no longer what the page says.

const where = `${location.pathname}.json${location.search}`;
const shown = JSON.parse(document.querySelector("[data-stands]").dataset.stands);

async function look() {
  try {
    const answer = await fetch(where, { headers: { accept: "application/json" } });
    if (answer.ok) {
      const told = await answer.json();
      const now = told.attacks ? told.attacks.map((each) => each.state) : told.state;
      if (JSON.stringify(now) !== JSON.stringify(shown)) {
        location.reload();
        return;
      }
    }
  } catch {
    // The server may be busy or gone; the link on the page looks again.
  }
  setTimeout(look, 1500);
}

setTimeout(look, 500);
