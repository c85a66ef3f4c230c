import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { FollowedOrigin, WAYS } from "../helpers/followed-origin.ts";
import { contentsIn } from "../helpers/replica-trial.ts";

/** The deletion guard with real folders, processes and connections. */

const BEGIN = Object.fromEntries(Array.from({ length: 10 }, (_, i) => [`f${i}`, `content ${i}\n`]));

describe("Truth 26: with real processes and folders", () => {
  it.each(WAYS)(
    "`rm -rf` at the origin, while the desk is away and saves a file, deletes nothing at the desk (%s)",
    async (way) => {
      await using both = new FollowedOrigin(way);
      const { origin, replica: desk } = both;
      for (const [name, content] of Object.entries(BEGIN)) writeFileSync(join(origin.project, name), content);
      await both.start();
      await desk.kill("SIGINT");
      for (const name of Object.keys(BEGIN)) rmSync(join(origin.project, name));
      writeFileSync(join(desk.folder, "new"), "mine\n");
      await both.startReplica();
      const shape = await both.until(({ state }) => state === "halted");
      expect(shape).toMatchObject({ halted: "root-emptied" });
      for (const [name, content] of Object.entries({ ...BEGIN, new: "mine\n" }))
        expect(readFileSync(join(desk.folder, name), "utf8")).toBe(content);
      await both.restore();
      expect(contentsIn(origin.project)).toEqual(contentsIn(desk.folder));
      expect(Object.keys(contentsIn(desk.folder))).toEqual([...Object.keys(BEGIN), "new"]);
    },
    180_000,
  );
});
