import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { describeWithBrowser, openTab, SOON } from "./page-browser.ts";
import { type PageStore, servedStore } from "./page-store.ts";

/** Whatever is not as it should be, and must not lead anybody astray. All cases share one server. */

/** A name that is not UTF-8. */
const BYTES = Buffer.from([0x62, 0x61, 0x64, 0xff, 0xfe]);
const SHOWN = "bad\\xff\\xfe";
const LINES = Array.from({ length: 30 }, (_, i) => `line ${i}\n`);
const TURN = encodeURIComponent("turn=5b1f2c3d-0000-4000-8000-000000000001:p1");

let box: PageStore;
let id = "";

function strange(): Buffer {
  return Buffer.concat([Buffer.from(`${box.project}/`), BYTES]);
}

function second(name: string): string {
  return join(box.folder, "second", name);
}

async function history(one: PageStore): Promise<void> {
  box = one;
  mkdirSync(second(""));
  writeFileSync(strange(), LINES.join(""));
  writeFileSync(second("b.txt"), "before\n");
  one.write("a.txt", "before\n");
  await one.must(["init", ".", second("")]);
  const byAgent = (): void => {
    writeFileSync(strange(), LINES.with(3, "agent 3\n").with(25, "agent 25\n").join(""));
    writeFileSync(second("b.txt"), "agent\n");
    one.write("a.txt", "agent\n");
  };
  await one.turn("p1", "Change both folders", { "$ ./change": byAgent });
  vi.useFakeTimers({ toFake: ["Date"], now: Date.parse("2033-05-01T10:00:00Z") });
  one.write("clock.txt", "with a wrong clock\n");
  await one.must(["snapshot", "-m", "wrong clock"]);
  vi.useRealTimers();
  one.write("clock.txt", "with the right clock again\n");
  await one.must(["snapshot", "-m", "right clock"]);
}

/** Opens a view with a token that somebody has typed in. */
async function withToken(page: Page, path: string, token: string): Promise<void> {
  await page.goto(`${box.url}${path}`);
  await page.getByLabel("Token").fill(token);
  await page.getByRole("button", { name: "Connect" }).click();
}

