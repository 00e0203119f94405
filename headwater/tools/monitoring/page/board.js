"use strict";
// Asks for the view once a second and shows it. Keeps nothing but what the reader has chosen.

const EVERY_MS = 1000;
const SVG = "http://www.w3.org/2000/svg";
const byId = (id) => document.getElementById(id);
const chosen = { query: "", order: "lag", find: "", first: 0 };
let heardMs = 0;
let timer = 0;
let asked = 0;

// ---- texts -----------------------------------------------------------------------------------------------

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const few = new Intl.NumberFormat("en", { maximumFractionDigits: 1, notation: "compact" });
const UNKNOWN = "–";

function number(value) {
  if (value === null || value === undefined) return UNKNOWN;
  return Math.abs(value) < 100000 ? whole.format(value) : few.format(value);
}

// A position is looked for in other places: no digit of it is left out.
function exact(position) {
  if (position === null) return UNKNOWN;
  return typeof position === "number" ? whole.format(position) : position;
}

function rate(value) {
  return value === null || value === undefined ? UNKNOWN : `${value < 10 ? few.format(value) : number(value)}/s`;
}

function size(bytes) {
  const step = Math.min(4, Math.floor(Math.log10(Math.max(1, bytes)) / 3));
  return `${few.format(bytes / 1000 ** step)} ${["bytes", "kB", "MB", "GB", "TB"][step]}`;
}

function duration(ms) {
  if (ms === null || ms === undefined) return UNKNOWN;
  if (ms < 1000) return `${whole.format(ms)} ms`;
  if (ms < 120000) return `${(ms / 1000).toFixed(1)} s`;
  if (ms < 7200000) return `${whole.format(ms / 60000)} min`;
  return ms < 172800000 ? `${whole.format(ms / 3600000)} h` : `${whole.format(ms / 86400000)} days`;
}

function clock(ms) {
  return new Date(ms).toISOString().slice(0, 19).replace("T", " ");
}

function plural(count, what) {
  return `${number(count)} ${what}${count === 1 ? "" : "s"}`;
}

// ---- elements --------------------------------------------------------------------------------------------

function element(name, options = {}, ...children) {
  const made = Object.assign(document.createElement(name), options);
  made.append(...children);
  return made;
}

function shape(name, attributes) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

// A line over the last values; gaps where they are not known.
function sparkline(svg, kind, values) {
  svg.setAttribute("viewBox", "0 0 100 30");
  svg.setAttribute("preserveAspectRatio", "none");
  svg.setAttribute("aria-hidden", "true");
  const most = Math.max(1, ...values.filter((value) => value !== null));
  const step = 100 / Math.max(1, values.length - 1);
  let path = "";
  let isPenUp = true;
  values.forEach((value, at) => {
    if (value !== null) {
      path += `${isPenUp ? "M" : "L"}${(at * step).toFixed(1)} ${(28 - 26 * value / most).toFixed(1)}`;
    }
    isPenUp = value === null;
  });
  svg.replaceChildren(shape("path", { class: `spark ${kind}`, d: path }));
  return svg;
}

function measure(kind, text, value, most, history) {
  const filled = element("i");
  filled.style.width = `${most > 0 && value ? Math.max(1, 100 * value / most) : 0}%`;
  const bar = element("span", { className: `bar ${kind}` }, filled);
  return element("div", { className: "measure" },
    element("b", { textContent: text }), bar, sparkline(document.createElementNS(SVG, "svg"), kind, history));
}

function table(id, rows, names) {
  byId(`${id}-section`).hidden = rows.length === 0;
  const [head, body] = [byId(id).tHead, byId(id).tBodies[0]];
  head.replaceChildren(element("tr", {}, ...names.map((name) =>
    element("th", { scope: "col", textContent: name.replaceAll("_", " ") }))));
  body.replaceChildren(...rows.map((row) => element("tr", {}, ...names.map((name) =>
    element("td", { textContent: cell(row[name], name) })))));
}

