// The kinds of charts: each returns an SVG element of a given width.

const data = JSON.parse(document.getElementById("data").textContent);

// The classes and the marker of a way or a limit.
function looks(name, limit) {
  const at = (limit ? data.limits : data.ways).indexOf(name);
  if (limit) return { classes: `limit d${at % 4}`, shape: at % MARKERS };
  return { classes: `way c${at % COLOURS}`, shape: (at + Math.floor(at / COLOURS)) % MARKERS };
}

// The class of an area: of a phase or call by its name, of a way by its colour.
function shade(key, keyed) {
  if (key === data.rest) return "area rest";
  const at = keyed ? data.shades.indexOf(key) : data.ways.indexOf(key);
  return at < 0 ? "area rest" : `area c${at % COLOURS}`;
}

function frame(width, height, title) {
  const made = { viewBox: `0 0 ${width} ${height}`, width, height, role: "group", "aria-label": title };
  return svg("svg", made);
}

function lineChart(panel, width, hidden, logarithmic) {
  const lines = panel.lines.filter((line) => !hidden.has(line.name));
  const all = lines.flatMap((line) => [...line.points, ...line.beside]);
  const height = Math.min(380, Math.max(260, width * 0.5));
  const high = Math.max(...all.map((one) => one.high), 0) || 1;
  const low = Math.min(...all.map((one) => one.low).filter((one) => one > 0), high);
  const [top, bottom] = [26, height - 44];
  const up = scale(low, high, bottom, top, { logarithmic });
  const left = 12 + Math.max(...up.ticks.map((one) => textWidth(significant(one))));
  const right = width - 14;
  const chart = frame(width, height, panel.title);
  chart.append(label(panel.unit, 0, 12, { class: "unit" }));
  for (const tick of up.ticks) {
    const y = up.at(tick);
    chart.append(svg("path", { class: "grid", d: `M${left} ${y}H${right}` }));
    chart.append(label(significant(tick), left - 6, y + 4, { "text-anchor": "end" }));
  }
  const across = placesOf(panel.x.places, left + 22, right - 22);
  placeTicks(chart, panel.x, across, bottom, left, right);
  // Lines are a little beside each other, so that their spreads are seen; less than half of the way to the next place.
  const near = Math.min(...panel.x.places.slice(1).map((one, at) => across(one) - across(panel.x.places[at])), 100);
  const apart = Math.min(7, Math.min(38, 0.45 * near) / Math.max(1, lines.length - 1));
  lines.forEach((line, number) => {
    const shift = (number - (lines.length - 1) / 2) * apart;
    drawLine(chart, panel, line, (one) => across(one.x) + shift, up.at);
  });
  return chart;
}

function drawLine(chart, panel, line, across, up) {
  const { classes, shape } = looks(line.name, line.limit);
  const path = line.points.map((one, at) => `${at ? "L" : "M"}${across(one)} ${up(one.y)}`).join("");
  chart.append(svg("path", { class: `line ${classes}`, d: path }));
  for (const one of [...line.points, ...line.beside]) {
    const [x, low, high] = [across(one), up(one.low), up(one.high)];
    const bar = svg("path", { class: `spread ${classes}`, d: `M${x - 3} ${low}h6m-3 0V${high}m-3 0h6` });
    const where = panel.x.words[panel.x.places.indexOf(one.x)];
    const point = marker(shape, x, up(one.y), { class: `point ${classes}` });
    const hit = svg("circle", { class: "hit", cx: x, cy: up(one.y), r: 11 });
    chart.append(mark([`${line.name}${line.limit ? " (limit)" : ""}`, where, ...one.text], bar, point, hit));
  }
}

// Numbers of ranks and sizes are powers of two, mostly: equal ratios are equally far apart.
function placesOf(places, from, to) {
  const [first, last] = [places[0], places[places.length - 1]].map((one) => Math.log(Math.max(one, 1e-300)));
  if (first === last) return () => (from + to) / 2;
  return (value) => from + ((to - from) * (Math.log(Math.max(value, 1e-300)) - first)) / (last - first);
}

