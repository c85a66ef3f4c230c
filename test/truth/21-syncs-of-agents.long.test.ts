import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { Sandbox } from "../cli/sandbox.ts";

const source = join(import.meta.dirname, "..", "..", "src", "index.ts");

/**
 * Writes a program that starts a sync with the library, with secrets and without, and prints the results. Returns its
 * path.
 */
function programOf(box: Sandbox): string {
  const file = join(box.folder, "program.mjs");
  writeFileSync(
    file,
    `
import { openStore, openSyncs } from ${JSON.stringify(source)};
const store = await openStore(${JSON.stringify({ home: box.store, configFolder: join(box.folder, "config", "chronicle") })});
const syncs = openSyncs(store, (error) => console.error(error));
const upstream = ${JSON.stringify(`unix:${join(box.folder, "nobody.sock")}`)};
for (const withProtected of [true, false]) {
  const folder = ${JSON.stringify(join(box.folder, "desk"))} + withProtected;
  const told = await syncs.start({ upstream, folder, withProtected }).then(({ state }) => state, ({ code, message }) => code + " " + message);
  console.log("told " + withProtected + " " + (/^[a-z-]+$/.test(told) ? "begun" : told));
}
await syncs.close();
await store.close();
`,
  );
  return file;
}

const REFUSED = "told true FORBIDDEN an agent may not do this: withProtected";

function toldIn(stdout: string): string[] {
  return stdout.split("\n").filter((line) => line.startsWith("told "));
}

describe("Truth 21: a sync with secrets that is begun with the library", { timeout: 300_000 }, () => {
  test("is refused to a process under `run`, and a sync without secrets is begun", async () => {
    using box = new Sandbox();
    box.write("a.txt", "a");
    await box.must(["init"]);
    const ran = box.run(["run", "--", process.execPath, programOf(box)]);
    expect(toldIn(ran.stdout)).toEqual([REFUSED, "told false begun"]);
  });

  test("is refused to a process under `run` that has unset CHRONICLE_ROLE, too", async () => {
    using box = new Sandbox();
    box.write("a.txt", "a");
    await box.must(["init"]);
    const ran = box.run(["run", "--", "env", "-u", "CHRONICLE_ROLE", process.execPath, programOf(box)]);
    expect(toldIn(ran.stdout)).toEqual([REFUSED, "told false begun"]);
  });

  test("is begun for a person", () => {
    using box = new Sandbox();
    box.sh(`${process.execPath} ${programOf(box)} > told.txt`);
    expect(toldIn(readFileSync(join(box.project, "told.txt"), "utf8"))).toEqual([
      "told true begun",
      "told false begun",
    ]);
  });
});
