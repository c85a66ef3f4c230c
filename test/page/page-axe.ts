import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { AxeResults } from "axe-core";
import type { Tab } from "./page-browser.ts";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"];

/** Returns what axe finds in what a tab shows: the rules, and the first element of each. */
export async function findings({ page }: Tab, rules?: readonly string[]): Promise<string[]> {
  if (!(await page.evaluate(() => "axe" in globalThis))) await page.evaluate(AXE);
  const { violations } = await page.evaluate<AxeResults, readonly (readonly string[] | undefined)[]>(
    ([tags, only]) => {
      const { axe } = globalThis as unknown as { axe: { run(options: object): Promise<AxeResults> } };
      return axe.run({
        runOnly: only === undefined ? { type: "tag", values: tags } : { type: "rule", values: only },
        resultTypes: ["violations"],
      });
    },
    [RULES, rules],
  );
  return violations.flatMap(({ id: rule, nodes }) =>
    nodes.slice(0, 3).map(({ html, any }) => `${rule}: ${html.slice(0, 160)} ${any[0]?.message ?? ""}`),
  );
}
