// SPDX-License-Identifier: MIT
// The pages of `attune serve`: each shows what its address names, from /api/v1, and again when the journal grows.
"use strict";

/** What the addresses of a journal begin with: nothing for the first one, else `/journals/2`. */
const prefix = (location.pathname.match(/^\/journals\/[^/]*/) || [""])[0];
const pagePath = () => location.pathname.slice(prefix.length) || "/";

/** An element with attributes and children; a text is never read as markup. */
function element(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === undefined || value === null) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

async function data(path, values) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(values || {})) if (value) query.set(name, value);
  const answer = await fetch(`${prefix}/api/v1/${path}?${query}`, { headers: { Accept: "application/json" } });
  if (answer.status === 401) { location.href = "/login"; throw new Error("log in"); }
  const body = await answer.json();
  if (!answer.ok) throw new Error(body.error);
  return body;
}

const formats = new Map();  // By the number of digits: making one takes longer than a hundred uses of it.

function number(value, digits) {
  if (!formats.has(digits)) formats.set(digits, new Intl.NumberFormat("en", { minimumFractionDigits: digits, maximumFractionDigits: digits }));
  return formats.get(digits).format(Number(value));
}

const time = (ms) => (ms ? new Date(ms).toISOString().slice(0, 19).replace("T", " ") : "unknown");
const micros = (us) => (us ? number(us, us < 100 ? 2 : 0) : "–");
const link = (page, values, text) => element("a", { href: `${prefix}/pages/${page}?${new URLSearchParams(values)}` }, text);
/** A time span in words; nothing for none. */
const span = (s) => (s < 90 ? `${number(s, 0)} s` : s < 5400 ? `${number(s / 60, 0)} min` : `${number(s / 3600, 1)} h`);
const short = (key) => key.replace(/^(\S+) /, "$1  ");

/** A table in a box that scrolls by itself. `columns`: {name, number, sort, cell: row → text or node, wide}. */
function table(caption, columns, rows, sorted) {
  const heads = columns.map((column) => element("th", {
    scope: "col", class: column.number ? "number" : null,
    "aria-sort": sorted && column.sort ? (sorted.sort === column.sort ? (sorted.order === "asc" ? "ascending" : "descending") : "none") : null,
  }, sorted && column.sort ? element("button", { type: "button", onclick: () => sorted.by(column.sort) }, column.name) : column.name));
  const lines = rows.map((row) => element("tr", {}, ...columns.map((column) => element("td", {
    class: column.number ? "number" : column.wide ? "text" : null }, column.cell(row)))));
  return element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    element("table", {}, element("caption", {}, caption), element("thead", {}, element("tr", {}, ...heads)), element("tbody", {}, ...lines)));
}

/** Whether further lines were fetched, which the page shown anew would not have. */
let isPagedOn = false;

/** A table whose further lines the server gives page by page. `more`: the `next` of a page → the next page, with `rows` and `next`. */
function pagedTable(caption, columns, page, more, sorted) {
  let next = page.next;
  const list = table(caption, columns, page.rows, sorted);
  const button = element("button", { class: "plain", type: "button", onclick: async () => {
    isPagedOn = true;
    const further = await more(next);
    next = further.next;
    list.querySelector("tbody").append(...table("", columns, further.rows).querySelectorAll("tbody tr"));
    button.hidden = !next;
    if (!next) list.focus({ preventScroll: true });  // A button that is hidden loses the keyboard.
  } }, "Show more");
  button.hidden = !next;
  return [list, button];
}

function facts(pairs) {
  return element("dl", { class: "facts" }, ...pairs.map(([name, value]) =>
    element("div", {}, element("dt", {}, name), element("dd", {}, String(value)))));
}

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

const charts = { waiting: [], drawn: [] };

/** A chart by Chart.js, drawn once it is in the page; `text` says in words what it shows. */
function chart(text, options) {
  const canvas = element("canvas", { role: "img", "aria-label": text }, text);
  const box = element("div", { class: "chart" }, canvas);
  const line = colour("--line"), quiet = colour("--quiet");
  for (const axis of Object.values(options.options.scales)) {
    axis.grid = { color: line };
    axis.ticks = { color: quiet, ...axis.ticks };
    axis.title = { display: true, color: quiet, ...axis.title };
  }
  charts.waiting.push(() => canvas.isConnected && new Chart(canvas, { ...options, options: {
    animation: false, maintainAspectRatio: false, plugins: { legend: { labels: { color: quiet } } }, ...options.options } }));
  return box;
}

