import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { ended } from "../cli/sandbox.ts";
import { findings } from "./page-axe.ts";
import { describeWithBrowser, openTab, SOON } from "./page-browser.ts";
import { type PageStore, servedStore } from "./page-store.ts";

/** Integrity, space, health and partly undone work, of one store. */

const LINES = Array.from({ length: 60 }, (_, i) => `line ${i + 1}\n`);
const changed = (...numbers: readonly number[]): string =>
  LINES.map((line, i) => (numbers.includes(i + 1) ? `changed ${i + 1}\n` : line)).join("");

async function history(one: PageStore): Promise<void> {
  const config = join(one.folder, "config", "chronicle");
  mkdirSync(config, { recursive: true, mode: 0o700 });
  writeFileSync(join(config, "config.yaml"), "chronicle:\n  min_age_hours: 0\n", { mode: 0o600 });
  one.write("login.ts", LINES.join(""));
  one.write(".gitignore", "build/\n");
  one.write("build/out.js", "made\n");
  await one.must(["init"]);
  await one.must(["config", "maxFileSize", "5000"]);
  await one.turn("p1", "Refactor the login", {
    "login.ts": () => one.write("login.ts", changed(3, 30, 57)),
    "new.ts": () => one.write("new.ts", "new\n"),
  });
  for (const text of ["one", "two", "three"]) {
    one.write("notes.txt", `${text}\n`);
    await one.must(["snapshot", "-m", `notes ${text}`]);
  }
  one.write("dump.bin", "x".repeat(6_000));
  await one.call(["run", "--", "sh", "-c", "echo 2 > notes.txt; rm -r build"]);
  await one.call(["run", "--", "sh", "-c", "rm notes.txt; exit 3"]);
  await one.call(["prune", "--keep-last", "0", "--yes"], { env: { CHRONICLE_ROLE: "agent" } });
  const replicas = join(one.store, "workspaces", await one.workspace(), "replicas");
  writeFileSync(replicas, "chronicle replica cursors 2\nlaptop-of-anna 4\n", { mode: 0o600 });
}

/** Holds what the page hears of a check after the first progress, as a check that takes long would, until it may go on. */
async function holdingChecks(page: Page): Promise<void> {
  await page.addInitScript(() => {
    const send = window.fetch;
    window.fetch = async (input, init) => {
      const response = await send(input, init);
      if (!response.url.includes("/verify-steps") || response.body === null) return response;
      const goingOn = Promise.withResolvers<void>();
      addEventListener("let-checks-go-on", () => goingOn.resolve(), { once: true });
      init?.signal?.addEventListener("abort", () => goingOn.reject(new Error("stopped")));
      let text = "";
      let mayGoOn = false;
      const held = new TransformStream<Uint8Array, Uint8Array>({
        async transform(piece, controller) {
          if (mayGoOn) return controller.enqueue(piece);
          text += new TextDecoder().decode(piece);
          const at = text.indexOf("\n\n", text.indexOf('"progress"')) + 2;
          if (!text.includes('"progress"') || at < 2) return;
          controller.enqueue(new TextEncoder().encode(text.slice(0, at)));
          await goingOn.promise;
          mayGoOn = true;
          controller.enqueue(new TextEncoder().encode(text.slice(at)));
        },
      });
      return new Response(response.body.pipeThrough(held), response);
    };
  });
}

let box: PageStore;
let id = "";

/** A turn of which a part was taken back has parts that are no longer there to be asked for. */
const PARTS_GONE = { expected: /status of 404/ };