describeWithBrowser("the page", () => {
  beforeAll(async () => {
    box = await servedStore(history);
    id = await box.workspace();
  });
  afterAll(() => box[Symbol.asyncDispose]());

  it("goes where somebody points, also at work whose clock was wrong", async () => {
    await using tab = await openTab(await box.address(`/w/${id}`));
    const { page } = tab;
    const list = page.getByRole("region", { name: "What happened, newest first" });
    await list.getByRole("button", { name: /wrong clock/ }).waitFor();
    const titles = await list.locator(".item-title").allTextContents();
    expect(titles.slice(0, 2)).toEqual([
      expect.stringContaining("right clock"),
      expect.stringContaining("wrong clock"),
    ]);
    await list
      .getByRole("button", { name: /wrong clock/ })
      .getByText("1 May 2033")
      .waitFor();
    const lanes = page.getByRole("region", { name: "Who was at work when" });
    const { x, y, width } = (await lanes.locator("canvas").boundingBox()) ?? { x: 0, y: 0, width: 0 };
    await page.mouse.move(x + width - 5, y + 10);
    await page.mouse.down();
    await page.mouse.move(x + width - 12, y + 10, { steps: 4 });
    await lanes.getByText(/The files after .*wrong clock/).waitFor();
    await page.mouse.move(x + width / 2, y + 10, { steps: 4 });
    await lanes.getByText(/The files after .*right clock/).waitFor();
    await page.mouse.up();
    expect(new URL(page.url()).searchParams.get("at")).toMatch(/^seq:\d+$/);
    await page.mouse.click(x + width - 12, y + 10);
    await lanes.getByText(/The files after .*wrong clock/).waitFor();
    await page.getByRole("button", { name: /second$/ }).click();
    await page.getByRole("link", { name: "b.txt" }).waitFor();
    await page.keyboard.press(".");
    await lanes.getByText(/The files after .*right clock/).waitFor();
  });

  it("takes back a part of a file whose name is not UTF-8, and shows the files of all folders", async () => {
    await using tab = await openTab(await box.address(`/w/${id}/changes?work=${TURN}`), { expected: /status of 404/ });
    const { page } = tab;
    const files = page.getByRole("navigation", { name: "Changed files" });
    await files.getByRole("link").filter({ hasText: SHOWN }).click();
    const file = page.getByRole("article", { name: `Changes of ${SHOWN}` });
    await file.locator(".cm-changedLine", { hasText: "agent 25" }).first().waitFor();
    const parts = page.getByRole("region", { name: "Take back parts of this file" });
    await parts.getByRole("listitem").filter({ hasText: "agent 25" }).getByRole("button").click();
    await parts.getByRole("status").filter({ hasText: "1 path changed" }).waitFor();
    expect(readFileSync(strange(), "utf8")).toBe(LINES.with(3, "agent 3\n").join(""));

    await file.getByRole("link", { name: "History of this file" }).click();
    await page.getByRole("heading", { level: 1 }).getByText(SHOWN, { exact: true }).waitFor();
    await page.getByText("3 of 3").waitFor();
    await page.keyboard.press(",");
    await page.keyboard.press(",");
    await page.getByText("1 of 3").waitFor();
    await page.getByRole("button", { name: "Restore this state…" }).click();
    const dialog = page.getByRole("dialog", { name: "Restore this state" });
    await dialog.getByText("Everything else stays").waitFor();
    await dialog.getByRole("button", { name: "Restore this state" }).click();
    await expect.poll(() => readFileSync(strange(), "utf8"), SOON).toBe(LINES.join(""));
    await dialog.getByRole("button", { name: "Close" }).click();

    await tab.go(`/w/${id}/files`);
    await page.getByRole("link", { name: SHOWN }).waitFor();
    await page.getByRole("link", { name: /second$/ }).click();
    await page.getByRole("link", { name: /b\.txt/ }).click();
    await page
      .getByRole("heading", { level: 1 })
      .getByText(/b\.txt$/)
      .waitFor();
    await page.getByText("2 of 2").waitFor();
  });

  it("does a thing once that two people do at the same moment, and tells the second", async () => {
    const path = `/w/${id}/changes?work=${TURN}`;
    const undos = async (): Promise<number> => (await box.must(["list"])).stdout.split("undo of").length;
    const before = await undos();
    const expected = /status of 40[49]/;
    await using one = await openTab(await box.address(path), { expected });
    await using other = await openTab(await box.address(path), { expected });
    for (const { page } of [one, other]) {
      await page.getByRole("button", { name: "Take it back…" }).click();
      await page
        .getByRole("dialog")
        .getByText(/will change\. Everything else stays/)
        .waitFor();
    }
    // The requests of the second are under way until the first is done.
    const first = Promise.withResolvers<undefined>();
    await other.page.route(/\/undo$/, async (route) => {
      await first.promise;
      await route.continue();
    });
    const late = other.page.getByRole("dialog");
    await late.getByRole("button", { name: "Take it back" }).click();
    await one.page.getByRole("dialog").getByRole("button", { name: "Take it back" }).click();
    await one.page
      .getByRole("dialog")
      .getByText(/paths? changed\. Everything else stays/)
      .waitFor();
    first.resolve(undefined);
    await late
      .getByText(/undone already/)
      .first()
      .waitFor();
    expect([box.read("a.txt"), readFileSync(second("b.txt"), "utf8")]).toEqual(["before\n", "before\n"]);
    expect(await undos()).toBe(before + 1);
  });

  it("goes on after the server was away, until the token is revoked, and says both", async () => {
    const made = (await box.json(["token", "create", "--role", "operator"])).value;
    const { token, id: name } = made as { readonly token: string; readonly id: string };
    const expected = /ERR_|status of 401/;
    await using tab = await openTab("about:blank", { expected });
    const { page } = tab;
    await withToken(page, `/w/${id}`, token);
    const list = page.getByRole("region", { name: "What happened, newest first" });
    await list.getByRole("button", { name: /right clock/ }).waitFor();
    await box.kill();
    await page.getByRole("alert").filter({ hasText: "The server does not answer" }).waitFor();
    box.write("a.txt", "while the server was away\n");
    await box.must(["snapshot", "-m", "while it was away"]);
    await box.serve();
    await list.getByRole("button", { name: /while it was away/ }).waitFor();
    await expect.poll(() => page.getByRole("alert").count(), SOON).toBe(0);

    await box.must(["token", "revoke", name]);
    const banner = page.getByRole("alert").filter({ hasText: "This token is no longer accepted" });
    await banner.getByRole("button", { name: "Enter a token" }).click();
    await page.getByRole("heading", { name: "Open this page from the command line" }).waitFor();
  });
});
