// A work under way: say how far it is, and go to its result when there is one. Without this the page has a link.
const watched = document.querySelector("[data-watch]");

async function look() {
  try {
    const answer = await fetch(watched.dataset.watch, { credentials: "same-origin" });
    if (answer.ok) {
      const told = await answer.json();
      if (told.state === "done") return location.assign(told.to);
      if (told.state !== "open") return location.reload();
      watched.querySelector("[data-step]").textContent = told.step || "waiting";
      watched.querySelector("[data-share]").setAttribute("width", 100 * told.share);
    } else if (answer.status !== 429) {
      return location.reload();
    }
  } catch {
    // The server is away for a moment; look again.
  }
  setTimeout(look, 1000);
}

if (watched) setTimeout(look, 1000);
