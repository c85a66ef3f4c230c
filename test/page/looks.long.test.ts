import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { DuShape } from "../../src/api/shapes.ts";
import type { DoctorShape } from "../../src/api/store-api.ts";
import type { SyncShape } from "../../src/api/sync-api.ts";
import { describeWithBrowser, openTab, SOON, type Tab } from "./page-browser.ts";
import { accept, difference } from "./pictures.ts";
import { NOW, Shop } from "./shop.ts";

/**
 * Each view looks as somebody has accepted it. `node scripts/accept-page-pictures.ts` accepts what the page shows now: look at all
 * pictures in test/page/accepted before you commit them. With `PAGE_PICTURES=verbose`, the test says how much differs.
 */

const isAccepting = process.env["PAGE_PICTURES"] === "accept";

/** How a view is looked at. `scale`: by how much the kept picture is smaller. */
const LOOKS = [
  { look: "light", colorScheme: "light", width: 1280, height: 800, scale: 2 },
  { look: "dark", colorScheme: "dark", width: 1280, height: 800, scale: 2 },
  { look: "narrow", colorScheme: "light", width: 360, height: 720, scale: 1 },
] as const;

const require = createRequire(import.meta.url);

/** The fonts of machines differ, and with them all lengths of texts. The page is shown in these. */
const FONTS = {
  sans: require.resolve("@fontsource-variable/inter/files/inter-latin-wght-normal.woff2"),
  mono: require.resolve("@fontsource-variable/jetbrains-mono/files/jetbrains-mono-latin-wght-normal.woff2"),
};

async function withOwnFonts(page: Page): Promise<void> {
  const rules = Object.keys(FONTS).map(
    (kind) =>
      `@font-face { font-family: own-${kind}; font-weight: 100 900; src: url("/assets/own-${kind}.woff2"); }
      :root { --${kind}: own-${kind} !important; }`,
  );
  await page.route(/\/assets\/[^/]*\.css$/, async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, body: [await response.text(), ...rules].join("\n") });
  });
  for (const [kind, file] of Object.entries(FONTS))
    await page.route(`**/assets/own-${kind}.woff2`, (route) => route.fulfill({ body: readFileSync(file) }));
}

/** Shows the same ids, hashes and signatures each time, of the same length. */
async function withSameIds(page: Page): Promise<void> {
  await page.route(/\/head$/, async (route) => {
    const response = await route.fetch();
    const body = (await response.text())
      .replaceAll(/[0-9a-f]{8}(?:-?[0-9a-f]{4}){3}-?[0-9a-f]{12,48}/g, (id) => id.replaceAll(/[0-9a-f]/g, "a"))
      .replaceAll(/(?<=[+ ])[\w+/]{40,}=*/g, (signature) => "a".repeat(signature.length));
    await route.fulfill({ response, body });
  });
}

const TURN = "turn%3D5b1f2c3d-0000-4000-8000-000000000001%3Ap1";

const HALTED = {
  ...{ upstream: "https://files.example.org", mode: "two-way-safe", state: "halted", halted: "mass-deletion" },
  ...{ reason: "80 of 90 entries were deleted here at once", peer: null },
  ...{ lag: 0, pending: 0, conflicts: 0, applied: 1, head: 1 },
} satisfies Partial<SyncShape>;

/** What is wrong with a machine differs from machine to machine. */
const FAULT = { name: "space", ok: false, detail: "the disk of the store is nearly full", hint: "free some of it" };

interface View {
  readonly path: string;
  /** Resolves once the view is whole. */
  readonly isShown: (page: Page) => Promise<unknown>;
}

const text = (shown: string | RegExp) => (page: Page) => page.getByText(shown).first().waitFor();
// The view before may have the same texts, or an editor, too.
const list = (page: Page) =>
  page.getByRole("region", { name: "What happened, newest first" }).getByText("baseline of 5 paths").waitFor();
const lineBeside = (role: "article" | "slider" | "textbox") => async (page: Page) => {
  await page.getByRole(role).first().waitFor();
  await page.locator(".cm-line").first().waitFor();
};

const CHANGES = `/changes?work=${TURN}&file=src%2Fprices.ts`;

const VIEWS: Readonly<Record<string, View>> = {
  home: {
    path: "/",
    isShown: async (page) => {
      await text(/^undo of/)(page);
      await text(FAULT.detail)(page);
    },
  },
  timeline: { path: "", isShown: list },
  selected: {
    path: `?work=${TURN}`,
    isShown: (page) =>
      page
        .getByRole("complementary", { name: "The selected work" })
        .getByText(/2 paths:/)
        .waitFor(),
  },
  changes: { path: CHANGES, isShown: lineBeside("article") },
  file: { path: "/file?path=src%2Fprices.ts", isShown: lineBeside("slider") },
  files: {
    path: "/files?folder=src",
    isShown: async (page) => {
      await page.getByRole("heading", { name: "Files", exact: true }).waitFor();
      await text("prices.ts")(page);
    },
  },
  conflicts: { path: "/conflicts", isShown: lineBeside("textbox") },
  sync: { path: "/sync", isShown: text("80 of 90 entries") },
  integrity: { path: "/integrity", isShown: text("It commits to") },
  space: { path: "/space", isShown: text("This workspace") },
  palette: {
    path: "",
    isShown: async (page) => {
      await list(page);
      await page.keyboard.press("Control+k");
      await page.getByRole("dialog").getByText("Integrity").first().waitFor();
    },
  },
  keys: {
    path: "",
    isShown: async (page) => {
      await list(page);
      await page.keyboard.press("?");
      await page.getByRole("dialog", { name: "Keys" }).waitFor();
    },
  },
};

