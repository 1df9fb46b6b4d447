// Jobs that run: say how far each is, and show the page anew when one of them has ended or begun.
const cards = [...document.querySelectorAll("[data-job]")];
const standing = (jobs) => JSON.stringify(jobs.map(({ job, state }) => [job, state]).sort());
const shown = standing(cards.map(({ dataset }) => ({ job: dataset.job, state: dataset.state })));

async function look() {
  try {
    const answer = await fetch("/jobs.json", { credentials: "same-origin" });
    if (answer.ok) {
      const told = await answer.json();
      if (standing(told.open) !== shown) return location.reload();
      for (const each of told.open) {
        const card = cards.find(({ dataset }) => dataset.job === each.job);
        card.querySelector("[data-step]").textContent = each.step || each.state;
        if (each.share !== null) card.querySelector("[data-share]").setAttribute("width", 100 * each.share);
      }
    } else if (answer.status !== 429) {
      return location.reload();
    }
  } catch {
    // The server is away for a moment; look again.
  }
  setTimeout(look, 1500);
}

setTimeout(look, 1500);