/** How many problems a run has decided, and of how many if it goes on. */
const decided = (run) => number(run.decisions, 0) + (run.state === "open" && run.problems ? ` of ${number(run.problems, 0)}` : "");

/** What a run that goes on does now, as facts. */
function now(run) {
  if (run.state !== "open") return [];
  const silent = run.last_ms ? (Date.now() - run.last_ms) / 1000 : 0;
  return [["left", run.left_s ? `about ${span(run.left_s)}` : "unknown"], ["candidates a minute", number(run.candidates_a_minute, 0)],
    ...(silent > 60 ? [["last entry", `${span(silent)} ago`]] : [])];
}

async function runsPage() {
  const { runs } = await data("runs", { limit: 100 });
  if (!runs.length) return [element("h1", {}, "Runs"), element("p", {}, "The journal has no run yet.")];
  return [element("h1", {}, "Runs"), table("The newest runs", [
    { name: "run", number: true, cell: (run) => link("run", { run: run.run }, String(run.run)) },
    { name: "began (UTC)", cell: (run) => time(run.at_ms) },
    { name: "state", cell: (run) => run.state },
    { name: "decisions", number: true, cell: (run) => decided(run) },
    { name: "left", number: true, cell: (run) => (run.left_s ? span(run.left_s) : "–") },
    { name: "records", number: true, cell: (run) => number(run.records, 0) },
    { name: "device", cell: (run) => run.device },
    { name: "command", wide: true, cell: (run) => element("code", {}, run.command) },
  ], runs)];
}

const resultColumns = [
  { name: "problem", sort: "problem", wide: true, cell: (row) => link("problem", { key: row.problem, device: row.device }, short(row.problem)) },
  { name: "speed-up", number: true, sort: "ratio", cell: (row) => element("span", { class: row.low > 1 ? "good" : row.speedup && row.high < 1 ? "bad" : null }, row.speedup ? `${number(row.speedup, 3)}×` : "unknown") },
  { name: "95 % interval", number: true, cell: (row) => `${number(row.low, 3)} – ${number(row.high, 3)}` },
  { name: "µs", number: true, sort: "us", cell: (row) => micros(row.us) },
  { name: "default µs", number: true, cell: (row) => micros(row.default_us) },
  { name: "verdict", cell: (row) => row.verdict + (row.noisy ? ", noisy" : "") + (row.incomplete ? ", incomplete" : "") },
  { name: "candidates", number: true, cell: (row) => number(row.candidates, 0) },
  { name: "seconds", number: true, sort: "seconds", cell: (row) => number(row.seconds, 1) },
  { name: "device", cell: (row) => row.device },
  { name: "decided (UTC)", sort: "at", cell: (row) => time(row.at_ms) },
  { name: "winner", wide: true, cell: (row) => element("code", {}, row.winner) },
];

/** Shows another question about the page in its place: loading the page again takes longer than the answer. */
function ask(question) {
  history.pushState(null, "", `?${new URLSearchParams(Object.entries(question).filter(([, value]) => value))}`);
  return show();
}

/** Takes the keyboard out of a form that was sent, because a page in whose form somebody types is not shown anew by itself. */
const leaveForm = () => document.getElementById("content").focus({ preventScroll: true });

