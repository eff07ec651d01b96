"use strict";
// Numbers, scales and elements that all charts use.

const NAMESPACE = document.querySelector("svg").namespaceURI;
const COLOURS = 7;
const MARKERS = 6;
const pen = document.createElement("canvas").getContext("2d");
pen.font = "12px system-ui, sans-serif";

function svg(name, attributes = {}, ...children) {
  const made = document.createElementNS(NAMESPACE, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

function html(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

function textWidth(text) {
  return pen.measureText(text).width * 1.06; // the page may use a font a little wider
}

function significant(value) {
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size < 1e-4 || size >= 1e6) return value.toExponential(0).replace("e+", "e");
  return String(Number(value.toPrecision(3)));
}

// Round numbers between two values, at most `most` of them.
function linearTicks(high, most, whole) {
  if (!(high > 0)) return [0, 1];
  const rough = high / most;
  const power = 10 ** Math.floor(Math.log10(rough));
  const finest = power * [1, 2, 5, 10].find((one) => one * power >= rough * (1 - 1e-9));
  const step = whole ? Math.max(1, finest) : finest;
  const ticks = [];
  for (let at = 0; at * step < high * (1 + 1e-9) + step * 0.999; at++) ticks.push(at * step);
  return ticks;
}

// 1, 2 and 5 times powers of ten, or powers of ten only where these are many.
function logTicks(low, high, most) {
  for (const factors of [[1, 2, 5], [1, 3], [1]]) {
    const ticks = [];
    for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++) {
      for (const factor of factors) ticks.push(Number((factor * 10 ** power).toPrecision(3)));
    }
    const first = Math.max(0, ticks.findLastIndex((one) => one <= low * 1.0001));
    const last = ticks.findIndex((one) => one >= high * 0.9999);
    const kept = ticks.slice(first, last < 0 ? ticks.length : last + 1);
    if (kept.length <= most || factors.length === 1) {
      const stride = Math.ceil(kept.length / most);
      return kept.filter((_, at) => at % stride === 0 || at === kept.length - 1);
    }
  }
  return [];
}

// A function from values to places, with its ticks.
function scale(low, high, from, to, { logarithmic = false, most = 6, whole = false } = {}) {
  if (!logarithmic) {
    const ticks = linearTicks(high, most, whole);
    const top = ticks[ticks.length - 1];
    return { ticks, at: (value) => from + ((to - from) * value) / top };
  }
  if (low === high) [low, high] = [low / 2, high * 2];
  const ticks = logTicks(low, high, most);
  const [first, last] = [Math.min(low, ticks[0]), Math.max(high, ticks[ticks.length - 1])].map(Math.log);
  const at = (value) => from + ((to - from) * (Math.log(Math.max(value, Math.exp(first))) - first)) / (last - first);
  return { ticks, at };
}

// A marker of one of several shapes, all of about the same area.
function marker(shape, x, y, attributes = {}, size = 5) {
  const s = size;
  const paths = [
    `M${x - s} ${y}a${s} ${s} 0 1 0 ${2 * s} 0a${s} ${s} 0 1 0 ${-2 * s} 0z`,
    `M${x - s * 0.9} ${y - s * 0.9}h${1.8 * s}v${1.8 * s}h${-1.8 * s}z`,
    `M${x} ${y - s * 1.2}l${s * 1.2} ${s * 2.1}h${-2.4 * s}z`,
    `M${x} ${y - s * 1.3}l${s * 1.3} ${s * 1.3}l${-s * 1.3} ${s * 1.3}l${-s * 1.3} ${-s * 1.3}z`,
    `M${x} ${y + s * 1.2}l${s * 1.2} ${-s * 2.1}h${-2.4 * s}z`,
    `M${x - s * 1.2} ${y - s * 0.4}h${s * 0.8}v${-s * 0.8}h${s * 0.8}v${s * 0.8}h${s * 0.8}v${s * 0.8}h${-s * 0.8}` +
      `v${s * 0.8}h${-s * 0.8}v${-s * 0.8}h${-s * 0.8}z`,
  ];
  return svg("path", { d: paths[shape % MARKERS], ...attributes });
}

function cross(x, y, attributes = {}, size = 5) {
  const [s, l] = [size, 2 * size];
  return svg("path", { d: `M${x - s} ${y - s}l${l} ${l}m0 ${-l}l${-l} ${l}`, ...attributes });
}

// A part of a chart with a text of its own: for the pointer, the keyboard and readers of screens.
const texts = new WeakMap();
function mark(lines, ...children) {
  const made = svg("g", { class: "mark", tabindex: "-1", role: "img", "aria-label": lines.join(", ") }, ...children);
  texts.set(made, lines);
  return made;
}

function label(text, x, y, attributes = {}) {
  return svg("text", { x, y, ...attributes }, text);
}
