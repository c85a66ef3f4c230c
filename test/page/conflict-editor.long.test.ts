import { createHash } from "node:crypto";
import {
  chmodSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
} from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { ConflictShape } from "../../src/api/conflict-shape.ts";
import { describeWithBrowser, openTab, SOON } from "./page-browser.ts";
import { type PageStore, servedStore } from "./page-store.ts";

/** Conflicts of every kind, each settled as somebody without a pointer does, or by the choice that fits it. */

const LINES = Array.from({ length: 40 }, (_, i) => `line ${i}\n`);
const DISPUTED = [3, 20, 36];

/** The text with other lines at the disputed places, or at another one. */
function lines(word: string, at: readonly number[] = DISPUTED): string[] {
  return LINES.map((line, i) => (at.includes(i) ? `${word} ${i}\n` : line));
}

const BEFORE: Readonly<Record<string, string>> = {
  "code.txt": LINES.join(""),
  "windows.txt": "one\r\ntwo\r\nthree",
  "mixed.txt": "one\r\ntwo\nthree\r\n",
  "ends.txt": "one\r\ntwo\r\n",
  "data.bin": "\0before",
  "gone.txt": "before\n",
  "mode.sh": "#!/bin/sh\n",
  "old.txt": "a text\nof several\nlines that\nis renamed\n",
  kind: "a file\n",
};

/** Contents of a conflict of a sync: one line that only the origin has changed, one of both, and one of the folder. */
const SYNC = {
  "base.txt": "1\n2\n3\n4\n5\n6\n",
  "mine.txt": "1\n2\n3\nmine 4\n5\nmine 6\n",
  "theirs.txt": "theirs 1\n2\n3\ntheirs 4\n5\n6\n",
} as const;

async function history(box: PageStore): Promise<void> {
  const at = (name: string): string => join(box.project, name);
  const write = (files: Readonly<Record<string, string>>): void => {
    for (const [name, content] of Object.entries(files)) box.write(name, content);
  };
  const link = (target: string): void => {
    rmSync(at("link"), { force: true });
    symlinkSync(target, at("link"));
  };
  write({ ...BEFORE, ...SYNC });
  link("one");
  await box.must(["init"]);
  const byAgent = (): void => {
    write({
      "code.txt": lines("agent").join(""),
      "windows.txt": "one\r\nagent\r\nthree agent",
      "mixed.txt": "one\r\nagent\nthree\r\n",
      "ends.txt": "one agent\r\ntwo\r\n",
      "data.bin": "\0agent",
      "gone.txt": "agent\n",
      "added.txt": "agent\n",
      kind: "agent\n",
    });
    chmodSync(at("mode.sh"), 0o755);
    renameSync(at("old.txt"), at("new.txt"));
    link("two");
  };
  await box.turn("p1", "Change everything", { "$ ./change": byAgent });
  write({
    "code.txt": lines("person").join(""),
    "windows.txt": "one\r\nperson\r\nthree person",
    "mixed.txt": "one\r\nperson\nthree\r\n",
    "ends.txt": "one\ntwo\n",
    "data.bin": "\0person",
    "added.txt": "person\n",
    "new.txt": `${BEFORE["old.txt"]}and edited\n`,
  });
  unlinkSync(at("gone.txt"));
  chmodSync(at("mode.sh"), 0o700);
  unlinkSync(at("kind"));
  mkdirSync(at("kind"));
  write({ "kind/inner.txt": "in a folder\n" });
  link("three");
  await box.must(["snapshot", "-m", "by hand"]);
  expect(await box.call(["undo", "--turn", "last"])).toMatchObject({ code: 1 });
  // This edit is no part of the conflict, and must survive whatever is taken.
  box.write("code.txt", lines("person").with(10, "later\n").join(""));
  await box.must(["snapshot", "-m", "later"]);
}

let box: PageStore;
let view = "";

/** Opens a conflict by its line in the list. */
async function open(page: Page, path: string): Promise<void> {
  const list = page.getByRole("navigation", { name: "Open conflicts" });
  await list.getByRole("button", { name: new RegExp(`^${path}`) }).click();
  await page.getByRole("region", { name: `Conflict at ${path}` }).waitFor();
  // The buttons rest after the last settlement.
  const keep = page.getByRole("button", { name: /^(Keep|Leave|Settle it)/ }).first();
  await expect.poll(() => keep.isEnabled(), SOON).toBe(true);
}

