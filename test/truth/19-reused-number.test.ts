import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openFileStore } from "../../src/compose/file-store.ts";
import { Sandbox } from "../cli/sandbox.ts";
import { storeBackends } from "../helpers/store-parts.ts";

/** The number of a process makes it an agent's only if the process already ran when the agent named it. */

/** Records an agent's session of the process that runs this test, or of one that had its number before. */
async function sessionOf(box: Sandbox, id: "dead" | "alive"): Promise<void> {
  const places = { home: box.store, configFolder: join(box.folder, "config/chronicle"), waitMs: 5_000 };
  const { processes, ...others } = storeBackends();
  const markOf = (pid: number): string | undefined => (id === "dead" ? "0123456789abcdef" : processes.markOf(pid));
  const store = await openFileStore(places, { ...others, processes: { ...processes, markOf } });
  const { workspace } = await store.init({ roots: [box.project] });
  await workspace.startSession({ id, actor: "claude", pid: process.pid });
  await workspace.close();
  await store.close();
}

describe.skipIf(process.platform !== "linux")(
  "Truth 19: the number of an agent's process",
  { timeout: 600_000 },
  () => {
    it("does not make a process that got it later an agent's", async () => {
      using box = new Sandbox();
      box.write("a.txt", "one\n");
      await sessionOf(box, "dead");
      const person = box.run(["gc"]);
      expect([person.code, person.stderr]).toEqual([0, ""]);
      await sessionOf(box, "alive");
      const agent = box.run(["gc"]);
      expect([agent.code, agent.stderr]).toEqual([6, expect.stringContaining("an agent may not do this")]);
    });
  },
);
