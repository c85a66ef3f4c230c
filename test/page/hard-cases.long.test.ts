import { readdirSync, readFileSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { describeWithBrowser, openTab } from "./page-browser.ts";
import { servedStore } from "./page-store.ts";

/** What is recorded while somebody looks, and stores that are not as the page would like them. */

describeWithBrowser("the page of a store", () => {
  it("without workspaces says how to begin, and shows the first one as soon as it is recorded", async () => {
    await using box = await servedStore(() => Promise.resolve());
    await using tab = await openTab(await box.address());
    const { page } = tab;
    await page.getByText("Nothing is recorded yet").waitFor();
    for (const command of ["chronicle init", "chronicle agents install claude", "chronicle run -- npm test"])
      await page.getByText(command, { exact: true }).waitFor();
    box.run(["init"]);
    await page.locator(".card-title", { hasText: /project$/ }).waitFor();
  });

  it("shows what another process records, and says when the workspace is forgotten meanwhile", async () => {
    await using box = await servedStore((one) => one.must(["init"]));
    const id = await box.workspace();
    await using tab = await openTab(await box.address(`/w/${id}`), { expected: /status of 404/ });
    const { page } = tab;
    await page.getByRole("region", { name: "What happened, newest first" }).waitFor();
    expect(box.run(["run", "--", "sh", "-c", "echo live > live.txt"]).code).toBe(0);
    await page.getByRole("button", { name: /echo live/ }).waitFor();
    expect(box.run(["forget", id, "--yes"]).code).toBe(0);
    await page
      .getByRole("alert")
      .filter({ hasText: /forgotten|workspace/ })
      .first()
      .waitFor();
    await page.getByRole("link", { name: "All workspaces", exact: true }).click();
    await page.getByText("Nothing is recorded yet").waitFor();
  });

  it("says what is damaged, and goes on with what is not", async () => {
    await using box = await servedStore(async (one) => {
      one.write("a.txt", "whole\n");
      await one.must(["init"]);
      one.sh("mkdir ../other");
      await one.must(["init"], { cwd: "other" });
    });
    const id = await box.workspace();
    const log = join(box.store, "workspaces", id, "events.wal");
    await using tab = await openTab(await box.address(`/w/${id}/files`), { expected: /status of [45]\d\d/ });
    const { page } = tab;
    const packs = join(box.store, "blobs", "packs", "active");
    for (const name of readdirSync(packs).filter((one) => one.endsWith(".pack"))) {
      const bytes = readFileSync(join(packs, name));
      writeFileSync(
        join(packs, name),
        bytes.map((byte, i) => (i < 16 ? byte : byte ^ 0xff)),
      );
    }
    await page.getByRole("link", { name: /a\.txt/ }).click();
    await page
      .getByRole("alert")
      .filter({ hasText: /damaged|not what was recorded|missing/ })
      .waitFor();
    await page.getByRole("link", { name: "Integrity" }).click();
    writeFileSync(log, readFileSync(log, "latin1").replace('"cause":"baseline"', '"cause":"baselime"'), "latin1");
    await page.getByRole("button", { name: "Recompute everything" }).click();
    await page
      .getByText(/problems? found/)
      .or(page.getByRole("alert"))
      .first()
      .waitFor();
    await page.getByRole("link", { name: "Chronicle: all workspaces" }).click();
    await page.locator(".card-title", { hasText: /other$/ }).click();
    await page.getByRole("region", { name: "What happened, newest first" }).waitFor();
  });

  it("lists two thousand changed files, and a file of 200 MB without loading it", async () => {
    await using box = await servedStore(async (one) => {
      await one.must(["init"]);
      const many = `i=0; while [ $i -lt 2010 ]; do : > many-$i.txt; i=$((i + 1)); done; : > large.bin`;
      await one.must(["run", "--", "sh", "-c", many]);
      truncateSync(join(one.project, "large.bin"), 200_000_000);
      await one.must(["snapshot", "-m", "large"]);
    });
    const id = await box.workspace();
    await using tab = await openTab(await box.address(`/w/${id}`));
    const { page } = tab;
    const contents: string[] = [];
    page.on("request", (request) => /blob\?hash=(?!e3b0c442)/.test(request.url()) && contents.push(request.url()));
    await page.getByRole("button", { name: /while/ }).click();
    await page.getByRole("link", { name: "See the changes" }).click();
    await page.getByText("2,011 paths: 2,011 created").waitFor();
    await page.getByText("and 11 more").waitFor();
    await tab.go(`/w/${id}/file?path=large.bin`);
    await page.getByText(/too large to be shown here: 200 MB/).waitFor();
    await tab.go(`/w/${id}`);
    await page
      .getByRole("button", { name: /large\.bin/ })
      .first()
      .click();
    await page.getByRole("link", { name: "See the changes" }).click();
    await page.getByText(/A large file: .* before, 200 MB after/).waitFor();
    await page.getByText(/too large to be compared here/).waitFor();
    expect(contents).toEqual([]);
  });

  it("reads of very many conflicts only those that are shown, and settles one after the other", async () => {
    const names = Array.from({ length: 620 }, (_, i) => `f${String(i).padStart(4, "0")}.txt`);
    await using box = await servedStore(async (one) => {
      const writeAll = (text: string): void => {
        for (const name of names) one.write(name, `${text} ${name}\n`);
      };
      writeAll("before");
      await one.must(["init"]);
      await one.turn("p1", "Change everything", { "$ ./change": () => writeAll("agent") });
      writeAll("person");
      await one.must(["snapshot", "-m", "by hand"]);
      expect(await one.call(["undo", "--turn", "last"])).toMatchObject({ code: 1 });
    });
    const id = await box.workspace();
    await using tab = await openTab(await box.address(`/w/${id}/conflicts`));
    const { page } = tab;
    const asked: string[] = [];
    page.on("request", (request) => /\/conflicts\?/.test(request.url()) && asked.push(request.url()));
    const list = page.getByRole("navigation", { name: "Open conflicts" });
    await list.getByRole("button", { name: /^f0000/ }).waitFor();
    await page.getByRole("navigation", { name: "Views of the workspace" }).getByLabel("200+ open").waitFor();
    for (const name of ["f0000.txt", "f0001.txt"]) {
      const region = page.getByRole("region", { name: `Conflict at ${name}` });
      await region.getByRole("button", { name: "Take the undo's state" }).click();
      await page
        .getByRole("status")
        .filter({ hasText: `Settled: ${name}` })
        .waitFor();
      expect(box.read(name)).toBe(`before ${name}\n`);
    }
    expect(await list.getByRole("button").count()).toBeLessThan(100);
    expect(asked.filter((url) => !url.includes("limit=200"))).toEqual([]);
    await list.evaluate((element) => element.scrollTo(0, element.scrollHeight));
    await page.getByLabel(/^[46]00\+ open$/).waitFor();
    await list.evaluate((element) => element.scrollTo(0, element.scrollHeight));
    // An address may name a conflict that is not among the first ones.
    await list
      .getByRole("button", { name: /^f0[3-6]/ })
      .first()
      .click();
    const shown = page.getByRole("region", { name: /^Conflict at f0[3-6]/ });
    const name = (await shown.getAttribute("aria-label")) ?? "";
    await page.reload();
    await page.getByRole("region", { name: /^Conflict at/ }).waitFor();
    expect(await shown.getAttribute("aria-label")).toBe(name);
  });

  it("shows the exact time of what a wrong clock puts into the future", async () => {
    await using box = await servedStore((one) => one.must(["init"]));
    const id = await box.workspace();
    await using tab = await openTab("about:blank");
    const { page } = tab;
    await page.clock.install({ time: new Date("2026-01-05T10:00:00Z") });
    await page.goto(await box.address(`/w/${id}`));
    const time = page.getByRole("region", { name: "What happened, newest first" }).getByRole("time").first();
    await time.waitFor();
    const exact = /^\d{1,2} [A-Z][a-z]{2,3}(, \d\d:\d\d| \d{4})$/;
    expect(await time.textContent()).toMatch(exact);
    await page.clock.runFor(20_000);
    await page.getByRole("button", { name: "Closer (+)" }).click();
    expect(await time.textContent()).toMatch(exact);
  });
});