/** Results with filters, sorted and paged by the server. The address holds the question, so that it can be shared. */
async function resultList(fixed) {
  const asked = { ...Object.fromEntries(new URLSearchParams(location.search)), ...fixed };
  const question = { text: asked.text, verdict: asked.verdict, run: asked.run, sort: asked.sort || "at", order: asked.order || "desc", limit: 100 };
  const lines = async (after) => { const page = await data("results", { ...question, after }); return { ...page, rows: page.results }; };
  const page = await lines();
  const go = (changes) => ask({ ...asked, ...changes });
  const sorted = { sort: question.sort, order: question.order,
    by: (sort) => go({ sort, order: sort === question.sort && question.order === "desc" ? "asc" : "desc" }) };
  const filter = element("form", { class: "filter", role: "search", onsubmit: (event) => {
    event.preventDefault(); const form = new FormData(event.target); leaveForm(); go({ text: form.get("text"), verdict: form.get("verdict") }); } },
    element("label", {}, "Text", element("input", { name: "text", value: asked.text || "", type: "search" })),
    element("label", {}, "Verdict", element("select", { name: "verdict" }, ...["", "faster", "tie", "baseline", "required", "no_default"].map((one) =>
      element("option", { value: one, ...(one === (asked.verdict || "") ? { selected: "" } : {}) }, one || "all")))),
    element("button", { class: "plain" }, "Show"));
  return [filter, ...pagedTable(`${number(page.found, 0)} results${page.complete ? "" : ", older ones are still being read"}`, resultColumns, page, lines, sorted)];
}

const resultsPage = async () => [element("h1", {}, "Results"), ...await resultList({})];

async function runPage(values) {
  const [{ runs }, { results, found }] = await Promise.all([data("runs", { run: values.get("run") }), data("results", { run: values.get("run"), sort: "ratio", limit: 1000 })]);
  if (!runs.length) return [element("h1", {}, "The journal has no such run")];
  const run = runs[0];
  const mean = run.geometric_mean ? `${number(run.geometric_mean, 3)}×` : "unknown";
  const parts = [element("h1", {}, `Run ${run.run}`), facts([["state", run.state], ["decided", decided(run)], ...now(run),
    ["geometric mean", mean], ["faster", number(run.faster, 0)], ["candidates' records", number(run.records, 0)], ["device", run.device]]),
    element("p", { class: "quiet" }, element("code", {}, run.command), `, ${run.version}, began ${time(run.at_ms)} UTC`)];
  const failures = Object.entries(run.failures).sort(([, one], [, other]) => other - one);
  if (failures.length) parts.push(table("Candidates that failed", [{ name: "status", cell: ([status]) => status },
    { name: "candidates", number: true, cell: ([, count]) => number(count, 0) }], failures));
  const measured = results.filter((row) => row.speedup > 0);
  const which = found > results.length ? `the best ${number(measured.length, 0)} of ${number(found, 0)} problems` : `${number(measured.length, 0)} problems`;
  if (measured.length > 1) parts.push(chart(`Speed over the default of ${which}, sorted; geometric mean of all ${mean}.`, {
    type: "bar", data: { labels: measured.map((row) => short(row.problem)), datasets: [
      { label: "speed over the default", data: measured.map((row) => row.speedup), backgroundColor: colour("--accent") }] },
    options: { scales: { x: { ticks: { display: false }, title: { text: which } }, y: { type: "logarithmic", title: { text: "times the default's speed" } } } } }));
  return [...parts, ...await resultList({ run: values.get("run"), sort: new URLSearchParams(location.search).get("sort") || "ratio" })];
}

/** How the marks of a chart look, on the canvas and in its legend. */
const marks = [0, 1, 2, 3].flatMap((pair) => [0, 1].map((one) => ({
  colour: ["accent", "good", "bad", "quiet"][(2 * pair + one) % 4], style: ["circle", "triangle", "rect", "cross"][pair], sign: ["●", "▲", "■", "+"][pair] })));

/** What each mark stands for, under a chart. */
const legend = (names) => element("ul", { class: "legend", "aria-label": "Marks of the chart" }, ...names.map((name, i) =>
  element("li", {}, element("span", { class: marks[i].colour, "aria-hidden": "true" }, marks[i].sign), " ", element("code", {}, name))));

/** The newest decision of each device. */
const newestDecisions = (decisions) => decisions.filter((one, i) => decisions.findIndex((other) => other.device === one.device) === i);

