"use strict";
(() => {
  const charts = JSON.parse(document.getElementById("chart-data").textContent);
  const root = document.documentElement;
  const PRINT_PX = 680;
  const NARROW_PX = 560;

  // "@s1" is the style sheet's --s1, so that charts follow light, dark and print like everything else
  const colour = (name) => name === "clear" ? "rgba(0,0,0,0)" : getComputedStyle(root).getPropertyValue("--" + name).trim();
  const painted = (value) => {
    if (typeof value === "string") return /^@[a-z0-9]+$/.test(value) ? colour(value.slice(1)) : value;
    if (Array.isArray(value)) return value.map(painted);
    if (value && typeof value === "object") {
      return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, painted(inner)]));
    }
    return value;
  };

  const axis = (own, size) => Object.assign({
    gridcolor: colour("grid"), linecolor: colour("rule"), zerolinecolor: colour("rule"),
    tickcolor: colour("rule"), automargin: true, fixedrange: true,
  }, painted(own || {}), own && own.title ? { title: { text: own.title.text, font: { size } } } : {});

  // a label over a bar breaks where the screen ends: after a space or a joint, inside a word only where it must;
  // its mark-up (<b>, &lt;) takes no room or that of one character
  const pen = document.createElement("canvas").getContext("2d");
  const wrapped = (label, room) => {
    const lines = [];
    let line = "", used = 0, good = 0, goodUsed = 0;
    const pieces = label.match(/<[^>]*>|&[a-z0-9#]+;|[\s\S]/gu) || [];
    for (const [n, piece] of pieces.entries()) {
      const drawn = piece[0] === "<" ? "" : piece[0] === "&" && piece.length > 1 ? "M" : piece;
      const wide = drawn ? pen.measureText(drawn).width : 0;
      if (used + wide > room && line) {
        const cut = good || line.length;
        lines.push(line.slice(0, cut));
        line = line.slice(cut).trimStart();
        used = good ? used - goodUsed : 0;
        good = goodUsed = 0;
      }
      line += piece;
      used += wide;
      // not between a number and its unit
      const unit = /\d/.test(pieces[n - 1] || "") && /[A-Za-z%]/.test(pieces[n + 1] || "");
      if ((drawn === " " && !unit) || /[-_/]/.test(drawn)) [good, goodUsed] = [line.length, used];
    }
    return [...lines, line];
  };

  // labels in as many lines as the longest needs, and rows that are high enough for them
  const labelled = (chart, own, width, size) => {
    if (!chart.rows) return [own.annotations || [], chart.height];
    const { l, r } = chart.layout.margin;
    pen.font = `600 ${size}px ${getComputedStyle(document.body).fontFamily}`;
    const texts = (own.annotations || []).map((one) => wrapped(one.text, width - l - r));
    const most = Math.max(1, ...texts.map((lines) => lines.length));
    const labels = own.annotations.map((one, n) => Object.assign({}, one, { text: texts[n].join("<br>") }));
    return [labels, chart.height + Math.round((most - 1) * chart.rows * size * 1.9)];
  };

  const draw = (chart, place, width) => {
    const narrow = width < NARROW_PX;
    const size = narrow ? 11 : 13;
    const own = painted(chart.layout);
    const [annotations, height] = labelled(chart, own, width, size);
    place.style.height = `${height}px`;
    const layout = Object.assign({}, own, {
      annotations, width, height, autosize: false, showlegend: false, dragmode: false, hovermode: "closest",
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      font: { family: getComputedStyle(document.body).fontFamily, size, color: colour("ink") },
      hoverlabel: { bgcolor: colour("panel"), bordercolor: colour("rule"), align: "left",
        font: { size: size, color: colour("ink") } },
      xaxis: axis(Object.assign(narrow ? { nticks: 5 } : {}, chart.layout.xaxis), size),
      yaxis: axis(chart.layout.yaxis, size),
    });
    return Plotly.react(place, painted(chart.traces), layout, {
      displayModeBar: false, responsive: false, scrollZoom: false, doubleClick: false, showTips: false,
    });
  };

  const places = () => charts.map((chart) => [chart, document.querySelector(`[data-chart="${chart.id}"]`)])
    .filter(([, place]) => place);
  const wide = (place) => root.classList.contains("printing") ? PRINT_PX : place.clientWidth;
  const drawAll = () => Promise.all(places().map(([chart, place]) => draw(chart, place, wide(place))));

  let closed = [];
  const print = () => {
    if (root.classList.contains("printing")) return;
    root.classList.add("printing");
    closed = [...document.querySelectorAll("details.more:not([open])")];
    closed.forEach((one) => { one.open = true; });
    drawAll();
  };
  const resume = () => {
    root.classList.remove("printing");
    closed.forEach((one) => { one.open = false; });
    closed = [];
    drawAll();
  };

  drawAll().then(() => {
    // a chart is read out by its label and its table, not by the texts of the drawing; the measuring sheet never is
    for (const one of document.querySelectorAll("body > svg, .plot > *")) one.setAttribute("aria-hidden", "true");
    root.setAttribute("data-drawn", "yes");
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => drawAll());
  window.addEventListener("beforeprint", print);
  window.addEventListener("afterprint", resume);
  let waiting = 0;
  let last = root.clientWidth;
  window.addEventListener("resize", () => {
    if (root.clientWidth === last || root.classList.contains("printing")) return;
    last = root.clientWidth;
    clearTimeout(waiting);
    waiting = setTimeout(() => drawAll(), 120);
  });
})();