function cell(value, name) {
  if (value === null || value === undefined) return UNKNOWN;
  if (name === "time_ms") return clock(value);
  if (name.endsWith("_ms")) return duration(value);
  return typeof value === "number" ? number(value) : typeof value === "object" ? JSON.stringify(value) : value;
}

// ---- queries ---------------------------------------------------------------------------------------------

function showQueries(queries, shownId, nowMs) {
  const list = byId("queries");
  byId("no-queries").hidden = queries.length > 0;
  const there = new Map([...list.children].map((card) => [card.dataset.id, card]));
  queries.forEach((query, at) => {
    const card = there.get(query.id) || queryCard(query.id);
    there.delete(query.id);
    // Cards stay the elements that they are: one that has the keyboard's focus keeps it.
    if (list.children[at] !== card) list.insertBefore(card, list.children[at] || null);
    card.setAttribute("aria-pressed", String(query.id === shownId));
    const [name, badge, told, rates, lags] = card.children;
    name.textContent = query.name;
    badge.textContent = query.state;
    badge.className = `badge ${query.state}`;
    told.textContent = summary(query, nowMs);
    told.className = query.state === "failed" ? "told alarm" : "told";
    sparkline(rates.lastChild, "rate", query.rates);
    sparkline(lags.lastChild, "lag", query.lags);
  });
  there.forEach((card) => card.remove());
}

function queryCard(id) {
  const card = element("button", { type: "button", className: "query" },
    element("span", { className: "name" }), element("span"), element("span"),
    titledLine("rate"), titledLine("lag"));
  card.dataset.id = id;
  card.addEventListener("click", () => choose({ query: id, first: 0 }));
  return card;
}

function titledLine(title) {
  return element("span", { className: "line", textContent: title }, document.createElementNS(SVG, "svg"));
}

function summary(query, nowMs) {
  if (query.state === "failed") return query.message;
  const parts = [query.batch_id === null ? "no batch yet" : `batch ${query.batch_id}`];
  if (query.rate !== null) parts.push(rate(query.rate));
  if (query.lag !== null) parts.push(`lag ${lagText(query)}`);
  if (query.snapshot && query.snapshot.left) parts.push(`snapshot ${percent(query.snapshot)}`);
  if (query.runs > 1) parts.push(`started ${query.runs} times`);
  const silentMs = nowMs - query.heard_ms;
  if (query.heard_ms !== null && silentMs > 5000) parts.push(`heard ${duration(silentMs)} ago`);
  return parts.join(" · ");
}

// ---- one query -------------------------------------------------------------------------------------------

function showDetails(query, details, nowMs) {
  byId("details").hidden = !query;
  if (!query) return;
  byId("details-title").textContent = query.name;
  byId("flow").textContent = details.sources.length
    ? `reads ${details.sources.join(" and ")}${details.sink ? `, writes to ${details.sink}` : ""}` : "";
  byId("message").hidden = !query.message;
  byId("message").textContent = query.message;
  showTiles(query, nowMs, details.metrics);
  showSnapshot(query.snapshot);
  showMetrics(details.metrics);
  showBatches(details.batches);
  table("epochs", details.epochs, [...new Set(details.epochs.flatMap(Object.keys))]);
  showSplits(details.splits, query.unit);
  table("lost", details.lost, ["time_ms", "split", "first", "until", "found"]);
}

// A metric of the sources: its unit says how it is read.
function metric({ name, value, unit }) {
  if (name === "isProcessingBacklog") return value ? "yes" : "no";
  return unit === "bytes" ? size(value) : unit === "ms" ? duration(value) : number(value);
}

function showMetrics(metrics) {
  byId("metrics-section").hidden = metrics.length === 0;
  byId("metrics").replaceChildren(...metrics.map((each) =>
    element("div", { title: each.about, className: each.name === "numRecordsInErrors" && each.value ? "alarm" : "" },
      element("dt", { textContent: each.name }), element("dd", { textContent: metric(each) }))));
}