const look = (page: Page): Promise<Buffer> => page.screenshot({ animations: "disabled", caret: "hide" });

/** Looks until nothing moves any more. */
async function still(page: Page): Promise<Buffer> {
  // What is read after the view is shown may take longer than two looks.
  await page.waitForTimeout(1_000);
  for (let before = await look(page); ;) {
    const after = await look(page);
    if (after.equals(before)) return after;
    before = after;
  }
}

/** How often a view that does not look as accepted is looked at again, because it may not be whole yet. */
const LOOKS_AGAIN = 12;

/** Returns how a view differs from what was accepted; `undefined` if it does not. */
async function differenceOf(page: Page, name: string, scale: number): Promise<string | undefined> {
  if (isAccepting) accept(name, await still(page), scale);
  let found = difference(name, await look(page), scale);
  for (let again = 0; found !== undefined && again < LOOKS_AGAIN; again += 1)
    found = difference(name, await look(page), scale);
  return found;
}

/** The size of the caches in the pictures. A hook makes its image in the background, so the real size varies. */
const CACHE_BYTES = 16_000_000;

function withCaches(du: DuShape): DuShape {
  const more = CACHE_BYTES - du.other_parts.cache_bytes;
  const { total_bytes: total, other_bytes: other, other_parts: parts } = du;
  return {
    ...du,
    total_bytes: total + more,
    other_bytes: other + more,
    other_parts: { ...parts, cache_bytes: CACHE_BYTES },
  };
}

let shop: Shop;
let tab: Tab;
let id = "";

describeWithBrowser("a view", () => {
  beforeAll(async () => {
    shop = await Shop.open();
    id = await shop.workspace();
    const before = async (page: Page): Promise<void> => {
      await page.clock.setFixedTime(NOW);
      await withOwnFonts(page);
      await withSameIds(page);
      const doctor = { ok: false, store: "/store", checks: [FAULT] } satisfies DoctorShape;
      await page.route(/\/v1\/doctor$/, (route) => route.fulfill({ json: doctor }));
      await page.route(/\/du(\?|$)/, async (route) => {
        const response = await route.fetch();
        await route.fulfill({ json: withCaches((await response.json()) as DuShape) });
      });
      const sync = { ...HALTED, id: "shop", workspace: id, folder: shop.project };
      await page.route(/\/v1\/syncs\b/, (route) => route.fulfill({ json: { items: [sync], next: null } }));
    };
    const where = { locale: "en-GB", timezoneId: "UTC" };
    tab = await openTab(await shop.address(), { ...where, before, expected: /status of 404/ });
  });
  afterAll(async () => {
    await tab[Symbol.asyncDispose]();
    await shop[Symbol.asyncDispose]();
  });

  it.each(Object.entries(VIEWS))("looks as accepted: %s", async (name, { path, isShown }) => {
    const { page } = tab;
    const [wide] = LOOKS;
    await page.setViewportSize(wide);
    await tab.go(path === "/" ? path : `/w/${id}${path}`);
    await isShown(page);
    if (path !== "/") await page.getByLabel("1 open").waitFor();
    await expect.poll(() => page.locator(".spin").count(), SOON).toBe(0);
    const differences: string[] = [];
    for (const { look: kind, colorScheme, width, height, scale } of LOOKS) {
      await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
      await page.setViewportSize({ width, height });
      await page.evaluate(() => document.fonts.ready.then(() => undefined));
      const found = await differenceOf(page, `${name}-${kind}`, scale);
      if (found !== undefined) differences.push(found);
    }
    const dialog = page.getByRole("dialog");
    if (await dialog.isVisible()) {
      await page.keyboard.press("Escape");
      await dialog.waitFor({ state: "detached" });
    }
    expect(differences.join("\n")).toBe("");
  });

  it("does not look as accepted without one of its parts, and the pictures that show it are named", async () => {
    const { page } = tab;
    const [{ width, height, scale }] = LOOKS;
    await page.emulateMedia({ colorScheme: "light" });
    await page.setViewportSize({ width, height });
    await tab.go(`/w/${id}${CHANGES}`);
    await lineBeside("article")(page);
    await page.getByRole("navigation", { name: "Changed files" }).evaluate((part: HTMLElement) => {
      part.style.visibility = "hidden";
    });
    const found = difference("changes-light", await still(page), scale) ?? "";
    expect(found).toContain("changes-light does not look as accepted");
    const paths = found.split("\n").flatMap((line) => /: (\/.*\.png)$/.exec(line)?.[1] ?? []);
    expect(paths.map((path) => existsSync(path))).toEqual([true, true, true]);
  });
});
