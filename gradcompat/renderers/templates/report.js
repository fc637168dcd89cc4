const form = document.querySelector("form"), shown = document.querySelector("output");
const all = [...document.querySelectorAll("article")];
const usual = all.filter(one => one.dataset.state !== "suppressed").length;
const texts = all.map(one => one.textContent.toLowerCase());
function filter() {
  const words = form.text.value.toLowerCase().split(/\s+/).filter(Boolean);
  const off = new Set([...form.querySelectorAll("[type=checkbox]:not(:checked)")].map(one => one.name));
  let count = 0;
  all.forEach((one, index) => {
    const { level, state } = one.dataset;
    one.hidden = off.has(level) || off.has(state) || !words.every(word => texts[index].includes(word));
    count += !one.hidden;
  });
  for (const part of document.querySelectorAll("section"))
    part.hidden = count < usual && !part.querySelector(":scope > ul.gaps, article:not([hidden])");
  shown.textContent = `${count} of ${all.length} shown`;
}
form.addEventListener("input", filter);
form.addEventListener("submit", event => event.preventDefault());
form.hidden = !all.length;
filter();
