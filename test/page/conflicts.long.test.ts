import { expect, it } from "vitest";
import type { Locator, Page } from "playwright-core";
import { describeWithBrowser, openTab, SOON } from "./page-browser.ts";
import { type PageStore, servedStore } from "./page-store.ts";

/** What an undo could not merge is settled on the page, each path in another way. */

const FILES = ["keep.txt", "merge.txt", "take.txt"];

async function history(box: PageStore): Promise<void> {
  for (const name of FILES) box.write(name, "before\n");
  await box.must(["init"]);
  const write = (name: string) => () => box.write(name, "by the agent\n");
  await box.turn("p1", "Change three files", Object.fromEntries(FILES.map((name) => [name, write(name)])));
  for (const name of FILES) box.write(name, "by a person\n");
  await box.must(["snapshot", "-m", "by hand"]);
  expect(await box.call(["undo", "--turn", "last"])).toMatchObject({ code: 1 });
}

/** Presses Tab until the element has the focus, as somebody without a pointer does. */
async function tabTo(page: Page, target: Locator): Promise<void> {
  for (let presses = 0; presses < 80; presses += 1) {
    if (
      await target.evaluate((element) =>
        element.getRootNode() instanceof ShadowRoot
          ? (element.getRootNode() as ShadowRoot).activeElement === element
          : document.activeElement === element,
      )
    )
      return;
    await page.keyboard.press("Tab");
  }
  throw new Error("Tab does not reach the element");
}

describeWithBrowser("conflicts", () => {
  it("are settled by keeping, by taking, and by merging with the keyboard alone", async () => {
    await using box = await servedStore(history);
    await using tab = await openTab(await box.address(`/w/${await box.workspace()}/conflicts`), {
      // The refusal of what was not seen.
      expected: /status of 409/,
    });
    const { page } = tab;
    const list = page.getByRole("navigation", { name: "Open conflicts" });
    await expect.poll(() => list.getByRole("button").count(), SOON).toBe(3);
    await page.getByRole("navigation", { name: "Views of the workspace" }).getByLabel("3 open").waitFor();

    // No other conflict takes the place of one that was settled since its address was made.
    const address = page.url();
    await page.goto(`${address}?conflict=settled-long-ago`);
    await page.getByText("This conflict is not open").waitFor();
    expect(await page.getByRole("region", { name: /^Conflict at/ }).count()).toBe(0);
    await page.goto(address);
    await page.getByRole("region", { name: /^Conflict at/ }).waitFor();

    await list.getByRole("button", { name: /keep\.txt/ }).click();
    await page.getByRole("region", { name: "Conflict at keep.txt" }).getByText("Keep the current state").click();
    await list.getByRole("button", { name: /keep\.txt/ }).waitFor({ state: "detached" });
    expect(box.read("keep.txt")).toBe("by a person\n");

    await list.getByRole("button", { name: /take\.txt/ }).click();
    await page.getByRole("region", { name: "Conflict at take.txt" }).getByText("Take the undo's state").click();
    await list.getByRole("button", { name: /take\.txt/ }).waitFor({ state: "detached" });
    expect(box.read("take.txt")).toBe("before\n");
    await page.getByRole("button", { name: "Take that back" }).click();
    await list.getByRole("button", { name: /take\.txt.*both changed the same lines/ }).click();
    expect(box.read("take.txt")).toBe("by a person\n");
    await page.getByRole("region", { name: "Conflict at take.txt" }).getByText("Take the undo's state").click();
    await list.getByRole("button", { name: /take\.txt/ }).waitFor({ state: "detached" });
    expect(box.read("take.txt")).toBe("before\n");

    // An edit since the conflict was met is a part of the present state, and is not overwritten unseen.
    const editor = page.getByRole("textbox", { name: "The result for merge.txt" });
    await editor.getByText("by a person").waitFor();
    box.write("merge.txt", "\uFEFFby another person\r\n");
    await editor.focus();
    await page.keyboard.type("lost ");
    await page.getByRole("button", { name: "Settle with this result" }).click();
    await page.getByText("merge.txt was edited since you have seen it").waitFor();
    expect(box.read("merge.txt")).toBe("\uFEFFby another person\r\n");
    await page.getByRole("button", { name: "Begin again with what is there now" }).click();
    await editor.getByText("by another person").waitFor();
    await editor.waitFor();
    await tabTo(page, editor);
    await page.keyboard.press("Control+End");
    await page.keyboard.type("and by me");
    const settle = page.getByRole("button", { name: "Settle with this result" });
    await tabTo(page, settle);
    await page.keyboard.press("Enter");
    await page.getByText("No open conflicts").waitFor();
    expect(box.read("merge.txt")).toBe("\uFEFFby another person\r\nand by me");
  });
});
