import { rmSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { describeWithBrowser, openTab, SOON } from "./page-browser.ts";
import { type PageStore, servedStore } from "./page-store.ts";

/** An agent's two turns, a person's edit, a command that fails, and an undo. */
async function story(box: PageStore): Promise<void> {
  box.write("a.txt", "1\n2\n3\n");
  await box.must(["init"]);
  await box.turn("p1", "Write three files", {
    "a.txt": () => box.write("a.txt", "one\n2\n3\n"),
    "b.txt": () => box.write("b.txt", "b\n"),
    "$ rm b.txt": () => rmSync(join(box.project, "b.txt")),
  });
  box.write("c.txt", "by hand\n");
  await box.must(["snapshot", "-m", "before lunch"]);
  await box.call(["run", "--", "sh", "-c", "echo 1 > d.txt; exit 3"]);
  await box.turn("p2", "Write one more", { "e.txt": () => box.write("e.txt", "e\n") });
  await box.must(["undo"]);
}

/** A place of the lanes, and the kind of work that the tip names there. */
interface Spot {
  readonly kind: string;
  readonly x: number;
  readonly y: number;
}

/** Moves a pointer over all lanes, and returns the first place of each kind of work. */
const SWEEP = `(async () => {
  const canvas = document.querySelector(".lanes canvas");
  const { left, top, width, height } = canvas.getBoundingClientRect();
  const found = new Map();
  for (let y = top + 40; y < top + height; y += 32)
    for (let x = left + 118; x < left + width; x += 6) {
      canvas.dispatchEvent(new PointerEvent("pointermove", { clientX: x, clientY: y, bubbles: true }));
      await new Promise((done) => setTimeout(done, 5));
      const kind = /· (\\w+)/.exec(document.querySelector(".mark-tip .quiet")?.textContent ?? "")?.[1];
      if (kind !== undefined && !found.has(kind)) found.set(kind, { kind, x, y });
    }
  return [...found.values()];
})()`;

describeWithBrowser("the lanes of the timeline", () => {
  it("draw every action; hovering names one, a click selects it, and what is recorded meanwhile appears", async () => {
    await using box = await servedStore(story);
    const id = await box.workspace();
    await using tab = await openTab(await box.address(`/w/${id}`));
    const { page } = tab;
    await page.getByText("Write three files").first().waitFor();
    const legend = page.locator(".legend li");
    await expect
      .poll(() => legend.allTextContents(), SOON)
      .toEqual(expect.arrayContaining([" tool", " command", " edit", " went back", "● failed"]));
    const found = await page.evaluate<readonly Spot[]>(SWEEP);
    const kinds = found.map(({ kind }) => kind);
    expect(kinds).toEqual(expect.arrayContaining(["command", "run", "snapshot", "tool", "undo"]));
    const { x, y } = found.find(({ kind }) => kind === "command") ?? { x: 0, y: 0 };
    await page.mouse.move(x, y);
    await expect.poll(() => page.locator(".mark-tip").textContent(), SOON).toContain("rm b.txt");
    await page.mouse.click(x, y);
    await page.locator(".detail-title", { hasText: "rm b.txt" }).waitFor();
    expect(page.url()).toContain("work=action");
    expect(await page.locator('.item[aria-current="true"]').textContent()).toContain("Write three files");
    box.write("later.txt", "1\n");
    await box.must(["snapshot", "-m", "after lunch"]);
    await page.locator(".item", { hasText: "after lunch" }).waitFor();
  });
});

/** The columns of the canvas, in CSS pixels of the window, in which a lane has the colour of the selection. */
const RINGED = `(() => {
  const canvas = document.querySelector(".lanes canvas");
  const copy = Object.assign(document.createElement("canvas"), { width: canvas.width, height: canvas.height });
  const context = copy.getContext("2d", { willReadFrequently: true });
  canvas.style.color = "var(--accent)";
  context.fillStyle = getComputedStyle(canvas).color;
  context.fillRect(0, 0, 1, 1);
  const accent = context.getImageData(0, 0, 1, 1).data;
  context.clearRect(0, 0, 1, 1);
  context.drawImage(canvas, 0, 0);
  const { width, data } = context.getImageData(0, 0, canvas.width, canvas.height);
  const { left, width: shown } = canvas.getBoundingClientRect();
  const found = new Set();
  for (let n = 0; n < data.length; n += 4)
    if ([0, 1, 2].every((i) => Math.abs(data[n + i] - accent[i]) < 12))
      found.add(Math.round(left + (((n / 4) % width) * shown) / width));
  return [...found];
})()`;

describeWithBrowser("a selected turn", () => {
  it("has a ring around each of its actions", async () => {
    await using box = await servedStore(story);
    await using tab = await openTab(await box.address(`/w/${await box.workspace()}`));
    const { page } = tab;
    await page.locator(".legend li").first().waitFor();
    await page.locator(".item", { hasText: "Write three files" }).click();
    const ringed = async (): Promise<readonly number[]> =>
      (await page.evaluate<readonly number[]>(RINGED)).toSorted((one, other) => one - other);
    await expect.poll(async () => (await ringed()).length, SOON).toBeGreaterThan(0);
    // The undo was a person's, so the agent's lane is the second one.
    const y = ((await page.locator(".lanes canvas").boundingBox())?.y ?? 0) + 72;
    // Zooms in on the last action, which stays in place.
    await page.mouse.move(((await ringed()).at(-1) ?? 0) - 8, y);
    await page.mouse.wheel(0, -600);
    const widths = async (): Promise<number> => ((await ringed()).at(-1) ?? 0) - ((await ringed())[0] ?? 0);
    await expect.poll(widths, SOON).toBeGreaterThan(60);
    for (const [at, name] of [
      // The first action may be left of what is shown now.
      [0, /(?<!rm )[ab]\.txt/],
      [-1, /rm b\.txt/],
    ] as const) {
      const edge = (await ringed()).at(at) ?? 0;
      await page.mouse.move(edge + (at === 0 ? 8 : -8), y);
      await expect.poll(() => page.locator(".mark-tip").textContent(), SOON).toMatch(name);
    }
    await page.mouse.move(10, 10);
    await page.keyboard.press("Escape");
    await expect.poll(() => page.evaluate(RINGED), SOON).toEqual([]);
  });
});

describeWithBrowser("the list of the timeline", () => {
  it("selects a range by Shift and a click or a key, and takes it back; later work stays", async () => {
    await using box = await servedStore(story);
    const id = await box.workspace();
    await using tab = await openTab(await box.address(`/w/${id}`));
    const { page } = tab;
    const item = (text: string) => page.locator(".item", { hasText: text }).first();
    await item("before lunch").click();
    await item("Write three files").click({ modifiers: ["Shift"] });
    await page.locator(".detail-title", { hasText: /^\d+ lines$/ }).waitFor();
    const marked = page.locator('.item[aria-current="true"] .item-title');
    await expect
      .poll(() => marked.allTextContents(), SOON)
      .toEqual(expect.arrayContaining(["before lunch", "Write three files"]));
    expect(await marked.allTextContents()).not.toContain("Write one more");
    expect(page.url()).toContain("work=range");
    await page.keyboard.press("Shift+ArrowUp");
    await page.keyboard.press("Shift+ArrowDown");
    await expect.poll(() => marked.allTextContents(), SOON).toContain("Write three files");
    await page.getByRole("button", { name: "Take it back…" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("c.txt").first().waitFor();
    await dialog.getByRole("button", { name: "Take it back" }).click();
    await dialog.getByRole("button", { name: "Close" }).click();
    const files = ["a.txt", "b.txt", "c.txt", "d.txt"].map((path) => box.read(path));
    expect(files).toEqual(["1\n2\n3\n", undefined, undefined, "1\n"]);
  });

  it("is filtered by a file or folder and by time; the address names both", async () => {
    await using box = await servedStore(story);
    const id = await box.workspace();
    await using tab = await openTab(await box.address(`/w/${id}`));
    const { page } = tab;
    await page.getByLabel("File or folder").fill("d.txt");
    const titles = page.locator(".item-title");
    await expect.poll(() => titles.allTextContents(), SOON).toEqual([expect.stringContaining("exit 3")]);
    await page.getByLabel("Time", { exact: true }).selectOption("last hour");
    await expect.poll(() => page.url(), SOON).toContain("since=1h");
    expect(page.url()).toContain("file=d.txt");
    await page.reload();
    await expect.poll(() => titles.allTextContents(), SOON).toEqual([expect.stringContaining("exit 3")]);
    await page.getByRole("button", { name: "Clear" }).click();
    await page.getByText("Write three files").first().waitFor();
  });
});
