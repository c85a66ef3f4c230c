import { rmSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { describeWithBrowser, openTab, SOON } from "./page-browser.ts";
import { findings } from "./page-axe.ts";
import { type PageStore, servedStore } from "./page-store.ts";

/** The moments and commands of the palette. */

async function history(box: PageStore): Promise<void> {
  box.write("a.txt", "first\n");
  await box.must(["init"]);
  await box.turn("p1", "Write two files", {
    "a.txt": () => box.write("a.txt", "second\n"),
    "b.txt": () => box.write("b.txt", "new\n"),
  });
}

async function ask(page: Page, text: string): Promise<void> {
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox", { name: "Go to" }).fill(text);
}

const option = (page: Page, name: string | RegExp) => page.getByRole("option", { name });

describeWithBrowser("the palette", () => {
  it("goes to a moment, and chooses the theme", async () => {
    await using box = await servedStore(history);
    const id = await box.workspace();
    await using tab = await openTab(await box.address(`/w/${id}`));
    const { page } = tab;
    await page.getByText("Write two files").first().waitFor();

    await ask(page, "yesterday");
    await option(page, /^The files of .* moment$/).waitFor();
    await page.keyboard.press("Escape");
    await ask(page, "1s");
    await option(page, /^The files of /).click();
    await page.getByRole("complementary", { name: "The files at the playhead" }).getByText("b.txt").waitFor();
    await expect.poll(() => page.url(), SOON).toMatch(/at=seq(:|%3A)\d+$/);

    await ask(page, "theme: d");
    await option(page, /dark/i).first().waitFor();
    await page.keyboard.press("Enter");
    await expect.poll(() => page.evaluate("document.documentElement.dataset.theme"), SOON).toBe("dark");
    await page.getByRole("button", { name: /^Theme: dark/ }).waitFor();
    await ask(page, "");
    await option(page, /^Take a snapshot/).waitFor();
    expect(await findings(tab)).toEqual([]);
  });

  it("makes a snapshot, takes the last turn back, and checks the history", async () => {
    await using box = await servedStore(history);
    await using tab = await openTab(await box.address(`/w/${await box.workspace()}`));
    const { page } = tab;
    await page.getByText("Write two files").first().waitFor();
    rmSync(join(box.project, "b.txt"));
    await ask(page, "snapshot");
    await option(page, /^Take a snapshot/).click();
    await page.locator(".item", { hasText: "snapshot" }).waitFor();

    await ask(page, "take back");
    await option(page, /^Take back the last turn/).click();
    const dialog = page.getByRole("dialog", { name: "Take it back" });
    await dialog.getByText("Write two files").waitFor();
    await dialog.getByRole("button", { name: "Take it back" }).click();
    await expect.poll(() => box.read("a.txt"), SOON).toBe("first\n");
    await dialog.getByRole("button", { name: "Close" }).click();
    await ask(page, "take back");
    await option(page, /^Take back the last turn/).waitFor();
    await page.keyboard.press("Enter");
    await page.getByRole("alert").filter({ hasText: "There is no turn to take back" }).waitFor();
    await page.keyboard.press("Escape");

    await ask(page, "verify");
    await option(page, /^Verify the history/).waitFor();
    await page.keyboard.press("Enter");
    await page
      .getByText(/whole|intact/i)
      .first()
      .waitFor();
    await expect.poll(() => page.url(), SOON).toMatch(/\/integrity$/);
  });

  it("offers a reader no command that changes anything", async () => {
    await using box = await servedStore(history);
    const { value } = await box.json(["token", "create", "--role", "reader"]);
    await using tab = await openTab(`${box.url}/w/${await box.workspace()}`, { expected: /status of 403/ });
    const { page } = tab;
    await page.getByLabel("Token").fill((value as { readonly token: string }).token);
    await page.getByRole("button", { name: "Connect" }).click();
    await page.getByText("write_file: a.txt").first().waitFor();
    await ask(page, "");
    await option(page, /^Verify the history/).waitFor();
    const commands = await page.getByRole("option", { name: /command$/ }).allTextContents();
    expect(commands.filter((one) => /Take|Flush/.test(one))).toEqual([]);
  });
});
