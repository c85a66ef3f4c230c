import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { ended, Sandbox } from "./sandbox.ts";

describe("watch", () => {
  it("records changes, and follows changed rules, until it is stopped", async () => {
    using box = new Sandbox();
    box.write("a", "1");
    const child = box.start(["watch"]);
    let [out, err] = ["", ""];
    child.stdout.on("data", (piece: Buffer) => (out += piece.toString()));
    child.stderr.on("data", (piece: Buffer) => (err += piece.toString()));
    while (!err.includes("watching")) await sleep(25);
    box.write("a", "22");
    while (!err.includes("1 change")) await sleep(25);
    await box.must(["config", "excludePatterns", "secret"]);
    box.write("secret", "x");
    box.write("b", "x");
    while (!err.includes("the settings of what is tracked have changed")) await sleep(25);
    box.write("b", "y");
    while (err.split("1 change").length < 4) await sleep(25);
    child.kill("SIGINT");
    expect(await ended(child)).toBe(0);
    expect(out).toMatch(/recorded 2 changes; see: chronicle show \S+; take back: /);
    expect((await box.json(["history", "b"])).value).toMatchObject([{ iteration: 1 }, { iteration: 2 }]);
    expect((await box.call(["history", "secret"])).code).toBe(3);
    const back = /take back: chronicle (undo --session \S+)\n/.exec(out)?.[1] ?? "";
    await box.must(back.split(" "));
    expect([readFileSync(join(box.project, "a"), "utf8"), existsSync(join(box.project, "b"))]).toEqual(["1", false]);
  });
});