async function settled(page: Page, path: string): Promise<void> {
  await page
    .getByRole("status")
    .filter({ hasText: `Settled: ${path}` })
    .waitFor();
}

describeWithBrowser("the editor of conflicts", () => {
  beforeAll(async () => {
    box = await servedStore(history);
    view = `/w/${await box.workspace()}/conflicts`;
  });
  afterAll(() => box[Symbol.asyncDispose]());

  it("folds what is unchanged in all three panes alike, and shows it by click or key", async () => {
    await using tab = await openTab(await box.address(view), { expected: /status of 404/ });
    const { page } = tab;
    const { keyboard } = page;
    await open(page, "code.txt");
    const folds = page.getByRole("button", { name: "9 unchanged lines" });
    const folded = page.getByText("line 28", { exact: true });
    const isShown = async (): Promise<readonly number[]> => [await folds.count(), await folded.count()];
    await expect.poll(isShown, SOON).toEqual([3, 0]);
    // Parts of different lengths above the fold do not bring the panes out of step.
    await keyboard.press("b");
    const heights = async (): Promise<number> =>
      new Set(await Promise.all((await folds.all()).map(async (one) => Math.round((await one.boundingBox())?.y ?? 0))))
        .size;
    await expect.poll(heights, SOON).toBe(1);

    await folds.nth(1).click();
    await expect.poll(isShown, SOON).toEqual([0, 3]);
    await page.getByRole("button", { name: "Fold unchanged lines" }).click();
    await expect.poll(isShown, SOON).toEqual([3, 0]);
    await folds.first().focus();
    await keyboard.press("Enter");
    await expect.poll(isShown, SOON).toEqual([0, 3]);
    await keyboard.press("f");
    await expect.poll(isShown, SOON).toEqual([3, 0]);
    await keyboard.press("f");

    // A line that was edited is folded in no pane any more.
    await page.getByRole("textbox", { name: "The result for code.txt" }).getByText("line 28", { exact: true }).click();
    await keyboard.type("x");
    await keyboard.press("Escape");
    await keyboard.press("f");
    await expect.poll(() => folds.count(), SOON).toBe(0);
  });

  it("takes each part as the keys say, and keeps later edits and all ends of lines", async () => {
    await using tab = await openTab(await box.address(view), { expected: /status of 404/ });
    const { page } = tab;
    const { keyboard } = page;
    const part = page.getByRole("toolbar", { name: "The parts of this conflict" }).getByRole("status");
    const isAt = (text: string) => part.filter({ hasText: text }).waitFor();
    await open(page, "code.txt");
    await isAt("Part 1 of 3: as it is now · 3 parts undecided");
    await page.keyboard.press("?");
    const help = page.getByRole("dialog", { name: "Keys" });
    await help.getByText("Next and previous part of a conflict").waitFor();
    await keyboard.press("Escape");
    await help.waitFor({ state: "detached" });
    await keyboard.press("t");
    await isAt("Part 1 of 3: the undo's · 2 parts undecided");
    await keyboard.press("n");
    await keyboard.press("b");
    await isAt("Part 2 of 3: both · 1 part undecided");
    await keyboard.press("n");
    await keyboard.press("c");
    await isAt("Part 3 of 3: current · all decided");
    // These are all keys of the page, and here they are text.
    await keyboard.press("e");
    await keyboard.type("? next: ");
    await isAt("Part 3 of 3: edited · all decided");
    await keyboard.press("Escape");
    await keyboard.press("p");
    await isAt("Part 2 of 3: both · all decided");
    await keyboard.press("Control+Enter");
    await settled(page, "code.txt");
    const expected = lines("person").with(10, "later\n");
    expected[3] = LINES[3] ?? "";
    expected[20] = `person 20\n${LINES[20]}`;
    expected[36] = "? next: person 36\n";
    expect(box.read("code.txt")).toBe(expected.join(""));

    for (const [path, key, result] of [
      ["windows.txt", "b", "one\r\nperson\r\nthree person\r\ntwo\r\nthree"],
      ["mixed.txt", "t", "one\r\ntwo\nthree\r\n"],
    ] as const) {
      await open(page, path);
      await isAt("Part 1 of 1: as it is now · 1 part undecided");
      await keyboard.press(key);
      await keyboard.press("Control+Enter");
      await settled(page, path);
      expect(box.read(path)).toBe(result);
    }
  });

  it("begins the result of a sync with what only the origin has changed", async () => {
    // The contents are of the history. The conflict itself is made up.
    const at = (name: keyof typeof SYNC) => createHash("sha256").update(SYNC[name]).digest("hex");
    const conflict: ConflictShape = {
      ...{ id: "made-up", cause: "sync", path: "mine.txt", timestamp: new Date().toISOString(), state: "open" },
      ...{ reason: "content", undo_id: "", current_size: 20, undo_size: 20, current_kind: "file", undo_kind: "file" },
      ...{ base_hash: at("base.txt"), current_hash: at("mine.txt"), undo_hash: at("theirs.txt") },
    };
    await using tab = await openTab(await box.address("/"));
    const { page } = tab;
    const settledWith: string[] = [];
    await page.route(/\/conflicts\?/, (route) => route.fulfill({ json: { items: [conflict], next: null } }));
    await page.route(/\/resolve\?/, async (route) => {
      settledWith.push(route.request().postData() ?? "");
      await route.fulfill({ json: { conflict, changes: [], undo_id: null, skipped: [], finished: [] } });
    });
    await tab.go(view);
    const part = page.getByRole("toolbar", { name: "The parts of this conflict" }).getByRole("status");
    await part.filter({ hasText: "Part 1 of 2: the origin's · 1 part undecided" }).waitFor();
    await page.keyboard.press("n");
    await page.keyboard.press("c");
    await part.filter({ hasText: "Part 2 of 2: current · all decided" }).waitFor();
    await page.keyboard.press("Control+s");
    await expect.poll(() => settledWith, SOON).toEqual(["theirs 1\n2\n3\nmine 4\n5\nmine 6\n"]);
  });

  it("says what does not merge as text, with the choices that there are", async () => {
    await using tab = await openTab(await box.address(view), { expected: /status of 404/ });
    const { page } = tab;
    const at = (name: string): string => join(box.project, name);
    for (const [path, said, choice, look] of [
      [
        "ends.txt",
        "The ends of lines differ: LF now, CRLF in the undo's state.",
        "Take the undo's state",
        () => box.read("ends.txt"),
      ],
      [
        "data.bin",
        "A binary file: 7 B now, 7 B in the undo's state.",
        "Take the undo's state",
        () => box.read("data.bin"),
      ],
      [
        "gone.txt",
        "Nothing is there now. In the undo's state, it is a file of 7 B.",
        "Bring it back",
        () => box.read("gone.txt"),
      ],
      ["added.txt", "In the undo's state, nothing is there.", "Remove it", () => box.read("added.txt")],
      ["new.txt", "It was renamed from old.txt.", "Keep it", () => box.read("old.txt")],
      [
        "mode.sh",
        "Only the permissions differ: 700 now, 644 in the undo's state.",
        "Take 644",
        () => (statSync(at("mode.sh")).mode & 0o777).toString(8),
      ],
      [
        "kind",
        "Now it is a folder. In the undo's state, it is a file of 7 B.",
        "Keep the folder",
        () => readFileSync(at("kind/inner.txt"), "utf8"),
      ],
      ["link", "In the undo's state, to", "Take the undo's state", () => readlinkSync(at("link"))],
    ] as const) {
      await open(page, path);
      await page.getByText(said).first().waitFor();
      await page.getByRole("button", { name: choice, exact: true }).click();
      await (path === "link" ? page.getByText("No open conflicts").waitFor() : settled(page, path));
      const expected: Readonly<Record<string, string | undefined>> = {
        ...BEFORE,
        "added.txt": undefined,
        "new.txt": BEFORE["old.txt"],
        "mode.sh": "644",
        kind: "in a folder\n",
        link: "one",
      };
      expect([path, look()]).toEqual([path, expected[path]]);
    }
    expect(box.read("new.txt")).toBe(`${BEFORE["old.txt"]}and edited\n`);
  });
});
