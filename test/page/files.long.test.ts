import { rmSync } from "node:fs";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { expect, it } from "vitest";
import { describeWithBrowser, openTab } from "./page-browser.ts";
import { type PageStore, servedStore } from "./page-store.ts";

/** A folder of another moment may not exist now. */
const GONE_NOW = { expected: /status of 404/ };

/** One file through time, and the files of a moment. */

async function history(box: PageStore): Promise<void> {
  box.write("notes.txt", "first\n");
  box.write("old/gone.md", "gone\n");
  await box.must(["init"]);
  await box.turn("p1", "Write more notes", { "notes.txt": () => box.write("notes.txt", "first\nsecond\n") });
  box.write("notes.txt", "first\nsecond\nthird\n");
  rmSync(join(box.project, "old"), { recursive: true });
  await box.must(["snapshot", "-m", "by hand"]);
}

describeWithBrowser("the files", () => {
  it("a file's states are on a slider, can be read, saved and restored, and say who wrote each line", async () => {
    await using box = await servedStore(history);
    await using tab = await openTab(await box.address(`/w/${await box.workspace()}/file?path=notes.txt`));
    const { page } = tab;
    const slider = page.getByRole("slider", { name: "State of the file" });
    await page.getByText("3 of 3").waitFor();
    await page.locator(".cm-changedLine", { hasText: "third" }).waitFor();
    const states = page.getByRole("region", { name: "All states of the file, newest first" });
    await states
      .getByRole("listitem")
      .filter({ hasText: /claude.*tool call.*Write more notes/ })
      .waitFor();
    await page.getByRole("tab", { name: "Who wrote each line" }).click();
    const lines = page.getByRole("region", { name: "Who wrote each line" });
    await lines.getByText("second", { exact: true }).waitFor();
    await lines.getByText(/^claude · .* · write_file/).waitFor();

    await slider.focus();
    await page.keyboard.press("Home");
    await page.getByText("1 of 3").waitFor();
    expect(await lines.getByText("second", { exact: true }).count()).toBe(0);
    const saving = page.waitForEvent("download");
    await page.getByRole("button", { name: "Save a copy" }).click();
    const saved = await saving;
    expect(saved.suggestedFilename()).toBe("notes.txt");
    expect((await buffer(await saved.createReadStream())).toString()).toBe("first\n");

    await page.getByRole("button", { name: "Restore this state…" }).click();
    const dialog = page.getByRole("dialog", { name: "Restore this state" });
    await dialog.getByText("Everything else stays").waitFor();
    await dialog.getByRole("button", { name: "Restore this state" }).click();
    await dialog.getByRole("button", { name: "Close" }).click();
    await page.getByText("4 of 4").or(page.getByText("1 of 4")).waitFor();
    expect(box.read("notes.txt")).toBe("first\n");
  });

  it("the files of a moment are listed, and a deleted file is found by its name and comes back", async () => {
    await using box = await servedStore(history);
    const id = await box.workspace();
    await using tab = await openTab(await box.address(`/w/${id}/files?at=baseline`), GONE_NOW);
    const { page } = tab;
    await page.getByRole("link", { name: "old" }).click();
    await page.getByRole("link", { name: /gone\.md/ }).waitFor();
    await page.getByRole("link", { name: "Files of now" }).click();
    await page.getByRole("alert").or(page.getByText("This folder is empty")).waitFor();

    await tab.go(`/w/${id}/files`);
    await page.getByRole("link", { name: /notes\.txt/ }).waitFor();
    expect(await page.getByRole("link", { name: "old" }).count()).toBe(0);
    await page.getByRole("searchbox", { name: /Find by name/ }).fill("gone.md");
    await page.getByRole("link", { name: /gone\.md/ }).click();
    await page.getByText("2 of 2").waitFor();
    await page.getByText("deleted", { exact: true }).first().waitFor();
    await page.keyboard.press(",");
    await page.getByText("1 of 2").waitFor();
    await page.getByRole("button", { name: "Restore this state…" }).click();
    const dialog = page.getByRole("dialog", { name: "Restore this state" });
    await dialog.getByText("Everything else stays").waitFor();
    await dialog.getByRole("button", { name: "Restore this state" }).click();
    await dialog.getByRole("button", { name: "Close" }).click();
    await page.getByText(/of 3$/).waitFor();
    expect(box.read("old/gone.md")).toBe("gone\n");
  });
});
