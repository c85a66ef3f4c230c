import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { chromium, type Page } from "playwright-core";
import { type PageStore, servedStore } from "../test/page/page-store.ts";

/**
 * Makes the pictures of the page in docs/screens, from a history that real commands and hook calls make. Needs Chromium
 * at /usr/bin/chromium: `node scripts/make-page-screens.ts`.
 */

const folder = join(dirname(import.meta.dirname), "docs", "screens");
const SIZE = { width: 1280, height: 760 };

function sums(from: number, to: number): string {
  return Array.from(
    { length: to - from + 1 },
    (_, i) => `export function price${from + i}(amount: number): number {\n  return amount * ${from + i};\n}\n`,
  ).join("");
}

/** A service of a few files, on which an agent, a person and a command have worked. */
async function story(box: PageStore): Promise<void> {
  box.write("src/prices.ts", sums(1, 30));
  box.write("src/server.ts", 'import { price1 } from "./prices.ts";\n\nexport const total = price1(3);\n');
  box.write("README.md", "# Shop\n\nA small shop.\n");
  box.write("package.json", '{\n  "name": "shop",\n  "version": "1.0.0"\n}\n');
  await box.must(["init"]);
  const check = '  if (!Number.isFinite(amount)) throw new RangeError("not a number");\n';
  const checked = sums(1, 30)
    .replace("  return amount * 4;", `${check}  return amount * 4;`)
    .replace("  return amount * 21;", `${check}  return amount * 21;`)
    .replace("price28(amount: number)", "price28(amount: number, rebate = 0)");
  await box.turn("p1", "Check the amounts before they are used", {
    "src/prices.ts": () => box.write("src/prices.ts", checked),
    "src/amount.ts": () =>
      box.write("src/amount.ts", "export const isAmount = (value: unknown) => Number.isFinite(value);\n"),
  });
  box.write("README.md", "# Shop\n\nA small shop.\n\nMaintained by people.\n");
  await box.must(["snapshot", "-m", "before lunch"]);
  await box.must(["run", "--", "sh", "-c", "mkdir dist; for i in 1 2 3 4 5 6; do echo $i > dist/$i.js; done"]);
  await box.turn("p2", "Move the server to src/http, and add a health check", {
    "src/http/server.ts": () =>
      box.write(
        "src/http/server.ts",
        'import { price1 } from "../prices.ts";\n\nexport const total = price1(3);\n\nexport const health = () => "ok";\n',
      ),
    "$ rm src/server.ts": () => rmSync(join(box.project, "src/server.ts")),
  });
}

async function shot(page: Page, name: string): Promise<void> {
  await page.waitForLoadState("networkidle").catch(() => undefined);
  writeFileSync(join(folder, `${name}.png`), await page.screenshot({ animations: "disabled" }));
  console.log(`made docs/screens/${name}.png`);
}

await using box = await servedStore(story);
mkdirSync(folder, { recursive: true });
const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu"] });
try {
  const id = await box.workspace();
  for (const colorScheme of ["light", "dark"] as const) {
    const context = await browser.newContext({ viewport: SIZE, colorScheme, reducedMotion: "reduce" });
    const page = await context.newPage();
    await page.goto(await box.address(`/w/${id}`));
    await page.getByText("Check the amounts").first().click();
    await page.getByText(/2 paths:/).waitFor();
    await shot(page, `page-timeline-${colorScheme}`);
    await page.getByText("See the changes").click();
    await page.getByText("prices.ts").first().click();
    await page.locator(".cm-line").first().waitFor();
    await page.getByText("Take this back").first().waitFor();
    await shot(page, `page-changes-${colorScheme}`);
    await page.getByText("Take it back").first().click();
    await page.getByText("Everything else stays").waitFor();
    await shot(page, `page-undo-${colorScheme}`);
    await context.close();
  }
} finally {
  await browser.close();
}
