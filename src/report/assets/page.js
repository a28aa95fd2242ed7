'use strict';
// Draws the plots of #data. Strings of a break-even file only ever reach the page as text.
(() => {
  const root = document.documentElement;
  const data = JSON.parse(document.getElementById('data').textContent);
  const errors = [];
  addEventListener('error', (event) => errors.push(String(event.message)));
  const charts = {};
  const dark = () => root.dataset.theme === 'dark' ||
    (root.dataset.theme !== 'light' && matchMedia('(prefers-color-scheme: dark)').matches);
  const css = (name) => getComputedStyle(root).getPropertyValue(name).trim();
  const color = (index) => css(`--c${index}`);

  const three = (value) => {
    const digits = Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value)) + 1e-9));
    return value.toFixed(Math.min(digits, 6));
  };
  const scaled = (value, base, names) => {
    let step = 0;
    while (step + 1 < names.length && Math.abs(value) >= base * 0.9995) { value /= base; ++step; }
    return value === 0 ? `0 ${names[0]}` : `${three(value)} ${names[step]}`;
  };
  const format = (value, unit) => {
    switch (unit) {
      case 'seconds': return value >= 120 ? `${(value / 60).toFixed(1)} min` : scaled(value * 1e9, 1000, ['ns', 'us', 'ms', 's']);
      case 'bytes': return scaled(value, 1024, ['B', 'KiB', 'MiB', 'GiB', 'TiB']);
      case 'Bps': return scaled(value, 1000, ['B/s', 'kB/s', 'MB/s', 'GB/s', 'TB/s', 'PB/s']);
      case 'fraction': return `${(value * 100).toPrecision(3)} %`;
      case 'tokens': return `${Math.round(value).toLocaleString('en-US')} tokens`;
      default: return Math.round(value).toLocaleString('en-US');
    }
  };
  const interval = (point, unit) => format(point.y, unit) +
    (point.lo !== undefined ? ` (${format(point.lo, unit)} to ${format(point.hi, unit)})` : '');

  const axis = (a, horizontal) => ({
    type: a.log ? 'logarithmic' : 'linear', min: a.lo, max: a.hi,
    title: { display: true, text: a.label, color: css('--ink') },
    grid: { color: css('--line'), borderColor: css('--soft'), drawTicks: false },
    ticks: {
      color: css('--ink'), maxRotation: 0, padding: 6, autoSkipPadding: horizontal ? 14 : 6,
      callback: (value) => (a.ticks.find((tick) => Math.abs(tick[0] - value) <= 1e-6 * Math.abs(value)) || ['', ''])[1]
    },
    afterBuildTicks: (scale) => { scale.ticks = a.ticks.map((tick) => ({ value: tick[0] })); }
  });

  // A line, and under it the shade of its interval as two lines without strokes.
  const datasets = (plot) => {
    const all = [];
    plot.series.forEach((series, index) => {
      const points = series.points.map(([x, y, lo, hi]) => ({ x, y, lo, hi }));
      const floor = plot.y.log ? plot.y.lo / 10 : plot.y.lo - 1;
      const base = { series: index, parsing: false, pointRadius: 0, pointHitRadius: 0, borderWidth: 0, normalized: true };
      if (points.some((point) => point.lo !== undefined)) {
        const edge = (key) => points.map((p) => ({ x: p.x, y: Math.max(floor, p[key] === undefined ? p.y : p[key]) }));
        all.push({ ...base, shade: true, data: edge('lo'), fill: false });
        all.push({ ...base, shade: true, data: edge('hi'), fill: '-1', backgroundColor: color(series.color) + '26' });
      }
      all.push({
        ...base, label: series.name, data: points, fill: false, order: -1,
        borderColor: color(series.color), backgroundColor: color(series.color),
        borderWidth: series.secondary ? 1.5 : 2.2, borderCapStyle: series.secondary ? 'round' : 'butt',
        borderDash: series.secondary ? [1, 4] : data.dashes[series.file % data.dashes.length],
        pointRadius: points.length === 1 ? 4 : points.length < 16 && !series.secondary ? 2.5 : 0,
        pointHoverRadius: 5, tension: 0
      });
    });
    return all;
  };

  // Break-even lengths: a ring on the curve, a bar for the interval, a drop line to the axis.
  const marks = {
    id: 'marks',
    afterDatasetsDraw(chart) {
      const { ctx, chartArea: area, scales: { x, y } } = chart;
      ctx.save();
      ctx.beginPath();
      ctx.rect(area.left, area.top, area.width, area.height);
      ctx.clip();
      for (const mark of chart.plot.marks) {
        if (!visibleMark(chart, mark)) continue;
        const px = x.getPixelForValue(mark.x), py = y.getPixelForValue(mark.y);
        ctx.strokeStyle = color(mark.color);
        ctx.globalAlpha = 0.5;
        ctx.lineWidth = 1;
        ctx.setLineDash([2, 3]);
        ctx.beginPath(); ctx.moveTo(px, py); ctx.lineTo(px, area.bottom); ctx.stroke();
        ctx.setLineDash([]);
        if (mark.hi > mark.lo) {
          ctx.globalAlpha = 0.35;
          ctx.lineWidth = 7;
          ctx.beginPath();
          ctx.moveTo(x.getPixelForValue(Math.max(mark.lo, chart.plot.x.lo)), py);
          ctx.lineTo(x.getPixelForValue(mark.hi), py);
          ctx.stroke();
        }
        ctx.globalAlpha = 1;
        ctx.lineWidth = 2.2;
        ctx.fillStyle = css('--paper');
        ctx.beginPath(); ctx.arc(px, py, 5, 0, 2 * Math.PI); ctx.fill(); ctx.stroke();
        label(ctx, area, format(mark.x, chart.plot.x.unit).replace(' tokens', ''), px, py, color(mark.color));
      }
      ctx.restore();
    }
  };
  const label = (ctx, area, text, px, py, ink) => {
    ctx.font = '600 12px system-ui, sans-serif';
    const before = px + 12 + ctx.measureText(text).width > area.right;
    const below = py + 24 < area.bottom;
    ctx.textAlign = before ? 'right' : 'left';
    ctx.lineJoin = 'round';
    ctx.lineWidth = 4;
    ctx.strokeStyle = css('--paper');
    const at = [px + (before ? -9 : 9), py + (below ? 17 : -9)];
    ctx.strokeText(text, ...at);
    ctx.fillStyle = ink;
    ctx.fillText(text, ...at);
  };
  const visibleMark = (chart, mark) => chart.data.datasets.some((set, i) => !set.shade && chart.isDatasetVisible(i) &&
    chart.plot.series[set.series].color === mark.color && chart.plot.series[set.series].file === mark.file);

  const options = (plot) => ({
    animation: false, responsive: true, maintainAspectRatio: false,
    interaction: { mode: 'nearest', axis: 'x', intersect: false },
    scales: { x: axis(plot.x, true), y: axis(plot.y, false) },
    plugins: {
      legend: { display: false },
      tooltip: {
        backgroundColor: css('--panel'), titleColor: css('--ink'), bodyColor: css('--ink'),
        borderColor: css('--line'), borderWidth: 1, boxPadding: 4, usePointStyle: false,
        filter: (item) => !item.dataset.shade,
        itemSort: (a, b) => b.parsed.y - a.parsed.y,
        callbacks: {
          title: (items) => (items.length ? format(items[0].parsed.x, plot.x.unit) : ''),
          label: (item) => `${item.dataset.label}: ${interval(item.raw, plot.y.unit)}`
        }
      }
    }
  });

  // Arrow keys walk over points and lines; what they stand on is shown and spoken.
  const keyboard = (chart, frame, spoken) => {
    let line = 0, point = 0;
    const lines = () => chart.data.datasets.map((set, i) => i)
      .filter((i) => !chart.data.datasets[i].shade && chart.isDatasetVisible(i));
    const show = () => {
      const visible = lines();
      if (!visible.length) return;
      line = (line + visible.length) % visible.length;
      const index = visible[line], set = chart.data.datasets[index];
      point = Math.min(Math.max(point, 0), set.data.length - 1);
      const element = chart.getDatasetMeta(index).data[point];
      const active = [{ datasetIndex: index, index: point }];
      chart.setActiveElements(active);
      chart.tooltip.setActiveElements(active, { x: element.x, y: element.y });
      chart.update('none');
      const value = set.data[point];
      spoken.textContent = `${set.label}, ${format(value.x, chart.plot.x.unit)}: ${interval(value, chart.plot.y.unit)}`;
    };
    frame.addEventListener('keydown', (event) => {
      const before = lines()[line];
      switch (event.key) {
        case 'ArrowRight': ++point; break;
        case 'ArrowLeft': --point; break;
        case 'ArrowDown': ++line; break;
        case 'ArrowUp': --line; break;
        case 'Home': point = 0; break;
        case 'End': point = Infinity; break;
        case 'Escape':
          chart.setActiveElements([]);
          chart.tooltip.setActiveElements([], { x: 0, y: 0 });
          chart.update('none');
          spoken.textContent = '';
          return;
        default: return;
      }
      event.preventDefault();
      const visible = lines();
      if (visible.length) {
        line = (line + visible.length) % visible.length;
        // Another line has other points: stay near the length.
        if (visible[line] !== before && before !== undefined && chart.data.datasets[before].data[point]) {
          const x = chart.data.datasets[before].data[point].x;
          const points = chart.data.datasets[visible[line]].data;
          point = points.reduce((best, p, i) => (Math.abs(p.x - x) < Math.abs(points[best].x - x) ? i : best), 0);
        }
      }
      show();
    });
  };

  const sample = (series) => {
    const space = 'http://www.w3.org/2000/svg';
    const svg = document.createElementNS(space, 'svg');
    svg.setAttribute('width', '26');
    svg.setAttribute('height', '10');
    svg.setAttribute('aria-hidden', 'true');
    const path = document.createElementNS(space, 'path');
    path.setAttribute('d', 'M1 5H25');
    path.setAttribute('stroke', `var(--c${series.color})`);
    path.setAttribute('stroke-width', series.secondary ? '2' : '2.5');
    path.setAttribute('stroke-linecap', series.secondary ? 'round' : 'butt');
    path.setAttribute('stroke-dasharray', series.secondary ? '1 4' : data.dashes[series.file % data.dashes.length].join(' '));
    svg.append(path);
    return svg;
  };
  const legend = (chart, plot, place) => {
    plot.series.forEach((series, index) => {
      const button = document.createElement('button');
      button.type = 'button';
      button.setAttribute('aria-pressed', 'true');
      button.append(sample(series), document.createTextNode(series.name));
      button.addEventListener('click', () => {
        const on = button.getAttribute('aria-pressed') !== 'true';
        button.setAttribute('aria-pressed', String(on));
        chart.data.datasets.forEach((set, i) => { if (set.series === index) chart.setDatasetVisibility(i, on); });
        chart.update('none');
      });
      place.append(button);
    });
    place.hidden = false;
  };

  const draw = (plot) => {
    const section = document.getElementById(plot.id);
    const frame = section.querySelector('.plot');
    frame.hidden = false;
    const chart = new Chart(frame.querySelector('canvas'), {
      type: 'line', data: { datasets: [] }, options: options(plot), plugins: [marks]
    });
    chart.plot = plot;
    chart.data.datasets = datasets(plot);
    chart.update('none');
    charts[plot.id] = chart;
    legend(chart, plot, section.querySelector('.legend'));
    keyboard(chart, frame, section.querySelector('.value'));
  };
  const recolor = () => {
    for (const chart of Object.values(charts)) {
      const hidden = chart.data.datasets.map((set, i) => !chart.isDatasetVisible(i));
      chart.data.datasets = datasets(chart.plot);
      chart.options = options(chart.plot);
      hidden.forEach((off, i) => { if (off) chart.setDatasetVisibility(i, false); });
      chart.update('none');
    }
  };

  const theme = document.getElementById('theme');
  const named = () => { theme.textContent = dark() ? 'Light' : 'Dark'; };
  theme.addEventListener('click', () => { root.dataset.theme = dark() ? 'light' : 'dark'; named(); recolor(); });
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => { named(); recolor(); });
  named();
  theme.hidden = false;
  root.classList.add('scripted');
  data.plots.forEach(draw);

  // What the page shows, for tests and for whoever scripts it.
  window.__report = {
    errors,
    plots: () => Object.fromEntries(Object.entries(charts).map(([id, chart]) => [id, {
      x: { min: chart.scales.x.min, max: chart.scales.x.max, type: chart.scales.x.type },
      y: { min: chart.scales.y.min, max: chart.scales.y.max, type: chart.scales.y.type },
      width: chart.width, height: chart.height,
      lines: chart.data.datasets.filter((set) => !set.shade).map((set) => ({ name: set.label, points: set.data.length })),
      shades: chart.data.datasets.filter((set) => set.shade).length / 2,
      pixel: (x, y) => [chart.scales.x.getPixelForValue(x), chart.scales.y.getPixelForValue(y)],
      marks: chart.plot.marks.map((mark) => ({ ...mark, shown: visibleMark(chart, mark),
        px: chart.scales.x.getPixelForValue(mark.x), py: chart.scales.y.getPixelForValue(mark.y) }))
    }]))
  };
})();
