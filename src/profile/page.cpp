#include "profile/page.hpp"

namespace hotloop {

// Each group of phases has a hue. Its lightness depends on the colour scheme, so that text is
// legible in both (contrast above 7 : 1). The rules for figures recolour the output of draw_chart,
// which is made for a white background.
const std::string_view kPageStyle = R"css(
:root {
  color-scheme: light dark;
  --paper: #ffffff; --ink: #1b1f24; --faint: #5b6570; --rule: #dde2e8; --panel: #f6f8fa;
  --fill: 58% 78%; --fill-part: 62% 86%; --on-fill: #14181d; --bad: #b3261e;
  --line-1: #0072b2; --line-2: #c24e00; --line-3: #00805c; --line-4: #a6477f;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #14171b; --ink: #e6e9ed; --faint: #9aa5b1; --rule: #333a42; --panel: #1c2127;
    --fill: 42% 27%; --fill-part: 38% 21%; --on-fill: #f3f5f7; --bad: #ff8a80;
    --line-1: #5cb8f0; --line-2: #ff9a52; --line-3: #3fcf9f; --line-4: #ea9fca;
  }
}
.act { --hue: 210 } .env { --hue: 140 } .memory { --hue: 40 } .learn { --hue: 265 }
.wait { --hue: 0 } .evaluate { --hue: 180 } .log { --hue: 320 } .checkpoint { --hue: 85 } .start { --hue: 60 }
.run, .unaccounted { --hue: 215; --fill: 12% 82%; --fill-part: 12% 82% }
@media (prefers-color-scheme: dark) {
  .run, .unaccounted { --fill: 8% 28%; --fill-part: 8% 28% }
}
* { box-sizing: border-box }
body { margin: 0 auto; padding: 24px 28px 40px; max-width: 1180px; background: var(--paper);
  color: var(--ink); font: 14px/1.5 system-ui, "DejaVu Sans", sans-serif }
h1 { font-size: 22px; margin: 0 0 4px } h2 { font-size: 15px; margin: 26px 0 8px }
.hint { color: var(--faint); font-size: 12px; font-weight: normal; margin-left: 8px }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 2px 16px; margin: 10px 0 }
dt { color: var(--faint) } dd { margin: 0 } .bad { color: var(--bad) }
.figures { display: flex; flex-wrap: wrap; gap: 12px; margin: 16px 0 }
.figures div { background: var(--panel); border: 1px solid var(--rule); border-radius: 8px;
  padding: 8px 16px; min-width: 130px; color: var(--faint); font-size: 12px }
.figures b { display: block; font-size: 20px; color: var(--ink) }
#icicle { display: block; width: 100%; font-size: 13px }
#icicle .cell { cursor: pointer; outline: none }
#icicle rect { fill: hsl(var(--hue) var(--fill)); stroke: var(--paper); stroke-width: 2 }
#icicle .part rect { fill: hsl(var(--hue) var(--fill-part)) }
#icicle .cell:hover rect, #icicle .cell:focus rect, #icicle .lit rect { stroke: var(--ink) }
#icicle text { fill: var(--on-fill); pointer-events: none }
#tip { position: fixed; display: none; pointer-events: none; white-space: pre; padding: 8px 12px;
  background: var(--panel); border: 1px solid var(--faint); border-radius: 6px; z-index: 1;
  font: 12px/1.45 ui-monospace, "DejaVu Sans Mono", monospace }
