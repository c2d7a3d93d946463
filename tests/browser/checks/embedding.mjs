// The element in somebody's page, by the two lines of the README: twice, under the policy, beside that page's own things.

const bothReady = () =>
  document.querySelectorAll("tunefit-calculator[data-ready=true]").length === 2 &&
  [...document.querySelectorAll("tunefit-calculator")].every((element) => element.querySelector(".verdict"));

/** What the host's own elements look like. */
const look = () => {
  const names = [
    "color", "background-color", "background-image", "font-family", "font-size", "font-weight", "line-height", "margin", "padding",
    "border", "display", "position", "list-style-type", "white-space", "text-align", "color-scheme", "cursor", "scroll-padding-block",
    "max-inline-size", "box-sizing", "border-collapse",
  ];
  const own = [...document.querySelectorAll("*")].filter((element) => !element.closest("head, tunefit-calculator"));
  return own.map((element) => {
    const style = getComputedStyle(element);
    return `${element.localName} ${names.map((name) => style.getPropertyValue(name)).join("; ")}`;
  });
};

const styled = () => {
  const [first] = document.querySelectorAll("tunefit-calculator");
  const style = getComputedStyle(first);
  return { display: style.display, panel: getComputedStyle(first.querySelector(".ask")).backgroundColor !== "rgba(0, 0, 0, 0)" };
};

const headings = () => [...document.querySelectorAll(".verdict h2")].map((heading) => heading.textContent);

export default [
  {
    name: "embedded twice it styles itself and leaves its host alone",
    targets: ["site"],
    async run({ tab, assert, url, waitFor }) {
      const address = `${url}guide/`;
      await tab.goto(address);
      await waitFor(bothReady);
      assert.deepEqual(await tab.evaluate(styled), { display: "block", panel: true });
      assert.equal(await tab.evaluate(() => document.querySelectorAll("link[rel=stylesheet]").length), 1);

      const after = await tab.evaluate(look);
      await tab.evaluate(() => (document.querySelector("link[rel=stylesheet]").disabled = true));
      assert.deepEqual(after, await tab.evaluate(look), "its styles reach the host");
      await tab.evaluate(() => (document.querySelector("link[rel=stylesheet]").disabled = false));

      const before = await tab.evaluate(headings);
      await tab.evaluate(() => {
        const [first] = document.querySelectorAll("tunefit-calculator");
        const input = first.querySelector("[data-field=length] input");
        input.value = "65536";
        input.dispatchEvent(new Event("input", { bubbles: true }));
        document.querySelectorAll("tunefit-calculator")[1].querySelector("[name$=-method][value=full]").click();
      });
      await new Promise((resolve) => setTimeout(resolve, 1000)); // by now a page has written its link
      const now = await tab.evaluate(headings);
      assert.notEqual(now[0], before[0]);
      assert.notEqual(now[1], before[1]);
      assert.match(now[1], /^(Het |Krap)/);

      const host = await tab.evaluate(() => ({
        title: document.title,
        lang: document.documentElement.lang,
        ready: document.documentElement.dataset.ready ?? null,
        address: location.href,
        mains: document.querySelectorAll("main").length,
        firsts: document.querySelectorAll("h1").length,
        banners: document.querySelectorAll("tunefit-calculator header, tunefit-calculator footer").length,
        fixed: [...document.querySelectorAll("tunefit-calculator *")].filter(
          (element) => getComputedStyle(element).position === "fixed" && !element.hidden,
        ).length,
        langs: [...document.querySelectorAll("tunefit-calculator")].map((element) => element.lang),
      }));
      assert.deepEqual(host, {
        title: "Guide de la maison", lang: "fr", ready: null, address, mains: 1, firsts: 1, banners: 0, fixed: 0, langs: ["en", "nl"],
      });
    },
  },
  {
    name: "two elements have their own ids, labels and choices",
    targets: ["site"],
    async run({ tab, assert, url, waitFor }) {
      await tab.goto(`${url}guide/`);
      await waitFor(bothReady);
      await tab.evaluate(() => document.querySelectorAll("details").forEach((details) => (details.open = true)));
      const found = await tab.evaluate(() => {
        const elements = [...document.querySelectorAll("tunefit-calculator")];
        const ids = [...document.querySelectorAll("[id]")].map(({ id }) => id);
        const strays = elements.flatMap((element) =>
          ["for", "aria-controls", "aria-labelledby", "aria-describedby"].flatMap((name) =>
            [...element.querySelectorAll(`[${name}]`)].flatMap((user) =>
              user.getAttribute(name).split(" ").filter((id) => !element.contains(document.getElementById(id))).map((id) => `${name} ${id}`),
            ),
          ),
        );
        return {
          twice: ids.filter((id, index) => ids.indexOf(id) !== index),
          strays,
          unlabelled: elements.flatMap((element) =>
            [...element.querySelectorAll("input, select, textarea")]
              .filter((control) => control.labels.length === 0 && !control.ariaLabel)
              .map((control) => control.outerHTML),
          ),
          chosen: elements.map((element) => element.querySelector("[name$=-method]:checked")?.value),
        };
      });
      assert.deepEqual(found, { twice: [], strays: [], unlabelled: [], chosen: ["qlora", "qlora"] });
    },
  },
  {
    name: "embedded it fits a narrow column, and a moved element goes on",
    targets: ["site"],
    async run({ tab, assert, url, waitFor }) {
      await tab.resize(400, 800);
      await tab.goto(`${url}guide/`);
      await waitFor(bothReady);
      assert.ok((await tab.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth)) <= 0);
      const before = await tab.evaluate(headings);
      await tab.evaluate(() => document.querySelector("main").prepend(document.querySelector("tunefit-calculator")));
      assert.deepEqual(await tab.evaluate(headings), before);
    },
  },
];