async function problemPage(values) {
  const device = values.get("device");
  const story = await data("problem", { key: values.get("key"), device });
  const parts = [element("h1", {}, short(story.problem))];
  if (device) parts.push(element("p", { class: "quiet" }, `On ${device}. `, link("problem", { key: story.problem }, "Show every device")));
  for (const decision of newestDecisions(story.decisions)) parts.push(facts([["device", decision.device], ["verdict", decision.verdict],
    ["speed-up", decision.speedup ? `${number(decision.speedup, 3)}×` : "unknown"], ["winner µs", micros(decision.us)], ["default µs", micros(decision.default_us)],
    ["candidates", story.candidates.filter((one) => one.device === decision.device).length],
    ["decisions", story.decisions.filter((one) => one.device === decision.device).length]]), element("p", {}, "Winner ", element("code", {}, decision.winner)),
    element("p", {}, "Default ", element("code", {}, decision.default)));
  const isOfSeveral = new Set(story.candidates.map((one) => one.device)).size > 1;
  const timed = story.candidates.filter((one) => one.samples && one.samples.length).sort((one, other) => one.us - other.us);
  const shown = timed.slice(0, marks.length);
  const names = shown.map((one) => (isOfSeveral ? `${one.candidate} on ${one.device}` : one.candidate));
  if (shown.length) parts.push(element("h2", {}, "Samples of the fastest candidates"), chart(`Samples in microseconds by round, of the ${shown.length} fastest candidates.`, {
    type: "scatter", data: { datasets: shown.map((one, i) => ({ label: names[i], data: one.samples.map(([us, round]) => ({ x: round, y: us })),
      borderColor: colour(`--${marks[i].colour}`), backgroundColor: colour(`--${marks[i].colour}`), pointStyle: marks[i].style, pointRadius: 3 })) },
    options: { plugins: { legend: { display: false } }, scales: { x: { title: { text: "round" } }, y: { title: { text: "µs" } } } } }), legend(names));
  parts.push(element("h2", {}, "Candidates"), table(`${number(story.candidates.length, 0)} candidates in the order in which they were tried`, [
    { name: "candidate", wide: true, cell: (one) => element("code", {}, one.candidate) },
    { name: "device", cell: (one) => one.device },
    { name: "came to", cell: (one) => element("span", { class: one.ending === "won" ? "good" : one.status === "ok" ? null : "bad" }, one.ending) },
    { name: "status", cell: (one) => one.status },
    { name: "µs", number: true, cell: (one) => micros(one.us) },
    { name: "samples", number: true, cell: (one) => number(one.num_samples || 0, 0) },
    { name: "error share", number: true, cell: (one) => one.err_ratio ? one.err_ratio.toPrecision(2) : "0" },
    { name: "why", wide: true, cell: (one) => one.detail },
  ], story.candidates));
  return parts;
}

/** How a row compares with the journal: of one row, and of several. */
const agreements = { same: ["names the winner", "rows that name the winner"], other: ["names another kernel", "rows that name another kernel"],
  undecided: ["no decision", "rows without a decision"], unpublished: ["no row", "winners without a row"] };

