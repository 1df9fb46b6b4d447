// The form that builds a query, and the words beside the editor: a click puts them into it.
import { make } from "./ask-price.js";

/** Words become buttons. `insert`: puts one where the cursor is. */
export function openWords(insert) {
  for (const each of document.querySelectorAll("#words .put")) {
    const button = make("button", each.textContent, { type: "button", className: "put", title: `Insert ${each.textContent} into the query` });
    button.addEventListener("click", () => insert(each.dataset.put));
    each.replaceWith(button);
  }
}

/** The builder offers what its table has, and writes its query without leaving the page. `write`: takes the SQL. */
export function openBuilder(form, write) {
  const builder = document.getElementById("builder");
  if (!builder) return;
  const { build_table: table, build_measure: measure, build_column: column } = form.elements;
  const trouble = make("p", "", { role: "alert", hidden: true });
  builder.append(trouble);
  const fit = () => {
    for (const group of builder.querySelectorAll("optgroup")) {
      const own = group.label === table.value;
      group.hidden = group.disabled = !own;
      for (const option of own ? [] : group.children) if (option.selected) group.parentNode.value = "";
    }
    const needs = measure.selectedOptions[0]?.dataset.column !== undefined;
    column.disabled = !needs;
    if (!needs) column.value = "";
    else if (!column.value) column.value = builder.querySelector("#build-column optgroup:not([hidden]) option")?.value ?? "";
    const comparisons = builder.querySelectorAll("[name=build_comparison]");
    const values = builder.querySelectorAll("[name=build_value]");
    comparisons.forEach((each, place) => { values[place].readOnly = ["missing", "present"].includes(each.value); });
  };
  builder.addEventListener("change", fit);
  fit();
  // What is chosen here is no query yet: nothing is priced, and no draft is kept.
  for (const kind of ["input", "change"]) builder.addEventListener(kind, (event) => event.stopPropagation());
  builder.querySelector("button[value=build]").addEventListener("click", async (event) => {
    event.preventDefault();
    const answer = await fetch("/ask/build", { method: "POST", body: new URLSearchParams(new FormData(form)) }).catch(() => null);
    const told = answer?.status === 200 ? await answer.json() : { problem: { error: "The server does not respond, or your session has ended." } };
    trouble.hidden = !told.problem;
    trouble.className = told.problem ? "bad" : "";
    trouble.textContent = told.problem ? [told.problem.error, told.problem.hint].filter(Boolean).join(" Try: ") : "";
    if (!told.problem) write(told.sql);
  });
}
