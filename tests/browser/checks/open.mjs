// Every file in this folder exports a list of checks {name, run(context), targets?, provokes?}. Each runs in three
// engines, on the site and on the offline file (or on the `targets` it names, which may be those of another vendor), in a
// fresh tab whose page has given its first answer. After each the page must be clean: no policy violation, no console error, no request to another origin;
// unless the check `provokes` them. The context is {tab, target, url, policy, assert, waitFor}: see ../browser.test.mjs.

export default [
  {
    name: "shows a verdict",
    async run({ tab, assert }) {
      const verdict = await tab.evaluate(() => document.querySelector("[data-testid=verdict]")?.textContent.trim());
      assert.ok(verdict, "no verdict");
    },
  },
  {
    name: "refuses markup and scripts made from text",
    provokes: true,
    async run({ tab, assert }) {
      // eval() is no test: engines allow it to code that their debugging protocol runs.
      const done = await tab.evaluate(() => {
        const attempt = (action) => {
          try {
            return action();
          } catch {
            return "refused";
          }
        };
        return {
          script: attempt(() => {
            const script = document.createElement("script");
            script.textContent = "document.documentElement.dataset.ran = true";
            document.body.append(script);
            return document.documentElement.dataset.ran ? "ran" : "refused";
          }),
          markup: attempt(() => {
            document.createElement("p").innerHTML = "<b>x</b>";
            return "trustedTypes" in globalThis ? "parsed" : "refused"; // an engine without trusted types cannot refuse
          }),
        };
      });
      assert.deepEqual(done, { script: "refused", markup: "refused" });
    },
  },
  {
    name: "carries the policy that the server sends",
    targets: ["site"],
    async run({ tab, assert, policy }) {
      const meta = await tab.evaluate(() => document.querySelector("meta[http-equiv=Content-Security-Policy]")?.content);
      assert.equal(meta, policy);
    },
  },
];