/** The published tables beside the newest decisions. The address holds the filter. */
async function tablesPage(values) {
  const asked = { text: values.get("text"), state: values.get("state"), limit: 100 };
  const lines = async (after) => { const page = await data("tables", { ...asked, after }); return { ...page, rows: page.tables }; };
  const page = await lines();
  const filter = element("form", { class: "filter", role: "search", onsubmit: (event) => {
    event.preventDefault(); const form = new FormData(event.target); leaveForm(); ask({ text: form.get("text"), state: form.get("state") }); } },
    element("label", {}, "Text", element("input", { name: "text", value: asked.text || "", type: "search" })),
    element("label", {}, "The row", element("select", { name: "state" }, ...["", ...Object.keys(agreements)].map((one) =>
      element("option", { value: one, ...(one === (asked.state || "") ? { selected: "" } : {}) }, one ? agreements[one][0] : "all")))),
    element("button", { class: "plain" }, "Show"));
  const either = (line) => line.row || line.result;
  return [element("h1", {}, "Tables"), facts(Object.entries(agreements).map(([name, [, several]]) => [several, number(page.counts[name], 0)])),
    ...page.notices.slice(0, 20).map((one) => element("p", { class: "bad" }, one)), filter,
    ...pagedTable(`${number(page.found, 0)} lines: rows of the published tables beside the newest decisions${page.complete ? "" : ", older ones are still being read"}`, [
      { name: "row", cell: (line) => (line.row ? line.row.place : "–") },
      { name: "problem", wide: true, cell: (line) => (line.result ? link("problem", { key: line.result.problem, device: line.result.device }, short(line.result.problem)) : short(line.row.problem)) },
      { name: "device", cell: (line) => either(line).device },
      { name: "required", cell: (line) => either(line).require || "–" },
      { name: "the row", cell: (line) => element("span", { class: line.state === "same" ? "good" : line.state === "undecided" ? null : "bad" }, agreements[line.state][0]) },
      { name: "kernel of the row", wide: true, cell: (line) => (line.row ? element("code", {}, line.row.kernel) : "–") },
      { name: "its µs", number: true, cell: (line) => (line.row ? micros(line.row.us) : "–") },
      { name: "winner", wide: true, cell: (line) => (!line.result ? "–" : line.state === "same" ? "the same" : element("code", {}, line.result.winner)) },
      { name: "its µs", number: true, cell: (line) => (line.result ? micros(line.result.us) : "–") },
      { name: "use", wide: true, cell: (line) => (line.row ? line.row.use : "–") },
    ], page, lines)];
}

async function devicesPage() {
  const { devices } = await data("devices");
  return [element("h1", {}, "Devices"), table("Devices of the journal's runs", [
    { name: "device", cell: (one) => one.device }, { name: "host", cell: (one) => one.host },
    { name: "runs", number: true, cell: (one) => number(one.runs, 0) }, { name: "last run (UTC)", cell: (one) => time(one.last_ms) },
    { name: "description", wide: true, cell: (one) => one.description },
  ], devices)];
}

async function quarantinePage() {
  const deaths = async (before) => { const page = await data("quarantine", { before, limit: 100 }); return { ...page, rows: page.quarantine }; };
  const bans = async (after) => { const page = await data("bans", { after, limit: 100 }); return { ...page, rows: page.bans }; };
  const [dead, banned] = await Promise.all([deaths(), bans()]);
  const none = (text) => [element("p", {}, text)];
  return [element("h1", {}, "Quarantine"),
    element("p", { class: "quiet" }, "What stands here is not tried again. ", element("code", {}, "attune quarantine"), " releases candidates, bans kernels and lifts bans."),
    element("h2", {}, "Banned"), ...banned.notices.map((one) => element("p", { class: "bad" }, one)),
    ...(banned.rows.length ? pagedTable("Kernels that are not served either", [
      { name: "candidate", wide: true, cell: (one) => element("code", {}, one.candidate) },
      { name: "reason", wide: true, cell: (one) => one.reason },
      { name: "device", cell: (one) => one.device || "every" },
      { name: "problem", wide: true, cell: (one) => (one.problem ? link("problem", { key: one.problem, ...(one.device ? { device: one.device } : {}) }, short(one.problem)) : "every") },
      { name: "by", cell: (one) => one.by || "unknown" },
      { name: "since (UTC)", cell: (one) => time(one.at_ms) },
    ], banned, bans) : none("Nothing is banned.")),
    element("h2", {}, "Crashed or ran past the deadline"),
    ...(dead.rows.length ? pagedTable(`The newest candidates${dead.complete ? "" : ", older ones are still being read"}`, [
      { name: "candidate", wide: true, cell: (one) => element("code", {}, one.candidate) },
      { name: "problem", wide: true, cell: (one) => link("problem", { key: one.problem, device: one.device }, short(one.problem)) },
      { name: "status", cell: (one) => one.status },
      { name: "why", wide: true, cell: (one) => one.detail },
      { name: "device", cell: (one) => one.device },
      { name: "run", number: true, cell: (one) => (one.run ? link("run", { run: one.run }, String(one.run)) : "–") },
      { name: "at (UTC)", cell: (one) => time(one.at_ms) },
    ], dead, deaths) : none("No candidate is in quarantine."))];
}

/** How often the fleet's page asks: its store sends no events. */
const fleetPauseMs = 5000;
let fleetTimer = 0;

