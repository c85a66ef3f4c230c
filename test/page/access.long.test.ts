import { afterAll, beforeAll, expect, it } from "vitest";
import { findings } from "./page-axe.ts";
import { describeWithBrowser, openTab, SOON, type Tab } from "./page-browser.ts";
import { type PageStore, servedStore } from "./page-store.ts";

/** The page for whoever uses no pointer, no eyes, a small window, or wants no motion. */

const TURN = "turn%3D5b1f2c3d-0000-4000-8000-000000000001%3Ap1";

async function history(box: PageStore): Promise<void> {
  box.write("src/login.ts", "export const a = 1;\n".repeat(40));
  box.write("both.txt", "before\n");
  await box.must(["init"]);
  await box.turn("p1", "Refactor the login", {
    "src/login.ts": () => box.write("src/login.ts", "export const a = 1;\n".repeat(20) + "export const b = 2;\n"),
    "both.txt": () => box.write("both.txt", "by the agent\n"),
  });
  box.write("both.txt", "by a person\n");
  await box.must(["snapshot", "-m", "by hand"]);
  await box.call(["undo", "--turn", "last"]);
  await box.must(["run", "--", "sh", "-c", "rm -r src; echo done"]);
}

/** Parts of the turn that were taken back are no longer there to be asked for. */
const PARTS_GONE = { expected: /status of 404/ };

let box: PageStore;
let id = "";

interface View {
  readonly name: string;
  readonly path: string;
  /** Resolves once the view is whole. */
  readonly isShown: (tab: Tab) => Promise<void>;
}

function views(): readonly View[] {
  const text = (shown: string | RegExp) => (tab: Tab) => tab.page.getByText(shown).first().waitFor();
  const heading =
    (name: string) =>
    ({ page }: Tab) =>
      page.getByRole("heading", { name, exact: true }).waitFor();
  const list = ({ page }: Tab) =>
    page
      .getByRole("region", { name: "What happened, newest first" })
      .getByText("Refactor the login", { exact: true })
      .waitFor();
  // The view before may also have an editor.
  const lineBeside =
    (role: "article" | "slider" | "textbox") =>
    async ({ page }: Tab) => {
      await page.getByRole(role).first().waitFor();
      await page.locator(".cm-line").first().waitFor();
    };
  return [
    { name: "home", path: "/", isShown: text("rm -r src") },
    { name: "timeline", path: `/w/${id}`, isShown: list },
    {
      name: "timeline with a selection",
      path: `/w/${id}?work=${TURN}`,
      isShown: async ({ page }) => {
        await page
          .getByRole("complementary", { name: "The selected work" })
          .getByText(/2 paths:/)
          .waitFor();
      },
    },
    { name: "changes", path: `/w/${id}/changes?work=${TURN}&file=src%2Flogin.ts`, isShown: lineBeside("article") },
    { name: "file", path: `/w/${id}/file?path=both.txt`, isShown: lineBeside("slider") },
    { name: "files", path: `/w/${id}/files`, isShown: heading("Files") },
    { name: "conflicts", path: `/w/${id}/conflicts`, isShown: lineBeside("textbox") },
    { name: "sync", path: `/w/${id}/sync`, isShown: text("This folder follows no other workspace") },
    { name: "integrity", path: `/w/${id}/integrity`, isShown: text("The signed head") },
    { name: "space", path: `/w/${id}/space`, isShown: text("This workspace") },
  ];
}

/** Returns the names of the elements that Tab should reach and does not. */
async function unreached({ page }: Tab): Promise<string[]> {
  const wanted = await page.evaluate(() => {
    const all: Element[] = [];
    const look = (root: Document | ShadowRoot): void => {
      for (const element of root.querySelectorAll("*")) {
        const isControl = element.matches(
          'a[href], button:not([disabled]), input:not([disabled]), select, textarea, summary, [tabindex="0"]',
        );
        if (isControl && element.getAttribute("tabindex") !== "-1" && element.checkVisibility()) all.push(element);
        if (element.shadowRoot !== null) look(element.shadowRoot);
      }
    };
    look(document);
    Object.assign(globalThis, { wanted: new Set(all) });
    (document.activeElement as HTMLElement | null)?.blur();
    return all.length;
  });
  for (let presses = 0; presses < wanted * 2 + 20; presses += 1) {
    await page.keyboard.press("Tab");
    const left = await page.evaluate(() => {
      const { wanted: set } = globalThis as unknown as { wanted: Set<Element> };
      let element = document.activeElement;
      for (let inner = element; inner !== null; inner = inner.shadowRoot?.activeElement ?? null) element = inner;
      if (element !== null) set.delete(element);
      return set.size;
    });
    if (left === 0) return [];
  }
  return page.evaluate(() =>
    [...(globalThis as unknown as { wanted: Set<Element> }).wanted].map((element) => element.outerHTML.slice(0, 160)),
  );
}

