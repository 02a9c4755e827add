/*! Holds uPlot, Copyright (c) Leon Sorokin, MIT licence: https://github.com/leeoniya/uPlot */
// Draws the plots of a run: what is in #plots-data, into #plots. The same numbers are in a table on the page.
import uPlot from 'uplot';
import { merged, unitOf, type Chart } from '../lib/series';

interface Plots { time: string; charts: Chart[] }

const HEIGHT = 220;
const COLOURS = ['--accent', '--pick', '--g1', '--held', '--g3', '--g4', '--wait', '--g6'];
let drawn: uPlot[] = [];

function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function plot(chart: Chart, time: string, figure: HTMLElement): uPlot {
  const last = Math.max(1, ...chart.lines.map((line) => line.at[line.at.length - 1] ?? 0));
  const { unit, by } = unitOf(last);
  const axis = { stroke: colour('--fg'), grid: { stroke: colour('--line'), width: 1 }, ticks: { stroke: colour('--line'), width: 1 }, font: '12px system-ui, sans-serif' };
  const lines = chart.lines.map((line, place): uPlot.Series => ({
    label: line.label, stroke: colour(COLOURS[place % COLOURS.length] ?? '--accent'), width: 1.5, spanGaps: true,
    ...(line.dashed ? { dash: [6, 4] } : {}), points: { show: false },
    value: (_: uPlot, value: number | null) => (value === null ? '–' : `${value.toLocaleString(document.documentElement.lang, { maximumFractionDigits: 1 })}${chart.unit}`),
  }));
  const made = new uPlot({
    width: Math.max(280, figure.clientWidth - 18), height: HEIGHT, scales: { x: { time: false }, y: { range: (_u, _min, max) => [0, Math.max(1, max) * 1.05] } },
    series: [{ label: time, value: (_u, value: number | null) => (value === null ? '–' : `${(value / by).toFixed(2)} ${unit}`) }, ...lines],
    axes: [
      { ...axis, values: (_u, splits) => splits.map((split) => `${Number((split / by).toFixed(2))} ${unit}`) },
      { ...axis, size: 56, values: (_u, splits) => splits.map((split) => `${split.toLocaleString(document.documentElement.lang)}${chart.unit}`) },
    ],
    legend: { live: true },
  }, merged(chart) as uPlot.AlignedData, figure);
  made.root.querySelectorAll('canvas').forEach((canvas) => canvas.setAttribute('aria-hidden', 'true'));
  return made;
}

/** With the keyboard: the cursor goes along the points, and the legend tells their values. */
function steer(event: KeyboardEvent, made: uPlot): void {
  const all = made.data[0];
  const at = made.cursor.idx ?? 0;
  const wanted = new Map([['ArrowRight', at + 1], ['ArrowLeft', at - 1], ['Home', 0], ['End', all.length - 1]]).get(event.key);
  if (event.key === 'Escape') made.setScale('x', { min: all[0] ?? 0, max: all[all.length - 1] ?? 1 });
  if (wanted === undefined) return;
  event.preventDefault();
  const x = all[Math.min(Math.max(wanted, 0), all.length - 1)];
  if (x !== undefined) made.setCursor({ left: made.valToPos(x, 'x'), top: HEIGHT / 3 });
}

function draw(): void {
  const place = document.getElementById('plots');
  const told = document.getElementById('plots-data');
  if (!place || !told?.textContent) return;
  drawn.forEach((made) => made.destroy());
  place.replaceChildren();
  const { time, charts } = JSON.parse(told.textContent) as Plots;
  const figures = charts.map((chart) => {
    const figure = document.createElement('figure');
    const caption = document.createElement('figcaption');
    caption.textContent = chart.unit ? `${chart.title} (${chart.unit})` : chart.title;
    figure.tabIndex = 0;
    figure.append(caption);
    return figure;
  });
  place.append(...figures); // all of them before any is measured: they share the width
  drawn = charts.map((chart, number) => {
    const figure = figures[number] as HTMLElement;
    const made = plot(chart, time, figure);
    figure.addEventListener('keydown', (event) => steer(event, made));
    return made;
  });
  place.dataset['drawn'] = String(drawn.length);
}

let soon = 0;
addEventListener('resize', () => { cancelAnimationFrame(soon); soon = requestAnimationFrame(draw); });
document.addEventListener('tas:theme', draw);
document.addEventListener('htmx:afterSwap', draw);
draw();
