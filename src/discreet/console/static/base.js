// What every page does: "/" jumps, forms are sent once, grave acts are confirmed, drafts end with their answer.
import { answered, forget } from "./drafts.js";

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

// A question that was sent from the editor is answered here; whoever logs out leaves nothing that they typed.
const from = document.referrer.startsWith(location.origin) ? new URL(document.referrer).pathname : "";
if (/^\/ask(\/draft|$)/.test(from) && /^\/(a|ask\/answer)\//.test(location.pathname)) answered();
document.querySelector('form[action="/logout"]')?.addEventListener("submit", forget);