describeWithBrowser("the page", () => {
  beforeAll(async () => {
    box = await servedStore(history);
    id = await box.workspace();
  });
  afterAll(() => box[Symbol.asyncDispose]());

  it("has nothing that axe finds, in any view, light and dark, wide and narrow, and never scrolls sideways", async () => {
    await using tab = await openTab(await box.address(), PARTS_GONE);
    const { page } = tab;
    const found: string[] = [];
    for (const view of views()) {
      await page.setViewportSize({ width: 1360, height: 850 });
      await page.emulateMedia({ colorScheme: "light" });
      await tab.go(view.path);
      await view.isShown(tab);
      const note = (how: string, all: readonly string[]) =>
        found.push(...all.map((one) => `${view.name}, ${how}: ${one}`));
      note("wide", await findings(tab));
      await page.emulateMedia({ colorScheme: "dark" });
      note("dark", await findings(tab, ["color-contrast"]));
      await page.setViewportSize({ width: 380, height: 800 });
      note("narrow and dark", await findings(tab));
      await page.setViewportSize({ width: 360, height: 800 });
      const beyond = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      if (beyond > 0) note("narrow", [`the document is ${beyond} px too wide`]);
    }
    expect(found).toEqual([]);
  });

  it("has nothing that axe finds in its dialogs, in what it says without a token, and in an error", async () => {
    await using tab = await openTab(await box.address(`/w/${id}?work=${TURN}`), { expected: /status of (401|404)/ });
    const { page } = tab;
    const found: string[] = [];
    const note = async (what: string): Promise<void> => {
      found.push(...(await findings(tab)).map((one) => `${what}: ${one}`));
    };
    await page.getByText("Refactor the login").first().waitFor();
    await page.keyboard.press("?");
    await page.getByRole("dialog", { name: "Keys" }).waitFor();
    await note("keys");
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await page.keyboard.press("Control+k");
    await page.getByRole("option", { name: /Integrity/ }).waitFor();
    await note("palette");
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await page.keyboard.press("u");
    await page
      .getByRole("dialog")
      .getByText(/Conflicts with later edits/)
      .waitFor();
    await note("take back");
    await page.keyboard.press("Escape");
    await tab.go("/w/none");
    await page.getByRole("alert").waitFor();
    await note("error");
    await page.evaluate(() => sessionStorage.clear());
    await page.reload();
    await page.getByLabel("Token").waitFor();
    await note("without a token");
    expect(found).toEqual([]);
  });

  it("lets Tab reach everything, in every view", async () => {
    await using tab = await openTab(await box.address(), PARTS_GONE);
    const missed: string[] = [];
    for (const view of views()) {
      await tab.go(view.path);
      await view.isShown(tab);
      missed.push(...(await unreached(tab)).map((one) => `${view.name}: ${one}`));
    }
    expect(missed).toEqual([]);
  });

  it("has keys for its views, its lines and the way back", async () => {
    await using tab = await openTab(await box.address(`/w/${id}`));
    const { page } = tab;
    const keys = page.keyboard;
    await page.getByText("Refactor the login").first().waitFor();
    await keys.press("?");
    await page.getByRole("dialog", { name: "Keys" }).waitFor();
    await keys.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });

    await keys.press("j");
    const selected = page.locator('.item[aria-current="true"]');
    const first = await selected.textContent();
    await keys.press("j");
    await expect.poll(() => selected.textContent(), SOON).not.toBe(first);
    await keys.press("k");
    await expect.poll(() => selected.textContent(), SOON).toBe(first);
    await keys.press("u");
    await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).waitFor();
    await page
      .getByRole("dialog")
      .getByText(/will change\.|Everything else stays|No file/)
      .first()
      .waitFor();
    await keys.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await keys.press("Enter");
    await page.getByRole("navigation", { name: "Changed files" }).waitFor();
    await keys.press("Escape");
    await selected.waitFor();
    await keys.press("Escape");
    await selected.waitFor({ state: "detached" });

    await keys.press("Control+k");
    await page.getByRole("combobox", { name: "Go to" }).waitFor();
    await keys.type("integ");
    await page.getByRole("option", { name: /Integrity/ }).waitFor();
    await keys.press("Enter");
    await page.getByRole("heading", { name: "Is the history whole?" }).waitFor();
    await page.goBack();
    await page.getByRole("region", { name: "What happened, newest first" }).waitFor();
  });

  it("does not move where less motion is wanted, and does where it is not", async () => {
    await using tab = await openTab(await box.address(`/w/${id}`));
    const { page } = tab;
    await page.getByText("Refactor the login").first().waitFor();
    const longest = () =>
      page.evaluate(() => {
        const spinner = document.createElement("span");
        spinner.className = "spin";
        document.body.append(spinner);
        const times = [...document.querySelectorAll("*")].flatMap((element) => {
          const { transitionDuration, animationDuration, animationName } = getComputedStyle(element);
          const all = [transitionDuration, animationName === "none" ? "0s" : animationDuration];
          return all
            .join(",")
            .split(",")
            .map((text) => Number.parseFloat(text) * (text.trim().endsWith("ms") ? 1 : 1_000));
        });
        spinner.remove();
        return Math.max(...times);
      });
    await page.emulateMedia({ reducedMotion: "no-preference" });
    expect(await longest()).toBe(1_000);
    await page.emulateMedia({ reducedMotion: "reduce" });
    expect(await longest()).toBe(0);
  });
});
