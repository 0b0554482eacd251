"use strict";
const figures = JSON.parse(document.getElementById("figures").textContent);
const isEmpty = ({ data }) => data.every(({ y }) => !y || y.every((value) => value === null));
for (const [name, figure] of Object.entries(figures)) {
  if (isEmpty(figure)) {
    const place = document.getElementById(`figure-${name}`);
    place.textContent = "No data yet.";
    place.className = "";
    continue;
  }
  const layout = {
    ...figure.layout,
    font: { family: "system-ui, sans-serif", size: 13 },
    margin: { t: 30, r: 20, b: 60, l: 70 },
    legend: { orientation: "h", y: 1.02, yanchor: "bottom" },
  };
  Plotly.newPlot(`figure-${name}`, figure.data, layout, { responsive: true, displaylogo: false });
}