/** Sessions, the jobs that agents hold, and events, from the fleet's store. */
async function fleetPage() {
  clearTimeout(fleetTimer);
  fleetTimer = setTimeout(() => { if (pagePath() === "/pages/fleet") refresh(); }, fleetPauseMs);
  const fleet = await data("fleet");
  const parts = [element("h1", {}, "Fleet")];
  if (fleet.failure) return [...parts, element("p", { class: "bad" }, fleet.failure)];
  parts.push(element("p", { class: "quiet" }, "Store ", element("code", {}, fleet.store)));
  if (!fleet.sessions.length) return [...parts, element("p", {}, "The store has no session yet.")];
  const failed = (session) => Object.entries(session.failures).map(([name, count]) => `${number(count, 0)} ${name}`).join(", ") || "–";
  parts.push(table("Sessions, the newest first", [
    { name: "session", number: true, cell: (one) => String(one.session) },
    { name: "state", cell: (one) => one.state },
    { name: "jobs", number: true, cell: (one) => number(one.jobs, 0) },
    { name: "left", number: true, cell: (one) => number(one.left, 0) },
    { name: "failures", wide: true, cell: failed },
    { name: "reason", wide: true, cell: (one) => one.reason },
    { name: "ticket", cell: (one) => one.ticket || "–" },
    { name: "device", cell: (one) => one.device },
    { name: "begun (UTC)", cell: (one) => time(one.created_ms) },
  ], fleet.sessions));
  const steps = fleet.sessions.flatMap((session) => session.steps.map((step) => ({ ...step, session: session.session })));
  if (steps.length) parts.push(element("h2", {}, "Jobs"), table("Numbers of jobs by step and state", [
    { name: "session", number: true, cell: (one) => String(one.session) },
    { name: "step", cell: (one) => one.step },
    ...["queued", "leased", "done", "failed", "excluded"].map((state) => ({ name: state, number: true, cell: (one) => number(one[state], 0) })),
  ], steps));
  parts.push(element("h2", {}, "Agents"));
  parts.push(fleet.held.length ? table("Jobs that agents hold", [
    { name: "agent", cell: (one) => one.agent },
    { name: "since (UTC)", cell: (one) => time(one.since_ms) },
    { name: "lease", cell: (one) => (one.lease_left_s < 0 ? element("span", { class: "bad" }, "expired") : span(one.lease_left_s)) },
    { name: "session", number: true, cell: (one) => String(one.session) },
    { name: "step", cell: (one) => one.step },
    { name: "solver", cell: (one) => one.solver || "all" },
    { name: "problem", wide: true, cell: (one) => short(one.problem) },
  ], fleet.held) : element("p", {}, "No agent holds a job."));
  parts.push(element("h2", {}, "Events"));
  parts.push(fleet.events.length ? table("The newest events", [
    { name: "at (UTC)", cell: (one) => time(one.at_ms) },
    { name: "kind", cell: (one) => one.kind.replaceAll("_", " ") },
    { name: "session", number: true, cell: (one) => String(one.session) },
    { name: "job", number: true, cell: (one) => (one.job ? String(one.job) : "–") },
    { name: "agent", cell: (one) => one.agent },
    { name: "why", wide: true, cell: (one) => one.text },
  ], fleet.events) : element("p", {}, "Nothing was lost or discarded."));
  return parts;
}

const pages = { "/": runsPage, "/pages/results": resultsPage, "/pages/run": runPage, "/pages/problem": problemPage, "/pages/tables": tablesPage, "/pages/devices": devicesPage, "/pages/quarantine": quarantinePage, "/pages/fleet": fleetPage };

/** What the keyboard is on: its kind, what it is called or leads to, and which of those that are alike it is. */
function focusPlace(content) {
  const one = document.activeElement;
  if (!content.contains(one) || one === content) return null;
  const name = (node) => (node.matches(".scroll") ? "scroll" : `${node.tagName} ${node.getAttribute("href") || node.name || node.textContent}`);
  const alike = (node) => name(node) === name(one);
  const all = (root) => [...root.querySelectorAll("a, button, input, select, .scroll")].filter(alike);
  const number = all(content).indexOf(one);
  return () => (all(content)[number] || content).focus({ preventScroll: true });
}

