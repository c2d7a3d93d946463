// A chart as a file: the drawing with the colours and letters that the page gives it, so that it looks the same
// elsewhere.

const namespace = "http://www.w3.org/2000/svg";

/** What the stylesheet says of a drawing. */
const properties = [
  "fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "stroke-linejoin", "paint-order", "font-family",
  "font-size", "font-weight",
];

/**
 * @param {SVGElement} picture @param {string} title @param {string} description
 * @returns {string} the text of an SVG file
 */
export function chartText(picture, title, description) {
  const copy = /** @type {SVGElement} */ (picture.cloneNode(true));
  const drawn = [picture, ...picture.querySelectorAll("*")];
  [copy, ...copy.querySelectorAll("*")].forEach((element, index) => {
    const style = getComputedStyle(drawn[index]);
    for (const name of properties) element.setAttribute(name, style.getPropertyValue(name));
    for (const name of ["class", "data-size", "data-line", "aria-hidden"]) element.removeAttribute(name);
  });
  for (const [name, text] of [["desc", description], ["title", title]]) {
    const element = document.createElementNS(namespace, name);
    element.textContent = text;
    copy.prepend(element);
  }
  return new XMLSerializer().serializeToString(copy).replace(/<!--[^]*?-->/g, "");
}

/** @param {SVGElement} picture @param {string} file @param {string} title @param {string} description */
export function saveChart(picture, file, title, description) {
  const address = URL.createObjectURL(new Blob([chartText(picture, title, description)], { type: "image/svg+xml" }));
  const link = document.createElement("a");
  link.href = address;
  link.download = file;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}
