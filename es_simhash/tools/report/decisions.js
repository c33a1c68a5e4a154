"use strict";
const items = [...document.querySelectorAll("[data-line]")];
const bar = document.getElementById("bar");
const counts = [...bar.querySelectorAll("[data-count]")];
const save = document.getElementById("save");
const chosen = new Map(); // by item, its button
let current = 0;
let saved = true;

function show(index) {
  items[current].removeAttribute("aria-current");
  current = Math.max(0, Math.min(items.length - 1, index));
  items[current].closest("details")?.setAttribute("open", "");
  items[current].setAttribute("aria-current", "true");
  items[current].scrollIntoView({ block: "nearest" });
}

function choose(item, button) {
  const former = chosen.get(item);
  former?.setAttribute("aria-pressed", "false");
  chosen.delete(item);
  if (former !== button) {
    button.setAttribute("aria-pressed", "true");
    chosen.set(item, button);
  }
  saved = false;
  const kinds = [...chosen.values()].map((each) => [...each.parentNode.children].indexOf(each));
  counts.forEach((count, kind) => { count.textContent = kinds.filter((each) => each === kind).length; });
  save.disabled = !("all" in bar.dataset) && !chosen.size;
}

function download() {
  const kept = items.filter((item) => "all" in bar.dataset || chosen.has(item));
  const lines = kept.map((item) => {
    const added = JSON.parse(chosen.get(item)?.value ?? "{}");
    return JSON.stringify({ ...JSON.parse(item.dataset.line), ...added }) + "\n";
  });
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob(lines, { type: "application/x-ndjson" }));
  link.download = save.dataset.name;
  link.click();
  saved = true;
}

items.forEach((item, index) => {
  for (const button of item.querySelectorAll("button"))
    button.addEventListener("click", () => { show(index); choose(item, button); });
});
save.addEventListener("click", download);
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || !items.length) return;
  const key = event.key.toUpperCase();
  const button = [...items[current].querySelectorAll("button")].find((each) => each.querySelector("kbd").textContent === key);
  if (button) { choose(items[current], button); show(current + 1); }
  else if (key === "J") show(current + 1);
  else if (key === "K") show(current - 1);
  else if (key === "S" && !save.disabled) download();
  else return;
  event.preventDefault();
});
window.addEventListener("beforeunload", (event) => { if (!saved) event.preventDefault(); });
for (const each of document.querySelectorAll("[hidden]")) each.hidden = !items.length;
save.disabled = !("all" in bar.dataset);
items[0]?.setAttribute("aria-current", "true");
