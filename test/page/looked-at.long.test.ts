import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { describeWithBrowser, openTab, type Tab } from "./page-browser.ts";
import { type PageStore, servedStore } from "./page-store.ts";

/** What a person has looked at is kept beside the store, and belongs to contents. */

const SESSION = "5b1f2c3d-0000-4000-8000-000000000001";
const AWAY = { expected: /ERR_CONNECTION|ERR_INCOMPLETE_CHUNKED|ERR_EMPTY_RESPONSE|status of 401/ };

async function history(box: PageStore): Promise<void> {
  box.write("a.txt", "first\n");
  await box.must(["init"]);
  await box.turn("p1", "Write two files", {
    "a.txt": () => box.write("a.txt", "second\n"),
    "b.txt": () => box.write("b.txt", "new\n"),
  });
}

const marked = ({ page }: Tab) => page.getByRole("button", { name: "Looked at", pressed: true });
const summary = ({ page }: Tab, text: string) =>
  page.getByRole("navigation", { name: "Changed files" }).getByText(text).waitFor();

describeWithBrowser("what was looked at", () => {
  it("is kept for another browser, a new process and a new port, until the file changes again", async () => {
    await using box = await servedStore(history);
    const view = `/w/${await box.workspace()}/changes?work=session%3D${SESSION}`;
    {
      await using tab = await openTab(await box.address(`${view}&file=a.txt`));
      await summary(tab, "2 paths: 1 created, 1 modified");
      const kept = () =>
        tab.page.waitForResponse((response) => response.request().method() === "POST" && response.ok());
      // The page shows a mark before the server has kept it.
      const first = kept();
      await tab.page.getByRole("button", { name: "Looked at", pressed: false }).click();
      await summary(tab, "1 looked at");
      await first;
      await tab.page.keyboard.press("j");
      await tab.page.getByRole("article", { name: "Changes of b.txt" }).waitFor();
      const second = kept();
      await tab.page.keyboard.press("v");
      await summary(tab, "all looked at");
      await second;
      expect(await tab.page.evaluate(() => Object.keys(localStorage))).toEqual([]);
    }
    await box.serveElsewhere();
    await using other = await openTab(await box.address(`${view}&file=a.txt`), AWAY);
    await summary(other, "all looked at");
    await marked(other).waitFor();

    await box.turn("p2", "Write one of them again", { "a.txt": () => box.write("a.txt", "third\n") });
    await summary(other, "1 looked at");
    expect(await marked(other).count()).toBe(0);
    await other.page.getByRole("link", { name: /b\.txt/ }).click();
    await marked(other).click();
    await other.page.getByRole("button", { name: "Looked at", pressed: false }).waitFor();
  });

  it("is each person's own: a reader marks for themselves, and a damaged file of marks costs only these", async () => {
    await using box = await servedStore(history);
    const id = await box.workspace();
    const view = `/w/${id}/changes?work=session%3D${SESSION}&file=a.txt`;
    const { value } = await box.json(["token", "create", "--role", "reader"]);
    const { token } = value as { readonly token: string };
    const asReader = async (): Promise<Tab> => {
      const tab = await openTab(box.url + view);
      await tab.page.getByLabel("Token").fill(token);
      await tab.page.getByRole("button", { name: "Connect" }).click();
      return tab;
    };
    {
      await using tab = await asReader();
      await tab.page.getByRole("button", { name: "Looked at", pressed: false }).click();
      await marked(tab).waitFor();
    }
    await using owner = await openTab(await box.address(view));
    await owner.page.getByRole("button", { name: "Looked at", pressed: false }).waitFor();
    const folder = join(box.store, "workspaces", id, "marks");
    await expect.poll(() => readdirSync(folder)).toHaveLength(1);
    for (const name of readdirSync(folder)) writeFileSync(join(folder, name), "damaged");
    await using again = await asReader();
    await again.page.getByRole("alert").filter({ hasText: "the kept marks cannot be read" }).waitFor();
    await again.page.getByRole("button", { name: "Looked at", pressed: false }).click();
    await marked(again).waitFor();
    await expect.poll(() => again.page.getByRole("alert").count()).toBe(0);
  });
});
