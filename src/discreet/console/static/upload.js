// A file is sent as it is, with a bar that shows how far it is. Without this, the form says that nothing was sent.
const form = document.querySelector("form[data-upload]");
const bar = form?.querySelector("[data-progress]");
const trouble = form?.querySelector("[data-trouble]");

function tell(sentence, hint) {
  bar.hidden = true;
  trouble.hidden = false;
  trouble.textContent = hint ? `${sentence} Try: ${hint}` : sentence;
  form.querySelector("button").disabled = false;
}

function send(file) {
  const request = new XMLHttpRequest();
  const status = bar.querySelector("span");
  request.open("POST", `${form.dataset.upload}?name=${encodeURIComponent(file.name)}`);
  request.setRequestHeader("x-csrf", form.dataset.csrf);
  request.setRequestHeader("content-type", "application/octet-stream");
  request.upload.addEventListener("progress", (event) => {
    if (!event.lengthComputable) return;
    bar.querySelector("progress").value = event.loaded / event.total;
    status.textContent = `${Math.floor((100 * event.loaded) / event.total)}%`;
  });
  request.addEventListener("load", () => {
    let said = {};
    try {
      said = JSON.parse(request.responseText);
    } catch {
      // A page and not data: the sentence below.
    }
    if (request.status === 200 && said.to) location.assign(said.to);
    else tell(said.error ?? "The file was not accepted. Load this page again, and try once more.", said.hint);
  });
  request.addEventListener("error", () => tell("The connection ended before the file was there. Nothing was stored."));
  request.send(file);
}

form?.addEventListener("submit", (event) => {
  event.preventDefault();
  const [file] = form.querySelector("input[type=file]").files;
  if (!file) return;
  const largest = Number(form.dataset.largest);
  if (file.size > largest) {
    tell(`The file is too large: at most ${Math.floor(largest / 1e6)} MB can be uploaded.`, "put it on the server’s machine, and give its path below.");
    return;
  }
  trouble.hidden = true;
  bar.hidden = false;
  form.querySelector("button").disabled = true;
  send(file);
});
