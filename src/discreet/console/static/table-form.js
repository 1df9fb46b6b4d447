// What is asked about a column follows its type; a code book is read into its box, and sent with the form.
for (const select of document.querySelectorAll("fieldset.column select")) {
  select.addEventListener("change", () => {
    select.closest("fieldset").dataset.type = select.value;
  });
}

for (const input of document.querySelectorAll("input[type=file][data-into]")) {
  input.addEventListener("change", async () => {
    const [file] = input.files;
    if (file) document.getElementById(input.dataset.into).value = await file.text();
  });
}

document.getElementById("preview")?.scrollIntoView({ block: "start" });
