import { expect, it } from "vitest";
import type { SyncShape } from "../../src/api/sync-api.ts";
import { describeWithBrowser, openTab, SOON } from "./page-browser.ts";
import { servedStore } from "./page-store.ts";

/** The steps of a sync that a person decides. The answers of the server about the sync are made up. */

const HALTED = {
  ...{ upstream: "https://files.example.org", mode: "two-way-safe", state: "halted", halted: "mass-deletion" },
  ...{ reason: "80 of 90 entries were deleted here at once", peer: null },
  ...{ lag: 0, pending: 0, conflicts: 0, applied: 1, head: 1 },
} satisfies Partial<SyncShape>;

describeWithBrowser("a sync", () => {
  it("deletes nothing before somebody has seen what, and where", async () => {
    await using box = await servedStore((one) => one.must(["init"]));
    const id = await box.workspace();
    await using tab = await openTab(await box.address("/"));
    const { page } = tab;
    const sync = { ...HALTED, id, workspace: id, folder: box.project };
    const decided: string[] = [];
    await page.route(/\/v1\/syncs\b/, async (route) => {
      const request = route.request();
      if (request.method() === "POST") decided.push(request.postData() ?? "");
      await route.fulfill({ json: request.method() === "POST" ? sync : { items: [sync], next: null } });
    });
    await page.locator(".card-title", { hasText: /project$/ }).click();
    await tab.go(`/w/${id}/sync`);
    const open = page.getByRole("button", { name: "Delete them on the other side, too…" });
    await open.click();
    const dialog = page.getByRole("dialog", { name: "Delete them on the other side, too" });
    await dialog.getByText("80 of 90 entries were deleted here at once").waitFor();
    await dialog.getByText("is deleted at the origin, https://files.example.org").waitFor();
    await dialog.getByRole("button", { name: "Cancel" }).click();
    await dialog.waitFor({ state: "detached" });
    expect(decided).toEqual([]);
    await open.click();
    await dialog.getByRole("button", { name: "Delete them on the other side, too" }).click();
    await expect
      .poll(() => decided.map((body) => JSON.parse(body) as unknown), SOON)
      .toEqual([{ accept: "deletions" }]);
  });

  it("is not asked for again and again by a token that may not see it", async () => {
    await using box = await servedStore((one) => one.must(["init"]));
    const { token } = (await box.json(["token", "create", "--role", "operator"])).value as { readonly token: string };
    await using tab = await openTab(`${box.url}/w/${await box.workspace()}/sync`, { expected: /status of 403/ });
    const { page } = tab;
    let asked = 0;
    page.on("request", (request) => (asked += /\/v1\/syncs\b/.test(request.url()) ? 1 : 0));
    await page.getByLabel("Token").fill(token);
    await page.getByRole("button", { name: "Connect" }).click();
    await page.getByText("The sync is shown to the owner of the store only").waitFor();
    const before = asked;
    await page.waitForTimeout(2_500);
    expect(asked).toBe(before);
  });
});