function showTiles(query, nowMs, metrics) {
  const known = Object.fromEntries(metrics.map(({ name, value }) => [name, value]));
  const behind = (ms) => (ms === null ? "" : `${duration(Math.max(0, nowMs - ms))} ago`);
  const lost = query.lost_rows + query.lost_at_least_rows + query.lost_splits;
  const tiles = [
    ["state", query.state, query.runs > 1 ? `started ${query.runs} times` : "", query.state === "failed"],
    ["batch", number(query.batch_id), query.duration_ms === null ? "" : `took ${duration(query.duration_ms)}`],
    ["rate", rate(query.rate), seen(query, known.numBytesIn)],
    ["lag", lagText(query), `${plural(query.splits, "split")}${caughtUp(query)}`],
  ];
  if (known.lagTime) tiles.push(["oldest unread", duration(known.lagTime), "ago, when the last batch was planned"]);
  if (query.arrival_rate !== null) tiles.push(["comes in", rate(query.arrival_rate), "at the source, lately"]);
  if (query.last_written !== null) tiles.push(["written", rate(query.written_rate), written(query)]);
  if (query.front_ms !== null) tiles.push(["event time read", clock(query.front_ms), behind(query.front_ms)]);
  if (query.held_back_by) tiles.push(["event time skew", duration(query.skew_ms), `held back by ${query.held_back_by}`]);
  if (query.late_rows) tiles.push(["late rows", number(query.late_rows), "of splits found late"]);
  if (query.watermark_ms !== null) tiles.push(["watermark", clock(query.watermark_ms), behind(query.watermark_ms)]);
  if (query.calls_carried) tiles.push(["calls in flight", number(query.calls_carried), "kept in state"]);
  tiles.push(["retries", number(known.planningRetries || 0), query.failures ? plural(query.failures, "failure") : "", false]);
  tiles.push(["lost", number(lost), lostText(query), lost > 0]);
  byId("tiles").replaceChildren(...tiles.map(([name, value, more, isAlarm]) =>
    element("div", { className: isAlarm ? "alarm" : "" }, element("dt", { textContent: name }),
      element("dd", { textContent: value }, element("small", { textContent: more })))));
}

function percent({ finished, left }) {
  return `${Math.floor(100 * finished / (finished + left))} %`;
}

function showSnapshot(snapshot) {
  const isShown = Boolean(snapshot && snapshot.left);
  byId("snapshot-section").hidden = !isShown;
  if (!isShown) return;
  const { finished, left, rows, left_ms: leftMs } = snapshot;
  Object.assign(byId("snapshot"), { max: finished + left, value: finished });
  byId("snapshot-told").textContent = `${percent(snapshot)}: ${number(finished)} of about `
    + `${plural(finished + left, "split")} read and committed, ${plural(rows, "row")}`
    + (leftMs === null ? "" : `; the rest in about ${duration(leftMs)}`);
}

function lagText(query) {
  return query.lag !== null && query.unit === "bytes" ? size(query.lag) : number(query.lag);
}

function caughtUp(query) {
  if (!query.lag) return "";
  return query.caught_up_ms === null ? ", not falling" : `, caught up in ${duration(query.caught_up_ms)}`;
}

function seen(query, bytes) {
  // Not of every source are the bytes known.
  return `${number(query.rows)} rows${bytes ? `, ${size(bytes)}` : ""} seen`;
}

function written(query) {
  return `${plural(query.last_written, "row")} of ${number(query.last_rows)} read, in the last batch`;
}

function lostText(query) {
  const parts = [];
  if (query.lost_rows) parts.push(`${number(query.lost_rows)} rows`);
  if (query.lost_at_least_rows) parts.push(`at least ${number(query.lost_at_least_rows)} rows`);
  if (query.lost_splits) parts.push(plural(query.lost_splits, "whole split"));
  return parts.join(", ");
}

