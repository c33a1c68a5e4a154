"use strict";
const pairs = JSON.parse(document.getElementById("pairs").textContent);
const sections = [...document.querySelectorAll(".pair")];
const labels = new Map();
let current = 0;
let saved = true;

function show(index) {
  sections[current].removeAttribute("aria-current");
  current = Math.max(0, Math.min(sections.length - 1, index));
  sections[current].setAttribute("aria-current", "true");
  sections[current].scrollIntoView({ block: "nearest" });
}

function label(index, value) {
  labels.set(index, value);
  saved = false;
  for (const button of sections[index].querySelectorAll("button"))
    button.setAttribute("aria-pressed", String(button.value === value));
  const count = (wanted) => [...labels.values()].filter((each) => each === wanted).length;
  document.getElementById("labelled").textContent = labels.size;
  for (const each of ["true", "false", "unsure"]) document.getElementById(`count-${each}`).textContent = count(each);
}

function save() {
  const value = { true: true, false: false, unsure: "unsure" };
  const line = (pair, index) => JSON.stringify({ ...pair, copy: value[labels.get(index)] ?? null });
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([pairs.map(line).join("\n") + "\n"], { type: "application/x-ndjson" }));
  link.download = "pairs.jsonl";
  link.click();
  saved = true;
}

sections.forEach((section, index) => {
  for (const button of section.querySelectorAll("button"))
    button.addEventListener("click", () => { show(index); label(index, button.value); });
});
document.getElementById("save").addEventListener("click", save);
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const value = { y: "true", n: "false", u: "unsure" }[event.key];
  const step = { j: 1, k: -1, ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (value) { label(current, value); show(current + 1); }
  else if (step) show(current + step);
  else if (event.key === "s") save();
  else return;
  event.preventDefault();
});
window.addEventListener("beforeunload", (event) => { if (!saved) event.preventDefault(); });
for (const each of document.querySelectorAll("[hidden]")) each.hidden = false;
if (sections.length) show(0);
