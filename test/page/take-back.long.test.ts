import { expect, it } from "vitest";
import { describeWithBrowser, openTab, SOON } from "./page-browser.ts";
import { type PageStore, servedStore } from "./page-store.ts";

/** From all workspaces to one hunk, and back again: files on disk are what the page says. */

const LINES = Array.from({ length: 60 }, (_, i) => `line ${i + 1}\n`);
const BEFORE = LINES.join("");
const changed = (...numbers: readonly number[]): string =>
  LINES.map((line, i) => (numbers.includes(i + 1) ? `changed ${i + 1}\n` : line)).join("");

async function history(box: PageStore): Promise<void> {
  box.write("src/login.ts", BEFORE);
  await box.must(["init"]);
  await box.turn("p1", "Refactor the login", {
    "src/login.ts": () => box.write("src/login.ts", changed(3, 30, 57)),
    "src/new.ts": () => box.write("src/new.ts", "new\n"),
  });
}

describeWithBrowser("taking work back", () => {
  it("goes from home to the turn, its changes, one hunk and the whole turn, and each way back", async () => {
    await using box = await servedStore(history);
    // A part of a turn that was taken back is no longer there to be asked for.
    await using tab = await openTab(await box.address(), { expected: /status of 404/ });
    const { page } = tab;
    // What needs attention has a link to the workspace, too, once it is known.
    await page.locator(".card-title", { hasText: /project$/ }).click();
    await page.getByRole("button", { name: /Refactor the login/ }).click();
    const detail = page.getByRole("complementary", { name: "The selected work" });
    await detail.getByRole("link", { name: "See the changes" }).click();
    await page
      .getByRole("navigation", { name: "Changed files" })
      .getByRole("link", { name: /login\.ts/ })
      .click();

    const file = page.getByRole("article", { name: "Changes of src/login.ts" });
    await file.locator(".counts .added", { hasText: "+3" }).waitFor();
    await file.locator(".counts .removed", { hasText: "−3" }).waitFor();
    await file.locator(".cm-changedLine", { hasText: "changed 30" }).first().waitFor();
    await file.locator(".cm-changedLine", { hasText: "line 30" }).first().waitFor();

    const parts = page.getByRole("region", { name: "Take back parts of this file" });
    await parts.getByRole("listitem").filter({ hasText: "changed 30" }).getByRole("button").click();
    await parts.getByRole("status").filter({ hasText: "1 path changed" }).waitFor();
    expect(box.read("src/login.ts")).toBe(changed(3, 57));
    await parts.getByRole("button", { name: "Back to how it was" }).click();
    await expect.poll(() => box.read("src/login.ts"), SOON).toBe(changed(3, 30, 57));

    await page.getByRole("button", { name: "Take it back…" }).click();
    const dialog = page.getByRole("dialog", { name: "Take it back" });
    await dialog.getByText("2 paths will change. Everything else stays.").waitFor();
    await dialog
      .getByRole("listitem")
      .filter({ hasText: /is removed.*new\.ts/ })
      .waitFor();
    expect(box.read("src/login.ts")).toBe(changed(3, 30, 57));
    await dialog.getByRole("button", { name: "Take it back" }).click();
    await dialog.getByText("2 paths changed. Everything else stays.").waitFor();
    expect([box.read("src/login.ts"), box.read("src/new.ts")]).toEqual([BEFORE, undefined]);
    await dialog.getByRole("button", { name: "Back to how it was" }).click();
    await dialog.getByText("Back again:").waitFor();
    await dialog
      .getByRole("listitem")
      .filter({ hasText: /came back.*new\.ts/ })
      .waitFor();
    expect([box.read("src/login.ts"), box.read("src/new.ts")]).toEqual([changed(3, 30, 57), "new\n"]);
    await dialog.getByRole("button", { name: "Close" }).click();
    await dialog.waitFor({ state: "detached" });
  });

  it("stays with the last turn once it is taken back, and says what was done", async () => {
    await using box = await servedStore(async (one) => {
      await history(one);
      await one.turn("p2", "Add a page of help", { "help.txt": () => one.write("help.txt", "help\n") });
    });
    const view = `/w/${await box.workspace()}/changes`;
    await using tab = await openTab(await box.address(view), { expected: /status of 404/ });
    const { page } = tab;
    await page.getByRole("heading", { name: "Add a page of help" }).waitFor();
    // Whoever is given the address sees the same turn, and not the last one of a later time.
    await expect.poll(() => new URL(page.url()).searchParams.get("work"), SOON).toContain("p2");
    await page.getByRole("button", { name: "Take it back…" }).click();
    const dialog = page.getByRole("dialog", { name: "Take it back" });
    await dialog.getByRole("button", { name: "Take it back" }).click();
    await dialog.getByText("1 path changed. Everything else stays.").waitFor();
    // The list of what happened is read again meanwhile.
    await page.locator(".work-line .tag", { hasText: "undone" }).waitFor();
    await dialog.getByRole("button", { name: "Back to how it was" }).click();
    await dialog.getByText("Back again:").waitFor();
    expect(box.read("help.txt")).toBe("help\n");
    await dialog.getByRole("button", { name: "Close" }).click();
    await page.getByRole("heading", { name: "Add a page of help" }).waitFor();
  });

  it("goes from the difference to its parts, by a button", async () => {
    await using box = await servedStore(history);
    const view = `/w/${await box.workspace()}/changes?file=src/login.ts`;
    const viewport = { width: 1000, height: 500 };
    await using tab = await openTab(await box.address(view), { viewport });
    const { page } = tab;
    const first = page.getByRole("button", { name: "Take this back" }).first();
    const isSeen = async (): Promise<boolean> => ((await first.boundingBox())?.y ?? Infinity) < viewport.height;
    await page.locator(".cm-changedLine", { hasText: "changed 57" }).first().waitFor();
    await first.waitFor();
    expect(await isSeen()).toBe(false);
    await page.getByRole("button", { name: "Take parts back" }).click();
    await expect.poll(isSeen, SOON).toBe(true);
  });

  it("does undone work again from the timeline", async () => {
    await using box = await servedStore(async (one) => {
      await history(one);
      await one.must(["undo", "--turn", "last"]);
    });
    await using tab = await openTab(await box.address(`/w/${await box.workspace()}`));
    const { page } = tab;
    await page.getByRole("button", { name: /Refactor the login.*undone/ }).click();
    const detail = page.getByRole("complementary", { name: "The selected work" });
    await detail.getByRole("button", { name: "Do it again…" }).click();
    const dialog = page.getByRole("dialog", { name: "Do it again" });
    await dialog.getByText("2 paths will change. Everything else stays.").waitFor();
    await dialog.getByRole("button", { name: "Do it again" }).click();
    await dialog.getByText("2 paths changed. Everything else stays.").waitFor();
    expect([box.read("src/login.ts"), box.read("src/new.ts")]).toEqual([changed(3, 30, 57), "new\n"]);
  });

  it("takes the same turn back once when two tabs do it", async () => {
    await using box = await servedStore(history);
    const work = encodeURIComponent("turn=5b1f2c3d-0000-4000-8000-000000000001:p1");
    const path = `/w/${await box.workspace()}/changes?work=${work}`;
    await using one = await openTab(await box.address(path), { expected: /status of 404/ });
    await using other = await openTab(await box.address(path), { expected: /status of 404/ });
    for (const { page } of [one, other]) {
      await page.getByRole("button", { name: "Take it back…" }).click();
      await page.getByRole("dialog").getByText("2 paths will change. Everything else stays.").waitFor();
    }
    const act = one.page.getByRole("dialog");
    await act.getByRole("button", { name: "Take it back" }).click();
    await act.getByText("2 paths changed. Everything else stays.").waitFor();
    const late = other.page.getByRole("dialog");
    await late.getByText("it was undone already").waitFor();
    expect(await late.getByRole("button", { name: "Take it back" }).isDisabled()).toBe(true);
    expect([box.read("src/login.ts"), box.read("src/new.ts")]).toEqual([BEFORE, undefined]);
  });
});