const STEPS = [
  ["plan", "plan", ["latestOffset", "getOffset", "getBatch", "queryPlanning"]],
  ["work", "read and write", ["addBatch"]],
  ["log", "checkpoint", ["walCommit", "commitOffsets", "commitBatch"]],
];

function steps(batch) {
  const named = STEPS.map(([kind, told, names]) =>
    [kind, told, names.reduce((sum, name) => sum + (batch.phases_ms[name] || 0), 0)]);
  const known = named.reduce((sum, [, , ms]) => sum + ms, 0);
  return [...named, ["other", "other", Math.max(0, (batch.duration_ms || 0) - known)]];
}

function showBatches(batches) {
  // A checkpoint does not say how long batches took.
  byId("batches-section").hidden = !batches.some((batch) => batch.duration_ms !== null);
  const durations = batches.map((batch) => batch.duration_ms || 0);
  const tallest = Math.max(1, ...durations);
  // A first batch may take a hundred times as long as all others: they are to be seen beside it.
  const most = Math.min(tallest, Math.max(1, 4 * median(durations)));
  const bars = batches.flatMap((batch, at) => {
    let top = 100;
    return steps(batch).map(([kind, , ms]) => {
      const height = Math.min(94 * ms / most, Math.max(0, top - 2));
      top -= height;
      return shape("rect", { class: kind, x: 10 * at + 1, y: top.toFixed(2), width: 8, height: height.toFixed(2) });
    });
  });
  const svg = byId("batches");
  svg.setAttribute("viewBox", `0 0 ${10 * Math.max(20, batches.length)} 100`);
  svg.setAttribute("aria-label", `durations of the last ${batches.length} batches, at most ${duration(tallest)}`);
  const lines = [0.5, 1].map((part) => shape("line", {
    class: "scale", x1: 0, x2: "100%", y1: (100 - 94 * part).toFixed(2), y2: (100 - 94 * part).toFixed(2) }));
  svg.replaceChildren(...lines, ...bars);
  byId("legend").replaceChildren(...[...STEPS, ["other", "other"]].map(([kind, told]) =>
    element("li", { className: kind, textContent: told })));
  const last = batches.at(-1);
  byId("last-batch").textContent = last
    ? `Batch ${last.batch_id}${last.committed ? "" : ", not committed"}: ` + steps(last)
      .filter(([, , ms]) => ms > 0).map(([, told, ms]) => `${told} ${duration(ms)}`).join(", ")
      + `. The lines are ${duration(most / 2)} and ${duration(most)}`
      + (tallest > most ? `; bars that reach the top are longer, up to ${duration(tallest)}.` : ".")
    : "";
}

function median(values) {
  const sorted = [...values].sort((one, other) => one - other);
  return sorted[Math.floor(sorted.length / 2)] || 0;
}

function showSplits(splits, unit) {
  const hasFronts = splits.rows.some((row) => row.front_ms !== null);
  document.querySelector("#splits .front").hidden = !hasFronts;
  byId("splits").tBodies[0].replaceChildren(...splits.rows.map((row) => {
    const front = element("td", { textContent: row.front_ms === null ? UNKNOWN : clock(row.front_ms) });
    front.hidden = !hasFronts;
    return element("tr", {},
      element("td", { className: "split", textContent: row.kept ? `${row.split} (out of sight)` : row.split }),
      element("td", {}, measure("lag", lagText({ lag: row.lag, unit }), row.lag, splits.most_lag, row.lags)),
      element("td", {}, measure("rate", rate(row.rate), row.rate, splits.most_rate, row.rates)),
      front,
      element("td", { className: "position", textContent: exact(row.position) }));
  }));
  const until = splits.first + splits.rows.length;
  byId("range").textContent = splits.found
    ? `${splits.first + 1} to ${until} of ${whole.format(splits.found)}` : `none of ${whole.format(splits.total)}`;
  byId("previous").disabled = splits.first === 0;
  byId("next").disabled = until >= splits.found;
  byId("pages").dataset.step = String(Math.max(1, splits.rows.length));
}

