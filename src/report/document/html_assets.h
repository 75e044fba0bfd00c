// SPDX-License-Identifier: MIT
#pragma once
#include <string_view>

namespace attune {

/// Style sheet and script of the HTML report. Colours are tokens with a light and a dark value; every text has at least
/// 4.5 : 1 against its ground and every mark of a chart 3 : 1 (html_palette_test). The series' colours keep apart for
/// colour-blind readers (after Okabe and Ito).
inline constexpr char kReportStyle[] = R"css(
:root{color-scheme:light dark;--ground:#fbfbf9;--panel:#ffffff;--ink:#1b1f24;--soft:#515a66;--rule:#d9dcd6;--grid:#e7e9e4;--accent:#0b5c8f;--good:#0a6b4d;--bad:#b23a0e;--calm:#6c7580;--c0:#0b6aa8;--c1:#c04f00;--c2:#0b7a57;--c3:#a2508a;--c4:#7a6200;--c5:#5f6b7a;--c6:#1b4f9c;--c7:#8a3b2e}
@media (prefers-color-scheme:dark){:root{--ground:#14171a;--panel:#1b1f23;--ink:#e8eaec;--soft:#a9b2bc;--rule:#343a41;--grid:#2a2f35;--accent:#7cc0ee;--good:#4fd0a2;--bad:#ff9468;--calm:#96a1ad;--c0:#5ab0ea;--c1:#ff9a56;--c2:#43cfa0;--c3:#e29acb;--c4:#dcb93c;--c5:#a3b1c2;--c6:#8fb2f5;--c7:#e8978a}}
*{box-sizing:border-box}
body{margin:0;background:var(--ground);color:var(--ink);font:16px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif}
.skip{position:absolute;left:-999rem}
.skip:focus{left:1rem;top:1rem;background:var(--panel);padding:.5rem 1rem}
header,main,footer{max-width:64rem;margin:0 auto;padding:0 1.25rem}
header{padding-top:2.5rem}
h1{font-size:1rem;font-weight:600;margin:0;color:var(--soft);letter-spacing:.02em}
.lead{font-size:1.5rem;line-height:1.35;font-weight:600;margin:.5rem 0 0;max-width:46rem;text-wrap:pretty}
.where{color:var(--soft);margin:.75rem 0 0;font-size:.875rem;overflow-wrap:anywhere}
.figures{display:grid;grid-template-columns:repeat(4,1fr);margin:1.75rem 0 0;padding:0;border-top:1px solid var(--rule);border-bottom:1px solid var(--rule)}
.figures div{padding:1rem 1rem 1rem 0}
.figures dt{font-size:.8125rem;color:var(--soft)}
.figures dd{margin:0;font-size:2rem;line-height:1.2;font-weight:600;font-variant-numeric:tabular-nums}
.figures dd small{display:block;font-size:.8125rem;font-weight:400;color:var(--soft);line-height:1.4}
.figures .good dd{color:var(--good)}
.figures .bad dd{color:var(--bad)}
nav ul{display:flex;flex-wrap:wrap;gap:.25rem 1.25rem;list-style:none;padding:0;margin:1rem 0 0;font-size:.9375rem}
a{color:var(--accent);text-underline-offset:.2em}
:focus-visible{outline:3px solid var(--accent);outline-offset:2px}
section{margin:3rem 0 0}
h2{font-size:1.25rem;line-height:1.3;margin:0 0 .25rem}
.note{color:var(--soft);margin:0 0 1rem;max-width:46rem;font-size:.9375rem}
.scroll{overflow:auto;background:var(--panel);border:1px solid var(--rule);border-radius:6px;margin:0 0 1rem}
.drawing{padding:1rem;max-height:36rem}
.chart{display:block;width:100%;min-width:34rem;max-width:52rem;height:auto;margin:0 auto}
.chart text{font-size:11.5px;fill:var(--ink);font-family:inherit;font-variant-numeric:tabular-nums}
.chart .tick,.chart .axis{fill:var(--soft);font-size:11px}
.grid{stroke:var(--grid)}
.reference{stroke:var(--ink);stroke-width:1.5}
.halo{stroke:var(--panel);stroke-width:3}
.whisker{stroke:var(--ink);stroke-width:1.25}
.good{fill:var(--good)}.bad{fill:var(--bad)}.calm{fill:var(--calm)}
.c0{fill:var(--c0);stroke:var(--c0)}.c1{fill:var(--c1);stroke:var(--c1)}.c2{fill:var(--c2);stroke:var(--c2)}.c3{fill:var(--c3);stroke:var(--c3)}.c4{fill:var(--c4);stroke:var(--c4)}.c5{fill:var(--c5);stroke:var(--c5)}.c6{fill:var(--c6);stroke:var(--c6)}.c7{fill:var(--c7);stroke:var(--c7)}
rect.c0,rect.c1,rect.c2,rect.c3,rect.c4,rect.c5,rect.c6,rect.c7{stroke:none}
.hollow,rect.hollow{fill:var(--panel);stroke-width:1.5}
rect.hollow.c1{stroke:var(--c1)}
.roof{fill:none;stroke:var(--soft);stroke-dasharray:5 4;stroke-width:1.5}
.roof-patch{fill:var(--soft)}
.step{fill:none;stroke-width:2}
.table{max-height:36rem}
table{border-collapse:collapse;width:100%;font-size:.875rem;line-height:1.4}
caption{text-align:left;padding:.625rem .75rem;color:var(--soft);font-size:.8125rem}
th,td{padding:.4375rem .75rem;text-align:left;vertical-align:top;border-top:1px solid var(--grid)}
thead th{position:sticky;top:0;background:var(--panel);border-top:0;box-shadow:inset 0 -1px var(--rule);white-space:nowrap;font-weight:600}
tbody th{font-weight:400;white-space:nowrap}
.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
td{overflow-wrap:anywhere;min-width:5rem}
td.w{min-width:20rem}
thead button{font:inherit;color:inherit;background:none;border:0;padding:0;cursor:pointer;text-decoration:underline dotted;text-underline-offset:.25em}
details>summary{cursor:pointer;color:var(--accent);font-size:.9375rem;padding:.25rem 0;margin-bottom:.5rem}
.find{display:block;margin:0 0 .75rem;font-size:.875rem;color:var(--soft)}
.find input{font:inherit;color:var(--ink);background:var(--panel);border:1px solid var(--calm);border-radius:4px;padding:.375rem .625rem;margin-left:.5rem;width:min(20rem,60vw)}
footer{margin-top:3rem;padding-top:1rem;padding-bottom:3rem;color:var(--soft);font-size:.875rem;border-top:1px solid var(--rule)}
@media (max-width:40rem){header{padding-top:1.5rem}.lead{font-size:1.25rem}.figures{grid-template-columns:1fr 1fr}.figures dd{font-size:1.5rem}th,td{padding:.375rem .5rem}tbody th{white-space:normal;min-width:9rem}}
@media print{:root{--ground:#fff;--panel:#fff;--ink:#000;--soft:#333}.drawing,.table{max-height:none;overflow:visible;border:0}nav,.skip,.find{display:none}section{break-inside:auto}h2{break-after:avoid}tr{break-inside:avoid}thead th{position:static}}
)css";

inline constexpr char kReportScript[] = R"js(
for (const table of document.querySelectorAll('table.sortable')) {
  const body = table.tBodies[0], rows = [...body.rows];
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    const button = document.createElement('button');
    button.type = 'button';
    button.textContent = head.textContent;
    head.replaceChildren(button);
    button.addEventListener('click', () => {
      const up = head.getAttribute('aria-sort') !== 'ascending';
      for (const other of table.tHead.rows[0].cells) other.removeAttribute('aria-sort');
      head.setAttribute('aria-sort', up ? 'ascending' : 'descending');
      const isNumber = head.classList.contains('n');
      const key = row => row.cells[column].textContent;
      rows.sort((a, b) => {
        const x = key(a), y = key(b);
        const order = isNumber ? (parseFloat(x) || 0) - (parseFloat(y) || 0) : x.localeCompare(y, 'en', {numeric: true});
        return up ? order : -order;
      });
      body.append(...rows);
    });
  });
  if (rows.length < 12) continue;
  const label = document.createElement('label'), input = document.createElement('input');
  label.className = 'find';
  label.append('Only rows with', input);
  input.type = 'search';
  input.addEventListener('input', () => {
    const words = input.value.toLowerCase().split(/\s+/);
    for (const row of rows) row.hidden = !words.every(word => row.textContent.toLowerCase().includes(word));
  });
  table.parentElement.before(label);
}
)js";

}  // namespace attune
