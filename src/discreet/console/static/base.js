// What every page does: "/" jumps, forms are sent once, grave acts are confirmed, drafts end with their answer.
import { answered, forget, isPending } from "./drafts.js";

const jump = document.getElementById("jump-to");

document.addEventListener("keydown", (event) => {
  const typing = event.target.closest("input, textarea, select, [contenteditable]");
  if (event.key === "/" && !typing && jump && !event.ctrlKey && !event.metaKey && !event.altKey) {
    event.preventDefault();
    jump.focus();
  }
});

// A second click must not send a form again; the server would know it for the same one, but people would wait twice.
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.method !== "post" || event.defaultPrevented) return;
  if (form.dataset.sent) event.preventDefault();
  form.dataset.sent = "yes";
});
addEventListener("pageshow", () => document.querySelectorAll("form[data-sent]").forEach((form) => delete form.dataset.sent));

// Something that cannot be undone is asked about.
document.addEventListener("click", (event) => {
  const asked = event.target.closest("[data-confirm]");
  if (asked && !confirm(asked.dataset.confirm)) event.preventDefault();
});

// A question that was sent from the editor is answered here; whoever logs out leaves nothing that they typed, and is asked first.
const from = document.referrer.startsWith(location.origin) ? new URL(document.referrer).pathname : "";
if (/^\/ask(\/draft|$)/.test(from) && /^\/(a|ask\/answer)\//.test(location.pathname)) answered();
document.querySelector('form[action="/logout"]')?.addEventListener("submit", (event) => {
  const warning = "You typed a query that has no answer yet. Logging out deletes it from this browser tab, and your drafts from the server. Log out?";
  if (isPending(event.target.dataset.who) && !confirm(warning)) event.preventDefault();
  else forget();
});

// What only works with this script is shown by it; where nothing may be copied (an address without TLS), that stays away.
if (document.querySelector("[data-copy], [data-png]")) {
  document.querySelectorAll("main .with-script").forEach((each) => { each.hidden = false; });
  if (!navigator.clipboard) document.querySelectorAll("[data-copy]").forEach((each) => { each.hidden = true; });
}

// Numbers as rows with tabs, which programs that open tables take as they are.
const cells = (row) => [...row.cells].map((cell) => (cell.querySelector(".unseen") ? cell.firstChild.textContent : cell.textContent).trim());
const copies = {
  link: () => location.origin + location.pathname + location.search.replace(/[?&]stored=1/, ""),
  "table.sheet": () => [...document.querySelector("table.sheet").rows].map((row) => cells(row).join("\t")).join("\n"),
};

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  const target = button.dataset.copy;
  await navigator.clipboard.writeText(copies[target]?.() ?? document.querySelector(target).textContent);
  const told = document.getElementById("copied");
  if (told) told.textContent = "Copied.";
});

// A chart as PNG: its SVG, drawn by the browser.
document.addEventListener("click", async (event) => {
  const link = event.target.closest("[data-png]");
  if (!link) return;
  event.preventDefault();
  const picture = new Image();
  picture.src = link.href;
  await picture.decode();
  const canvas = Object.assign(document.createElement("canvas"), { width: picture.width, height: picture.height });
  canvas.getContext("2d").drawImage(picture, 0, 0);
  canvas.toBlob((blob) => {
    const address = URL.createObjectURL(blob);
    Object.assign(document.createElement("a"), { href: address, download: link.dataset.png }).click();
    setTimeout(() => URL.revokeObjectURL(address), 10_000);
  });
});

// On a phone a table that does not fit becomes cards: each cell says what it is. Without this script the table scrolls.
const NARROW = matchMedia("(max-width: 46rem)");
const MOST_ROWS = 500;

function fit() {
  for (const table of document.querySelectorAll(".wide > table")) {
    table.classList.remove("as-cards");
    const head = table.tHead?.rows;
    const rows = [...table.tBodies].flatMap((body) => [...body.rows]);
    const fits = table.parentElement.scrollWidth <= table.parentElement.clientWidth + 1;
    if (!NARROW.matches || fits || head?.length !== 1 || rows.length > MOST_ROWS) continue;
    const names = [...head[0].cells].map((cell) => cell.textContent.trim());
    if (rows.some((row) => row.cells.length !== names.length)) continue;
    // A table that is laid out as blocks is one no more to a screen reader unless it says so.
    table.setAttribute("role", "table");
    for (const row of rows) {
      row.setAttribute("role", "row");
      [...row.cells].forEach((cell, place) => {
        cell.dataset.label = names[place];
        cell.setAttribute("role", cell.localName === "th" ? "rowheader" : "cell");
      });
    }
    table.classList.add("as-cards");
  }
}
fit();
NARROW.addEventListener("change", fit);