describeWithBrowser("the page", () => {
  beforeAll(async () => {
    box = await servedStore(history);
    id = await box.workspace();
  });
  afterAll(() => box[Symbol.asyncDispose]());

  it("says who is at work, and what needs attention, with a command or a way for each", async () => {
    await using tab = await openTab(await box.address());
    const { page } = tab;
    const health = page.getByRole("region", { name: "What needs attention" });
    await health.getByText("1 replica is behind, by up to").waitFor();
    await health.getByText(`chronicle watch --install ${box.project}`).waitFor();
    await page.getByRole("link", { name: "not checked here yet" }).waitFor();
    expect(await findings(tab)).toEqual([]);

    const going = ended(box.start(["run", "--", "sh", "-c", "until test -e stop; do sleep 0.1; done"]));
    const work = page.getByRole("region", { name: "At work now" });
    await work.getByText(/until test -e stop/).waitFor();
    expect(await findings(tab)).toEqual([]);
    box.write("stop", "");
    await going;
    await work.waitFor({ state: "detached" });

    await health.getByRole("link", { name: "See which" }).click();
    await page.getByRole("region", { name: "Witnesses" }).getByText("laptop-of-anna").waitFor();
  });

  it("shows what was left out, refused and given up, copies the signed head, and remembers a check", async () => {
    await using tab = await openTab(await box.address(`/w/${id}/integrity`));
    const { page, context } = tab;
    await context.grantPermissions(["clipboard-read", "clipboard-write"]);
    await page.getByRole("button", { name: "Copy the signed head" }).click();
    await page.getByRole("button", { name: "Copied" }).waitFor();
    const copied = await page.evaluate(() => navigator.clipboard.readText());
    await page.getByLabel(/A head that you kept earlier/).fill(copied);
    await page.getByRole("button", { name: "Recompute everything" }).click();
    await page.getByText("the history agrees with it (signature: valid)").waitFor();

    const left = page.getByRole("region", { name: "What is not covered" });
    await left.getByText(/1 path: larger than the limit for one file/).click();
    await left.getByText("dump.bin").waitFor();
    await left.getByText("not intended").waitFor();
    await left.getByRole("combobox", { name: "What was left out" }).selectOption({ label: await optionOf("echo 2") });
    await left
      .getByText(/removed; the content before cannot be brought back/)
      .first()
      .waitFor();

    const refused = page.getByRole("region", { name: "Refused attempts" });
    await refused.getByText("prune", { exact: true }).waitFor();
    await refused.getByText(/"keepLast":0/).waitFor();
    await page.getByText("Nothing was pruned or erased").waitFor();
    expect(await findings(tab)).toEqual([]);

    await tab.go("/");
    await page.getByRole("link", { name: /^checked/ }).waitFor();

    async function optionOf(text: string): Promise<string> {
      const options = left.getByRole("option");
      await expect.poll(() => options.allTextContents(), SOON).toContainEqual(expect.stringContaining(text));
      return (await options.allTextContents()).find((one) => one.includes(text)) ?? "";
    }
  });

  it("marks a run that failed in words, in the list, in its details and at its tick", async () => {
    await using tab = await openTab(await box.address(`/w/${id}`));
    const { page } = tab;
    const line = page.getByRole("button", { name: /exit 3/ });
    await line.getByText("failed, exit code 3").waitFor();
    expect(
      await page
        .getByRole("button", { name: /echo 2/ })
        .getByText("failed")
        .count(),
    ).toBe(0);
    await line.click();
    const detail = page.getByRole("complementary", { name: "The selected work" });
    await detail.getByText("failed, exit code 3").waitFor();
    expect(await findings(tab)).toEqual([]);
    await page.setViewportSize({ width: 360, height: 740 });
    await page.getByRole("button", { name: "Close", exact: true }).click();
    await line.getByText("failed, exit code 3").waitFor();
    expect(await findings(tab)).toEqual([]);
  });

  it("says how far a check is, keeps it while another view is open, and stops it", async () => {
    await using tab = await openTab(await box.address(`/w/${id}/integrity`), { before: holdingChecks });
    const { page } = tab;
    await page.getByRole("button", { name: "Recompute everything" }).click();
    const events = page.getByRole("progressbar", { name: "Events" });
    await expect.poll(() => events.getAttribute("aria-valuetext"), SOON).toMatch(/^\d+ of \d+$/);
    await page.getByText("Recomputing every hash").waitFor();
    expect(await page.getByRole("button", { name: "Only the log" }).isDisabled()).toBe(true);
    expect(await findings(tab)).toEqual([]);

    await tab.go(`/w/${id}/space`);
    await page.getByRole("region", { name: "How much is kept" }).waitFor();
    await tab.go(`/w/${id}/integrity`);
    await page.getByRole("button", { name: "Stop" }).click();
    await page.getByText(/^Stopped after \d+ of \d+ events/).waitFor();

    await page.getByRole("button", { name: "Only the log" }).click();
    await page.getByText("Reading the log").waitFor();
    expect(await page.getByRole("progressbar", { name: "Contents" }).count()).toBe(0);
    await page.evaluate(() => dispatchEvent(new Event("let-checks-go-on")));
    await page.getByText("The contents were not read.").waitFor();
  });

  it("says where the space goes, and prunes after a look at what can no longer be restored", async () => {
    await using tab = await openTab(await box.address(`/w/${id}/space`));
    const { page } = tab;
    await page.getByText("caches", { exact: true }).waitFor();
    await page.getByText("the rest", { exact: true }).waitFor();
    await page.getByRole("combobox", { name: "Divide" }).selectOption("session");
    await page.getByText(/^session of claude, /).waitFor();
    await page
      .getByRole("region", { name: "Kept beside the histories" })
      .getByText(/of 4.3 GB/)
      .waitFor();
    const limits = page.getByRole("region", { name: "How much is kept" });
    await limits.getByRole("row", { name: /min_age_hours 0 hours .*config\.yaml/ }).waitFor();
    const prompts = limits.getByRole("checkbox", { name: /what people ask agents/ });
    await prompts.uncheck();
    await expect.poll(async () => (await box.json(["config"])).value, SOON).toMatchObject({ recordPrompts: false });
    await prompts.check();

    const prune = page.getByRole("region", { name: "Prune" });
    await prune.getByLabel("Keep the newest").fill("x");
    await expect
      .poll(() => prune.getByRole("button", { name: "Look what it would give up" }).isDisabled(), SOON)
      .toBe(true);
    await prune.getByLabel("Keep the newest").fill("1");
    await prune.getByRole("button", { name: "Look what it would give up" }).click();
    await prune.getByText("notes one").waitFor();
    await prune.getByText("write_file: login.ts").waitFor();
    await prune.getByRole("button", { name: /^Give up .*2 actions…/ }).click();
    const dialog = page.getByRole("dialog", { name: /^Give up/ });
    await page.emulateMedia({ colorScheme: "dark" });
    expect(await findings(tab)).toEqual([]);
    await dialog.getByRole("button", { name: "Cancel" }).click();
    expect((await box.json(["list", "--snapshots"])).value).not.toContainEqual(
      expect.objectContaining({ pruned_by: expect.any(Number) }),
    );
    await prune.getByRole("button", { name: /^Give up/ }).click();
    await dialog.getByRole("button", { name: /^Give up/ }).click();
    const back = await prune.getByText(/^chronicle unforget /).textContent();

    await tab.go(`/w/${id}/integrity`);
    await page
      .getByRole("region", { name: "What was given up" })
      .getByText(back ?? "")
      .waitFor();
    const [, , part = ""] = (back ?? "").split(" ");
    await box.must(["unforget", part]);
    await page.getByText(/What was pruned was brought back by/).waitFor();
  });

  it("tags work of which only a part was taken back, and names its undo by its title", async () => {
    await using tab = await openTab(await box.address(`/w/${id}`), PARTS_GONE);
    const { page } = tab;
    await box.must(["undo", "--turn", "p1", "--file", "new.ts"]);
    const list = page.getByRole("region", { name: "What happened, newest first" });
    const turn = list.getByRole("button", { name: /Refactor the login.*partly undone/ });
    await turn.waitFor();
    await list.getByText("undo of “Refactor the login” in new.ts").waitFor();
    await turn.click();
    await page.getByRole("link", { name: "See the changes" }).click();
    const line = page.locator(".work-line");
    await line.getByText("partly undone").waitFor();
    expect(await page.getByText("5b1f2c3d").count()).toBe(0);
    await box.must(["undo", "--turn", "p1"]);
    await line.getByText("undone", { exact: true }).waitFor();
  });
});