// ---- what is wrong ---------------------------------------------------------------------------------------

function showCalls(calls) {
  table("calls", calls, [...new Set(calls.flatMap(Object.keys))]);
}

function showFailures(failures) {
  byId("failures-section").hidden = failures.length === 0;
  byId("failures").replaceChildren(...failures.map((failure) => element("li", {},
    element("time", { textContent: clock(failure.time_ms) }), element("b", { textContent: failure.query }),
    element("div", { textContent: failure.message }))));
}

function showHeard(isSilent) {
  const heard = byId("heard");
  heard.classList.toggle("silent", isSilent);
  if (isSilent) {
    heard.textContent = heardMs
      ? `the driver does not answer; this is of ${clock(heardMs)} UTC` : "the driver does not answer";
  } else {
    heard.textContent = `live, ${clock(heardMs)} UTC`;
  }
}

// ---- the loop --------------------------------------------------------------------------------------------

async function ask() {
  clearTimeout(timer);
  // An answer to an earlier question may come later: it must not undo what was chosen meanwhile.
  const question = ++asked;
  try {
    const answer = await fetch(`view?${new URLSearchParams(chosen)}`, { signal: AbortSignal.timeout(10000) });
    if (!answer.ok) throw new Error(answer.statusText);
    const view = await answer.json();
    if (question !== asked) return;
    heardMs = view.now_ms;
    show(view);
    showHeard(false);
  } catch {
    if (question !== asked) return;
    showHeard(true);
  }
  timer = setTimeout(ask, EVERY_MS);
}

function show(view) {
  const shown = view.shown && view.queries.find((query) => query.id === view.shown.id);
  showQueries(view.queries, shown && shown.id, view.now_ms);
  showDetails(shown, view.shown, view.now_ms);
  showCalls(view.calls);
  showFailures(view.failures);
}

function choose(change) {
  Object.assign(chosen, change);
  ask();
}

// ---- what the reader does --------------------------------------------------------------------------------

const THEMES = ["system", "light", "dark"];

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  byId("theme").textContent = `theme: ${theme}`;
  localStorage.setItem("theme", theme);
}

function nextTheme() {
  const now = THEMES.indexOf(document.documentElement.dataset.theme);
  setTheme(THEMES[(now + 1) % THEMES.length]);
}

function moveToQuery(step) {
  const cards = [...byId("queries").children];
  const at = cards.findIndex((card) => card.getAttribute("aria-pressed") === "true");
  const next = cards[Math.min(cards.length - 1, Math.max(0, at + step))];
  if (!next) return;
  next.focus();
  next.click();
}

document.addEventListener("keydown", (event) => {
  const isTyping = event.target.matches("input, select");
  if (isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
  const inQueries = event.target === document.body || event.target.matches(".query");
  if (event.key === "/") { event.preventDefault(); byId("find").focus(); }
  else if (event.key === "t") nextTheme();
  else if (inQueries && event.key === "ArrowDown") { event.preventDefault(); moveToQuery(1); }
  else if (inQueries && event.key === "ArrowUp") { event.preventDefault(); moveToQuery(-1); }
});
byId("theme").addEventListener("click", nextTheme);
byId("find").addEventListener("input", (event) => choose({ find: event.target.value, first: 0 }));
byId("order").addEventListener("change", (event) => choose({ order: event.target.value, first: 0 }));
byId("previous").addEventListener("click", () => choose({ first: Math.max(0, chosen.first - 50) }));
byId("next").addEventListener("click", () => choose({ first: chosen.first + Number(byId("pages").dataset.step) }));
setTheme(THEMES.includes(localStorage.getItem("theme")) ? localStorage.getItem("theme") : "system");
ask();
