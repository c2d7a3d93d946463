// Time and cost of the run: the sentence under the verdict, the panels, the fields for data and prices, the saved chart.

const plain = (text) => text.replace(/\s+/g, " ").trim();
const outcome = () => document.querySelector("[data-testid=outcome]")?.textContent.replace(/\s+/g, " ").trim() ?? "";
const textOf = (selector) => document.querySelector(selector)?.textContent.replace(/\s+/g, " ").trim() ?? "";
const fill = (key, text) => {
  const input = document.getElementById(`tunefit-${key}`);
  input.value = text;
  input.dispatchEvent(new Event(input.localName === "select" ? "change" : "input", { bubbles: true }));
};
const speak = async (lang) => {
  const button = document.querySelector(`.langs [lang=${lang}]`);
  button.click();
  while (button.ariaPressed !== "true") await new Promise((resolve) => setTimeout(resolve, 10)); // until it is loaded
};
const priced = () => document.querySelector("[data-part=cost]") !== null;

/** Opens a page by its link and waits until its run has a price. */
async function visit({ tab, url, waitFor }, link, seen = priced) {
  await tab.goto("about:blank");
  await tab.goto(`${url}#v=1&lang=en${link}`);
  await waitFor(() => document.documentElement.dataset.ready === "true");
  await waitFor(seen);
}

export default [
  {
    name: "hours, a rented and a bought price stand under the verdict, each price with its date, in both languages",
    async run(context) {
      const { tab, assert } = context;
      await visit(context, "");
      assert.match(await tab.evaluate(outcome), /^About [\d.]+ hours \(.+?\)\. About €[\d.]+ rented \(.+?\), at .+? of \d+ \w+ 20\d\d\..*About €[\d.]+ of depreciation and power .+ of \d+ \w+ 20\d\d\./);
      await tab.evaluate(speak, "nl");
      assert.match(await tab.evaluate(outcome), /^Ongeveer [\d,]+ uur \(.+?\)\. Huren kost ongeveer €\s[\d,]+ \(.+?\), tegen een prijs van \d+ \w+ 20\d\d bij /);
    },
  },
  {
    name: "without data a step has a time, and with them the run; packing is offered where padding is computed",
    async run(context) {
      const { tab, assert, waitFor } = context;
      await visit(context, "&batch=8&examples=&mean=&epochs=", () => document.querySelector("[data-part=time]") !== null);
      assert.match(await tab.evaluate(outcome), /a step .* Say how much data you have/);
      assert.equal(await tab.evaluate(priced), false);
      await tab.evaluate(fill, "examples", "10.000");
      await tab.evaluate(fill, "mean", "400");
      await waitFor(priced);
      const before = await tab.evaluate(outcome);
      await tab.click("[data-part=time] .aside button");
      await waitFor((text) => document.querySelector("[data-testid=outcome]").textContent.replace(/\s+/g, " ").trim() !== text, before);
      assert.equal(await tab.evaluate(() => document.querySelector("[data-part=time] .aside")), null);
      await waitFor(() => location.hash.includes("packing=packed") && location.hash.includes("examples=10.000"));
    },
  },
  {
    name: "prices and wishes come by the link, reach the answer, and what is wrong with them stands beside the field",
    async run(context) {
      const { tab, assert, waitFor } = context;
      await visit(context, "&gpu=h100-sxm&hourly=2.5&purchase=30000&utilisation=30&trials=2");
      assert.match(await tab.evaluate(outcome), /at your own price\. .* at your own price\.$/);
      await waitFor(() => document.getElementById("tunefit-utilisation")?.value === "30");
      assert.match(await tab.evaluate(textOf, ".even-figure > p"), /In use 30% of all hours/);
      assert.match(await tab.evaluate(textOf, "[data-part=cost] .plain"), /Trial runs before the one that counts/);
      await tab.evaluate(fill, "utilisation", "150");
      await waitFor(() => document.querySelector("[data-field=utilisation] .fault") !== null);
      assert.equal(await tab.evaluate(textOf, "[data-field=utilisation] .fault"), "Hours in use can be 0.0001 to 100; 150 is outside that.");
      await tab.evaluate(speak, "nl");
      assert.equal(await tab.evaluate(textOf, "[data-field=utilisation] .fault"), "Uren in gebruik mag 0,0001 tot 100 zijn; 150 valt daarbuiten.");
      await tab.evaluate(speak, "en");
      await tab.evaluate(fill, "utilisation", "50");
      await tab.evaluate(fill, "work", "40");
      await waitFor(() => document.querySelector("[data-field=rate] .fault") !== null);
      await tab.evaluate(fill, "rate", "80");
      await waitFor(() => /€3,200/.test(document.querySelector("[data-part=cost] .plain").textContent));
      await waitFor(() => /utilisation=50.*work=40.*rate=80/.test(location.hash));
    },
  },
  {
    name: "an offer opens to its source, and what is old or doubtful is marked",
    async run(context) {
      const { tab, assert, waitFor } = context;
      await visit(context, "&gpu=h100-sxm");
      await tab.evaluate(() => (document.getElementById("tunefit-run-rent").closest("details").open = true));
      await waitFor(() => document.querySelector("[data-part=cost] .offer") !== null);
      await tab.evaluate(() => (document.querySelector("[data-part=cost] .offer").open = true));
      await waitFor(() => document.querySelector("[data-part=cost] .offer-body") !== null);
      assert.match(await tab.evaluate(textOf, "[data-part=cost] .offer-body"), /Sources .*read \d/);
      const rows = await tab.evaluate(() =>
        [...document.querySelectorAll("[data-part=cost] .offers tr:has(time)")].map((row) => row.textContent.replace(/\s+/g, " ")),
      );
      assert.ok(rows.length > 10);
      for (const row of rows) assert.match(plain(row), /€[\d,.]+ .*an hour .*20\d\d (at most )?[\d,]+ days? old/);
      assert.equal(rows.filter((row) => row.includes("compared with buying")).length, 1);
    },
  },
  {
    name: "the chart is saved as a drawing that stands alone",
    async run(context) {
      const { tab, assert, waitFor } = context;
      await visit(context, "&gpu=h100-sxm&hourly=2.5&purchase=30000");
      await tab.evaluate(() => {
        const make = URL.createObjectURL.bind(URL);
        URL.createObjectURL = (blob) => {
          blob.text().then((text) => (globalThis.saved = { type: blob.type, text }));
          return make(blob);
        };
        HTMLAnchorElement.prototype.click = function () {
          globalThis.savedAs = this.download;
        };
        document.querySelector(".even-figure button").click();
      });
      await waitFor(() => globalThis.saved !== undefined);
      const { type, text, file } = await tab.evaluate(() => ({ ...globalThis.saved, file: globalThis.savedAs }));
      assert.equal(type, "image/svg+xml");
      assert.equal(file, "rent-or-buy.svg");
      assert.match(text, /^<svg [^>]*xmlns="http:\/\/www\.w3\.org\/2000\/svg"[^>]*>\s*<title[^>]*>Rent or buy\?<\/title><desc[^>]*>From about [\d,]+\shours/);
      assert.doesNotMatch(text, /var\(|class=|<!--/);
      const words = [...text.matchAll(/<text[^>]*>([^<]*)<\/text>/g)].map(([, word]) => plain(word));
      assert.ok(["Rented", "Bought", "Hours of work"].every((word) => words.includes(word)), words.join("; "));
      assert.ok(words.some((word) => /^[\d,]+ hours$/.test(word)) && words.some((word) => /^[\d.]+ (months|years)$/.test(word)), words.join("; "));
    },
  },
];
