"use strict";
const PARTS = ["facts", "status", "sections", "main"];
const PATIENCE_MS = 60000;
const FOCUSABLE = "a[href], button, summary, input, [tabindex]";
const filter = document.getElementById("filter");
const sifted = new Set(); // folds that are open only as something in them is looked for

function sift() {
  const wanted = filter.value.trim().toLowerCase();
  for (const row of document.querySelectorAll("[data-row]")) {
    const kind = row.closest("#plan section > details")?.querySelector(".kind").textContent ?? "";
    const misses = wanted !== "" && !`${kind} ${row.textContent}`.toLowerCase().includes(wanted);
    if (row instanceof SVGElement) row.classList.toggle("dimmed", misses);
    else row.hidden = misses;
  }
  for (const part of document.querySelectorAll("main section:not([data-row]), main .scroll, main details:not([data-row])")) {
    const rows = [...part.querySelectorAll("[data-row]")];
    part.hidden = wanted !== "" && rows.length > 0 && rows.every((row) => row.hidden);
  }
  for (const fold of document.querySelectorAll("#states details[id^='states/']")) {
    if (wanted !== "" && !fold.hidden && !fold.open) sifted.add(fold.id);
    if (sifted.has(fold.id)) fold.open = wanted !== "";
  }
  if (wanted === "") sifted.clear();
  for (const link of document.querySelectorAll("[data-filter]")) {
    link.classList.toggle("chosen", link.dataset.filter === wanted);
  }
}

function choose(event) {
  const { filter: state } = event.target.closest("[data-filter]").dataset;
  filter.value = filter.value === state ? "" : state;
  event.preventDefault();
  sift();
}

function aim() {
  return location.hash && document.getElementById(location.hash.slice(1));
}

function show() {
  const found = aim();
  if (!found) return;
  for (let node = found; node; node = node.parentElement) if (node.localName === "details") node.open = true;
  found.scrollIntoView();
}

function enhance(page) {
  for (const needing of page.querySelectorAll("[data-scripted]")) needing.hidden = false;
}

async function copy(button) {
  const code = button.parentElement.querySelector("code");
  try {
    await navigator.clipboard.writeText(code.textContent);
    button.textContent = "copied";
  } catch {
    getSelection().selectAllChildren(code);
    button.textContent = "selected";
  }
  setTimeout(() => { button.textContent = "copy"; }, 2000);
}

function placeOf(element) {
  const owner = element?.closest("[id]");
  return owner && { id: owner.id, place: [owner, ...owner.querySelectorAll(FOCUSABLE)].indexOf(element) };
}

function take(fresh) {
  const open = new Map([...document.querySelectorAll("details[id]")].map((each) => [each.id, each.open]));
  const boxes = new Map([...document.querySelectorAll(".scroll[id]")].map((each) => [each.id, [each.scrollLeft, each.scrollTop]]));
  const focus = placeOf(document.activeElement);
  const [x, y] = [scrollX, scrollY];
  const isAwaited = !aim() && y === 0;
  enhance(fresh); // what has not changed is left alone, as a screen reader would say it again
  for (const each of fresh.querySelectorAll("details[id]")) if (open.has(each.id)) each.open = open.get(each.id);
  for (const id of PARTS) {
    const [before, after] = [document.getElementById(id), fresh.getElementById(id)];
    if (!before || !after || before.innerHTML === after.innerHTML) continue;
    before.className = after.className;
    before.replaceChildren(...after.childNodes);
  }
  document.title = fresh.title;
  sift();
  age();
  for (const [id, at] of boxes) document.getElementById(id)?.scrollTo(...at);
  scrollTo(x, y);
  if (focus && !(document.activeElement && placeOf(document.activeElement)?.id === focus.id)) {
    const owner = document.getElementById(focus.id);
    owner && [owner, ...owner.querySelectorAll(FOCUSABLE)][focus.place]?.focus({ preventScroll: true });
  }
  if (isAwaited) show();
}

function age() {
  const read = document.querySelector("#facts time");
  if (!read) return;
  const s = Math.max(0, Math.round((Date.now() - Date.parse(read.dateTime)) / 1000));
  const shown = s < 120 ? `${s} s` : s < 7200 ? `${Math.round(s / 60)} min` : `${Math.round(s / 3600)} h`;
  const told = read.nextElementSibling ?? read.parentElement.appendChild(document.createElement("span"));
  told.textContent = ` (${shown} ago)`;
}

function complain(why) {
  const trouble = document.getElementById("trouble");
  const told = why && `${why} What you see is older.`;
  trouble.hidden = !told;
  if (trouble.textContent !== told) trouble.textContent = told;
}

let tag = document.body.dataset.tag ?? "";
let isAsking = false;
async function poll() {
  if (isAsking || document.visibilityState !== "visible" || !getSelection().isCollapsed) return;
  isAsking = true;
  try {
    const headers = tag ? { "If-None-Match": tag } : {};
    const signal = AbortSignal.timeout(PATIENCE_MS);
    const answer = await fetch(document.body.dataset.poll, { headers, signal, cache: "no-store" });
    if (answer.status >= 400) return complain(`The page cannot be made: ${answer.status}.`);
    if (answer.status === 200) {
      const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
      if (!fresh.getElementById("main")) return complain("Something else answers: load the page again.");
      tag = answer.headers.get("ETag") ?? "";
      take(fresh);
    }
    complain("");
  } catch {
    complain("Nothing answers any more.");
  } finally {
    isAsking = false;
  }
}

filter.addEventListener("input", sift);
addEventListener("hashchange", show);
addEventListener("click", (event) => {
  if (event.target.matches("button.copy")) copy(event.target);
  if (event.target.closest("[data-filter]")) choose(event);
});
enhance(document);
sift();
show();
if (document.body.dataset.poll && location.protocol.startsWith("http")) {
  age();
  setInterval(age, 1000);
  setInterval(poll, 5000);
  addEventListener("visibilitychange", poll);
}