function placeTicks(chart, x, across, bottom, left, right) {
  chart.append(svg("path", { class: "axis", d: `M${left} ${bottom}H${right}` }));
  let free = -Infinity;
  x.places.forEach((place, at) => {
    const [middle, half] = [across(place), textWidth(x.names[at]) / 2];
    chart.append(svg("path", { class: "axis", d: `M${middle} ${bottom}v5` }));
    if (middle - half < free) return;
    free = middle + half + 8;
    chart.append(label(x.names[at], Math.min(middle, right + 14 - half), bottom + 18, { "text-anchor": "middle" }));
  });
  chart.append(label(x.label, (left + right) / 2, bottom + 38, { class: "unit", "text-anchor": "middle" }));
}

function rowChart(panel, width, hidden) {
  const rows = panel.rows.map((row) => ({ ...row, parts: row.parts.filter((part) => !hidden.has(part.key)) }))
    .filter((row) => row.parts.length || row.dots.length);
  const names = Math.max(0, ...rows.map((row) => textWidth(row.label)));
  const above = names > 0.3 * width; // a long name is above its row, not beside it
  const left = above ? 4 : names + 10;
  const ends = Math.max(0, ...rows.map((row) => textWidth(row.end || "")));
  const right = width - ends - 16;
  const tall = rows.some((row) => row.dots.length > 1) ? 38 : 26;
  const pitch = tall + (above ? 22 : 6);
  const top = panel.references ? 24 : 8;
  const bottom = top + rows.length * pitch;
  const across = rowScale(panel, rows, left, right);
  const chart = frame(width, bottom + 42, panel.title);
  for (const tick of across.ticks) {
    const x = across.at(tick);
    chart.append(svg("path", { class: "grid", d: `M${x} ${top}V${bottom}` }));
    const anchor = x + textWidth(significant(tick)) / 2 > width ? "end" : x < left + 8 && above ? "start" : "middle";
    chart.append(label(significant(tick), x, bottom + 16, { "text-anchor": anchor }));
  }
  chart.append(label(panel.unit, (left + right) / 2, bottom + 36, { class: "unit", "text-anchor": "middle" }));
  for (const one of panel.references || []) {
    const x = across.at(one.value);
    const name = shorten(one.label, Math.max(x, width - x) - 10);
    const anchor = x + textWidth(name) + 5 > width ? "end" : "start";
    chart.append(svg("path", { class: "reference", d: `M${x} 4V${bottom}` }));
    chart.append(label(name, x + (anchor === "end" ? -5 : 5), 13, { "text-anchor": anchor }));
  }
  rows.forEach((row, number) => drawRow(chart, panel, row, { width, left, right, above, tall, across: across.at },
    top + number * pitch));
  return chart;
}

function rowScale(panel, rows, left, right) {
  const values = rows.flatMap((row) => [
    row.parts.reduce((sum, part) => sum + part.value, 0), row.low, row.high, ...row.dots.map((dot) => dot.value)]);
  values.push(...(panel.references || []).map((one) => one.value));
  const known = values.filter((one) => one > 0);
  let [low, high] = [Math.min(...known), Math.max(...known, 0)];
  const dots = rows.some((row) => row.dots.length);
  const logarithmic = panel.logarithmic || (dots && high > 30 * low);
  if (panel.logarithmic) [low, high] = [Math.min(low, 0.5), Math.max(high, 2)];
  if (!known.length) [low, high] = [1, 1];
  const longest = Math.max(...[low, high].map((one) => textWidth(significant(one))));
  const most = Math.max(2, Math.min(8, Math.floor((right - left) / (longest + 24))));
  return scale(low, high, left, right, { logarithmic, most, whole: panel.unit === "files" });
}