figure { margin: 0 } figure svg { width: 100%; height: auto; display: block; margin-top: -20px }
figure rect[fill="white"] { fill: none } figure text { fill: var(--ink) }
figure line[stroke="#e5e5e5"] { stroke: var(--rule) } figure line { stroke: var(--faint) }
figure [stroke="#0072b2"] { stroke: var(--line-1) } figure [fill="#0072b2"] { fill: var(--line-1) }
figure [stroke="#d55e00"] { stroke: var(--line-2) } figure [fill="#d55e00"] { fill: var(--line-2) }
figure [stroke="#009e73"] { stroke: var(--line-3) } figure [fill="#009e73"] { fill: var(--line-3) }
figure [stroke="#cc79a7"] { stroke: var(--line-4) } figure [fill="#cc79a7"] { fill: var(--line-4) }
.scroll { overflow-x: auto }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums }
th, td { text-align: right; padding: 3px 10px; white-space: nowrap }
th { color: var(--faint); font-weight: normal; border-bottom: 1px solid var(--faint) }
td { border-bottom: 1px solid var(--rule) }
th:first-child, td:first-child { text-align: left }
tr.whole td { font-weight: 600 } tr.part td:first-child { padding-left: 30px }
td:first-child i { display: inline-block; width: 10px; height: 10px; margin-right: 8px;
  border-radius: 2px; background: hsl(var(--hue) var(--fill)) }
td.share { background: linear-gradient(to right, hsl(var(--hue) var(--fill-part)) var(--length),
  transparent 0) }
tr.lit td { background-color: var(--panel) }
)css";

// Cells of the icicle chart store their start and width as shares of the run. Zooming shows one
// cell at full width. Without the script the page is complete but not interactive.
const std::string_view kPageScript = R"js(
'use strict';
const cells = [...document.querySelectorAll('#icicle .cell')];
const tip = document.getElementById('tip');

function label(cell) {
  const text = cell.querySelector('text');
  const room = cell.getBoundingClientRect().width - 12;
  for (const words of [cell.dataset.name + '  ' + cell.dataset.percent, cell.dataset.name, '']) {
    text.textContent = words;
    if (words === '' || text.getComputedTextLength() <= room) return;
  }
}

function zoom(to) {
  const first = Number(to.dataset.from), whole = Number(to.dataset.share);
  for (const cell of cells) {
    const from = (Number(cell.dataset.from) - first) / whole;
    const begin = Math.max(0, from), end = Math.min(1, from + Number(cell.dataset.share) / whole);
    cell.setAttribute('display', end - begin > 1e-9 ? 'inline' : 'none');
    cell.setAttribute('x', 100 * begin + '%');
    cell.setAttribute('width', 100 * Math.max(0, end - begin) + '%');
    label(cell);
  }
}

function light(name, on) {
  for (const element of document.querySelectorAll('[data-phase="' + name + '"]')) {
    element.classList.toggle('lit', on);
  }
}

function show(cell, x, y) {
  tip.textContent = cell.dataset.tip;
  tip.style.display = 'block';
  tip.style.left = Math.max(0, Math.min(x + 14, innerWidth - tip.offsetWidth - 8)) + 'px';
  tip.style.top = Math.max(0, Math.min(y + 18, innerHeight - tip.offsetHeight - 8)) + 'px';
}
function hide() { tip.style.display = 'none'; }

for (const cell of cells) {
  const name = cell.dataset.phase;
  cell.addEventListener('click', () => zoom(cell));
  cell.addEventListener('keydown', (event) => { if (event.key === 'Enter') zoom(cell); });
  cell.addEventListener('pointermove', (event) => show(cell, event.clientX, event.clientY));
  cell.addEventListener('pointerenter', () => light(name, true));
  cell.addEventListener('pointerleave', () => { hide(); light(name, false); });
  cell.addEventListener('focus', () => {
    const box = cell.getBoundingClientRect();
    show(cell, box.left, box.bottom - 12);
  });
  cell.addEventListener('blur', hide);
}
for (const row of document.querySelectorAll('tr[data-phase]')) {
  row.addEventListener('pointerenter', () => light(row.dataset.phase, true));
  row.addEventListener('pointerleave', () => light(row.dataset.phase, false));
}
addEventListener('keydown', (event) => { if (event.key === 'Escape') zoom(cells[0]); });
addEventListener('resize', () => cells.forEach(label));
zoom(cells[0]);
document.documentElement.dataset.ready = 'yes';
)js";

}  // namespace hotloop