/** Shows the page that the address names, where it was scrolled to and with the keyboard where it was. */
async function show() {
  const content = document.getElementById("content");
  const page = pages[pagePath()], address = location.href;
  try {
    const parts = page ? await page(new URLSearchParams(location.search)) : [element("h1", {}, "There is no such page")];
    if (location.href !== address) return;  // Something else was asked for meanwhile.
    const goBack = focusPlace(content);
    const scrolled = [...content.querySelectorAll(".scroll")].map((box) => box.scrollLeft);
    const top = document.documentElement.scrollTop;
    for (const one of charts.drawn) one.destroy();
    content.replaceChildren(...parts);
    charts.drawn = window.Chart ? charts.waiting.map((draw) => draw()).filter((one) => one) : [];
    charts.waiting = [];
    content.querySelectorAll(".scroll").forEach((box, i) => { box.scrollLeft = scrolled[i] || 0; });
    document.documentElement.scrollTop = top;
    if (goBack) goBack();
    isPagedOn = false;
    document.getElementById("fresh").hidden = true;
    document.title = `${content.querySelector("h1").textContent} · Attune`;
  } catch (failed) {
    content.replaceChildren(element("h1", {}, "This cannot be shown now"), element("p", {}, failed.message));
  }
}

/** Shows the page again; while somebody types or has paged on, a button offers it. */
async function refresh() {
  if (isPagedOn || ["INPUT", "SELECT"].includes(document.activeElement.tagName)) document.getElementById("fresh").hidden = false;
  else await show();
}

/** The end of a channel to the events that all windows of the browser share. */
function eventsPort() {
  if (window.SharedWorker) return new SharedWorker("/events.js", { name: prefix }).port;
  const channel = new MessageChannel();
  new WindowEvents(prefix).add(channel.port1);
  return channel.port2;
}

/** Shows the page again when entries were committed, at most twice a second. Only a window that is seen is told. `seen`: the id of the
    newest entry that the page may show. */
function follow(seen) {
  const live = document.getElementById("live"), port = eventsPort();
  const isSeen = () => document.visibilityState === "visible";
  let waits = false, shown = 0;
  const later = () => {
    if (waits) return;
    waits = true;
    setTimeout(async () => { waits = false; await refresh(); shown = Date.now(); }, Math.max(50, shown + 400 - Date.now()));
  };
  const say = () => {
    if (!isSeen()) live.textContent = "paused";
    port.postMessage({ isSeen: isSeen(), after: seen });
  };
  port.onmessage = ({ data }) => {
    if (data.isReplaced) location.reload();
    if (data.state && isSeen()) live.textContent = data.state;
    if (data.newest) seen = data.newest;
    if (data.newest || data.isBack) later();
  };
  document.addEventListener("visibilitychange", () => { say(); if (isSeen()) later(); });
  addEventListener("pagehide", () => port.postMessage({ isGone: true }));
  addEventListener("pageshow", (event) => { if (event.persisted) say(); });
  say();
}

/** Links to the server's journals, if there are several. */
async function showJournals() {
  const { journals } = await data("journals");
  if (journals.length < 2) return;
  const current = prefix || "/journals/1";
  document.querySelector("header").append(element("nav", { "aria-label": "Journals" }, ...journals.map((one) => element("a",
    { href: one.pages, "aria-current": one.pages === `${current}/` ? "true" : null }, `${one.number} ${one.name}`))));
}

for (const one of document.querySelectorAll("nav a")) {
  one.href = prefix + one.pathname;
  if (one.pathname === prefix + pagePath()) one.setAttribute("aria-current", "page");
}
showJournals().catch(() => {});  // The page itself says what is wrong.
document.getElementById("fresh").addEventListener("click", () => { document.getElementById("content").focus({ preventScroll: true }); show(); });
/** The id of the newest entry that the data know; 0: unknown. */
const newestId = () => data("state").then((state) => state.newest_id, () => 0);
addEventListener("popstate", show);
newestId().then((seen) => show().then(() => follow(seen)));