function drawRow(chart, panel, row, at, y) {
  if (at.above) {
    chart.append(label(shorten(row.label, at.width - at.left - 4), at.left, y + 13, { class: "name" }));
    y += 18;
  } else chart.append(label(row.label, at.left - 8, y + at.tall / 2 + 4, { class: "name", "text-anchor": "end" }));
  const middle = y + at.tall / 2;
  let [sum, last] = [0, at.left];
  for (const part of row.parts) {
    const [x, end] = [at.across(sum), at.across(sum + part.value)];
    sum += part.value;
    last = Math.max(last, end);
    const rectangle = svg("rect", { class: shade(part.key, panel.keys), x, y: y + 2, width: Math.max(0.5, end - x),
      height: at.tall - 4 });
    const made = mark([row.label, ...(panel.keys ? [`${part.key}: ${part.text}`] : [part.text])], rectangle);
    if (panel.keys && textWidth(part.key) + 8 < end - x) {
      made.append(label(part.key, (x + end) / 2, middle + 4, { class: "inside", "text-anchor": "middle" }));
    }
    chart.append(made);
  }
  if (row.low !== undefined && row.high > row.low) {
    const [low, high] = [at.across(row.low), at.across(row.high)];
    chart.append(svg("path", { class: "range", d: `M${low} ${middle - 4}v8m0 -4H${high}m0 -4v8` }));
    last = Math.max(last, high);
  }
  drawDots(chart, row, at, y);
  for (const dot of row.dots) last = Math.max(last, at.across(dot.value) + 6);
  if (row.end) chart.append(label(row.end, last + 7, middle + 4, { class: "end" }));
}

function drawDots(chart, row, at, y) {
  if (!row.dots.length) return;
  const { classes, shape } = looks(row.label, row.limit);
  chart.append(svg("path", { class: "grid", d: `M${at.left} ${y + at.tall + 2}H${at.right}` }));
  if (row.middle !== undefined) {
    chart.append(svg("path", { class: "median", d: `M${at.across(row.middle)} ${y}v${at.tall}` }));
  }
  for (const dot of row.dots) {
    const [x, height] = [at.across(dot.value), y + 6 + (at.tall - 12) * dot.at];
    const drawn = dot.marked && row.middle !== undefined
      ? cross(x, height, { class: `crossed ${classes}` }, 4)
      : marker(shape, x, height, { class: `point ${classes}` }, row.middle === undefined ? 6 : 4);
    chart.append(mark([row.label, ...dot.text], drawn, svg("circle", { class: "hit", cx: x, cy: height, r: 9 })));
  }
}

// Areas one below the other; `path` is the numbers of the calls that lead to the enlarged one.
function flameChart(panel, width, path, choose) {
  const step = 24;
  const chain = path.reduce((found, at) => [...found, found[found.length - 1][2][at]], [panel.flame]);
  const focus = chain[chain.length - 1];
  const chart = frame(width, 0, panel.title);
  let deepest = chain.length;
  const draw = (node, x, wide, depth, place, of) => {
    if (wide < 0.7) return;
    deepest = Math.max(deepest, depth + 1);
    const share = of ? `, ${significant((100 * node[1]) / of)} % of what is above` : "";
    const rectangle = svg("rect", { class: depth ? shade(node[0], true) : "area rest", x, y: depth * step + 1,
      width: Math.max(0.7, wide - 1), height: step - 2 });
    const made = mark([node[0], `${significant(node[1])} s${share}`], rectangle);
    made.setAttribute("role", "button");
    const text = shorten(node[0], wide - 8);
    if (text) made.append(label(text, x + 5, depth * step + 16, { class: "inside" }));
    made.addEventListener("click", () => choose(place));
    chart.append(made);
  };
  const below = (node, x, wide, depth, place) => {
    draw(node, x, wide, depth, place, depth >= chain.length ? node.of : 0);
    let begin = x;
    node[2].forEach((one, at) => {
      const part = node[1] > 0 ? (wide * one[1]) / node[1] : 0;
      one.of = node[1];
      if (part >= 0.7) below(one, begin, part, depth + 1, [...place, at]);
      begin += part;
    });
  };
  chain.slice(0, -1).forEach((node, depth) => draw(node, 0, width, depth, path.slice(0, depth), 0));
  below(focus, 0, width, chain.length - 1, path);
  chart.setAttribute("viewBox", `0 0 ${width} ${deepest * step + 2}`);
  chart.setAttribute("height", deepest * step + 2);
  return chart;
}

function shorten(text, width) {
  if (textWidth(text) <= width) return text;
  for (let length = text.length - 1; length > 1; length--) {
    const part = `${text.slice(0, length)}…`;
    if (textWidth(part) <= width) return part;
  }
  return "";
}
